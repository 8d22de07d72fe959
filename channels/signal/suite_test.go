package signal_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/channels"
	"parley/channels/channeltest"
	"parley/channels/signal"
	"parley/cmd/cmdtest"
	"parley/runtest"
	sim "parley/simulators/signal"
)

func TestMain(m *testing.M) {
	if os.Getenv(sim.WorldVariable) != "" {
		os.Exit(sim.Main(os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
	}
	if len(os.Args) > 2 && os.Args[1] == "keep" {
		after, err := time.ParseDuration(os.Args[2])
		if err != nil {
			panic(err)
		}
		os.Exit(signal.RunKeeper(after, os.Args[3:], os.Stdin, os.Stdout, os.Stderr))
	}
	if len(os.Args) > 5 && os.Args[1] == aParley {
		beParley(os.Args[2:])
		os.Exit(1) // it is to be killed
	}
	goleak.VerifyTestMain(m)
}

// patience is what only a failing test waits for.
const patience = 60 * time.Second

const number = "+4915550000001"

var (
	ourACI = "b0700000-0000-4000-8000-000000000001"
	ann    = sim.Person{ACI: sim.MadeUpACI(1), Number: "+4915550001001", Name: "Ann"}
	bob    = sim.Person{ACI: sim.MadeUpACI(2), Number: "+4915550001002", Name: "Bob"}
	team   = sim.Chat{Group: sim.MadeUpGroup(1), Name: "Team"}
	news   = sim.Chat{Group: sim.MadeUpGroup(7), Name: "News"} // in which only admins write
)

func TestSignalIsAChannel(t *testing.T) {
	for name, test := range map[string]struct {
		features channeltest.Features
		open     func(t testing.TB) channeltest.Harness
	}{
		"supervised": {
			channeltest.Features{Typing: true, Reacts: true, LostAnswer: true, Files: true},
			func(t testing.TB) channeltest.Harness { return newRig(t) },
		},
		"attached by HTTP": {
			channeltest.Features{Typing: true, Reacts: true, LostAnswer: true, Files: true, AtMostOnce: true, Proxied: true},
			func(t testing.TB) channeltest.Harness { return newAttached(t, "http") },
		},
		"attached by TCP": {
			channeltest.Features{Typing: true, Reacts: true, LostAnswer: true, Files: true, AtMostOnce: true, Proxied: true},
			func(t testing.TB) channeltest.Harness { return newAttached(t, "tcp") },
		},
		"attached by a socket": {
			channeltest.Features{Typing: true, Reacts: true, LostAnswer: true, Files: true, AtMostOnce: true},
			func(t testing.TB) channeltest.Harness { return newAttached(t, "unix") },
		},
	} {
		t.Run(name, func(t *testing.T) { channeltest.Run(t, test.features, test.open) })
	}
}

// fixture is a simulated Signal with our account on it, whose signal-cli parley
// runs.
type fixture struct {
	*sim.Server
	*channeltest.Clock
	t       testing.TB
	program string
	dir     string // of the channel
	seen    *watched
	end     func() // of the channel that was opened last
}

var (
	_ channeltest.FileHarness     = (*fixture)(nil)
	_ channeltest.ReactionHarness = (*fixture)(nil)
)

func newRig(t testing.TB, change ...func(*sim.Options)) *fixture {
	t.Helper()
	clock := &channeltest.Clock{}
	o := sim.Options{
		Now: clock.Now, Seed: 1, NoReceipts: true, KeepAlive: 100 * time.Millisecond,
		Accounts: []sim.Account{{Number: number, ACI: ourACI, Name: "Parley"}, {Number: "+4915550000002", Name: "Other"}},
	}
	for _, c := range change {
		c(&o)
	}
	s, err := sim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	runtest.Serve(t, s)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("books: %+v, pending %v, receiving %v", s.Totals(), s.Books().Pending, s.Books().Receiving)
		}
	})
	program, err := sim.Install(t.TempDir(), s.URL(), companion(t))
	if err != nil {
		t.Fatal(err)
	}
	r := &fixture{Server: s, Clock: clock, t: t, program: program, dir: shortDir(t), seen: &watched{}}
	return r
}

// shortDir is a folder in which a socket can be bound: t.TempDir has the test's
// name in it.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sig")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (r *fixture) Open(t testing.TB) channels.Channel { return r.open(t) }

// options are those of a channel on the account.
func (r *fixture) options() signal.Options {
	return signal.Options{
		Common:  channels.Common{Name: "sig", MinPause: time.Millisecond, MaxPause: 5 * time.Millisecond, Now: r.Now, Observer: r.seen},
		Account: number, ACI: ourACI,
		Command: []string{r.program, "--config", filepath.Join(r.dir, "config")}, Dir: filepath.Join(r.dir, "state"), Look: time.Millisecond, SendTimeout: 30 * time.Second,
		Keeper: keeper(r.t, time.Hour), Outlive: time.Millisecond, Health: time.Hour, Room: time.Millisecond, LookUpWithin: patience,
		Reactions: channels.Reactions{Working: "👀", Done: "✅"},
	}
}

