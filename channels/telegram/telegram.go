// Package telegram is one bot account on Telegram.
//
// It polls for updates with a loop of its own, because an update is confirmed
// by the offset of the next poll and that must not move before the update is
// stored. Or it has Telegram bring them to a webhook, where an update is
// confirmed by the status of the answer. Each update is decoded by itself: one
// that cannot be read is handed on raw and holds up nobody.
//
//	getUpdates ── each raw update ──> translate ──> accept ── nil ──> offset moves
//	                                                   └── error ──> pause, the same update again
//	webhook ── secret ── one update ──> translate ──> accept ── nil ──> 200
//	                                                     └── error ──> 503, Telegram brings it again
//
// Within a chat, updates are offered in the order in which Telegram gives them,
// and none before an earlier one was taken. A webhook's process remembers for
// three minutes what it refused, and only while it runs; beyond that the order
// is Telegram's.
//
// The token is known to the HTTP transport alone. Everything else, including
// every error, works with addresses that do not hold it.
package telegram

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-telegram/bot"

	"parley/channels"
	"parley/channels/internal/exchange"
	"parley/channels/internal/markup"
	"parley/channels/internal/receive"
	"parley/channels/internal/route"
)

// Network is the name of the network in addresses.
const Network = "telegram"

// Options sets how to reach one account. Name and Token are required.
type Options struct {
	channels.Common // MaxPause defaults to 30 s

	Token  channels.Secret // as BotFather gave it
	APIURL string          // default https://api.telegram.org; another for a local Bot API server

	// Webhook, unless it is zero, has Telegram bring updates to Hook instead of
	// polling.
	Webhook Webhook

	// Groups says that the bot is to answer in groups; Commands are suggested to people,
	// there and in direct messages.
	Groups   bool
	Commands []Command

	// Proxy says over which proxy Telegram is reached; nil: directly.
	Proxy channels.Proxy
	// HTTPClient gives another transport, without Proxy. Its time-out, cookies and rule
	// for redirects are not used.
	HTTPClient *http.Client

	PollTimeout   time.Duration // how long Telegram may hold a poll that has nothing; default 50 s
	PollMargin    time.Duration // how much later a poll without an answer is given up; default 20 s
	SendTimeout   time.Duration // for every other call, and how long a file may stand still; default 30 s
	ConflictPause time.Duration // pause while another program polls this account; default 30 s
	WebhookCheck  time.Duration // how often Telegram is asked how it fares with the webhook; default 1 min
	MaxAnswer     int64         // longest answer in bytes; default 16 MiB
	MessageUnits  int           // longest message in UTF-16 units; default 4000, at most 4096

	// Pace is how many times the limits that Telegram publishes the bot may send and
	// edit. Default 1; more is for a bot to which Telegram allows more.
	// Negative: only the waits that Telegram asks for hold.
	Pace float64

	// Reactions are put on the messages of people. Default: none.
	Reactions channels.Reactions
}

// Channel is one account. Its methods may be called concurrently, but Receive
// only once at a time.
type Channel struct {
	*receive.Account

	o        Options
	http     *exchange.Poster
	bot      *bot.Bot
	hook     *hook // nil: it polls
	limiter  *rateLimiter
	drafts   drafts
	refusals refusals
}

var (
	_ channels.Channel         = (*Channel)(nil)
	_ channels.Editor          = (*Channel)(nil)
	_ channels.Streamer        = (*Channel)(nil)
	_ channels.Pacer           = (*Channel)(nil)
	_ channels.Typer           = (*Channel)(nil)
	_ channels.Reactor         = (*Channel)(nil)
	_ channels.WebhookReceiver = (*Channel)(nil)
	_ channels.Fetcher         = (*Channel)(nil)
	_ channels.FileSender      = (*Channel)(nil)
)

const publicAPI = "https://api.telegram.org"

// placeholder stands in addresses where the transport puts the token.
const placeholder = "_"

// New checks the options and starts nothing; it does not reach for the
// network, so a wrong token shows in Receive.
func New(o Options) (*Channel, error) {
	if o.Name == "" {
		return nil, errors.New("telegram: name is required")
	}
	if err := errors.Join(CheckToken(o.Token), CheckAPIURL(o.APIURL), o.Webhook.Validate(o.APIURL), CheckReactions(o.Reactions)); err != nil {
		return nil, fmt.Errorf("telegram %s: %w", o.Name, err)
	}
	o.APIURL = strings.TrimRight(cmp.Or(o.APIURL, publicAPI), "/")
	o.Webhook.MaxConnections = cmp.Or(o.Webhook.MaxConnections, 1)
	o.WebhookCheck = cmp.Or(o.WebhookCheck, time.Minute)
	o.PollTimeout = cmp.Or(o.PollTimeout, 50*time.Second)
	o.PollMargin = cmp.Or(o.PollMargin, 20*time.Second)
	o.SendTimeout = cmp.Or(o.SendTimeout, 30*time.Second)
	o.Common = o.Defaults(30 * time.Second)
	o.ConflictPause = cmp.Or(o.ConflictPause, 30*time.Second)
	o.MaxAnswer = cmp.Or(o.MaxAnswer, 16<<20)
	o.Pace = cmp.Or(o.Pace, 1)
	account := receive.NewAccount(Network, o.Common, sameEnd)
	c := &Channel{
		Account: account, o: o, http: newAPIClient(o.Token, route.New(o.Proxy).Over(o.HTTPClient), o.MaxAnswer), hook: newHook(o),
		limiter: newRateLimiter(&account.Waits, o.Now, o.Pace),
	}
	var err error
	c.bot, err = bot.New(placeholder,
		bot.WithSkipGetMe(),
		bot.WithServerURL(o.APIURL),
		bot.WithHTTPClient(o.SendTimeout, c.http),
		bot.WithErrorsHandler(func(err error) { o.Log.Debug("telegram library", "error", err) }),
		bot.WithDebugHandler(func(string, ...any) {}),
	)
	if err != nil {
		return nil, fmt.Errorf("telegram %s: %w", o.Name, err)
	}
	return c, nil
}

// Hook is where Telegram brings updates, and the handler for it, which may be
// served before, while and after Receive runs. The path is the account's own
// and cannot be guessed; it is the same in every process that has the token.
// Without a webhook the path is empty.
func (c *Channel) Hook() (path string, h http.Handler) {
	if c.hook == nil {
		return "", nil
	}
	return c.hook.path, c.hook
}

// Close lets go of connections that are kept for later. The channel can still
// be used.
func (c *Channel) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

// Render gives messages with entities: Markup is a JSON array of MessageEntity.
func (c *Channel) Render(markdown string) []channels.Body {
	messages := markup.Telegram(markdown, markup.TelegramOptions{Units: min(cmp.Or(c.o.MessageUnits, 4000), 4096-repeatUnits)})
	return markup.Bodies(messages, func(m markup.Message) (string, any, bool) { return m.Text, m.Entities, len(m.Entities) > 0 })
}

// TypingDuration returns how long Telegram shows a chat action.
func (*Channel) TypingDuration() time.Duration { return 5 * time.Second }
