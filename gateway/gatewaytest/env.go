// Package gatewaytest sets up a complete environment for tests: the servers of chat
// networks and a model server on loopback, and a gateway between them with its
// real log and database in a temporary folder.
package gatewaytest

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/gateway"
	"parley/gateway/admin"
	"parley/gateway/ops"
	"parley/gateway/policy"
	"parley/gateway/settings"
	"parley/llm/llmtest"
	"parley/runtest"
	"parley/simulators/model"
	"parley/simulators/signal"
	"parley/simulators/slack"
	"parley/simulators/telegram"
)

// Patience is how long a test waits for what must come. It is no measure of
// speed: only a test that fails waits that long.
const Patience = 60 * time.Second

// Token is the bot's, and Username its name.
const (
	Token    = "4200000001:AAtestAAtestAAtestAAtestAAtestAAtest"
	Username = "parley_bot"
)

// Ann and Ben write to the bot; Kitchen is a group.
var (
	Ann     = telegram.Person{ID: 1001, FirstName: "Ann", Username: "ann"}
	Ben     = telegram.Person{ID: 1002, FirstName: "Ben", Username: "ben"}
	Kitchen = telegram.Chat{ID: -2001, Kind: telegram.Group, Title: "kitchen"}
)

// Options shape an environment. The zero value echoes.
type Options struct {
	Brain  model.Brain // nil: model.Echo
	Prices map[string]model.Price
	Window int // of every model, in tokens; 0: any number
	// OpenAI makes the gateway speak Chat Completions to the model server.
	OpenAI   bool
	Networks []Network // of the environment; nil: Telegram alone
	// Webhook makes Telegram and Slack bring what is said, through Env.WebhookProxy;
	// default: the gateway polls, and opens a socket.
	Webhook bool
	// Twin is a second bot on each network, for StartTwin; the bots hear each
	// other.
	Twin bool
	// OnSlack adapts the workspace before it is made, OnTelegram the Bot API.
	OnSlack    func(*slack.Options)
	OnTelegram func(*telegram.Options)
	// Change adapts the configuration before the gateway is made.
	Change func(*settings.Config)
	// PDFExtractor is the command that reads PDFs; nil: they are not read.
	PDFExtractor []string
	// Statement and CommitWait: see gateway.Options.
	Statement  func(query string)
	CommitWait time.Duration
	Log        *slog.Logger
	Keep       int // of the books; see the simulators
}

// Env is servers that outlive gateways, and the state that gateways share when
// one follows another. The server of a network that it does not have is nil.
type Env struct {
	Telegram     *telegram.Server
	Slack        *slack.Server
	Signal       *signal.Server
	Model        *model.Server
	WebhookProxy *WebhookProxy // with Options.Webhook
	Dir          string

	t         testing.TB
	o         Options
	signalCLI string // the program
}

// Open starts the servers; they end with the test.
func Open(t testing.TB, o Options) *Env {
	t.Helper()
	if o.Log == nil && len(o.Networks) > 0 {
		o.Log = slog.New(slog.NewTextHandler(t.Output(), nil)) // for who must find out why it failed
	}
	h := &Env{Model: model.New(model.Options{Brain: o.Brain, Prices: o.Prices, Window: o.Window, MaxRequests: o.Keep}), Dir: t.TempDir(), t: t, o: o}
	if o.Webhook {
		h.WebhookProxy = newWebhookProxy(t)
	}
	runtest.Serve(t, append(h.openServers(), h.Model)...)
	t.Cleanup(h.checkRequests)
	return h
}

// checkRequests holds what the model server recorded to Anthropic's own
// document of its API.
func (h *Env) checkRequests() {
	for _, r := range h.Model.Requests() {
		if r.Protocol == model.Anthropic {
			llmtest.ValidateAnthropicRequest(h.t, r.Header, r.Body)
		}
	}
}

