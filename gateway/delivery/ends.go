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

// ending is a preview that still has to end. One of a process that ends is left to
// the network, which ends by itself what does not grow any more.
type ending struct {
	signal signals.Preview
	due    time.Time
	tries  int
	asked  bool // it is in its lane
}

// ended notes what came of ending the preview of a turn that has no answer. What
// failed and may do better is tried again: nobody else will.
func (ps *previews) ended(s signals.Preview, err error) {
	ce, known := errorOf(err)
	now := ps.Now()
	ps.mu.Lock()
	defer ps.mu.Unlock()
	e := ps.ends[s.Turn]
	if err == nil || known && slices.Contains(final, ce.Kind) || e == nil && len(ps.ends) >= endsMost {
		delete(ps.ends, s.Turn)
		return
	}
	if e == nil {
		e = &ending{}
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
	e.signal, e.due, e.asked = s, now.Add(wait), false
}

// due takes the signals whose previews are to be ended now.
func (ps *previews) due() (due []signals.Preview) {
	now := ps.Now()
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for turn, e := range ps.ends {
		switch {
		case now.Before(e.due):
		case !e.asked:
			e.asked = true
			due = append(due, e.signal)
		case now.Sub(e.due) > previewOld: // an answer went before it after all
			delete(ps.ends, turn)
		}
	}
	return due
}
