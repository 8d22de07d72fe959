// Package gatewaytest sets up a whole house for tests: a Telegram server and a
// model server on loopback, and a gateway between them with its real log and
// database in a temporary folder.
package gatewaytest

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/gateway"
	"parley/gateway/intake"
	"parley/gateway/ops"
	"parley/llm/llmtest"
	"parley/simulators/model"
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

// Options shape a house. The zero value echoes.
type Options struct {
	Brain  model.Brain // nil: model.Echo
	Prices map[string]model.Price
	// OpenAI makes the gateway speak Chat Completions to the model server.
	OpenAI bool
	// Change adapts the configuration before the gateway is made.
	Change func(*gateway.Config)
	Log    *slog.Logger
	Keep   int // of the books; see the simulators
}

// House is two servers that outlive gateways, and the state that gateways
// share when one follows another.
type House struct {
	Telegram *telegram.Server
	Model    *model.Server
	Dir      string

	t testing.TB
	o Options
}

// Open starts the servers; they end with the test.
func Open(t testing.TB, o Options) *House {
	t.Helper()
	tg, err := telegram.New(telegram.Options{
		Bots: []telegram.Bot{{Token: Token, Username: Username, Name: "parley", CanReadAllGroupMessages: true}},
		Keep: o.Keep,
	})
	if err != nil {
		t.Fatal(err)
	}
	m := model.New(model.Options{Brain: o.Brain, Prices: o.Prices, MaxRequests: o.Keep})
	for _, listen := range []func() error{tg.Listen, m.Listen} {
		if err := listen(); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- tg.Run(ctx) }()
	go func() { ended <- m.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		for range 2 {
			if err := <-ended; err != nil {
				t.Errorf("a simulator ended with: %v", err)
			}
		}
	})
	h := &House{Telegram: tg, Model: m, Dir: t.TempDir(), t: t, o: o}
	t.Cleanup(h.checkRequests)
	return h
}

// checkRequests holds what the model server recorded to Anthropic's own
// document of its API.
func (h *House) checkRequests() {
	for _, r := range h.Model.Requests() {
		if r.Protocol == model.Anthropic {
			llmtest.ValidateAnthropic(h.t, r.Body)
		}
	}
}

// Config is the configuration that Start uses.
func (h *House) Config() gateway.Config {
	kind, base := gateway.KindAnthropic, h.Model.URL()
	if h.o.OpenAI {
		kind, base = gateway.KindOpenAI, base+"/v1"
	}
	c := gateway.Config{
		StateDir: filepath.Join(h.Dir, "state"),
		Name:     "test",
		Channels: gateway.ChannelsConfig{Telegram: map[string]gateway.TelegramConfig{
			"tg": {Token: gateway.NewSecret(Token), APIURL: h.Telegram.URL(), Access: intake.Access{Everyone: true}},
		}},
		Providers: map[string]gateway.ProviderConfig{"sim": {Kind: kind, BaseURL: base, Prices: "demo"}},
		Agents:    map[string]gateway.AgentConfig{"main": {Model: "sim/demo"}},
		Ops:       ops.Config{Listen: "127.0.0.1:0"},
	}
	if h.o.Change != nil {
		h.o.Change(&c)
	}
	return c
}

// Running is a gateway that runs.
type Running struct {
	*gateway.Gateway
	House *House

	t         testing.TB
	delivered chan gateway.Answer
	folders   sync.Map // by chat
	stop      context.CancelFunc
	ended     chan error
	once      sync.Once
}

// Start runs a gateway until Stop, or until the test ends.
func (h *House) Start() *Running {
	h.t.Helper()
	r := &Running{House: h, t: h.t, delivered: make(chan gateway.Answer, 1<<16), ended: make(chan error, 1)}
	g, err := gateway.New(h.Config(), gateway.Options{
		Logger: h.o.Log, Version: "test",
		Delivered: func(a gateway.Answer) {
			if a.Folder != "" {
				r.folders.Store(a.Chat, a.Folder)
			}
			r.delivered <- a
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
	h.t.Cleanup(r.Stop)
	return r
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

// Delivered is the next delivery that was finished.
func (r *Running) Delivered() gateway.Answer {
	r.t.Helper()
	select {
	case d := <-r.delivered:
		return d
	case <-time.After(Patience):
		r.t.Fatal("nothing was delivered")
		panic("unreachable")
	}
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
	r.House.Say(c, p, text)
	d := r.Delivered()
	return r.House.Shown(c, d)
}

// Folder is the workspace of p's conversation, once it was answered.
func (r *Running) Folder(p telegram.Person) string {
	r.t.Helper()
	dir, ok := r.folders.Load(strconv.FormatInt(p.ID, 10))
	if !ok {
		r.t.Fatal("the conversation has no workspace yet")
	}
	return dir.(string)
}

// Say lets p write into c.
func (h *House) Say(c telegram.Chat, p telegram.Person, text string) telegram.Said {
	h.t.Helper()
	said, err := h.Telegram.Say(c, p, text, telegram.SayOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	return said
}

// Shown is what a delivery looks like in the chat, by the platform's books.
func (h *House) Shown(c telegram.Chat, d gateway.Answer) string {
	h.t.Helper()
	sent := h.Sent(c)
	if len(sent) < d.Parts {
		h.t.Fatalf("%d messages are in the chat, %d were delivered", len(sent), d.Parts)
	}
	return strings.Join(sent[len(sent)-max(d.Parts, 1):], "\n")
}

// Sent is the texts of all messages that the bot sent into c, as they stand.
func (h *House) Sent(c telegram.Chat) []string {
	var texts []string
	for _, m := range h.Telegram.Books().Messages {
		if m.ChatID == c.ID && m.Deleted.IsZero() {
			texts = append(texts, m.Text())
		}
	}
	return texts
}

// Await waits until the platform's books satisfy done.
func (h *House) Await(what string, done func(telegram.Book) bool) telegram.Book {
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

// Get reads a page of the operator's listener.
func (r *Running) Get(path string, status int) string {
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
	if resp.StatusCode != status {
		r.t.Fatalf("%s answered %s: %s", path, resp.Status, body)
	}
	return string(body)
}
