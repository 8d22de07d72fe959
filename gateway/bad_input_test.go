package gateway_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/gateway/budgets"
	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
	"parley/simulators/model"
	"parley/simulators/telegram"
)

// quickly makes a failing model fail at once instead of in two minutes.
func quickly(c *settings.Config) {
	c.Retry = settings.RetryConfig{Max: 2, Base: time.Millisecond, Cap: time.Second, Window: time.Minute}
}

// Whatever the model server does, the person is told in a plain sentence, the
// next question is answered, and nothing else is disturbed.
// (requirements AH04)
func TestAModelThatFailsIsToldAndTheNextQuestionIsAnswered(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]model.Fault{
		"overloaded for good":       {Kind: model.FaultStatus, Status: 529, Next: 3},
		"a key that is refused":     {Kind: model.FaultStatus, Status: 401, Next: 1},
		"garbage":                   {Kind: model.FaultGarbage, Next: 3},
		"a web page":                {Kind: model.FaultHTML, Next: 3},
		"an error inside an answer": {Kind: model.FaultErrorEvent, Next: 3},
		"cut off without an end":    {Kind: model.FaultCut, Next: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := gatewaytest.Open(t, gatewaytest.Options{Change: quickly})
			gw := env.Start()
			noError(t, env.Model.Plan(fault))
			first := gw.Ask(gatewaytest.Ann, "hello one")
			if first == "" || strings.Contains(first, "hello one") || strings.Contains(first, "http") {
				t.Errorf("Ann was told %q", first)
			}
			env.Model.ClearFaults()
			if got := gw.Ask(gatewaytest.Ann, "hello two"); !strings.Contains(got, "hello two") {
				t.Errorf("then Ann was told %q", got)
			}
		})
	}
}

func TestAProviderThatCannotBeReachedIsTold(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{Change: func(c *settings.Config) {
		quickly(c)
		p := c.Providers["sim"]
		p.BaseURL = "http://127.0.0.1:1" // nobody listens there
		c.Providers["sim"] = p
	}})
	gw := env.Start()
	if got := gw.Ask(gatewaytest.Ann, "hello"); got == "" || strings.Contains(got, "127.0.0.1") {
		t.Errorf("Ann was told %q", got)
	}
	gw.AwaitMetrics(`parley_llm_errors_total{error_type="network",model="demo",provider="sim"} 3`)
}

func TestWithoutBudgetsAModelWithoutAPriceAnswersAndIsCountedAsUnpriced(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{Change: func(c *settings.Config) {
		c.Agents = map[string]settings.AgentConfig{"main": {Model: "sim/nobody-knows-it"}}
		c.Budgets = budgets.WithoutAny()
	}})
	gw := env.Start()
	if got := gw.Ask(gatewaytest.Ann, "hello"); !strings.Contains(got, "hello") {
		t.Errorf("Ann was told %q", got)
	}
	if got := gw.Ask(gatewaytest.Ann, "/cost"); !strings.Contains(got, "no known price") {
		t.Errorf("/cost says %q", got)
	}
	gw.AwaitMetrics(`parley_llm_unpriced_requests_total{model="nobody-knows-it",provider="sim",reason="no_price"} 1`)
}

// What Telegram sends and nobody expects is kept or passed over, and what comes
// with it is answered.
func TestUpdatesThatNobodyExpectsDisturbNothing(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{})
	gw := env.Start()
	hostile := strings.Repeat(`x:group:*.>\u0000\u202e%3A`, 64<<10/26)
	for _, raw := range []string{
		`{"message":"no object"}`,
		`{"message":{"message_id":"no number","chat":[]}}`,
		`{"what_is_this":{"id":1}}`,
		`{"message":{"message_id":1,"date":1,"chat":{"id":1,"type":"hologram"},"text":"x"}}`,
		`{"message":{"message_id":1,"date":1,"chat":{"id":7,"type":"private"},"from":{"id":7,"first_name":"` + hostile + `"},"text":"` + hostile + `"}}`,
		`{"message":{"message_id":2,"date":1,"chat":{"id":-99999999999999,"type":"group","title":"` + hostile + `"},"from":{"id":8,"username":"` + hostile + `"},"text":"@parley_bot hi"}}`,
		`{"callback_query":{"id":"` + hostile + `","from":{"id":9},"data":"` + hostile + `"}}`,
	} {
		if _, err := env.Telegram.Inject("", json.RawMessage(raw)); err != nil {
			t.Fatal(err)
		}
	}
	env.Say(telegram.PrivateChat(gatewaytest.Ann), gatewaytest.Ann, "still there?")
	b := env.Await("an answer to Ann, and everything confirmed", func(b telegram.Book) bool {
		for _, m := range b.Messages {
			if m.ChatID == gatewaytest.Ann.ID && strings.Contains(m.Text(), "still there?") {
				return b.Pending[gatewaytest.Username] == 0
			}
		}
		return false
	})
	for _, m := range b.Messages {
		if m.ChatID != gatewaytest.Ann.ID && m.ChatID != 7 && m.ChatID != -99999999999999 {
			t.Errorf("chat %d got %q", m.ChatID, m.Text())
		}
	}
	eventually(t, "an unreadable update to be kept", func() bool {
		return counted(gw.Scrape(), `parley_messages_dead_lettered_total{channel="tg",reason="unreadable"} `)
	})
}

