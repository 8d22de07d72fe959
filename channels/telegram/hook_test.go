package telegram_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"parley/channels"
	"parley/channels/telegram"
	"parley/runtest"
)

const secretHeader = "X-Telegram-Bot-Api-Secret-Token" // its name

// served is a channel in webhook mode whose Receive runs, over a Telegram in
// memory.
type served struct {
	t       *testing.T
	path    string
	handler http.Handler
	secret  string
	stop    func() // ends Receive and waits for it
}

func serve(t *testing.T, accept channels.Accept, change ...func(*telegram.Options)) *served {
	t.Helper()
	set := make(chan string, 16)
	s := &script{other: func(method string, params map[string]any) *http.Response {
		if method == "setWebhook" {
			set <- params["secret_token"].(string)
		}
		return nil
	}}
	o := telegram.Options{
		Common: channels.Common{Name: "tg"},
		Token:  channels.NewSecret(token), HTTPClient: &http.Client{Transport: s},
		Webhook: telegram.Webhook{URL: "https://bot.example.org/front/"},
	}
	for _, c := range change {
		c(&o)
	}
	ch, err := telegram.New(o)
	if err != nil {
		t.Fatal(err)
	}
	r := &served{t: t}
	r.path, r.handler = ch.Hook()
	r.stop = runtest.Start(t, "Receive", func(ctx context.Context) error { return ch.Receive(ctx, accept) })
	r.secret = <-set
	return r
}

// request is as Telegram makes it.
func (s *served) request(body io.Reader) *http.Request {
	r := httptest.NewRequestWithContext(s.t.Context(), http.MethodPost, s.path, body)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(secretHeader, s.secret)
	return r
}

func (s *served) do(r *http.Request) int {
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w.Code
}

func (s *served) post(update string) int { return s.do(s.request(strings.NewReader(update))) }

func TestRow03_ARequestThatDoesNotKnowTheSecretIsRefusedUnread(t *testing.T) {
	t.Parallel()
	var taken atomic.Int32
	s := serve(t, func(context.Context, channels.Message) error {
		taken.Add(1)
		return nil
	})
	for name, c := range map[string]struct {
		change func(r *http.Request)
		status int
	}{
		"no secret":         {func(r *http.Request) { r.Header.Del(secretHeader) }, 401},
		"an empty secret":   {func(r *http.Request) { r.Header.Set(secretHeader, "") }, 401},
		"a wrong secret":    {func(r *http.Request) { r.Header.Set(secretHeader, strings.Repeat("0", len(s.secret))) }, 401},
		"a part of it":      {func(r *http.Request) { r.Header.Set(secretHeader, s.secret[:len(s.secret)-1]) }, 401},
		"more than it":      {func(r *http.Request) { r.Header.Set(secretHeader, s.secret+"0") }, 401},
		"in another header": {func(r *http.Request) { r.Header.Del(secretHeader); r.Header.Set("Authorization", s.secret) }, 401},
		"the token itself":  {func(r *http.Request) { r.Header.Set(secretHeader, token) }, 401},
		"another method":    {func(r *http.Request) { r.Method = http.MethodGet }, 405},
		"no content type":   {func(r *http.Request) { r.Header.Del("Content-Type") }, 415},
		"a form":            {func(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") }, 415},
	} {
		r := s.request(iotest.ErrReader(errors.New("it was read")))
		c.change(r)
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, r)
		if w.Code != c.status || w.Body.Len() != 0 || w.Header().Get("Connection") != "close" {
			t.Errorf("%s: %d %q %v", name, w.Code, w.Body, w.Header())
		}
	}
	r := s.request(strings.NewReader(said(1, "hi")))
	r.Header.Set("Content-Type", "application/json; charset=utf-8")
	if got := s.do(r); got != 200 || taken.Load() != 1 {
		t.Errorf("as Telegram: %d, %d taken", got, taken.Load())
	}
}

func TestRow03_WhatWasNotStoredIsAskedForAgain(t *testing.T) {
	t.Parallel()
	var refuse atomic.Bool
	var came []channels.Message
	s := serve(t, func(_ context.Context, m channels.Message) error {
		came = append(came, m)
		if refuse.Load() {
			return errors.New("the disk is full")
		}
		return nil
	})
	refuse.Store(true)
	if got := s.post(said(5, "hi")); got != 503 {
		t.Errorf("refused: %d", got)
	}
	refuse.Store(false)
	if got := s.post(said(5, "hi")); got != 200 {
		t.Errorf("stored: %d", got)
	}
	if len(came) != 2 || came[0].Event != came[1].Event || came[1].Text != "hi" || came[1].Kind != channels.Said {
		t.Errorf("came %+v", came)
	}
}

func TestRow03_RequestsAreKeptOutUnlessReceiveRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := serve(t, func(ctx context.Context, m channels.Message) error {
			if m.Text != "stuck" {
				return nil
			}
			<-ctx.Done() // with Receive's, long before the request's time is over
			<-release
			return context.Cause(ctx)
		})
		begun := time.Now()
		var inside, late int
		var stopped bool
		go func() { inside = s.post(said(1, "stuck")) }()
		synctest.Wait()
		go func() { s.stop(); stopped = true }()
		synctest.Wait()
		if stopped {
			t.Error("Receive ended before the request it had let in")
		}
		if late = s.post(from(2, 9)); late != 503 {
			t.Errorf("while it ends: %d", late)
		}
		close(release)
		synctest.Wait()
		if !stopped || inside != 503 || time.Since(begun) != 0 {
			t.Errorf("ended %v, the request inside %d, after %s", stopped, inside, time.Since(begun))
		}
		if late = s.post(from(2, 9)); late != 503 {
			t.Errorf("after the end: %d", late)
		}
		r := s.request(strings.NewReader(from(2, 9)))
		r.Header.Del(secretHeader)
		if got := s.do(r); got != 401 {
			t.Errorf("a stranger after the end: %d", got)
		}
	})
}

