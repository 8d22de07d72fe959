package telegram_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sim "parley/simulators/telegram"
)

func TestAWebhookGetsEachUpdateUntilItConfirms(t *testing.T) {
	t.Parallel()
	p := start(t, func(o *sim.Options) { o.WebhookRetry = time.Millisecond })
	var calls, failed atomic.Int64
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var u update
		if err := json.NewDecoder(r.Body).Decode(&u); err != nil || u.Message == nil {
			t.Errorf("body: %v", err)
		}
		if r.Header.Get("X-Telegram-Bot-Api-Secret-Token") != "s3cret" {
			t.Error("secret missing")
		}
		if calls.Add(1) <= 2 {
			failed.Add(1)
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer hook.Close()
	p.plan(sim.Fault{Trouble: sim.Redelivered, Next: 1})
	p.say(sim.PrivateChat(ann), ann, "before")
	if r := p.call("setWebhook", args{"url": hook.URL, "secret_token": "s3cret"}); !r.OK {
		t.Fatal(r.Description)
	}
	p.say(sim.PrivateChat(ann), ann, "after")
	b, err := p.Await(soon(t), func(b sim.Book) bool {
		return b.Totals.Confirmed == 2 && b.Updates[0].Handed+b.Updates[1].Handed == 5
	})
	if err != nil || failed.Load() != 2 {
		t.Errorf("%v, %d failed, %+v", err, failed.Load(), b.Updates)
	}
}

// hooked is a webhook that writes down what comes and answers with status, or
// 200 when that is nil.
type hooked struct {
	*httptest.Server
	mu     sync.Mutex
	texts  []string
	status func(text string, nth int) int // nth: of this text, from 1
}

func hook(t *testing.T, p *platform, status func(text string, nth int) int, a args) *hooked {
	t.Helper()
	h := &hooked{status: status}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var u update
		if err := json.NewDecoder(r.Body).Decode(&u); err != nil || u.Message == nil {
			t.Errorf("body: %v", err)
			return
		}
		h.mu.Lock()
		h.texts = append(h.texts, u.Message.Text)
		nth := 0
		for _, text := range h.texts {
			if text == u.Message.Text {
				nth++
			}
		}
		h.mu.Unlock()
		if h.status != nil {
			w.WriteHeader(h.status(u.Message.Text, nth))
		}
	}))
	t.Cleanup(h.Close)
	a["url"] = h.URL
	if r := p.call("setWebhook", a); !r.OK {
		t.Fatal(r.Description)
	}
	return h
}

func (h *hooked) came() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.texts)
}

func (p *platform) awaitHooks(confirmed, hooked int) sim.Book {
	p.t.Helper()
	b, err := p.Await(soon(p.t), func(b sim.Book) bool {
		return b.Totals.Confirmed >= confirmed && b.Totals.Hooked >= hooked
	})
	if err != nil {
		p.t.Fatalf("%v: %+v", err, b.Hooks)
	}
	return b
}

func TestChatsOfAWebhookGoSideBySideAndEachInItsOrder(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 2} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			t.Parallel()
			p := start(t, func(o *sim.Options) { o.WebhookRetry = time.Millisecond })
			inside, release := make(chan string), make(chan struct{})
			for i := range 3 {
				p.say(sim.PrivateChat(ann), ann, fmt.Sprint("ann ", i))
				p.say(sim.PrivateChat(bob), bob, fmt.Sprint("bob ", i))
			}
			h := hook(t, p, func(text string, _ int) int {
				inside <- text
				<-release
				return http.StatusOK
			}, args{"max_connections": limit})
			seen := map[string]int{}
			for range 6 / limit {
				var together []string
				for range limit {
					text := <-inside
					together = append(together, text[:3])
					if want := fmt.Sprint(text[:4], seen[text[:3]]); text != want {
						t.Errorf("%s came before %s", text, want)
					}
					seen[text[:3]]++
				}
				slices.Sort(together)
				if limit == 2 && !slices.Equal(together, []string{"ann", "bob"}) {
					t.Errorf("together came %v", together)
				}
				for range limit {
					release <- struct{}{}
				}
			}
			b := p.awaitHooks(6, 6)
			for _, e := range b.Hooks {
				if e.Beside > limit || e.Status != 200 || e.Again {
					t.Errorf("%+v", e)
				}
			}
			if len(h.came()) != 6 {
				t.Errorf("came %v", h.came())
			}
		})
	}
}

