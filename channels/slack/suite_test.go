package slack_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/channels"
	"parley/channels/channeltest"
	"parley/channels/slack"
	"parley/runtest"
	sim "parley/simulators/slack"
)

func TestMain(m *testing.M) {
	// slack-go's own server hands messages on in a goroutine that never ends.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/slack-go/slack/slacktest.handlePendingMessages"))
}

const (
	botToken = "xoxb-1-bot-canary"
	appToken = "xapp-1-app-canary"
	signing  = "0123456789abcdefcanary0123456789"
	botUser  = "U0PARLEY"
	botID    = "B0PARLEY"
	patience = time.Minute // only a failing test waits for so long
)

var (
	ann     = sim.Person{ID: "U0ANN", Name: "ann"}
	bob     = sim.Person{ID: "U0BOB", Name: "bob"}
	general = sim.Channel{ID: "C0GENERAL", Kind: sim.Public, Name: "general"}
	secretC = sim.Channel{ID: "C0SECRET", Kind: sim.Private, Name: "secret"}
	three   = sim.Channel{ID: "G0THREE", Kind: sim.Group, Name: "mpdm-ann--bob-1"}
)

func TestSlackIsAChannel(t *testing.T) {
	can := channeltest.Features{Edits: true, Typing: true, Reacts: true, LostAnswer: true, Finds: true, Streams: true, Files: true, Forwards: true, Buttons: true, Private: true, Proxied: true}
	t.Run("by socket mode", func(t *testing.T) {
		channeltest.Run(t, can, func(t testing.TB) channeltest.Harness { return newRig(t) })
	})
	can.Unordered = true // Slack's requests come side by side
	t.Run("by the events API", func(t *testing.T) {
		channeltest.Run(t, can, func(t testing.TB) channeltest.Harness { return newHookRig(t) })
	})
}

// fixture is a simulated workspace with our app in it.
type fixture struct {
	*sim.Server
	*channeltest.Clock
	hooked bool // events come by HTTP
	open1  func(t testing.TB, change ...func(*slack.Options)) *slack.Channel
}

var (
	_ channeltest.FileHarness     = (*fixture)(nil)
	_ channeltest.ReactionHarness = (*fixture)(nil)
	_ channeltest.ForwardHarness  = (*fixture)(nil)
	_ channeltest.PrivateHarness  = (*fixture)(nil)
)

func newRig(t testing.TB, change ...func(*sim.Options)) *fixture {
	t.Helper()
	// No acknowledgement is late by itself: Lapse says when.
	clock := &channeltest.Clock{}
	o := sim.Options{
		Now: clock.Now, Seed: 1, AckTimeout: -1, Retries: slices.Repeat([]time.Duration{10 * time.Millisecond}, 10000), WarningGrace: patience,
		Apps: []sim.App{
			{Name: "parley", ID: "A0PARLEY", BotID: botID, UserID: botUser, BotToken: botToken, AppToken: appToken, SigningSecret: signing},
			{Name: "other", BotToken: "xoxb-2"},
		},
	}
	app := asked()
	app.Reacts = true
	installed(t, &o.Apps[0], app) // the app that parley's own manifest makes
	for _, c := range change {
		c(&o)
	}
	s, err := sim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	runtest.Serve(t, s)
	r := &fixture{Server: s, Clock: clock}
	runtest.Start(t, "lapse", func(ctx context.Context) error {
		r.lapse(ctx)
		return nil
	})
	r.open1 = r.make
	return r
}

// lapse lets what was sent on a connection come again when that has ended.
func (r *fixture) lapse(ctx context.Context) {
	for seen := 0; ; {
		_, err := r.Await(ctx, func(b sim.Book) bool {
			n := 0
			for _, c := range b.Connections {
				if !c.Closed.IsZero() {
					n++
				}
			}
			more := n > seen
			seen = max(seen, n)
			return more
		})
		if err != nil {
			return
		}
		r.Lapse()
	}
}

// Open is a new process: what the one before did not acknowledge comes again.
func (r *fixture) Open(t testing.TB) channels.Channel {
	r.Lapse()
	return r.open1(t)
}

// Callers are those of methods, of addresses for files and of WebSockets.
func (r *fixture) Callers() (all []string) {
	b := r.Books()
	for _, c := range b.Calls {
		all = append(all, c.Remote)
	}
	for _, c := range b.Connections {
		all = append(all, c.Remote)
	}
	return all
}

// OpenViaProxy opens a channel to a Slack that could also be reached directly, since Slack
// itself names the addresses of WebSockets and of files.
func (r *fixture) OpenViaProxy(t testing.TB, _ *channeltest.Proxy, over channels.Proxy) channels.Channel {
	r.Lapse()
	return r.open1(t, func(o *slack.Options) { o.Proxy = over })
}

func (r *fixture) open(t testing.TB, change ...func(*slack.Options)) *slack.Channel {
	t.Helper()
	return r.open1(t, change...)
}

