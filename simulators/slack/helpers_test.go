package slack_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"

	"parley/runtest"
	sim "parley/simulators/slack"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	botToken = "xoxb-1"
	appToken = "xapp-1"
	secret   = "signing-secret"
)

var (
	ann     = sim.Person{ID: "U0ANN", Name: "ann", RealName: "Ann Example"}
	bob     = sim.Person{ID: "U0BOB", Name: "bob"}
	general = sim.Channel{ID: "C0GENERAL", Kind: sim.Public, Name: "general"}
	hidden  = sim.Channel{ID: "C0HIDDEN", Kind: sim.Private, Name: "hidden"}
	three   = sim.Channel{ID: "G0THREE", Kind: sim.Group, Name: "mpdm-ann--bob-1"}
)

// workspace is a running server with a plain HTTP client.
type workspace struct {
	*sim.Server
	t      *testing.T
	client *http.Client
}

// start runs a server with one app for the length of the test. Nothing times out
// by itself.
func start(t *testing.T, change ...func(*sim.Options)) *workspace {
	t.Helper()
	o := sim.Options{
		Seed: 7, AckTimeout: -1, Retries: []time.Duration{0, 0, 0},
		Apps: []sim.App{{Name: "parley", ID: "A0PARLEY", BotID: "B0PARLEY", UserID: "U0PARLEY", BotToken: botToken, AppToken: appToken, SigningSecret: secret}},
	}
	for _, c := range change {
		c(&o)
	}
	s, err := sim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	w := &workspace{Server: s, t: t, client: &http.Client{Transport: &http.Transport{}}}
	t.Cleanup(w.client.CloseIdleConnections)
	runtest.Serve(t, s)
	return w
}

// clock is a time that passes when the test says so.
type clock struct{ nanos atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.nanos.Store(1_790_000_000_000_000_000)
	return c
}

func (c *clock) now() time.Time       { return time.Unix(0, c.nanos.Load()) }
func (c *clock) pass(d time.Duration) { c.nanos.Add(int64(d)) }

// soon bounds what only a failing test waits for.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// answer is any answer of the Web API.
type answer struct {
	Status     int    `json:"-"`
	RetryAfter string `json:"-"`
	OK         bool   `json:"ok"`
	Error      string `json:"error"`
	TS         string `json:"ts"`
	Channel    any    `json:"channel"`
	Needed     string `json:"needed"`
	Meta       struct {
		Messages []string `json:"messages"`
	} `json:"response_metadata"`
	raw []byte
}

// call posts JSON with the bot's token.
func (w *workspace) call(method string, args map[string]any) answer {
	w.t.Helper()
	a, err := w.callAs(botToken, method, args)
	if err != nil {
		w.t.Fatalf("%s: %v", method, err)
	}
	return a
}

func (w *workspace) callAs(token, method string, args map[string]any) (answer, error) {
	w.t.Helper()
	body, err := json.Marshal(args)
	if err != nil {
		w.t.Fatal(err)
	}
	q, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.APIURL()+method, bytes.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json; charset=utf-8")
	q.Header.Set("Authorization", "Bearer "+token)
	return w.do(q)
}

// form posts a form, the token in it.
func (w *workspace) form(method string, form url.Values) answer {
	w.t.Helper()
	q, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.APIURL()+method, strings.NewReader(form.Encode()))
	if err != nil {
		w.t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	a, err := w.do(q)
	if err != nil {
		w.t.Fatalf("%s: %v", method, err)
	}
	return a
}

func (w *workspace) do(q *http.Request) (answer, error) {
	var a answer
	res, err := w.client.Do(q)
	if err != nil {
		return a, err
	}
	defer func() { _ = res.Body.Close() }()
	if a.raw, err = io.ReadAll(res.Body); err != nil {
		return a, err
	}
	a.Status, a.RetryAfter = res.StatusCode, res.Header.Get("Retry-After")
	return a, json.Unmarshal(a.raw, &a)
}

