package telegram

import (
	"slices"
	"strconv"
	"sync"
	"time"

	"parley/channels"
	"parley/channels/internal/receive"
)

// class is what a call is worth when not all can be made. What may wait waits; what
// is only for show is dropped, never queued.
type class int

const (
	final   class = iota // what was said: it may take all that Telegram allows
	preview              // an answer that grows
	sign                 // that the bot is at work
	mark                 // a reaction to what somebody wrote
)

// What Telegram allows: core.telegram.org/bots/faq, "My bot is hitting limits". An
// edit counts as a message, and a forum is one group.
const (
	perSecond = time.Second // between two messages in a chat
	perMinute = 20          // in a group
)

// What is left of it for show, so that an answer always finds room.
const (
	previewsPerMinute = 14 // in any chat
	quickPreviews     = 5  // after so many in a minute they come slowly
	slowPreviews      = 6 * time.Second
	directPreviews    = 1500 * time.Millisecond // between two in a direct message
	groupPreviews     = 3 * time.Second
	signs             = 3 * time.Second // between two in a chat
	marksPerMinute    = 20              // in any chat
	topicActive       = 10 * time.Second
)

// ofBot is how many calls a class may make in a second in all chats; Telegram
// refuses the 31st.
var ofBot = [...]int{final: 25, preview: 20, sign: 15, mark: 10}

// spot is where a call is made: a chat, and in it a topic or 0.
type spot struct {
	chat   int64
	thread int
}

func (s spot) id() string { return strconv.FormatInt(s.chat, 10) }

// allowance keeps an account to what Telegram allows, and to the waits that it asks
// for. Its methods may be called concurrently.
type allowance struct {
	waits *receive.Waits
	now   func() time.Time
	pace  float64 // how many times the published limits are allowed; negative: any number

	mu    sync.Mutex // guards what is below
	calls []time.Time
	next  time.Time // when the next answer may go that finds the bot's own limit reached
	chats map[int64]*ledger
	swept time.Time
}

func newAllowance(w *receive.Waits, now func() time.Time, pace float64) *allowance {
	return &allowance{waits: w, now: now, pace: pace, chats: map[int64]*ledger{}}
}

// scaled is a time of the published limits at the account's pace.
func (a *allowance) scaled(d time.Duration) time.Duration {
	if a.pace < 0 {
		return 0
	}
	return time.Duration(float64(d) / a.pace)
}

// due returns how long it is until a call may be made; 0: now.
func (a *allowance) due(s spot, k class) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.left(s, k, a.now())
}

// take books a call, or returns an *channels.Error of kind RateLimit that says how
// long to wait. What was taken is given back by end.
func (a *allowance) take(method string, s spot, k class) (*entry, error) {
	if err := a.waits.Check(method, "", s.id()); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	l := a.chat(s.chat, now)
	if k == preview {
		l.topic(s.thread).asked = now
	}
	if wait := a.left(s, k, now); wait > 0 {
		return nil, &channels.Error{Kind: channels.RateLimit, Op: method, RetryAfter: wait, Message: "telegram allows no more at the moment"}
	}
	a.calls = append(a.calls, now)
	e := &entry{now}
	switch k {
	case sign:
		l.signed = now
		return e, nil
	case mark:
		l.marks = append(l.marks, e)
		return e, nil
	case preview:
		l.previews = append(l.previews, e)
		l.topic(s.thread).shown = now
	default:
	}
	l.calls = append(l.calls, e)
	return e, nil
}

// end notes that a call is over. One that surely left no message counts no longer.
func (a *allowance) end(s spot, e *entry, left bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e.at = a.now(); left {
		return
	}
	l := a.chat(s.chat, e.at)
	l.calls = slices.DeleteFunc(l.calls, func(o *entry) bool { return o == e })
	l.previews = slices.DeleteFunc(l.previews, func(o *entry) bool { return o == e })
	l.marks = slices.DeleteFunc(l.marks, func(o *entry) bool { return o == e })
}

// left is how long it is until a call may be made. The caller holds mu.
func (a *allowance) left(s spot, k class, now time.Time) time.Duration {
	a.calls = slices.DeleteFunc(a.calls, func(t time.Time) bool { return old(t, now, a.scaled(time.Second)) })
	wait := time.Duration(0)
	if n := len(a.calls) - ofBot[k]; n >= 0 {
		wait = a.calls[n].Add(a.scaled(time.Second)).Sub(now)
		if k == final {
			wait = a.inLine(now, wait)
		}
	}
	l := a.chat(s.chat, now)
	gap := func(from time.Time, d time.Duration) {
		if !from.IsZero() && !from.After(now) { // else the clock was set back
			wait = max(wait, from.Add(a.scaled(d)).Sub(now))
		}
	}
	if k == sign {
		gap(l.signed, signs)
		return wait
	}
	l.forget(now, a.scaled(time.Minute))
	if k == mark { // which no message waits for
		if n := len(l.marks) - marksPerMinute; n >= 0 {
			gap(l.marks[n].at, time.Minute)
		}
		return wait
	}
	gap(last(l.calls), perSecond)
	most := perMinute
	if k == preview {
		most = previewsPerMinute
		a.leftOfPreview(s, l, now, gap)
	}
	if n := len(l.calls) - most; n >= 0 && (s.chat < 0 || k == preview) {
		gap(l.calls[n].at, time.Minute)
	}
	return wait
}

// inLine gives each answer that waits for the bot's own limit a moment of its own, so
// that not all who wait come back at once, and most of them in vain. The caller holds
// mu.
func (a *allowance) inLine(now time.Time, wait time.Duration) time.Duration {
	at := now.Add(wait)
	if a.next.After(at) && a.next.Sub(now) < a.scaled(time.Hour) { // else the clock was set back
		at = a.next
	}
	a.next = at.Add(a.scaled(time.Second) / time.Duration(ofBot[final]))
	return at.Sub(now)
}

// leftOfPreview adds what holds for previews alone. Of several topics in which
// answers grow each gets its part.
func (a *allowance) leftOfPreview(s spot, l *ledger, now time.Time, gap func(from time.Time, d time.Duration)) {
	apart := directPreviews
	if s.chat < 0 {
		apart = groupPreviews
	}
	if len(l.previews) >= quickPreviews {
		apart = slowPreviews
	}
	gap(last(l.previews), apart)
	active := 0
	for _, t := range l.topics {
		if !old(t.asked, now, a.scaled(topicActive)) {
			active++
		}
	}
	gap(l.topic(s.thread).shown, apart*time.Duration(max(active, 1)))
}

// chat returns the ledger of a chat. Once in a minute the quiet ones are forgotten.
// The caller holds mu.
func (a *allowance) chat(id int64, now time.Time) *ledger {
	minute := a.scaled(time.Minute)
	if old(a.swept, now, minute) {
		a.swept = now
		for other, l := range a.chats {
			l.forget(now, minute)
			if other != id && len(l.calls) == 0 && len(l.marks) == 0 && len(l.topics) == 0 && old(l.signed, now, minute) {
				delete(a.chats, other)
			}
		}
	}
	l := a.chats[id]
	if l == nil {
		l = &ledger{topics: map[int]*topic{}}
		a.chats[id] = l
	}
	return l
}
