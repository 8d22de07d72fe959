package signal_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/runtest"
	sim "parley/simulators/signal"
)

func TestMain(m *testing.M) {
	if os.Getenv(sim.WorldVariable) != "" {
		os.Exit(sim.Main(os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

// patience is what only a failing test waits for.
const patience = 60 * time.Second

const number = "+4915550000001"

var (
	ann  = sim.Person{ACI: sim.MadeUpACI(1), Number: "+4915550001001", Name: "Ann"}
	bob  = sim.Person{ACI: sim.MadeUpACI(2), Number: "+4915550001002", SharesNumber: true}
	team = sim.Chat{Group: sim.MadeUpGroup(1), Name: "Team"}
	news = sim.Chat{Group: sim.MadeUpGroup(7), Name: "News"}
)

// world is a running server.
type world struct {
	*sim.Server
	t *testing.T
}

func start(t *testing.T, change ...func(*sim.Options)) *world {
	t.Helper()
	o := sim.Options{Seed: 7, Accounts: []sim.Account{{Number: number, Name: "Parley"}}, NoReceipts: true}
	for _, c := range change {
		c(&o)
	}
	s, err := sim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	runtest.Serve(t, s)
	return &world{s, t}
}

func (w *world) say(c sim.Chat, p sim.Person, text string, o ...sim.SayOptions) sim.ActionResult {
	w.t.Helper()
	said, err := w.Say(c, p, text, append(o, sim.SayOptions{})[0])
	if err != nil {
		w.t.Fatal(err)
	}
	return said
}

func (w *world) await(what string, done func(sim.Book) bool) sim.Book {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	b, err := w.Await(ctx, done)
	if err != nil {
		w.t.Fatalf("%s: %v; %+v", what, err, b.Totals)
	}
	return b
}

// page is what a daemon writes, line by line.
type page struct {
	mu      sync.Mutex
	text    []byte
	changed chan struct{}
}

func newPage() *page { return &page{changed: make(chan struct{})} }

func (p *page) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = append(p.text, b...)
	close(p.changed)
	p.changed = make(chan struct{})
	return len(b), nil
}

func (p *page) lines() ([]string, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Split(strings.TrimSuffix(string(p.text), "\n"), "\n"), p.changed
}

// await waits until there are n lines.
func (p *page) await(t *testing.T, n int) []string {
	t.Helper()
	limit := time.After(patience)
	for {
		ls, changed := p.lines()
		if len(ls) >= n && ls[0] != "" {
			return ls
		}
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("there are not %d lines: %q", n, ls)
		}
	}
}

// daemon is a signal-cli in this process.
type daemon struct {
	*sim.Daemon
	t       *testing.T
	journal *page
	stop    context.CancelFunc
	ended   chan error
	client  *http.Client
}

func (w *world) daemon(change ...func(*sim.DaemonOptions)) *daemon {
	w.t.Helper()
	d := &daemon{t: w.t, journal: newPage(), ended: make(chan error, 1), client: &http.Client{Transport: &http.Transport{}}}
	o := sim.DaemonOptions{World: w.URL(), Config: w.t.TempDir(), Account: number, HTTP: "127.0.0.1:0", JSON: true, Stdout: d.journal}
	for _, c := range change {
		c(&o)
	}
	var err error
	if d.Daemon, err = sim.NewDaemon(o); err != nil {
		w.t.Fatal(err)
	}
	var ctx context.Context
	ctx, d.stop = context.WithCancel(context.Background())
	go func() { d.ended <- d.Run(ctx) }()
	w.t.Cleanup(func() { _ = d.end(); d.client.CloseIdleConnections() })
	select {
	case <-d.Ready():
	case err := <-d.ended:
		w.t.Fatalf("the daemon did not start: %v", err)
	case <-time.After(patience):
		w.t.Fatal("the daemon is not ready")
	}
	return d
}

// end stops the daemon and gives how it ended.
func (d *daemon) end() error {
	d.stop()
	err := <-d.ended
	d.ended <- err
	return err
}

type args = map[string]any

type reply struct {
	JSONRPC string          `json:"jsonrpc"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
	ID json.RawMessage `json:"id"`
}

// post sends a body to the RPC endpoint.
func (d *daemon) post(body string) (int, string, error) {
	d.t.Helper()
	q, err := http.NewRequestWithContext(d.t.Context(), http.MethodPost, "http://"+d.HTTPAddr()+"/api/v1/rpc", strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	res, err := d.client.Do(q)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	return res.StatusCode, string(raw), err
}

// call calls a method over HTTP.
func (d *daemon) call(method string, a args) reply {
	d.t.Helper()
	body, err := json.Marshal(args{"jsonrpc": "2.0", "id": "7", "method": method, "params": a})
	if err != nil {
		d.t.Fatal(err)
	}
	status, text, err := d.post(string(body))
	if err != nil || status != http.StatusOK {
		d.t.Fatalf("%s: %d %s %v", method, status, text, err)
	}
	var r reply
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		d.t.Fatalf("%s: %s: %v", method, text, err)
	}
	return r
}

// sent is the result of what sends.
type sent struct {
	Timestamp int64 `json:"timestamp"`
	Results   []struct {
		RecipientAddress struct{ UUID, Number *string }
		GroupID          string
		Type             string
		Token            string
		RetryAfter       *int `json:"retryAfterSeconds"`
	} `json:"results"`
}

func (d *daemon) send(a args) sent {
	d.t.Helper()
	r := d.call("send", a)
	if r.Error != nil {
		d.t.Fatalf("send: %+v", r.Error)
	}
	return decode[sent](d.t, r.Result)
}

func decode[T any](t *testing.T, raw []byte) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return v
}

// events is a client of the stream of events.
type events struct {
	t    *testing.T
	body io.ReadCloser
	data chan string
	done sync.WaitGroup
}

func (d *daemon) events(query string) *events {
	d.t.Helper()
	q, err := http.NewRequestWithContext(d.t.Context(), http.MethodGet, "http://"+d.HTTPAddr()+"/api/v1/events"+query, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	res, err := d.client.Do(q)
	if err != nil {
		d.t.Fatal(err)
	}
	if res.Header.Get("Content-Type") != "text/event-stream" {
		d.t.Fatalf("events: %s", res.Status)
	}
	e := &events{t: d.t, body: res.Body, data: make(chan string, 100)}
	e.done.Go(func() {
		defer close(e.data)
		s := bufio.NewScanner(res.Body)
		s.Buffer(nil, 1<<20)
		for s.Scan() {
			if text, ok := bytes.CutPrefix(s.Bytes(), []byte("data:")); ok {
				e.data <- string(text)
			}
		}
	})
	d.t.Cleanup(e.close)
	return e
}

func (e *events) close() {
	_ = e.body.Close()
	e.done.Wait()
}

func (e *events) next() string {
	e.t.Helper()
	select {
	case s, ok := <-e.data:
		if !ok {
			e.t.Fatal("the stream has ended")
		}
		return s
	case <-time.After(patience):
		e.t.Fatal("no event comes")
	}
	return ""
}

func testBinary(t *testing.T) string {
	t.Helper()
	p, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// short is a folder whose path leaves room for the name of a socket.
func short(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sig")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
