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
	final    class = iota // what was said: it may take all that Telegram allows
	preview               // an answer that grows
	typing                // that the bot is at work
	reaction              // a reaction to what somebody wrote
)

// What Telegram allows: core.telegram.org/bots/faq, "My bot is hitting limits". An
// edit counts as a message, and a forum is one group.
const (
	perSecond = time.Second // between two messages in a chat
	perMinute = 20          // in a group
)

// What is left of it for show, so that an answer always finds room.
const (
	previewsPerMinute  = 14 // in any chat
	quickPreviews      = 5  // after so many in a minute they come slowly
	slowPreviews       = 6 * time.Second
	directPreviews     = 1500 * time.Millisecond // between two in a direct message
	groupPreviews      = 3 * time.Second
	typingGap          = 3 * time.Second // between two in a chat
	reactionsPerMinute = 20              // in any chat
	topicActive        = 10 * time.Second
)

// callsPerSecond is how many calls a class may make in a second in all chats; Telegram
// refuses the 31st.
var callsPerSecond = [...]int{final: 25, preview: 20, typing: 15, reaction: 10}

// callTarget is where a call is made: a chat, and in it a topic or 0.
type callTarget struct {
	chat   int64
	thread int
}

func (s callTarget) id() string { return strconv.FormatInt(s.chat, 10) }

// rateLimiter keeps an account to what Telegram allows, and to the waits that it asks
// for. Its methods may be called concurrently.
type rateLimiter struct {
	waits *receive.Waits
	now   func() time.Time
	pace  float64 // how many times the published limits are allowed; negative: any number

	mu sync.Mutex // guards what is below
	// A call reaches Telegram at some moment between its start and its end. So it counts
	// against the bot's own limit while it is under way, and a second from its end.
	underWay int
	ended    []time.Time
	booked   int       // answers for which room is kept, which have not been called for
	next     time.Time // when the next answer may go that finds the bot's own limit reached
	chats    map[int64]*ledger
	swept    time.Time
}

func newRateLimiter(w *receive.Waits, now func() time.Time, pace float64) *rateLimiter {
	return &rateLimiter{waits: w, now: now, pace: pace, chats: map[int64]*ledger{}}
}

// scale returns a time of the published limits at the account's pace.
func (a *rateLimiter) scale(d time.Duration) time.Duration {
	if a.pace < 0 {
		return 0
	}
	return time.Duration(float64(d) / a.pace)
}

// delay returns how long it is until a call may be made; 0: now.
func (a *rateLimiter) delay(s callTarget, k class) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.delayAt(s, k, a.now())
}

// book keeps room for the next answer in a chat, until reserve takes it or release is called, and
// returns 0; or returns how long it is until there is any.
func (a *rateLimiter) book(s callTarget) (wait time.Duration, release func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	if wait := a.delayAt(s, final, now); wait > 0 {
		return wait, func() {}
	}
	l, b := a.ledgerOf(s.chat, now), &booking{}
	a.take(l)
	l.booking = b
	a.booked++
	return 0, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if l.booking == b {
			a.take(l)
		}
	}
}

// take ends the booking of a chat, and reports whether there was one. The caller holds mu.
func (a *rateLimiter) take(l *ledger) bool {
	if l.booking == nil {
		return false
	}
	l.booking = nil
	a.booked--
	return true
}

// reserve books a call, or returns an *channels.Error of kind RateLimit that says how
// long to wait. What was taken is given back by end.
func (a *rateLimiter) reserve(method string, s callTarget, k class) (*entry, error) {
	if err := a.waits.Check(method, "", s.id()); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	l := a.ledgerOf(s.chat, now)
	if k == preview {
		l.topic(s.thread).askedAt = now
	}
	if k == final && a.take(l) {
		// there is room
	} else if wait := a.delayAt(s, k, now); wait > 0 {
		return nil, &channels.Error{Kind: channels.RateLimit, Op: method, RetryAfter: wait, Message: "telegram allows no more at the moment"}
	}
	a.underWay++
	e := &entry{now}
	switch k {
	case typing:
		l.lastTyping = now
		return e, nil
	case reaction:
		l.reactions = append(l.reactions, e)
		return e, nil
	case preview:
		l.previews = append(l.previews, e)
		l.topic(s.thread).shownAt = now
	default:
	}
	l.calls = append(l.calls, e)
	return e, nil
}