func (r *fixture) open(t testing.TB, change ...func(*signal.Options)) *signal.Channel {
	t.Helper()
	r.stop()
	before := r.lastProcess()
	ch := r.start(t, r.options(), change)
	r.runs(t, before)
	return ch
}

// lastProcess is the number of the signal-cli that was started last.
func (r *fixture) lastProcess() (n int) {
	for _, d := range r.Books().Daemons {
		n = max(n, d.Process)
	}
	return n
}

// runs waits until a signal-cli lives that was started after the one with the number before,
// and has been asked whether it does. The simulator hears a moment later than parley that
// one has ended.
func (r *fixture) runs(t testing.TB, before int) {
	t.Helper()
	r.await(t, "signal-cli runs", func(b sim.Book) bool {
		return slices.ContainsFunc(b.Daemons, func(d sim.DaemonEntry) bool {
			return d.Process > before && d.Ended.IsZero() && slices.ContainsFunc(b.Calls, func(c sim.CallEntry) bool {
				return c.Process == d.Process && c.Method == "version" && c.Code == 0 && c.Fault == ""
			})
		})
	})
}

// companion is the program that is signal-cli, and its Keeper.
func companion(t testing.TB) string {
	t.Helper()
	find := os.Executable
	if !cmdtest.Instrumented() {
		find = func() (string, error) { return cmdtest.Program(cmdtest.SignalCLI) }
	}
	program, err := find()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// keeper is the command of a Keeper that lets signal-cli outlive its parley for so long.
func keeper(t testing.TB, outlive time.Duration) []string {
	t.Helper()
	return []string{companion(t), "keep", outlive.String()}
}

// start opens a channel as a new process does: the one before has ended.
func (r *fixture) start(t testing.TB, o signal.Options, change []func(*signal.Options)) *signal.Channel {
	t.Helper()
	r.stop()
	o.Log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	for _, c := range change {
		c(&o)
	}
	ch, err := signal.New(o)
	if err != nil {
		t.Fatal(err)
	}
	// Who sends needs the daemon, as in a gateway.
	ctx, stop := context.WithCancel(context.Background())
	ran := make(chan struct{})
	go func() { defer close(ran); ch.Run(ctx) }()
	r.end = sync.OnceFunc(func() {
		stop()
		<-ran
		_ = ch.Close()
	})
	t.Cleanup(r.end)
	return ch
}

// stop ends the channel that was opened last.
func (r *fixture) stop() {
	if r.end != nil {
		r.end()
	}
}

func (r *fixture) Say(t testing.TB, name, text string) {
	t.Helper()
	p := ann
	p.Name = name
	r.say(t, sim.Chat{}, p, text, sim.SayOptions{})
}

func (r *fixture) say(t testing.TB, c sim.Chat, p sim.Person, text string, o sim.SayOptions) sim.ActionResult {
	t.Helper()
	said, err := r.Server.Say(c, p, text, o)
	if err != nil {
		t.Fatal(err)
	}
	return said
}

func (r *fixture) SayUnreadable(t testing.TB) {
	t.Helper()
	r.plan(t, sim.Fault{Trouble: sim.Broken, Chat: bob.ACI, Next: 1})
	r.say(t, sim.Chat{}, bob, "cannot be decrypted", sim.SayOptions{})
}

// Acknowledged is how many lines of the journal are taken.
func (r *fixture) Acknowledged() int {
	var at struct {
		Lines int `json:"lines"`
	}
	text, err := os.ReadFile(filepath.Join(r.dir, "state", "position.json"))
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	if err == nil {
		err = json.Unmarshal(text, &at)
	}
	if err != nil {
		r.t.Errorf("the stored position: %v", err)
	}
	return at.Lines
}

func (r *fixture) AwaitAcknowledged(ctx context.Context, n int) error {
	for r.Acknowledged() < n {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}

func (r *fixture) LimitNext(t testing.TB, d time.Duration) {
	t.Helper()
	r.plan(t, sim.Fault{Trouble: sim.RateLimited, Method: "send", Next: 1, RetryAfter: int(d.Seconds())})
}

// Advance: by then somebody has solved the captcha that Signal's limit asks for.
func (r *fixture) Advance(d time.Duration) {
	r.Clock.Advance(d)
	r.ClearFaults()
}

func (*fixture) LimitNextEdit(t testing.TB, _ time.Duration) { t.Fatal("there are no edits") }

func (r *fixture) Attempts() (n int) {
	for _, c := range r.Books().Calls {
		if c.Method == "send" {
			n++
		}
	}
	return n
}

func (r *fixture) SayPicture(t testing.TB, name, text string, data []byte) {
	t.Helper()
	p := ann
	p.Name = name
	r.say(t, sim.Chat{}, p, text, sim.SayOptions{Attachments: []sim.Attachment{{ContentType: "image/png", Filename: "dot.png", Data: data}}})
}

func (r *fixture) LoseNextAnswer(t testing.TB) {
	t.Helper()
	r.plan(t, sim.Fault{Trouble: sim.Ambiguous, Method: "send", Next: 1})
}

// To Signal a file is a message like another.
func (r *fixture) LimitNextFile(t testing.TB, d time.Duration) { r.LimitNext(t, d) }
func (r *fixture) LoseNextFile(t testing.TB)                   { r.LoseNextAnswer(t) }

func (r *fixture) SentFiles() []channeltest.SentFile {
	var out []channeltest.SentFile
	for i, m := range r.Books().Messages {
		for _, f := range m.Versions[0].Attachments {
			out = append(out, channeltest.SentFile{Name: f.Filename, Data: r.Content(f.SHA256), At: i})
		}
	}
	return out
}

func (r *fixture) plan(t testing.TB, f sim.Fault) {
	t.Helper()
	noError(t, r.Plan(f))
}

func (r *fixture) Sent() []string {
	var out []string
	for _, m := range r.Books().Messages {
		out = append(out, m.Text())
	}
	return out
}

func (r *fixture) await(t testing.TB, what string, done func(sim.Book) bool) sim.Book {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	b, err := r.Await(ctx, done)
	if err != nil {
		t.Fatalf("%s: %v; %+v", what, err, b.Totals)
	}
	return b
}

// attachedRig is a rig whose signal-cli somebody else runs.
type attachedRig struct {
	*fixture
	url string
}

func newAttached(t testing.TB, by string, change ...func(*sim.Options)) *attachedRig {
	t.Helper()
	r := newRig(t, change...)
	o := sim.DaemonOptions{World: r.URL(), Config: filepath.Join(r.dir, "config"), JSON: true, ReceiveMode: sim.Manual}
	url := "unix://" + filepath.Join(r.dir, "rpc.sock")
	switch by {
	case "http":
		o.HTTP = "127.0.0.1:0"
	case "tcp":
		o.TCP = "127.0.0.1:0"
	default:
		o.Socket = filepath.Join(r.dir, "rpc.sock")
	}
	d, err := sim.NewDaemon(o)
	if err != nil {
		t.Fatal(err)
	}
	runtest.Start(t, "the daemon", d.Run)
	select {
	case <-d.Ready():
	case <-time.After(patience):
		t.Fatal("the daemon is not ready")
	}
	switch by {
	case "http":
		url = "http://" + d.HTTPAddr()
	case "tcp":
		url = "tcp://" + d.TCPAddr()
	}
	return &attachedRig{r, url}
}

func (a *attachedRig) Open(t testing.TB) channels.Channel { return a.open(t) }

func (a *attachedRig) open(t testing.TB, change ...func(*signal.Options)) *signal.Channel {
	t.Helper()
	return a.start(t, a.options(), change)
}

// OpenViaProxy opens a channel to a daemon that only the proxy can find.
func (a *attachedRig) OpenViaProxy(t testing.TB, p *channeltest.Proxy, over channels.Proxy) channels.Channel {
	scheme, at, _ := strings.Cut(a.url, "://")
	p.MapHost("daemon.invalid:7583", at)
	return a.open(t, func(o *signal.Options) { o.URL, o.Proxy = scheme+"://daemon.invalid:7583", over })
}

func (a *attachedRig) Callers() []string { return nil }

func (a *attachedRig) options() signal.Options {
	return signal.Options{
		Common:    channels.Common{Name: "sig", Now: a.Now, MinPause: time.Millisecond, MaxPause: 5 * time.Millisecond, Observer: a.seen},
		Reactions: channels.Reactions{Working: "👀", Done: "✅"}, Account: number, ACI: ourACI, URL: a.url, SendTimeout: 30 * time.Second,
	}
}

// Acknowledged is how many events the daemon brought: it does not wait for more.
func (a *attachedRig) Acknowledged() int { return a.Books().Totals.Acked }

func (a *attachedRig) AwaitAcknowledged(ctx context.Context, n int) error {
	_, err := a.Await(ctx, func(b sim.Book) bool { return b.Totals.Acked >= n })
	return err
}

// watched is an observer that remembers.
type watched struct {
	mu      sync.Mutex
	changed chan struct{} // closed at the next change; nil: nobody waits
	up      bool
	ups     int
	downs   int
	again   int
	events  int
}

// await waits until what was observed is so.
func (w *watched) await(t testing.TB, what string, so func(*watched) bool) {
	t.Helper()
	limit := time.After(patience)
	for {
		w.mu.Lock()
		done := so(w)
		if w.changed == nil {
			w.changed = make(chan struct{})
		}
		changed := w.changed
		w.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("never: %s", what)
		}
	}
}

// note changes what was observed.
func (w *watched) note(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
	if w.changed != nil {
		close(w.changed)
		w.changed = nil
	}
}

func (w *watched) SetConnected(_ string, up bool) {
	w.note(func() {
		if w.up = up; up {
			w.ups++
		} else {
			w.downs++
		}
	})
}

func (w *watched) Reconnected(string) { w.note(func() { w.again++ }) }

func (w *watched) Event(string, time.Time) { w.note(func() { w.events++ }) }

func (w *watched) SendRetried(_, _ string) {}

// noError ends the test if err is an error.
func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