func TestARefusedUpdateHoldsUpItsChatAndNoOther(t *testing.T) {
	t.Parallel()
	p := start(t, func(o *sim.Options) { o.WebhookRetry = time.Millisecond })
	bobs := make(chan struct{})
	h := hook(t, p, func(text string, nth int) int {
		switch {
		case text == "bob":
			close(bobs)
		case text == "first" && nth < 4:
			if nth == 3 {
				<-bobs // bob's comes although ann's is refused
			}
			return http.StatusServiceUnavailable
		}
		return http.StatusOK
	}, args{"max_connections": 2})
	p.say(sim.PrivateChat(ann), ann, "first")
	p.say(sim.PrivateChat(ann), ann, "second")
	p.say(sim.PrivateChat(bob), bob, "bob")
	b := p.awaitHooks(3, 6)
	came := slices.DeleteFunc(h.came(), func(s string) bool { return s == "bob" })
	if !slices.Equal(came, []string{"first", "first", "first", "first", "second"}) {
		t.Errorf("came %v", came)
	}
	for _, e := range b.Hooks {
		if want := "Wrong response from the webhook: 503 Service Unavailable"; e.Status == 503 && e.Problem != want || e.Status == 200 && e.Problem != "" {
			t.Errorf("%+v", e)
		}
	}
	if b.Totals.Unhooked != 3 {
		t.Errorf("%+v", b.Totals)
	}
	if info := string(p.call("getWebhookInfo", nil).Result); !strings.Contains(info, `"last_error_message":"Wrong response from the webhook: 503 Service Unavailable"`) || !strings.Contains(info, `"max_connections":2`) {
		t.Errorf("info %s", info)
	}
}

func TestTroubleFallsOnWebhooks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault   sim.Fault
		came    int // posts of the one update
		problem string
	}{
		{sim.Fault{Trouble: sim.Dropped}, 1, "Connection timed out"},
		{sim.Fault{Trouble: sim.Ambiguous}, 2, "Read timeout expired"},
		{sim.Fault{Trouble: sim.Slow, Delay: time.Millisecond}, 1, ""},
		{sim.Fault{Trouble: sim.Redelivered, Copies: 4}, 5, ""},
		{sim.Fault{Trouble: sim.Redelivered, After: 20 * time.Millisecond}, 2, ""},
	} {
		p := start(t, func(o *sim.Options) { o.WebhookRetry = time.Millisecond })
		c.fault.Method, c.fault.Next = "webhook", 1
		p.plan(c.fault)
		h := hook(t, p, nil, args{})
		p.say(sim.PrivateChat(ann), ann, "once")
		hooked := c.came
		if c.fault.Trouble == sim.Dropped {
			hooked++
		}
		b := p.awaitHooks(1, hooked)
		if len(h.came()) != c.came || b.Hooks[0].Problem != c.problem || b.Totals.Confirmed != 1 || b.Totals.Faults != 1 {
			t.Errorf("%s: came %v, %+v", c.fault.Trouble, h.came(), b.Hooks)
		}
	}
}

func TestWebhooksCanComeInAnyOrder(t *testing.T) {
	t.Parallel()
	p := start(t, func(o *sim.Options) { o.WebhookRetry = time.Millisecond })
	p.plan(sim.Fault{Trouble: sim.Reordered, Method: "webhook"})
	var want []string
	for i := range 30 {
		want = append(want, fmt.Sprint(i))
		p.say(sim.PrivateChat(ann), ann, want[i])
	}
	h := hook(t, p, nil, args{"max_connections": 3})
	p.awaitHooks(30, 30)
	came := h.came()
	if slices.Equal(came, want) {
		t.Error("they came in order")
	}
	slices.Sort(came)
	slices.Sort(want)
	if !slices.Equal(came, want) {
		t.Errorf("came %v", came)
	}
}

func TestAPolledUpdateCanComeAgainLater(t *testing.T) {
	t.Parallel()
	var c clock
	p := start(t, func(o *sim.Options) { o.Now = c.now })
	p.plan(sim.Fault{Trouble: sim.Redelivered, Next: 1, After: 10 * time.Minute, Copies: 2})
	p.say(sim.PrivateChat(ann), ann, "hi")
	us := p.poll(nil)
	if again := p.poll(args{"offset": us[0].UpdateID + 1}); len(again) != 0 {
		t.Errorf("at once: %v", again)
	}
	c.advance(10 * time.Minute)
	if again := p.poll(args{"offset": us[0].UpdateID + 1}); len(again) != 2 || again[0].UpdateID != us[0].UpdateID {
		t.Errorf("later: %v", again)
	}
}
