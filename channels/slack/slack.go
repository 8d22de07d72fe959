// Package slack is one Slack app's bot in one workspace, or in one Enterprise
// Grid organisation.
//
// Events come over a WebSocket that parley opens (Socket Mode), or as HTTP
// requests that Slack signs (Events API). Either way the loop is parley's own and
// reads envelopes as they came: what slack-go cannot parse it hands on without
// the id by which it is acknowledged. slack-go makes the calls of the Web API.
//
//	socket  ── envelope ──┐
//	                      ├─> queue of its channel ──> translate ──> accept ── nil ──> ack, or 200
//	request ── signature ─┘                                           └── error ──> pause, the same event again
//
// Within a channel events are offered in the order in which they came, and none
// before an earlier one was taken. One that is not taken in time is not
// acknowledged: Slack brings it again, under the same id. Events that are still
// held when a process ends come again, too, up to three times within about six
// minutes; that is all that Slack does.
//
// A post is known by its channel and ts, whatever brought it: a mention comes
// twice, as app_mention and as message, and is one event.
//
// The tokens are known to the HTTP transport alone.
package slack

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"parley/channels"
	"parley/channels/internal/markup"
)

// Network is the name of the network in addresses.
const Network = "slack"

// Mode is how events come.
type Mode string

// The two ways.
const (
	Socket Mode = "socket" // parley opens a WebSocket; needs the app's token
	Events Mode = "events" // Slack sends HTTP requests; needs the signing secret
)

// Options sets how to reach one app. Name and BotToken are required, and of the
// others what Mode needs.
type Options struct {
	channels.Common // MaxPause defaults to 30 s

	Mode          Mode            // default Socket
	BotToken      channels.Secret // xoxb-…
	AppToken      channels.Secret // xapp-…, of Socket
	SigningSecret channels.Secret // of Events
	APIURL        string          // default https://slack.com/api
	View          View            // default AgentView

	// Commands are the words after a slash command that are commands of the bot:
	// "/parley stop" is "/stop". Other words are said to it.
	Commands []string
	// Prompts are suggested to who opens the app; at most four.
	Prompts []string
	// MentionsOnly: in a channel only what mentions the bot speaks to it. Otherwise a
	// reply in a thread in which it has posted does, too.
	MentionsOnly bool
	// Around is how many messages of a thread, that were not said to the bot, come with
	// a mention in it. Default none.
	Around int
	// NoStream shows growing answers by edits also where Slack can stream them.
	NoStream bool

	// Reactions are put on the messages of people, by the names of their emoji; they need
	// the scope reactions:write. Default: none.
	Reactions channels.Reactions

	// Proxy says over which proxy Slack is reached, the WebSocket too; nil: directly.
	Proxy channels.Proxy
	// HTTPClient gives another transport for requests, without Proxy. Its time-out,
	// cookies and rule for redirects are not used.
	HTTPClient *http.Client

	SendTimeout  time.Duration // for every call, and how long a file may stand still on its way; default 30 s
	ShareWithin  time.Duration // how long a file that Slack took is awaited in its conversation; default 10 s
	HelloTimeout time.Duration // to open a WebSocket; default 20 s
	IdleTimeout  time.Duration // a WebSocket on which nothing comes, no ping either, is given up; default 45 s
	DrainTimeout time.Duration // how long a replaced WebSocket may still bring events; default 2 s
	AnswerWithin time.Duration // how long a request waits to be stored; default 2.5 s, since Slack waits for 3
	CheckEvery   time.Duration // of Events: how often the token is tried; default 5 min
	MaxAnswer    int64         // longest answer in bytes; default 16 MiB

	IsRelevant channels.Filter // default channels.PassAll
}

// Channel is one app. Its methods may be called concurrently, but Receive only
// once at a time.
type Channel struct {
	*webAPI
	typing
	reactor

	hook         *hook // nil: Socket
	people       people
	threads      threads
	streams      streams
	partialPosts partialPosts
	ambiguous    ambiguousSends
	me           atomic.Pointer[self] // as auth.test said last; nil before
}

var (
	_ channels.Channel         = (*Channel)(nil)
	_ channels.Editor          = (*Channel)(nil)
	_ channels.Streamer        = (*Channel)(nil)
	_ channels.StatusShower    = (*Channel)(nil)
	_ channels.Typer           = (*Channel)(nil)
	_ channels.TypingStopper   = (*Channel)(nil)
	_ channels.Reactor         = (*Channel)(nil)
	_ channels.WebhookReceiver = (*Channel)(nil)
	_ channels.Finder          = (*Channel)(nil)
	_ channels.Fetcher         = (*Channel)(nil)
	_ channels.FileSender      = (*Channel)(nil)
)

const publicAPI = "https://slack.com/api"

// New checks the options and starts nothing; it does not reach for the network,
// so a wrong token shows in Receive.
func New(o Options) (*Channel, error) {
	if o.Name == "" {
		return nil, errors.New("slack: name is required")
	}
	o.Mode = cmp.Or(o.Mode, Socket)
	if err := errors.Join(CheckMode(o.Mode, o.AppToken, o.SigningSecret), CheckBotToken(o.BotToken), CheckAPIURL(o.APIURL), CheckView(o.View), CheckReactions(o.Reactions)); err != nil {
		return nil, fmt.Errorf("slack %s: %w", o.Name, err)
	}
	o.View = cmp.Or(o.View, AgentView)
	o.APIURL = strings.TrimRight(cmp.Or(o.APIURL, publicAPI), "/") + "/"
	o.SendTimeout = cmp.Or(o.SendTimeout, 30*time.Second)
	o.ShareWithin = cmp.Or(o.ShareWithin, 10*time.Second)
	o.HelloTimeout = cmp.Or(o.HelloTimeout, 20*time.Second)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, 45*time.Second)
	o.DrainTimeout = cmp.Or(o.DrainTimeout, 2*time.Second)
	o.AnswerWithin = cmp.Or(o.AnswerWithin, 2500*time.Millisecond)
	o.CheckEvery = cmp.Or(o.CheckEvery, 5*time.Minute)
	o.Common = o.Defaults(30 * time.Second)
	o.MaxAnswer = cmp.Or(o.MaxAnswer, 16<<20)
	if o.IsRelevant == nil {
		o.IsRelevant = channels.PassAll
	}
	api := newWebAPI(o)
	c := &Channel{webAPI: api, typing: typing{webAPI: api}, reactor: reactor{webAPI: api}}
	c.sessions.begin(o.View == AgentView, o.Now())
	if o.Mode == Events {
		c.hook = newHook(o)
	}
	return c, nil
}

// Hook is where Slack brings events, interactions and slash commands, and the
// handler for them, which may be served before, while and after Receive runs.
// With Socket the path is empty.
func (c *Channel) Hook() (path string, h http.Handler) {
	if c.hook == nil {
		return "", nil
	}
	return c.hook.path, c.hook
}

// Close lets go of connections that are kept for later. The channel can still be
// used.
func (c *Channel) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

// bodyMarkup is the Markup of a Body: the same text for a markdown block.
type bodyMarkup struct {
	Markdown string `json:"markdown"`
}

// Render gives messages with a markdown block each; their Text is the same as
// mrkdwn.
func (c *Channel) Render(markdown string) []channels.Body {
	return markup.Bodies(markup.Slack(markdown), func(m markup.SlackMessage) (string, any, bool) { return m.Text, bodyMarkup{m.Markdown}, true })
}
