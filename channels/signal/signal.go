// Package signal is one bot account on Signal, by way of signal-cli.
//
// signal-cli tells Signal's service "received" before it tells anybody else,
// and forgets a message whether or not somebody heard of it. So what is
// promised depends on who runs it:
//
//	supervised   parley starts the daemon and gives it a file for its output, the
//	             journal. Lines of the journal are offered, and the stored
//	             position moves past a line only after accept returned nil. What
//	             is said while parley, or the daemon, or both do not run waits in
//	             the journal or at the service.
//	attached     somebody else runs the daemon, and parley listens to its HTTP
//	             events or its socket. What comes while nobody listens is lost:
//	             at most once. By HTTP, from signal-cli 0.14.6 on, it is lost only
//	             when that has ended meanwhile or has brought 1,000 others.
//
//	signal-cli ── stdout ──> journal ── line ──> translate ──> accept ── nil ──> position moves
//	     ▲                                                       └── error ──> pause, the same line again
//	     └── JSON-RPC over a Unix socket: send, typing, receipts
//
// People are known by their ACI, the UUID of their account, which is stable;
// numbers are aliases, which the network often does not show. A message is known
// by its author and its timestamp.
package signal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"parley/channels"
	"parley/channels/internal/markup"
)

// Network is the name of the network in addresses.
const Network = "signal"

// Options sets how to reach one account. Name and Account are required, and
// either Command with Dir, or URL.
type Options struct {
	channels.Common // MaxPause defaults to 1 min

	Account string // the bot's own number, +491511234567, or its ACI
	// ACI is the account's own UUID. Default: signal-cli is asked for it, which
	// asks the service.
	ACI string

	// Command starts signal-cli, as a program and its first arguments; parley
	// adds what makes it a daemon. Dir is a folder of this account alone, for
	// the journal, the position in it and the socket; it is made. With URL it may be
	// left out: it keeps which event was taken last.
	Command []string
	Dir     string
	// Keeper is a program that runs Keep, with its first arguments; it runs Command, and
	// ends it after a kill of this process. None: a signal-cli whose parley was killed
	// stays, without receiving, until the next parley ends it.
	Keeper []string
	// Trust says what becomes of keys that signal-cli has not seen:
	// on-first-use, always or never. Default on-first-use. Supervised only.
	Trust string

	// URL attaches to a daemon that somebody else runs: http(s)://host:port,
	// unix:///path or tcp://host:port.
	URL string
	// Proxy says over which proxy the daemon at an http, https or tcp URL is reached;
	// nil: directly. No other daemon is reached over one.
	Proxy channels.Proxy

	// Numbers are those by which people are allowed to talk to the bot. Their
	// ACIs are asked for, since events often name nobody's number.
	Numbers []string
	// Groups are those that the bot serves: an invitation to one of them is accepted.
	Groups []string
	// NoteToSelf reads what the account's person writes to themselves, and nothing else:
	// for a further device of somebody's own account.
	NoteToSelf bool
	// ReadReceipts tells people in direct messages that what they wrote was
	// read, once accept took it.
	ReadReceipts bool

	// Reactions are emoji that are put on the messages of people. Each is a message to
	// everybody in the chat. Default: none.
	Reactions channels.Reactions

	SendTimeout time.Duration // for every call, and how long a file may stand still; default 90 s: large groups are slow
	StartWithin time.Duration // how long the daemon may take to answer at first; default 90 s
	StopWithin  time.Duration // how long it may take to end; default 10 s
	// Outlive is how long a signal-cli whose parley was killed may take to write down
	// what it has confirmed to Signal, before another parley ends it; default 5 s.
	Outlive time.Duration
	Health  time.Duration // how often the daemon is asked whether it lives; default 30 s
	Silence time.Duration // attached: longest silence of the events, which say something each 15 s; default 45 s
	Look    time.Duration // how often the journal is looked at; default 50 ms
	Room    time.Duration // how often the journal's disk is asked for room, and a folder that another process has, for it; default 1 s
	// LookUpWithin is how long what somebody says waits while the ACIs of Numbers
	// cannot be asked for; default 30 s.
	LookUpWithin time.Duration
	// Challenge is how long nothing is sent after the service asked for a
	// captcha, which only an operator can solve; default 5 min.
	Challenge time.Duration

	// Flood is how long nothing is sent to a chat after Signal said that it is too much,
	// which it does mostly without saying for how long; doubled by each further time in
	// a row, up to five times. Default 1 min.
	Flood time.Duration

	MaxLine   int   // longest event in bytes; a longer one is handed on cut; default 4 MiB
	MaxAnswer int64 // longest answer to a call in bytes; default 4 MiB
	MaxFile   int64 // largest file that signal-cli is asked for; default 128 MiB, which is more than Signal takes
	Reclaim   int64 // bytes of consumed journal that are given back to the disk at once; default 1 MiB

	IsRelevant channels.Filter // default channels.PassAll
	// IsUsed reports whether anything is done with a message, beyond who may talk where:
	// files of others are deleted. It is asked before accept. Default Heeds.
	IsUsed func(ctx context.Context, m channels.Message) bool
}