func (r *fixture) make(t testing.TB, change ...func(*slack.Options)) *slack.Channel {
	t.Helper()
	o := slack.Options{
		Common:   channels.Common{Name: "sl", MinPause: time.Millisecond, MaxPause: 5 * time.Millisecond, Now: r.Now},
		BotToken: channels.NewSecret(botToken), AppToken: channels.NewSecret(appToken), SigningSecret: channels.NewSecret(signing), APIURL: r.APIURL(), DrainTimeout: 20 * time.Millisecond, AnswerWithin: patience, ShareWithin: patience,
		Commands: []string{"new", "stop", "status", "help"}, Reactions: channels.Reactions{Working: "eyes", Done: "white_check_mark"},
	}
	for _, c := range change {
		c(&o)
	}
	ch, err := slack.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ch.Close() })
	return ch
}

// hookRig is a rig to whose app events come by HTTP: a listener that stays,
// behind which one channel follows another, as processes do.
type hookRig struct {
	*fixture
	now atomic.Pointer[slack.Channel]
}

func newHookRig(t testing.TB) *hookRig {
	t.Helper()
	h := &hookRig{}
	front := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ch := h.now.Load()
		if ch == nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		path, handler := ch.Hook()
		if r.URL.Path != path {
			t.Errorf("a request came for %s", r.URL.Path)
		}
		handler.ServeHTTP(w, r)
	}))
	front.Config.SetKeepAlivesEnabled(false) // one case counts goroutines
	front.Start()
	t.Cleanup(front.Close)
	h.fixture = newRig(t, func(o *sim.Options) {
		o.Apps[0].RequestURL = front.URL + "/slack/sl"
		o.Retries = slices.Repeat([]time.Duration{10 * time.Millisecond}, 10000)
	})
	h.hooked = true
	h.open1 = func(t testing.TB, change ...func(*slack.Options)) *slack.Channel {
		ch := h.make(t, append([]func(*slack.Options){func(o *slack.Options) { o.Mode = slack.Events }}, change...)...)
		h.now.Store(ch)
		return ch
	}
	return h
}

func (r *fixture) Say(t testing.TB, name, text string) {
	t.Helper()
	r.connected(t) // what is said before comes by retries, each by itself
	p := ann
	p.RealName, p.Name = name, name
	r.say(t, r.dm(t, p), p, text, sim.SayOptions{})
}

// connected waits for a connection, where there are any.
func (r *fixture) connected(t testing.TB) {
	t.Helper()
	if !r.hooked {
		r.until(t, func(b sim.Book) bool { return b.Connected["parley"] > 0 })
	}
}

