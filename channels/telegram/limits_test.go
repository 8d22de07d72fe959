package telegram_test

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"parley/channels"
	"parley/channels/telegram"
	sim "parley/simulators/telegram"
)

// wall is a time that tests move.
type wall struct {
	mu sync.Mutex
	at time.Time
}

func newWall() *wall { return &wall{at: time.Unix(1_800_000_000, 0)} }

func (w *wall) now() time.Time { w.mu.Lock(); defer w.mu.Unlock(); return w.at }
func (w *wall) advance(d time.Duration) {
	w.mu.Lock()
	w.at = w.at.Add(d)
	w.mu.Unlock()
}

// limited is a channel on a server that answers each request with the wait for
// its chat, in seconds, or takes it.
func limited(t *testing.T, w *wall) (ch *telegram.Channel, waits map[int64]int, calls *int) {
	t.Helper()
	waits, calls = map[int64]int{}, new(int)
	ch = newCanned(t, func(rw http.ResponseWriter, r *http.Request) {
		*calls++
		chat, _ := strconv.ParseInt(form(t, r)["chat_id"], 10, 64)
		if s := waits[chat]; s > 0 {
			rw.WriteHeader(http.StatusTooManyRequests)
			_, _ = fmt.Fprintf(rw, `{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":%d}}`, s)
			return
		}
		_, _ = fmt.Fprint(rw, `{"ok":true,"result":{"message_id":5}}`)
	}, func(o *telegram.Options) { o.Now = w.now })
	return ch, waits, calls
}

func TestRow05_AWaitHoldsItsChatExactlyAsLongAndNoOther(t *testing.T) {
	t.Parallel()
	w := newWall()
	ch, waits, calls := limited(t, w)
	waits[7] = 9
	if _, err := ch.Send(t.Context(), to(7, "", "hi")); wrong(err).RetryAfter != 9*time.Second {
		t.Fatalf("%v", err)
	}
	waits[7] = 0
	w.advance(8999 * time.Millisecond)
	for name, err := range map[string]error{
		"send":   second(ch.Send(t.Context(), to(7, "", "hi"))),
		"edit":   ch.Edit(t.Context(), to(7, "", "").To, "5", channels.Body{Text: "x"}),
		"typing": ch.ShowTyping(t.Context(), to(7, "", "").To),
	} {
		if e := wrong(err); e.Kind != channels.RateLimit || e.RetryAfter != time.Millisecond {
			t.Errorf("%s a moment too early: %v after %s", name, err, e.RetryAfter)
		}
	}
	if *calls != 1 {
		t.Errorf("%d requests left during the wait", *calls-1)
	}
	if _, err := ch.Send(t.Context(), to(8, "", "hi")); err != nil {
		t.Errorf("another chat: %v", err)
	}
	w.advance(time.Millisecond)
	if _, err := ch.Send(t.Context(), to(7, "", "hi")); err != nil {
		t.Errorf("when the wait is over: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestRow05_AWaitThatTwoChatsAreToldHoldsTheAccount(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		waits [2]int // of two chats, told four seconds apart
		all   bool   // the account is held
	}{
		"the same end":              {[2]int{10, 6}, true},
		"the same end, rounded up":  {[2]int{10, 7}, true},
		"ends of their own, later":  {[2]int{10, 9}, false},
		"ends of their own, sooner": {[2]int{10, 3}, false},
		"one after the other":       {[2]int{3, 3}, false},
	} {
		w := newWall()
		ch, waits, _ := limited(t, w)
		waits[7], waits[8] = c.waits[0], c.waits[1]
		_, _ = ch.Send(t.Context(), to(7, "", "hi"))
		w.advance(4 * time.Second)
		if _, err := ch.Send(t.Context(), to(8, "", "hi")); wrong(err).RetryAfter != time.Duration(c.waits[1])*time.Second {
			t.Fatalf("%s: %v", name, err)
		}
		_, err := ch.Send(t.Context(), to(9, "", "hi"))
		if held := wrong(err).Kind == channels.RateLimit; held != c.all || !held && err != nil {
			t.Errorf("%s: a third chat gets %v", name, err)
		}
		w.advance(time.Duration(c.waits[1]) * time.Second)
		if _, err := ch.Send(t.Context(), to(9, "", "hi")); err != nil {
			t.Errorf("%s: when the wait is over: %v", name, err)
		}
	}
}

// The platform holds the bot to a wait for the whole account: once two chats
// were told, no request leaves too early.
func TestRow05_NoCallViolatesAWaitOfTheAccount(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	w := newWall()
	ch := r.open(t, func(o *telegram.Options) { o.Now = w.now })
	events := listen(t, ch)
	people := []sim.Person{ann, bob, {ID: 1003}, {ID: 1004}, {ID: 1005}}
	for _, p := range people {
		r.say(t, sim.PrivateChat(p), p, "hi", sim.SayOptions{})
		next(t, events)
	}
	r.plan(t, sim.Fault{Trouble: sim.TooManyRequests, Method: "sendMessage", Next: 1, RetryAfter: 60, Global: true})
	for range 3 {
		for _, p := range people {
			if _, err := ch.Send(t.Context(), to(p.ID, "", "hi")); wrong(err).Kind != channels.RateLimit {
				t.Errorf("to %d: %v", p.ID, err)
			}
		}
	}
	sends := 0
	for _, c := range r.Books().Calls {
		if c.Method == "sendMessage" {
			sends++
		}
	}
	if sends != 2 { // the second chat's tells that it is the account
		t.Errorf("%d requests left", sends)
	}
}
