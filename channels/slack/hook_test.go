package slack_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/channels"
	"parley/channels/slack"
	"parley/runtest"
	sim "parley/simulators/slack"
)

// posted is a request as Slack makes one.
type posted struct {
	method, body, kind string
	at                 time.Time
	secret             string
	without            string // a header that is missing
	signature          string // instead of the right one
}

const (
	asJSON = "application/json"
	asForm = "application/x-www-form-urlencoded"
)

func hello(at time.Time) posted {
	return posted{
		method: http.MethodPost, kind: asJSON, at: at, secret: signing,
		body: `{"type":"event_callback","team_id":"T0PARLEY01","event_id":"Ev1","event":{"type":"message","channel":"D0ANN","channel_type":"im","user":"U0ANN","text":"hello","ts":"1700000000.000100"}}`,
	}
}

// bring makes the request and gives the answer.
func bring(ctx context.Context, ch *slack.Channel, p posted) *httptest.ResponseRecorder {
	_, handler := ch.Hook()
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, p.request(ctx, ch))
	return w
}

func (p posted) request(ctx context.Context, ch *slack.Channel) *http.Request {
	path, _ := ch.Hook()
	req := httptest.NewRequestWithContext(ctx, p.method, path, strings.NewReader(p.body))
	stamp := strconv.FormatInt(p.at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(p.secret))
	_, _ = fmt.Fprintf(mac, "v0:%s:%s", stamp, p.body)
	if p.signature == "" {
		p.signature = "v0=" + hex.EncodeToString(mac.Sum(nil))
	}
	req.Header.Set("Content-Type", p.kind)
	req.Header.Set("X-Slack-Request-Timestamp", stamp)
	req.Header.Set("X-Slack-Signature", p.signature)
	req.Header.Del(p.without)
	return req
}

var errDiskFull = errors.New("the disk is full")

// watch says when the channel receives.
type watch struct {
	channels.NopObserver
	up chan struct{}
}

func (w watch) SetConnected(_ string, up bool) {
	if up {
		close(w.up)
	}
}

// hooked is a channel to which requests are brought, with a clock that stands.
func hooked(t *testing.T, now time.Time, accept channels.Accept, change ...func(*slack.Options)) *slack.Channel {
	t.Helper()
	r := newRig(t)
	up := make(chan struct{})
	ch := r.open(t, append([]func(*slack.Options){func(o *slack.Options) {
		o.Mode, o.Now, o.Observer = slack.Events, func() time.Time { return now }, watch{up: up}
	}}, change...)...)
	runtest.Start(t, "Receive", func(ctx context.Context) error { return ch.Receive(ctx, accept) })
	<-up
	return ch
}

// half is a body of which a piece comes, and no more until it is closed.
type half struct {
	began chan<- struct{}
	ends  <-chan struct{}
	once  sync.Once
}

func (h *half) Read(p []byte) (n int, err error) {
	h.once.Do(func() { n = copy(p, "{"); h.began <- struct{}{} })
	if n > 0 {
		return n, nil
	}
	<-h.ends
	return 0, io.ErrUnexpectedEOF
}

// abuse H2: who cannot sign holds no memory: what their headers show is not read, and
// what must be read for its signature has room for 32 MiB in all.
func TestUnsignedRequestsHoldLittleMemory(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	ch := hooked(t, now, func(context.Context, channels.Message) error { return nil })
	_, handler := ch.Hook()
	const room = 32 // requests of the longest body
	began, ends := make(chan struct{}, room+20), make(chan struct{})
	ask := func(ctx context.Context, change func(*http.Request)) int {
		p := hello(now)
		p.signature = "v0=" + strings.Repeat("0", 64)
		req := p.request(ctx, ch)
		req.Body, req.ContentLength = io.NopCloser(&half{began: began, ends: ends}), 1<<20
		change(req)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, req)
		return w.Code
	}
	for name, change := range map[string]func(*http.Request){
		"no signature":                func(r *http.Request) { r.Header.Del("X-Slack-Signature") },
		"a signature of one byte":     func(r *http.Request) { r.Header.Set("X-Slack-Signature", "v0=00") },
		"a signature not in hex":      func(r *http.Request) { r.Header.Set("X-Slack-Signature", "v0="+strings.Repeat("x", 64)) },
		"an old time":                 func(r *http.Request) { r.Header.Set("X-Slack-Request-Timestamp", "1600000000") },
		"a length that is no event's": func(r *http.Request) { r.ContentLength = 1<<20 + 1 },
	} {
		if status := ask(t.Context(), change); status != http.StatusUnauthorized && status != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: answered %d", name, status)
		}
		if len(began) > 0 {
			t.Fatalf("%s: the body was read", name)
		}
	}
	var held sync.WaitGroup
	for i := range room {
		held.Go(func() {
			status := ask(t.Context(), func(r *http.Request) {
				if i%2 == 0 {
					r.ContentLength = -1 // not said: as much as it may be
				}
			})
			if status != http.StatusBadRequest {
				t.Errorf("one that broke off is answered %d", status)
			}
		})
	}
	for range room {
		<-began
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if status := ask(gone, func(*http.Request) {}); status != http.StatusServiceUnavailable || len(began) > 0 {
		t.Errorf("one more is answered %d, and %d were read", status, len(began))
	}
	close(ends)
	held.Wait()
	if w := bring(t.Context(), ch, hello(now)); w.Code != http.StatusOK {
		t.Errorf("slack's own is answered %d afterwards", w.Code)
	}
}

