// Package telegram is one bot account on Telegram.
//
// It polls for updates with a loop of its own, because an update is confirmed
// by the offset of the next poll and that must not move before the update is
// stored. Each update is decoded by itself: one that cannot be read is handed
// on raw and holds up nobody.
//
//	getUpdates ── each raw update ──> translate ──> accept ── nil ──> offset moves
//	                                                   └── error ──> pause, the same update again
//
// The token is known to the HTTP transport alone. Everything else, including
// every error, works with addresses that do not hold it.
package telegram

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-telegram/bot"

	"parley/channels"
	"parley/channels/internal/markup"
)

// Network is the name of the network in addresses.
const Network = "telegram"

// Options says how to reach one account. Name and Token are required.
type Options struct {
	Name   string          // the instance name
	Token  channels.Secret // as BotFather gave it
	APIURL string          // default https://api.telegram.org; another for a local Bot API server

	// HTTPClient gives the transport, e.g. one with a proxy. Its time-out,
	// cookies and rule for redirects are not used. The default dials directly
	// and takes no proxy from the environment.
	HTTPClient *http.Client

	PollTimeout   time.Duration // how long Telegram may hold a poll that has nothing; default 50 s
	PollMargin    time.Duration // how much later a poll without an answer is given up; default 20 s
	SendTimeout   time.Duration // for every other call; default 30 s
	MinPause      time.Duration // first pause after a failure, doubled by each further one; default 500 ms
	MaxPause      time.Duration // default 30 s
	ConflictPause time.Duration // pause while another program polls this account; default 30 s
	MaxAnswer     int64         // longest answer in bytes; default 16 MiB
	MessageUnits  int           // longest message in UTF-16 units; default 4000, at most 4096

	Observer channels.Observer // default channels.Nobody
	Log      *slog.Logger      // default: no log
	Now      func() time.Time  // default time.Now
	Jitter   func() float64    // in [0,1); default random
}

// Channel is one account. Its methods may be called concurrently, but Receive
// only once at a time.
type Channel struct {
	o         Options
	http      *poster
	bot       *bot.Bot
	receiving atomic.Bool
}

var (
	_ channels.Channel = (*Channel)(nil)
	_ channels.Editor  = (*Channel)(nil)
	_ channels.Typer   = (*Channel)(nil)
)

// placeholder stands in addresses where the transport puts the token.
const placeholder = "_"

// New checks the options and starts nothing; it does not reach for the
// network, so a wrong token shows in Receive.
func New(o Options) (*Channel, error) {
	if o.Name == "" {
		return nil, errors.New("telegram: name is required")
	}
	if !wellFormed(o.Token.Reveal()) {
		return nil, fmt.Errorf("telegram %s: the token is not of the form 123456:ABC-def", o.Name)
	}
	o.APIURL = strings.TrimRight(cmp.Or(o.APIURL, "https://api.telegram.org"), "/")
	u, err := url.Parse(o.APIURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("telegram %s: the address of the Bot API is not http(s)://host[:port][/path]", o.Name)
	}
	o.PollTimeout = cmp.Or(o.PollTimeout, 50*time.Second)
	o.PollMargin = cmp.Or(o.PollMargin, 20*time.Second)
	o.SendTimeout = cmp.Or(o.SendTimeout, 30*time.Second)
	o.MinPause = cmp.Or(o.MinPause, 500*time.Millisecond)
	o.MaxPause = max(o.MinPause, cmp.Or(o.MaxPause, 30*time.Second))
	o.ConflictPause = cmp.Or(o.ConflictPause, 30*time.Second)
	o.MaxAnswer = cmp.Or(o.MaxAnswer, 16<<20)
	if o.Observer == nil {
		o.Observer = channels.Nobody{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Log = o.Log.With("channel", o.Name)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Jitter == nil {
		o.Jitter = rand.Float64
	}
	var base http.RoundTripper
	if o.HTTPClient != nil {
		base = o.HTTPClient.Transport
	}
	c := &Channel{o: o, http: newPoster(o.Token, base, o.MaxAnswer)}
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

// wellFormed accepts what can stand in an address as it is: a token is digits,
// a colon, and letters, digits, - and _.
func wellFormed(token string) bool {
	id, key, ok := strings.Cut(token, ":")
	plain := func(s, more string) bool {
		return s != "" && strings.Trim(s, "0123456789"+more) == ""
	}
	return ok && plain(id, "") && plain(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_")
}

// Name is the configured instance name.
func (c *Channel) Name() string { return c.o.Name }

// Close lets go of connections that are kept for later. The channel can still
// be used.
func (c *Channel) Close() error {
	c.http.client.CloseIdleConnections()
	return nil
}

// String names the account without saying more about it.
func (c *Channel) String() string { return "telegram " + c.o.Name }

// Render gives messages with entities: Markup is a JSON array of MessageEntity.
func (c *Channel) Render(markdown string) []channels.Body {
	messages := markup.Telegram(markdown, markup.TelegramOptions{Units: min(cmp.Or(c.o.MessageUnits, 4000), 4096-repeatUnits)})
	if len(messages) == 0 {
		return nil
	}
	out := make([]channels.Body, len(messages))
	for i, m := range messages {
		out[i].Text = m.Text
		if len(m.Entities) > 0 {
			out[i].Markup, _ = json.Marshal(m.Entities) // strings and numbers: cannot fail
		}
	}
	return out
}

// TypingFor is how long Telegram shows a chat action.
func (*Channel) TypingFor() time.Duration { return 5 * time.Second }