// fetch asks anything of the server.
func (w *workspace) fetch(method, to, body string) (int, string) {
	w.t.Helper()
	q, err := http.NewRequestWithContext(w.t.Context(), method, to, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	res, err := w.client.Do(q)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// say is a message that must be possible.
func (w *workspace) say(c sim.Channel, p sim.Person, text string, o ...sim.SayOptions) sim.ActionResult {
	w.t.Helper()
	var with sim.SayOptions
	if len(o) > 0 {
		with = o[0]
	}
	said, err := w.Say(c, p, text, with)
	if err != nil {
		w.t.Fatal(err)
	}
	return said
}

// plan adds faults that must be possible.
func (w *workspace) plan(fs ...sim.Fault) {
	w.t.Helper()
	if err := w.Plan(fs...); err != nil {
		w.t.Fatal(err)
	}
}

// until waits for the books.
func (w *workspace) until(done func(sim.Book) bool) sim.Book {
	w.t.Helper()
	b, err := w.Await(soon(w.t), done)
	if err != nil {
		w.t.Fatalf("%v; totals %+v", err, b.Totals)
	}
	return b
}

// socket is a Socket Mode connection read by hand.
type socket struct {
	*websocket.Conn
	t *testing.T
}

// frame is anything that comes over a connection.
type frame struct {
	Type       string          `json:"type"`
	Reason     string          `json:"reason"`
	EnvelopeID string          `json:"envelope_id"`
	Accepts    bool            `json:"accepts_response_payload"`
	Attempt    *int            `json:"retry_attempt"`
	Why        *string         `json:"retry_reason"`
	Number     int             `json:"num_connections"`
	Payload    json.RawMessage `json:"payload"`
	Info       struct {
		AppID string `json:"app_id"`
	} `json:"connection_info"`
}

// outer is what an events_api frame brings.
type outer struct {
	TeamID  string          `json:"team_id"`
	EventID string          `json:"event_id"`
	Event   json.RawMessage `json:"event"`
}

// inner is what the tests read of an event.
type inner struct {
	Type        string `json:"type"`
	Subtype     string `json:"subtype"`
	Text        string `json:"text"`
	TS          string `json:"ts"`
	ThreadTS    string `json:"thread_ts"`
	Channel     string `json:"channel"`
	ChannelType string `json:"channel_type"`
	User        string `json:"user"`
	BotID       string `json:"bot_id"`
}

func (f frame) event(t *testing.T) (outer, inner) {
	t.Helper()
	var o outer
	var i inner
	if err := json.Unmarshal(f.Payload, &o); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(o.Event, &i); err != nil {
		t.Fatal(err)
	}
	return o, i
}

// connect opens a connection and reads its hello.
func (w *workspace) connect() *socket {
	w.t.Helper()
	s := w.dial()
	if f := s.read(); f.Type != "hello" || f.Info.AppID != "A0PARLEY" || f.Number < 1 {
		w.t.Fatalf("hello: %+v", f)
	}
	return s
}

func (w *workspace) dial() *socket {
	w.t.Helper()
	a, err := w.callAs(appToken, "apps.connections.open", nil)
	if err != nil || !a.OK {
		w.t.Fatalf("open: %v %s", err, a.raw)
	}
	var u struct {
		URL string `json:"url"`
	}
	if err := json.Unmarshal(a.raw, &u); err != nil {
		w.t.Fatal(err)
	}
	c, _, err := websocket.DefaultDialer.DialContext(w.t.Context(), u.URL, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = c.Close() })
	return &socket{Conn: c, t: w.t}
}

func (s *socket) read() frame {
	s.t.Helper()
	f, err := s.next()
	if err != nil {
		s.t.Fatal(err)
	}
	return f
}

func (s *socket) next() (frame, error) {
	var f frame
	if err := s.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		return f, err
	}
	return f, s.ReadJSON(&f)
}

func (s *socket) ack(f frame) {
	s.t.Helper()
	if err := s.WriteJSON(map[string]string{"envelope_id": f.EnvelopeID}); err != nil {
		s.t.Fatal(err)
	}
}
