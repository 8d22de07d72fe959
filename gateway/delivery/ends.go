package delivery

import (
	"slices"
	"time"

	"parley/gateway/signals"

	"parley/channels"
)

const (
	endsMost = 256 // previews that still have to end; of more only the first are
	endTries = 6
)

// final are the failures after which a preview cannot be ended, ever.
var final = []channels.ErrorKind{channels.Refused, channels.Gone, channels.Moved, channels.Unauthorized}

// pendingEnd is a preview that still has to end. One of a process that ends is left to
// the network, which ends by itself what does not grow any more.
type pendingEnd struct {
	signal signals.Preview
	due    time.Time
	tries  int
	queued bool // it is in its lane
}

// recordEnd notes what came of ending the preview of a turn that has no answer, or of taking the
// buttons off its question. What
// failed and may do better is tried again here, and nowhere else.
func (ps *previews) recordEnd(s signals.Preview, err error) {
	ce, known := asChannelError(err)
	now := ps.Now()
	ps.mu.Lock()
	defer ps.mu.Unlock()
	e := ps.ends[s.Turn]
	if err == nil || known && slices.Contains(final, ce.Kind) || e == nil && len(ps.ends) >= endsMost {
		delete(ps.ends, s.Turn)
		return
	}
	if e == nil {
		e = &pendingEnd{}
		ps.ends[s.Turn] = e
	}
	e.tries++
	if e.tries >= endTries {
		delete(ps.ends, s.Turn)
		return
	}
	wait := time.Second << e.tries
	if known && ce.Kind == channels.RateLimit {
		wait = ce.RetryAfter
	}
	e.signal, e.due, e.queued = s, now.Add(wait), false
}

// takeDue takes the signals whose previews are to be ended now.
func (ps *previews) takeDue() (due []signals.Preview) {
	now := ps.Now()
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for turn, e := range ps.ends {
		switch {
		case now.Before(e.due):
		case !e.queued:
			e.queued = true
			due = append(due, e.signal)
		case now.Sub(e.due) > previewOld: // an answer went before it after all
			delete(ps.ends, turn)
		}
	}
	return due
}
