package policy

import (
	"cmp"
	"errors"
	"time"

	"parley/channels"
	"parley/gateway/messages"
	"parley/problems"
)

// WhileBusy describes what becomes of what a person says while a turn of theirs runs.
// Whatever it is, a turn is of one person: what somebody else says in a group,
// and what comes behind it, waits for a turn of its own, and so does what comes
// behind a command.
type WhileBusy string

// What becomes of what a person says while a turn of theirs runs.
const (
	// Steer: it joins the turn before its next model call. One that ends before
	// leaves it to the next turn. The default.
	Steer WhileBusy = "steer"
	// Queue: each message is a turn of its own.
	Queue WhileBusy = "queue"
	// Collect: all that waits when a turn begins is one turn.
	Collect WhileBusy = "collect"
	// Interrupt: as Steer, but the turn does not go on first: see
	// [agent.Steering].
	Interrupt WhileBusy = "interrupt"
)

// Waiting is what becomes of messages that wait for a turn.
type Waiting struct {
	WhileBusy WhileBusy
	// Debounce is how long nothing must come from a person before what they sent
	// is taken up; all of it is one turn. 0: at once.
	Debounce time.Duration
	// DebounceMax is the longest wait in all. Default: five times Debounce.
	DebounceMax time.Duration
}

// Defaults fills in what is zero.
func (w Waiting) Defaults() Waiting {
	w.WhileBusy = cmp.Or(w.WhileBusy, Steer)
	w.DebounceMax = cmp.Or(w.DebounceMax, 5*w.Debounce)
	return w
}

var (
	errWhileBusy   = errors.New("not one of steer, queue, collect, interrupt")
	errDebounce    = errors.New("debounce is negative")
	errDebounceMax = errors.New("debounce_max must not be shorter than debounce, and does nothing without it")
)

// Validate says everything that cannot work, joined.
func (w Waiting) Validate() error {
	var ps problems.List
	switch w.Defaults().WhileBusy {
	case Steer, Queue, Collect, Interrupt:
	default:
		ps.Add("", "while_busy %q: %w", w.WhileBusy, errWhileBusy)
	}
	if w.Debounce < 0 {
		ps.Check("", errDebounce)
	}
	if w.DebounceMax < 0 || w.DebounceMax > 0 && (w.Debounce <= 0 || w.DebounceMax < w.Debounce) {
		ps.Check("", errDebounceMax)
	}
	return ps.Err()
}

// MayJoin reports whether what is said while a turn runs may join it.
func (w Waiting) MayJoin() bool { return w.WhileBusy == Steer || w.WhileBusy == Interrupt }

// Follows reports whether m becomes one turn with first and what came up to last,
// its neighbour, although it is said by itself.
func (w Waiting) Follows(first, last, m channels.Message) bool {
	switch {
	case last.Kind != channels.Said || m.Kind != channels.Said || !messages.ForBot(m):
		return false
	case m.Channel != first.Channel || m.Sender.ID != first.Sender.ID || m.Sender.Anonymous:
		return false
	}
	if _, ok := messages.ParseCommand(m.Text); ok {
		return false
	}
	return w.WhileBusy == Collect || w.isWithinDebounce(first, last, m)
}

// networkClock is how far two times of a network's clock, which counts seconds,
// may be apart more than those of ours.
const networkClock = 2 * time.Second

// isWithinDebounce reports whether m came before there was quiet.
func (w Waiting) isWithinDebounce(first, last, m channels.Message) bool {
	if w.Debounce <= 0 || m.ReceivedAt.Sub(last.ReceivedAt) > w.Debounce || m.ReceivedAt.Sub(first.ReceivedAt) > w.DebounceMax {
		return false
	}
	// After an outage everything is received at once.
	return last.SentAt.IsZero() || m.SentAt.IsZero() || m.SentAt.Sub(last.SentAt) <= w.Debounce+networkClock
}

// DebounceDelay returns how long to wait for more behind last.
func (w Waiting) DebounceDelay(first, last channels.Message, now time.Time) time.Duration {
	if w.Debounce <= 0 || last.Kind != channels.Said || last.Sender.Anonymous {
		return 0
	}
	d := min(last.ReceivedAt.Add(w.Debounce).Sub(now), w.Debounce)
	return min(d, first.ReceivedAt.Add(w.DebounceMax).Sub(now))
}
