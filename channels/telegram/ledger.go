package telegram

import (
	"slices"
	"time"
)

// ledger is what was called in one chat within the last minute.
type ledger struct {
	calls      []*entry // messages and edits, oldest first
	previews   []*entry // those of them that are previews
	reactions  []*entry
	lastTyping time.Time
	topics     map[int]*topic
	booking    *booking // of the next answer; nil: none
}

// booking is room that is kept for an answer.
type booking struct{ _ byte } // so that no two are at one address

// entry is one call. It counts from its end, so that no two requests reach Telegram
// closer to each other than they left here.
type entry struct{ at time.Time }

// topic is a part of a chat in which an answer grows.
type topic struct{ askedAt, shownAt time.Time }

// prune drops what is older than a minute.
func (l *ledger) prune(now time.Time, minute time.Duration) {
	stale := func(e *entry) bool { return isExpired(e.at, now, minute) }
	l.calls = slices.DeleteFunc(l.calls, stale)
	l.previews = slices.DeleteFunc(l.previews, stale)
	l.reactions = slices.DeleteFunc(l.reactions, stale)
	for id, t := range l.topics {
		if isExpired(t.askedAt, now, minute) {
			delete(l.topics, id)
		}
	}
}

func (l *ledger) topic(id int) *topic {
	t := l.topics[id]
	if t == nil {
		t = &topic{}
		l.topics[id] = t
	}
	return t
}

// isExpired reports whether a time is so long ago, or in a future that a clock has left.
func isExpired(t, now time.Time, window time.Duration) bool {
	return t.After(now) || !t.Add(window).After(now)
}

func lastTime(es []*entry) time.Time {
	if len(es) == 0 {
		return time.Time{}
	}
	return es[len(es)-1].at
}