// finish notes that a call is over. One that surely left no message counts no longer.
func (a *rateLimiter) finish(s callTarget, e *entry, left bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e.at = a.now()
	a.underWay--
	a.ended = append(a.ended, e.at)
	if left {
		return
	}
	l := a.ledgerOf(s.chat, e.at)
	l.calls = slices.DeleteFunc(l.calls, func(o *entry) bool { return o == e })
	l.previews = slices.DeleteFunc(l.previews, func(o *entry) bool { return o == e })
	l.reactions = slices.DeleteFunc(l.reactions, func(o *entry) bool { return o == e })
}

// delayAt returns how long it is until a call may be made. The caller holds mu.
func (a *rateLimiter) delayAt(s callTarget, k class, now time.Time) time.Duration {
	second := a.scale(time.Second)
	a.ended = slices.DeleteFunc(a.ended, func(t time.Time) bool { return isExpired(t, now, second) })
	wait := time.Duration(0)
	if n := a.underWay + a.booked + len(a.ended) - callsPerSecond[k]; n >= 0 {
		if wait = second; n < len(a.ended) {
			wait = a.ended[n].Add(second).Sub(now)
		}
		if k == final {
			wait = a.nextSlot(now, wait)
		}
	}
	l := a.ledgerOf(s.chat, now)
	gap := func(from time.Time, d time.Duration) {
		if !from.IsZero() && !from.After(now) { // else the clock was set back
			wait = max(wait, from.Add(a.scale(d)).Sub(now))
		}
	}
	if k == typing {
		gap(l.lastTyping, typingGap)
		return wait
	}
	l.prune(now, a.scale(time.Minute))
	if k == reaction { // which no message waits for
		if n := len(l.reactions) - reactionsPerMinute; n >= 0 {
			gap(l.reactions[n].at, time.Minute)
		}
		return wait
	}
	gap(lastTime(l.calls), perSecond)
	limit := perMinute
	if k == preview {
		limit = previewsPerMinute
		a.addPreviewGaps(s, l, now, gap)
	}
	if n := len(l.calls) - limit; n >= 0 && (s.chat < 0 || k == preview) {
		gap(l.calls[n].at, time.Minute)
	}
	return wait
}

// nextSlot gives each answer that waits for the bot's own limit a moment of its own, so
// that not all who wait come back at once, and most of them in vain. The caller holds
// mu.
func (a *rateLimiter) nextSlot(now time.Time, wait time.Duration) time.Duration {
	at := now.Add(wait)
	if a.next.After(at) && a.next.Sub(now) < a.scale(time.Hour) { // else the clock was set back
		at = a.next
	}
	a.next = at.Add(a.scale(time.Second) / time.Duration(callsPerSecond[final]))
	return at.Sub(now)
}

// addPreviewGaps adds what holds for previews alone. Of several topics in which
// answers grow each gets its part.
func (a *rateLimiter) addPreviewGaps(s callTarget, l *ledger, now time.Time, gap func(from time.Time, d time.Duration)) {
	apart := directPreviews
	if s.chat < 0 {
		apart = groupPreviews
	}
	if len(l.previews) >= quickPreviews {
		apart = slowPreviews
	}
	gap(lastTime(l.previews), apart)
	active := 0
	for _, t := range l.topics {
		if !isExpired(t.askedAt, now, a.scale(topicActive)) {
			active++
		}
	}
	gap(l.topic(s.thread).shownAt, apart*time.Duration(max(active, 1)))
}

// ledgerOf returns the ledger of a chat. Once in a minute the quiet ones are forgotten.
// The caller holds mu.
func (a *rateLimiter) ledgerOf(id int64, now time.Time) *ledger {
	minute := a.scale(time.Minute)
	if isExpired(a.swept, now, minute) {
		a.swept = now
		for other, l := range a.chats {
			l.prune(now, minute)
			if other != id && len(l.calls) == 0 && len(l.reactions) == 0 && len(l.topics) == 0 && l.booking == nil && isExpired(l.lastTyping, now, minute) {
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