func TestRequestsThatSlackDidNotMakeAreRefusedAndNothingIsStored(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	var stored atomic.Int64
	ch := hooked(t, now, func(context.Context, channels.Message) error {
		stored.Add(1)
		return nil
	})
	for name, c := range map[string]struct {
		change func(p *posted)
		want   int
	}{
		"the signature is of another secret":  {func(p *posted) { p.secret = "another" }, http.StatusUnauthorized},
		"the signature is of another body":    {func(p *posted) { p.signature = "v0=" + strings.Repeat("0", 64) }, http.StatusUnauthorized},
		"the signature is of another version": {func(p *posted) { p.signature = "v1=" + strings.Repeat("0", 64) }, http.StatusUnauthorized},
		"no signature":                        {func(p *posted) { p.without = "X-Slack-Signature" }, http.StatusUnauthorized},
		"no time":                             {func(p *posted) { p.without = "X-Slack-Request-Timestamp" }, http.StatusUnauthorized},
		"signed more than five minutes ago":   {func(p *posted) { p.at = now.Add(-5*time.Minute - time.Second) }, http.StatusUnauthorized},
		"signed in five minutes":              {func(p *posted) { p.at = now.Add(5*time.Minute + time.Second) }, http.StatusUnauthorized},
		"signed long before all time":         {func(p *posted) { p.at = time.Unix(-1, 0) }, http.StatusUnauthorized},
		"too long":                            {func(p *posted) { p.body = strings.Repeat("x", 1<<20+1) }, http.StatusRequestEntityTooLarge},
		"a GET":                               {func(p *posted) { p.method = http.MethodGet }, http.StatusMethodNotAllowed},
		"a PUT":                               {func(p *posted) { p.method = http.MethodPut }, http.StatusMethodNotAllowed},
		"plain text":                          {func(p *posted) { p.kind = "text/plain" }, http.StatusUnsupportedMediaType},
		"no type":                             {func(p *posted) { p.without = "Content-Type" }, http.StatusUnsupportedMediaType},
		"a form that is none":                 {func(p *posted) { p.kind, p.body = asForm, "payload=%zz" }, http.StatusUnsupportedMediaType},
		"a stranger's challenge": {func(p *posted) {
			p.secret, p.body = "another", `{"type":"url_verification","challenge":"c"}`
		}, http.StatusUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := hello(now)
			c.change(&p)
			if w := bring(t.Context(), ch, p); w.Code != c.want || w.Body.Len() != 0 {
				t.Errorf("answered %d %q, want %d", w.Code, w.Body, c.want)
			}
		})
	}
	t.Cleanup(func() {
		if n := stored.Load(); n != 0 {
			t.Errorf("%d messages were stored", n)
		}
	})
}