// lines is a log that a test can read.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b.Reset()
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Secrets are in no log line, answer, metric or file, whatever fails. (I11)
func TestSecretsAreNowhere(t *testing.T) {
	t.Parallel()
	const key = "sk-canary-4f1d2c7b9e8a"
	log := &lines{}
	env := gatewaytest.Open(t, gatewaytest.Options{
		Brain: model.Demo(0),
		Log:   slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Change: func(c *settings.Config) {
			quickly(c)
			p := c.Providers["sim"]
			p.APIKey = settings.NewSecret(key)
			c.Providers["sim"] = p
		},
	})
	gw := env.Start()
	for _, f := range []model.Fault{
		{Kind: model.FaultStatus, Status: 401, Next: 1}, {Kind: model.FaultGarbage, Next: 3}, {Kind: model.FaultCut, Next: 3},
	} {
		noError(t, env.Model.Plan(f))
		gw.Ask(gatewaytest.Ann, "hello")
		env.Model.ClearFaults()
	}
	if err := env.Telegram.Plan(
		telegram.Fault{Trouble: telegram.Dropped, Method: "sendMessage", Next: 1},
		telegram.Fault{Trouble: telegram.BadGateway, Method: "getUpdates", Next: 1},
		telegram.Fault{Trouble: telegram.Garbage, Method: "getUpdates", Next: 1},
	); err != nil {
		t.Fatal(err)
	}
	gw.Ask(gatewaytest.Ann, "hello again")

	// A file in the workspace may hold a secret; the model does not see it.
	folder := gw.Folder(gatewaytest.Ann)
	noError(t, os.WriteFile(filepath.Join(folder, "notes.txt"), []byte("the key is "+key+"."), 0o600))
	if got := gw.Ask(gatewaytest.Ann, "read notes.txt"); !strings.Contains(got, "[redacted]") {
		t.Errorf("the file was read as %q", got)
	}
	noError(t, os.Remove(filepath.Join(folder, "notes.txt")))

	places := map[string]string{"the log": log.String(), "the metrics": gw.Scrape(), "readiness": gw.Get("/readyz", 200)}
	for _, m := range env.Telegram.Books().Messages {
		places["the chat"] += m.Text()
	}
	gw.Stop()
	err := filepath.WalkDir(filepath.Join(env.Dir, "state"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		places[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(places) < 6 {
		t.Fatalf("only %d places were looked at", len(places))
	}
	for place, text := range places {
		for what, secret := range map[string]string{"the model's key": key, "the bot's token": strings.Split(gatewaytest.Token, ":")[1]} {
			if strings.Contains(text, secret) {
				t.Errorf("%s is in %s", what, place)
			}
		}
	}
}

// abuse L2: an endpoint that echoes its key had it posted.
func TestAModelThatSaysItsKeySaysItToNobody(t *testing.T) {
	t.Parallel()
	const key = "sk-canary-4f1d2c7b9e8a"
	env := gatewaytest.Open(t, gatewaytest.Options{
		Brain: func(ctx context.Context, p *model.Prompt) model.Answer {
			a := model.Echo(ctx, p)
			a.PieceBytes, a.Pace = 3, 60*time.Millisecond // it is shown while it grows
			return a
		},
		Change: func(c *settings.Config) {
			p := c.Providers["sim"]
			p.APIKey = settings.NewSecret(key)
			c.Providers["sim"] = p
		},
	})
	gw := env.Start()
	got := gw.Ask(gatewaytest.Ann, "Is it "+key+"? And this too: "+base64.StdEncoding.EncodeToString([]byte(":"+key)))
	if strings.Contains(got, "canary") || strings.Count(got, "[redacted]") != 2 {
		t.Errorf("the answer was %q", got)
	}
	for _, m := range env.Telegram.Books().Messages {
		for _, v := range m.Versions {
			if strings.Contains(v.Text, "canary") {
				t.Errorf("the chat showed %q", v.Text)
			}
		}
	}
}