func TestWhatCannotBeReadIsHandedOnAndConfirmed(t *testing.T) {
	t.Parallel()
	var m channels.Message
	s := serve(t, func(_ context.Context, got channels.Message) error {
		m = got
		return nil
	})
	long := `{"update_id":77,"message":{"text":"` + strings.Repeat("x", 2<<20) + `"}}`
	for name, c := range map[string]struct{ update, event, problem string }{
		"another shape":    {`{"update_id":7,"message":{"message_id":"x"}}`, "7", "cannot unmarshal"},
		"no JSON":          {`{"update_id": 8, oops`, "8", "not JSON"},
		"two ids, no JSON": {`{"update_id": 8 "update_id": 9`, "sha256-", "not JSON"},
		"nothing":          {"", "sha256-", "not JSON"},
		"bytes":            {"\xff\x00", "sha256-", "not JSON"},
		"too long":         {long, "77", "too long"},
		"an array":         {`[]`, "sha256-", ""},
	} {
		m = channels.Message{}
		body := &counting{r: strings.NewReader(c.update)}
		if got := s.do(s.request(body)); got != 200 {
			t.Errorf("%s: %d", name, got)
		}
		if m.Kind != channels.Unreadable || !strings.HasPrefix(m.Event, c.event) || !strings.Contains(m.Problem, c.problem) || !json.Valid(m.Raw) {
			t.Errorf("%s: came as %.300v", name, m)
		}
		if body.n > 1<<20+1 || len(m.Raw) > 128<<10 {
			t.Errorf("%s: %d bytes were read, %d kept", name, body.n, len(m.Raw))
		}
	}
	if got := s.do(s.request(iotest.ErrReader(io.ErrUnexpectedEOF))); got != 400 {
		t.Errorf("cut off: %d", got)
	}
}

// counting counts what is read of it.
type counting struct {
	r io.Reader
	n int
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	return n, err
}

func TestThePathAndTheSecretAreTheAccountsOwn(t *testing.T) {
	t.Parallel()
	hooked := func(tok, name string) *served {
		return serve(t, nil, func(o *telegram.Options) { o.Name, o.Token = name, channels.NewSecret(tok) })
	}
	a, again, other := hooked(token, "tg"), hooked(token, "tg2"), hooked("42:secret-token-canarz", "tg")
	if a.path != again.path || a.secret != again.secret {
		t.Error("two processes with one token do not agree")
	}
	if a.path == other.path || a.secret == other.secret {
		t.Error("two tokens have the same")
	}
	if !strings.HasPrefix(a.path, "/front/telegram/") || len(path.Base(a.path)) < 32 || len(a.secret) < 32 || strings.Contains(a.secret, path.Base(a.path)) {
		t.Errorf("path %s, secret %s", a.path, a.secret)
	}
	for _, form := range forms() {
		if strings.Contains(a.path+a.secret, form) {
			t.Error("the token shows in them")
		}
	}
	polling, err := telegram.New(telegram.Options{Common: channels.Common{Name: "tg"}, Token: channels.NewSecret(token)})
	if err != nil {
		t.Fatal(err)
	}
	if p, h := polling.Hook(); p != "" || h != nil {
		t.Errorf("a channel that polls has the hook %s", p)
	}
}