func TestRequestsOfSlackAreTaken(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	taken := make(chan channels.Message, 16)
	ch := hooked(t, now, func(_ context.Context, m channels.Message) error {
		taken <- m
		return nil
	})
	for name, c := range map[string]struct {
		change func(p *posted)
		text   string
	}{
		"an event":                         {func(*posted) {}, "hello"},
		"signed almost five minutes ago":   {func(p *posted) { p.at = now.Add(-5 * time.Minute) }, "hello"},
		"with a character set":             {func(p *posted) { p.kind = "application/json; charset=utf-8" }, "hello"},
		"a slash command, which is a form": {func(p *posted) { p.kind, p.body = asForm, slashForm("/parley", "hello").Encode() }, "hello"},
		"a long event, but not too long":   {func(p *posted) { p.body += strings.Repeat(" ", 1<<20-len(p.body)) }, "hello"},
		"with an escape":                   {func(p *posted) { p.body = strings.Replace(p.body, "hello", "&lt;hello&gt;", 1) }, "<hello>"},
	} {
		p := hello(now)
		c.change(&p)
		if w := bring(t.Context(), ch, p); w.Code != http.StatusOK || w.Body.Len() != 0 {
			t.Errorf("%s: answered %d %q", name, w.Code, w.Body)
			continue
		}
		if m := <-taken; m.Text != c.text {
			t.Errorf("%s: came as %+v", name, m)
		}
	}
}

func slashForm(command, text string) url.Values {
	return url.Values{
		"command": {command}, "text": {text}, "channel_id": {"C0GENERAL"}, "user_id": {"U0ANN"}, "team_id": {"T0PARLEY01"}, "trigger_id": {"1.2.3"},
	}
}

// Slack asks for the challenge when the address is entered, also before the app
// is installed anywhere.
func TestTheChallengeIsAnsweredAlsoWhileNothingIsReceived(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	r := newRig(t)
	ch := r.open(t, func(o *slack.Options) { o.Mode, o.Now = slack.Events, func() time.Time { return now } })
	p := hello(now)
	if w := bring(t.Context(), ch, p); w.Code != http.StatusServiceUnavailable {
		t.Errorf("an event that nobody takes was answered with %d", w.Code)
	}
	p.body = `{"type":"url_verification","token":"x","challenge":"3eZbrw1aB<b>"}`
	w := bring(t.Context(), ch, p)
	if w.Code != http.StatusOK || w.Body.String() != "3eZbrw1aB<b>" || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		t.Errorf("answered %d %q as %q", w.Code, w.Body, w.Header().Get("Content-Type"))
	}
}

// Of each outage one line is said, also of the second one.
func TestEachOutageIsSaidOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	up, said := make(chan bool, 64), &outages{}
	ch := r.open(t, func(o *slack.Options) {
		o.Mode, o.CheckEvery, o.Observer, o.Log = slack.Events, time.Millisecond, states{up: up}, slog.New(said)
	})
	runtest.Start(t, "Receive", func(ctx context.Context) error {
		return ch.Receive(ctx, func(context.Context, channels.Message) error { return nil })
	})
	if !<-up {
		t.Fatal("it is not up")
	}
	for range 2 {
		r.plan(t, sim.Fault{Trouble: sim.Unavailable, Method: "auth.test", Next: 3})
		if <-up || !<-up {
			t.Fatal("it did not go down and come up")
		}
	}
	if n := said.n.Load(); n != 2 {
		t.Errorf("%d lines of two outages", n)
	}
}

// states are what an observer is told.
type states struct {
	channels.NopObserver
	up chan bool
}

func (s states) SetConnected(_ string, up bool) { s.up <- up }

// outages counts the lines that say that Slack is out of reach.
type outages struct{ n atomic.Int64 }

func (*outages) Enabled(context.Context, slog.Level) bool { return true }
func (o *outages) WithAttrs([]slog.Attr) slog.Handler     { return o }
func (o *outages) WithGroup(string) slog.Handler          { return o }

func (o *outages) Handle(_ context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, "slack is out of reach") {
		o.n.Add(1)
	}
	return nil
}

// Slack brings again what was answered with 503, and it is the same event.
func TestAnEventThatCannotBeStoredIsAnsweredSoThatSlackBringsItAgain(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	var full atomic.Bool
	full.Store(true)
	events := make(chan string, 1024)
	ch := hooked(t, now, func(_ context.Context, m channels.Message) error {
		if full.Load() {
			return errDiskFull
		}
		events <- m.Event
		return nil
	}, func(o *slack.Options) { o.AnswerWithin = 20 * time.Millisecond })
	p := hello(now)
	if w := bring(t.Context(), ch, p); w.Code != http.StatusServiceUnavailable {
		t.Fatalf("answered %d", w.Code)
	}
	full.Store(false)
	first := <-events // what was not taken in time is still offered
	for bring(t.Context(), ch, p).Code != http.StatusOK {
		if t.Context().Err() != nil {
			t.Fatal("it is never taken")
		}
	}
	if again := <-events; again != first || first == "" {
		t.Errorf("it came as %q and again as %q", first, again)
	}
}