// Config returns the configuration that Start uses.
func (h *Env) Config() settings.Config {
	kind, base := settings.KindAnthropic, h.Model.URL()
	if h.o.OpenAI {
		kind, base = settings.KindOpenAI, base+"/v1"
	}
	c := settings.Config{
		StateDir:  filepath.Join(h.Dir, "state"),
		Name:      "test",
		Channels:  h.channelsConfig(),
		Providers: map[string]settings.ProviderConfig{"sim": {Kind: kind, BaseURL: base, Prices: "demo"}},
		Agents:    map[string]settings.AgentConfig{"main": {Model: "sim/demo", Window: 200_000}},
		Ops:       ops.Config{Listen: "127.0.0.1:0"},
		// A gateway in the test's process is never killed. On a machine that stands still for
		// a while it would lose its turns, and begin them again.
		Worker: policy.Turns{Lease: 30 * time.Second},
		Limits: policy.Limits{PersonPerMinute: -1, PersonBurst: -1, GroupPerMinute: -1, Queue: -1, BotLoop: -1},
	}
	if h.WebhookProxy != nil {
		h.WebhookProxy.configure(&c)
	}
	if h.o.Change != nil {
		h.o.Change(&c)
	}
	return c
}

// Running is a gateway that runs.
type Running struct {
	*gateway.Gateway
	Env *Env
	// Looks ticks when the gateway, if it watches its configuration, is to look at it.
	Looks chan time.Time

	next      atomic.Pointer[settings.Config] // its configuration, as it stands now
	broken    atomic.Pointer[error]           // why that cannot be read; nil: it can
	t         testing.TB
	delivered *answers
	folders   sync.Map // by chat
	stop      context.CancelFunc
	ended     chan error
	once      sync.Once
}

// Start runs a gateway until Stop, or until the test ends.
func (h *Env) Start() *Running {
	h.t.Helper()
	return h.StartAs(nil)
}

// StartAs is Start with a change of this gateway's configuration, after that of
// the environment: one of several that run at the same time.
func (h *Env) StartAs(change func(*settings.Config)) *Running {
	h.t.Helper()
	r := &Running{Env: h, t: h.t, delivered: newAnswers(), ended: make(chan error, 1), Looks: make(chan time.Time)}
	cfg := h.Config()
	if change != nil {
		change(&cfg)
	}
	r.next.Store(&cfg)
	g, err := gateway.New(cfg, gateway.Options{
		Next: r.configuration, Look: r.Looks,
		Logger: h.o.Log, Version: "test", PDFExtractor: h.o.PDFExtractor, Statement: h.o.Statement, CommitWait: h.o.CommitWait,
		Delivered: func(a gateway.Answer) {
			if a.Folder != "" {
				r.folders.Store(a.Chat, a.Folder)
			}
			r.delivered.put(a)
		},
	})
	if err != nil {
		h.t.Fatal(err)
	}
	r.Gateway = g
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	go func() { r.ended <- g.Run(ctx) }()
	select {
	case <-g.Started():
	case err := <-r.ended:
		stop()
		h.t.Fatalf("the gateway ended while starting: %v", err)
	case <-time.After(Patience):
		stop()
		h.t.Fatal("the gateway did not start")
	}
	if h.WebhookProxy != nil {
		addr := g.WebhooksAddr()
		h.WebhookProxy.behind.Store(&addr)
	}
	h.t.Cleanup(r.Stop)
	return r
}

// configuration is the gateway's, as it stands now.
func (r *Running) configuration() (settings.Config, error) {
	if err := r.broken.Load(); err != nil {
		return settings.Config{}, *err
	}
	return *r.next.Load(), nil
}

// Rewrite changes the configuration as it stands, beginning with that of the environment. The
// gateway does not know yet.
func (r *Running) Rewrite(change func(*settings.Config)) {
	cfg := r.Env.Config()
	change(&cfg)
	r.broken.Store(nil)
	r.next.Store(&cfg)
}

// Break makes the configuration one that cannot be read.
func (r *Running) Break(err error) { r.broken.Store(&err) }

// Reconfigure calls Rewrite and has the gateway reload, which must succeed.
func (r *Running) Reconfigure(change func(*settings.Config)) admin.Reloaded {
	r.t.Helper()
	r.Rewrite(change)
	done, err := r.Reload()
	if err != nil {
		r.t.Fatalf("not reloaded: %v", err)
	}
	return done
}

