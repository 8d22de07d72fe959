package agent

import (
	"sync"
	"time"

	"parley/sessionkeys"
)

// events numbers what happens in one Run and hands it on, one at a time.
type events struct {
	turn    string
	session sessionkeys.SessionID
	now     func() time.Time
	to      func(Event)

	mu  sync.Mutex // guards seq and the order of calls of to
	seq uint64
}

func (e *events) emit(ev Event) {
	if e.to == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seq++
	ev.Seq, ev.At, ev.Turn, ev.Session = e.seq, e.now(), e.turn, e.session
	e.to(ev)
}

// emit sends an event of the model call that is being made, or was made last.
func (r *take) emit(ev Event) {
	if ev.Step == 0 {
		ev.Step = r.steps
	}
	r.out.emit(ev)
}