// Channel is one account. Its methods may be called concurrently, but Receive
// only once at a time.
type Channel struct {
	*client
	sender
	operator

	people     *people
	fileClaims fileClaims
	users      atomic.Int32 // of the connection
}

var (
	_ channels.Channel    = (*Channel)(nil)
	_ channels.Typer      = (*Channel)(nil)
	_ channels.Reactor    = (*Channel)(nil)
	_ channels.Runner     = (*Channel)(nil)
	_ channels.Noted      = (*Channel)(nil)
	_ channels.Fetcher    = (*Channel)(nil)
	_ channels.FileSender = (*Channel)(nil)
)

var (
	errCommandOrURL = errors.New("give command, to have parley run signal-cli, or url, to use one that runs, not both")
	errTwoACIs      = errors.New("account names another ACI than aci")
	errNoDir        = errors.New("a folder for the journal is required")
	errSocket       = errors.New("the path of the daemon's socket is too long for the system: choose a shorter state_dir or instance name")
)

// New checks the options and starts nothing.
func New(o Options) (*Channel, error) {
	if o.Name == "" {
		return nil, errors.New("signal: name is required")
	}
	fail := func(err error) (*Channel, error) { return nil, fmt.Errorf("signal %s: %w", o.Name, err) }
	if err := errors.Join(CheckAccount(o.Account), CheckACI(o.ACI), CheckTrust(o.Trust), CheckURL(o.URL), CheckReactions(o.Reactions)); err != nil {
		return fail(err)
	}
	o.ACI = strings.ToLower(o.ACI)
	if aciForm.MatchString(o.Account) {
		o.Account = strings.ToLower(o.Account)
		if o.ACI != "" && o.ACI != o.Account {
			return fail(errTwoACIs)
		}
	}
	o.Trust = cmp.Or(o.Trust, "on-first-use")
	o.SendTimeout = cmp.Or(o.SendTimeout, 90*time.Second)
	o.StartWithin = cmp.Or(o.StartWithin, 90*time.Second)
	o.StopWithin = cmp.Or(o.StopWithin, 10*time.Second)
	o.Outlive = cmp.Or(o.Outlive, 5*time.Second)
	o.Health = cmp.Or(o.Health, 30*time.Second)
	o.Silence = cmp.Or(o.Silence, 45*time.Second)
	o.Look = cmp.Or(o.Look, 50*time.Millisecond)
	o.Room = cmp.Or(o.Room, time.Second)
	o.LookUpWithin = cmp.Or(o.LookUpWithin, 30*time.Second)
	o.Common = o.Defaults(time.Minute)
	o.Challenge = cmp.Or(o.Challenge, 5*time.Minute)
	o.Flood = cmp.Or(o.Flood, time.Minute)
	o.MaxLine = cmp.Or(o.MaxLine, 4<<20)
	o.MaxAnswer = cmp.Or(o.MaxAnswer, 4<<20)
	o.MaxFile = cmp.Or(o.MaxFile, 128<<20)
	o.Reclaim = cmp.Or(o.Reclaim, 1<<20)
	if o.IsRelevant == nil {
		o.IsRelevant = channels.PassAll
	}
	if o.IsUsed == nil {
		o.IsUsed = o.IsRelevant
	}
	cl := newClient(o)
	c := &Channel{client: cl, sender: sender{client: cl}, operator: operator{client: cl}, people: newPeople()}
	switch {
	case (len(o.Command) > 0) == (o.URL != ""):
		return fail(errCommandOrURL)
	case o.URL != "":
		c.rpc = newCaller(o)
		return c, nil
	case o.Dir == "":
		return fail(errNoDir)
	}
	if err := CheckDir(o.Dir); err != nil {
		return fail(err)
	}
	c.daemon = newDaemon(o, c.identity)
	c.rpc = newSocketCaller(o, &url.URL{Scheme: "unix", Path: c.daemon.socketPath()})
	c.daemon.queryVersion = c.queryVersion
	return c, nil
}

// Note says what an operator should know of an attached account: that what is
// said while nobody listens is lost. A supervised one has none.
func (c *Channel) Note() string {
	if c.daemon != nil {
		return ""
	}
	if _, http := c.rpc.(*httpCaller); http {
		return "at most once: what is said while parley does not listen is lost when this signal-cli is older than 0.14.6, ends meanwhile, or brings more than 1,000 events"
	}
	return "at most once: what is said while parley does not listen to this signal-cli is lost"
}

// Close lets go of connections that are kept for later. The channel can still
// be used.
func (c *Channel) Close() error {
	c.rpc.close()
	return nil
}

// Render gives messages with styles: Markup is a JSON array of ranges.
func (*Channel) Render(markdown string) []channels.Body {
	messages := markup.Signal(markdown, markup.SignalOptions{Bytes: maxBody - len(repeatMark)})
	return markup.Bodies(messages, func(m markup.SignalMessage) (string, any, bool) { return m.Text, m.Styles, len(m.Styles) > 0 })
}

// TypingDuration is how long Signal shows that somebody writes.
func (*sender) TypingDuration() time.Duration { return typingShown }
