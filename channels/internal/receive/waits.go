package receive

import (
	"sync"
	"time"

	"parley/channels"
)

// Waits is until when a network wants to hear nothing. A network asks for a wait
// in the answer to one call, and counts by scope (all calls, or each method by
// itself) and within it by chat. Nothing is held back that it did not ask for.
// The zero Waits has no names and no clock. Its methods may be called concurrently.
type Waits struct {
	Network string           // who asks, in errors
	Now     func() time.Time // required
	// SameEnd is how far the ends of one and the same wait may differ when two chats
	// are told of it. A wait that ends with another chat's is of the whole scope, and so
	// are the waits of a crowd, whenever they end: a network that makes a wait longer at
	// each call tells each chat another end. 0 keeps every wait to its chat.
	SameEnd time.Duration

	mu    sync.Mutex // guards what is below
	until map[waitKey]time.Time
	seen  time.Time // the time of the last call
	keep  func(channels.Wait)
}

// Restore implements [channels.WaitRestorer].
func (w *Waits) Restore(known []channels.Wait, keep func(channels.Wait)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.keep = keep
	now := w.adjustedNow()
	for _, k := range known {
		if k.Until.After(now) {
			w.extend(waitKey{k.Scope, k.Chat}, k.Until)
		}
	}
}

// extend makes a wait last until then, unless it lasts longer. The caller holds mu.
func (w *Waits) extend(c waitKey, until time.Time) bool {
	if !until.After(w.until[c]) {
		return false
	}
	if w.until == nil {
		w.until = map[waitKey]time.Time{}
	}
	w.until[c] = until
	return true
}

// waitKey is what a network counts. Without a chat it is the whole scope.
type waitKey struct{ scope, chat string }

// Check returns an *channels.Error of kind RateLimit while the call op for chat
// must not be made. It says how long is left.
func (w *Waits) Check(op, scope, chat string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.adjustedNow()
	until := w.until[waitKey{scope, chat}]
	if whole := w.until[waitKey{scope: scope}]; whole.After(until) {
		until = whole
	}
	if !until.After(now) {
		return nil
	}
	return &channels.Error{Kind: channels.RateLimit, Op: op, RetryAfter: until.Sub(now), Message: w.Network + " has asked to wait"}
}

// Note keeps a wait that was asked for in the answer to a call for chat; an empty
// chat is the whole scope, of which the longest wait counts.
func (w *Waits) Note(scope, chat string, wait time.Duration) {
	noted, keep := w.note(scope, chat, wait)
	for _, n := range noted {
		if keep != nil {
			keep(n)
		}
	}
}

// crowd is how many chats wait at a time when it is not for themselves. Who keeps to what a
// chat is allowed has hardly one that waits.
const crowd = 3

// note returns the waits that it has kept, and who else is to keep them.
func (w *Waits) note(scope, chat string, wait time.Duration) (noted []channels.Wait, keep func(channels.Wait)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.adjustedNow()
	until := now.Add(wait)
	shared, others, latest := chat == "", 0, until
	for c, t := range w.until {
		if !t.After(now) {
			delete(w.until, c)
			continue
		}
		if w.SameEnd == 0 || c.scope != scope || c.chat == chat || c.chat == "" {
			continue
		}
		shared = shared || t.Sub(until).Abs() <= w.SameEnd
		if others++; t.After(latest) {
			latest = t
		}
	}
	whole := until
	if others+1 >= crowd {
		shared, whole = true, latest
	}
	if shared && w.extend(waitKey{scope: scope}, whole) {
		noted = append(noted, channels.Wait{Scope: scope, Until: whole})
	}
	if chat != "" { // its last word counts
		delete(w.until, waitKey{scope, chat})
		w.extend(waitKey{scope, chat}, until)
		noted = append(noted, channels.Wait{Scope: scope, Chat: chat, Until: until})
	}
	return noted, w.keep
}

// adjustedNow returns the time. It keeps the ends of waits as far away as they were
// when the clock was set back; one that was set forward ends them early, and the
// network says so again. The caller holds mu.
func (w *Waits) adjustedNow() time.Time {
	now := w.Now()
	if back := w.seen.Sub(now); back > 0 && !w.seen.IsZero() {
		for c, t := range w.until {
			w.until[c] = t.Add(-back)
		}
	}
	w.seen = now
	return now
}