func (r *fixture) dm(t testing.TB, p sim.Person) sim.Channel {
	t.Helper()
	c, err := r.DMWith(p, "parley")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (r *fixture) say(t testing.TB, c sim.Channel, p sim.Person, text string, o sim.SayOptions) sim.ActionResult {
	t.Helper()
	said, err := r.Server.Say(c, p, text, o)
	if err != nil {
		t.Fatal(err)
	}
	return said
}

func (r *fixture) SayUnreadable(t testing.TB) {
	t.Helper()
	r.inject(t, `{"type":"message","user":"U0ANN","channel":["no","id"],"ts":17,"text":{}}`)
}

func (r *fixture) inject(t testing.TB, event string) sim.ActionResult {
	t.Helper()
	said, err := r.Inject("parley", json.RawMessage(event))
	if err != nil {
		t.Fatal(err)
	}
	return said
}

func (r *fixture) Acknowledged() int { return r.Totals().Acknowledged }

func (r *fixture) AwaitAcknowledged(ctx context.Context, n int) error {
	_, err := r.Await(ctx, func(b sim.Book) bool { return b.Totals.Acknowledged >= n })
	return err
}

func (r *fixture) LimitNext(t testing.TB, d time.Duration) {
	t.Helper()
	r.plan(t, sim.Fault{Trouble: sim.TooManyRequests, Method: "chat.postMessage", Next: 1, RetryAfter: int(d.Seconds())})
}

func (r *fixture) LimitNextEdit(t testing.TB, d time.Duration) {
	t.Helper()
	r.plan(t, sim.Fault{Trouble: sim.TooManyRequests, Method: "chat.update", Next: 1, RetryAfter: int(d.Seconds())})
}

func (r *fixture) Buttons(t testing.TB, messageID string) (says []string) {
	t.Helper()
	for _, b := range r.buttons(t, messageID) {
		says = append(says, b.Value)
	}
	return says
}

func (r *fixture) SayInGroup(t testing.TB, name, text string) { r.Say(t, name, text) }

func (r *fixture) SeenBy(t testing.TB, messageID string) string {
	t.Helper()
	for _, m := range r.Books().Messages {
		if m.TS == messageID {
			return m.Ephemeral
		}
	}
	t.Fatalf("there is no message %s", messageID)
	return ""
}

func (r *fixture) AwaitNoButtons(ctx context.Context, messageID string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := r.Await(ctx, func(b sim.Book) bool {
		for _, m := range b.Messages {
			if m.TS == messageID {
				return len(m.Versions[len(m.Versions)-1].Blocks) == 0
			}
		}
		return false
	})
	return err
}

// button is one of a message of the bot.
type button struct {
	ActionID string `json:"action_id"`
	Value    string `json:"value"`
	channel  string
}

func (r *fixture) buttons(t testing.TB, ts string) (all []button) {
	t.Helper()
	for _, m := range r.Books().Messages {
		raw := m.Versions[len(m.Versions)-1].Blocks
		if m.TS != ts || len(raw) == 0 {
			continue
		}
		var blocks []struct {
			Elements []button `json:"elements"`
		}
		if err := json.Unmarshal(raw, &blocks); err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks {
			for _, e := range b.Elements {
				e.channel = m.Channel
				all = append(all, e)
			}
		}
	}
	return all
}

func (r *fixture) PressButton(t testing.TB, messageID, says string) {
	t.Helper()
	for _, b := range r.buttons(t, messageID) {
		if b.Value == says {
			if _, err := r.Press(ann, b.channel, messageID, b.ActionID, b.Value); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("no button of %s says %q", messageID, says)
}

func (r *fixture) Attempts() (n int) {
	for _, c := range r.Books().Calls {
		if slices.Contains([]string{"chat.postMessage", "chat.update"}, c.Method) {
			n++
		}
	}
	return n
}

func (r *fixture) SayPicture(t testing.TB, name, text string, data []byte) {
	t.Helper()
	r.connected(t)
	p := ann
	p.RealName, p.Name = name, name
	r.say(t, r.dm(t, p), p, text, sim.SayOptions{Files: []sim.File{{Name: "dot.png", Mimetype: "image/png", Data: data}}})
}

// Forward is how Slack shares a post into another conversation.
func (r *fixture) Forward(t testing.TB, _, author, text string) {
	t.Helper()
	shared, err := json.Marshal([]map[string]any{{"is_share": true, "text": text, "author_id": "U0MAL", "author_name": author, "fallback": text}})
	if err != nil {
		t.Fatal(err)
	}
	r.inject(t, `{"type":"message","channel":"`+r.dm(t, ann).ID+`","channel_type":"im","user":"`+ann.ID+`","ts":"1700000000.000900","text":"","attachments":`+string(shared)+`}`)
}

func (r *fixture) LoseNextAnswer(t testing.TB) {
	t.Helper()
	r.plan(t, sim.Fault{Trouble: sim.Ambiguous, Method: "chat.postMessage", Next: 1})
}

func (r *fixture) LimitNextFile(t testing.TB, d time.Duration) {
	t.Helper()
	r.plan(t, sim.Fault{Trouble: sim.TooManyRequests, Method: "files.completeUploadExternal", Next: 1, RetryAfter: int(d.Seconds())})
}

func (r *fixture) LoseNextFile(t testing.TB) {
	t.Helper()
	r.plan(t, sim.Fault{Trouble: sim.Ambiguous, Method: "files.completeUploadExternal", Next: 1})
}

func (r *fixture) SentFiles() []channeltest.SentFile {
	b := r.Books()
	at := map[string]int{}
	for i, m := range b.Messages {
		at[m.TS] = i
	}
	var out []channeltest.SentFile
	for _, f := range b.Files {
		out = append(out, channeltest.SentFile{Name: f.Name, Data: f.Data, At: at[f.TS]})
	}
	return out
}

func (r *fixture) plan(t testing.TB, f ...sim.Fault) {
	t.Helper()
	if err := r.Plan(f...); err != nil {
		t.Fatal(err)
	}
}

func (r *fixture) Sent() []string {
	var out []string
	for _, m := range r.Books().Messages {
		out = append(out, m.Versions[len(m.Versions)-1].Text)
	}
	return out
}

func (r *fixture) until(t testing.TB, done func(b sim.Book) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	b, err := r.Await(ctx, done)
	if err != nil {
		t.Fatalf("%v; totals %+v", err, b.Totals)
	}
}

// running is a Receive in the background.
type running struct {
	*slack.Channel
	t      testing.TB
	events chan channels.Message
	seen   map[string]bool // events, by said
	ended  chan error
	stop   func()
}

// run starts a channel, which takes every event.
func (r *fixture) run(t testing.TB, change ...func(*slack.Options)) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	x := &running{Channel: r.open(t, change...), t: t, seen: map[string]bool{}, events: make(chan channels.Message, 1024), ended: make(chan error, 1)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		x.ended <- x.Receive(ctx, func(_ context.Context, m channels.Message) error {
			x.events <- m
			return nil
		})
	}()
	x.stop = sync.OnceFunc(func() {
		cancel()
		<-done
	})
	t.Cleanup(x.stop)
	return x
}

func (x *running) next() channels.Message {
	x.t.Helper()
	select {
	case m := <-x.events:
		return m
	case <-time.After(patience):
		x.t.Fatal("no event came")
		panic("unreachable")
	}
}

// said is the next event that somebody said, and that was not seen yet: what is
// not acknowledged when a connection ends comes again.
func (x *running) said() channels.Message {
	x.t.Helper()
	for {
		if m := x.next(); m.Kind == channels.Said && !x.seen[m.Event] {
			x.seen[m.Event] = true
			return m
		}
	}
}