// Stop ends the gateway in order and fails the test when it ends otherwise.
// Further calls do nothing.
func (r *Running) Stop() {
	r.once.Do(func() {
		r.stop()
		if err := <-r.ended; err != nil {
			r.t.Errorf("the gateway ended with: %v", err)
		}
	})
}

// NextDelivered returns the next delivery that was finished.
func (r *Running) NextDelivered() gateway.Answer {
	r.t.Helper()
	a, ok := r.delivered.take(Patience)
	if !ok {
		r.t.Fatal("nothing was delivered")
	}
	return a
}

// Ask says text in a direct message and returns the answer as it stands in the
// chat.
func (r *Running) Ask(p telegram.Person, text string) string {
	r.t.Helper()
	return r.AskIn(telegram.PrivateChat(p), p, text)
}

// AskIn is Ask in any chat.
func (r *Running) AskIn(c telegram.Chat, p telegram.Person, text string) string {
	r.t.Helper()
	r.Env.Say(c, p, text)
	d := r.NextDelivered()
	return r.Env.DeliveredText(c, d)
}

// Folder returns the workspace of p's conversation, once it was answered.
func (r *Running) Folder(p telegram.Person) string {
	r.t.Helper()
	dir, ok := r.folders.Load(strconv.FormatInt(p.ID, 10))
	if !ok {
		r.t.Fatal("the conversation has no workspace yet")
	}
	return dir.(string)
}

// Say lets p write into c.
func (h *Env) Say(c telegram.Chat, p telegram.Person, text string) telegram.ActionResult {
	h.t.Helper()
	said, err := h.Telegram.Say(c, p, text, telegram.SayOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	return said
}

// DeliveredText returns what a delivery looks like in the chat, by the platform's books.
func (h *Env) DeliveredText(c telegram.Chat, d gateway.Answer) string {
	h.t.Helper()
	sent := h.SentTexts(c)
	if len(sent) < d.Parts {
		h.t.Fatalf("%d messages are in the chat, %d were delivered", len(sent), d.Parts)
	}
	return strings.Join(sent[len(sent)-max(d.Parts, 1):], "\n")
}

// SentTexts returns the texts of all messages that the bot sent into c, as they stand.
func (h *Env) SentTexts(c telegram.Chat) []string {
	var texts []string
	for _, m := range h.Telegram.Books().Messages {
		if m.ChatID == c.ID && m.Deleted.IsZero() {
			texts = append(texts, m.Text())
		}
	}
	return texts
}

// Await waits until the platform's books satisfy done.
func (h *Env) Await(what string, done func(telegram.Book) bool) telegram.Book {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	b, err := h.Telegram.Await(ctx, done)
	if err != nil {
		h.t.Fatalf("waiting for %s: %v", what, err)
	}
	return b
}

// Scrape reads /metrics.
func (r *Running) Scrape() string { return r.Get("/metrics", http.StatusOK) }

// AwaitMetrics reads /metrics until each of the lines is on the page, and returns
// it: an answer may be in the chat before the process that gave it has counted
// it.
func (r *Running) AwaitMetrics(lines ...string) string {
	r.t.Helper()
	limit := time.After(Patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		page := r.Scrape()
		missing := slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
			return strings.Contains("\n"+page, "\n"+line+"\n")
		})
		if len(missing) == 0 {
			return page
		}
		select {
		case <-tick.C:
		case <-limit:
			r.t.Fatalf("the metrics never have %q", missing)
		}
	}
}

// AwaitStatus reads a page of the operator's listener again and again, until it has
// the status.
func (r *Running) AwaitStatus(path string, status int) {
	r.t.Helper()
	limit := time.After(Patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		got, body := r.fetch(path)
		if got == status {
			return
		}
		select {
		case <-tick.C:
		case <-limit:
			r.t.Fatalf("%s answers %d, not %d: %s", path, got, status, body)
		}
	}
}

// Get reads a page of the operator's listener.
func (r *Running) Get(path string, status int) string {
	r.t.Helper()
	got, body := r.fetch(path)
	if got != status {
		r.t.Fatalf("%s answered %d: %s", path, got, body)
	}
	return body
}

func (r *Running) fetch(path string) (int, string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+r.OpsAddr()+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}
