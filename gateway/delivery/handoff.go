package delivery

import (
	"context"
	"errors"
	"time"

	"parley/sessions"
)

// A turn that ends hands its answer over to the lane of its chat before it ends: when nothing
// else is done there, the commit that ends the turn notes that the answer is being sent, too,
// and the lane sends it as soon as that commit is durable. What cannot be handed over is queued,
// and found by a scan.

const (
	unsentMost     = 1024            // answers remembered that may stand as being sent, and were not
	putBackTimeout = 5 * time.Second // an account that has ended waits for it
)

// Handoff takes the answer of one turn. It returns how the delivery begins, and settle, which
// must be called once with whether the commit that ended the turn began it so, or failed. begin is
// nil where the answer cannot be sent at once; there is nothing to settle then.
type Handoff = func(ctx context.Context, o sessions.Outgoing, asked time.Time) (begin *sessions.Progress, settle func(sending bool, err error))

// Handoff returns what takes the answer of a turn that is opened after this call; nil where
// this process does not send for the channel. What it knows of the turn's preview is what this
// process has shown since: so it takes nothing any more when the process stopped to send for the
// channel in between, or after half an hour. It may be called concurrently.
func (d *Delivery) Handoff(channel string) Handoff {
	l := d.lanes[channel]
	if l == nil {
		return nil
	}
	run, since := l.currentRun(), l.Now()
	if run == 0 {
		return nil
	}
	return func(ctx context.Context, o sessions.Outgoing, asked time.Time) (*sessions.Progress, func(bool, error)) {
		if l.Now().Sub(since) > previewOld/2 {
			return nil, nil
		}
		return l.takeOver(ctx, run, &sessions.Delivery{Outgoing: o, AskedAt: asked})
	}
}

// currentRun returns the number of the run that takes jobs now; 0: none does.
func (l *lanes) currentRun() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx == nil || l.running.Err() != nil {
		return 0
	}
	return l.runs
}

// takeOver occupies the lane of d's chat, if nothing is done there, until settle is called.
func (l *lanes) takeOver(ctx context.Context, run uint64, d *sessions.Delivery) (*sessions.Progress, func(bool, error)) {
	decided := make(chan bool, 1)
	a := l.newAttempt(d)
	if !l.occupy(run, a, decided) {
		return nil, nil
	}
	var begin *sessions.Progress
	defer func() {
		if begin == nil { // also after a panic, which the worker survives
			a.releaseRoom()
			a.place.release()
			l.returnHanded(d)
			decided <- false
		}
	}()
	if begin = a.begin(ctx); begin == nil {
		return nil, nil
	}
	return begin, func(sending bool, err error) {
		if sending || err != nil { // then it may stand as sending all the same
			l.rememberUnsent(d.ID, begin.Marks[0].At)
		}
		if sending {
			l.keepHanded(d.ID)
			a.applyMarks(begin.Marks)
		} else {
			l.returnHanded(d)
			l.wake.Send()
		}
		decided <- sending
	}
}

// occupy makes a lane that waits until it is decided whether a's delivery is sent, and then goes
// on. It returns false when there is a lane for the chat already.
func (l *lanes) occupy(run uint64, a *attempt, decided <-chan bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	chat := a.d.To.Peer
	if l.ctx == nil || l.runs != run || l.running.Err() != nil || l.chats[chat] != nil || l.inFlight[a.d.ID] {
		return false
	}
	l.inFlight[a.d.ID], l.passed[a.d.ID] = true, false
	c := &lane{chat: chat}
	l.chats[chat] = c
	ctx := l.ctx
	l.wg.Go(func() {
		if sending := <-decided; sending && ctx.Err() == nil {
			l.deliver(ctx, c, a)
		} else {
			a.releaseRoom()
			a.place.release()
		}
		if ctx.Err() != nil {
			if at := l.takeUnsent(a.d.ID); !at.IsZero() {
				a.putBack(ctx, at)
			}
		}
		l.work(ctx, c)
	})
	return true
}

// keepHanded notes that the lane sends a delivery that was handed over.
func (l *lanes) keepHanded(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.passed, id)
}

// returnHanded leaves a delivery that was not handed over to the next scan. Another worker may have
// queued it long ago, because the turn was its own meanwhile: a scan has passed it over then, and
// what was queued behind it waits in its lane, which must not send that first.
func (l *lanes) returnHanded(d *sessions.Delivery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.inFlight, d.ID)
	passed := l.passed[d.ID]
	delete(l.passed, d.ID)
	if c := l.chats[d.To.Peer]; passed && c != nil {
		l.returnFrom(c, 0)
		l.wake.Send()
	}
}

// begin composes the delivery, and returns how it begins if that can be at once; nil: it must wait,
// or there is nothing to send.
func (a *attempt) begin(ctx context.Context) *sessions.Progress {
	var err error
	if a.at, err = a.locate(ctx, a.d.To); err != nil || a.at.chat.Closed || !a.place.tryTake() || a.bookRoom() > 0 {
		return nil
	}
	p, err := a.compose()
	if err != nil || len(p.Bodies) == 0 {
		return nil
	}
	return &p
}

// putBack queues an answer again of which nothing was sent since it was marked at that time, and
// nothing may be sent any more here: who sends it next is in no doubt.
func (a *attempt) putBack(ctx context.Context, at time.Time) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), putBackTimeout)
	defer cancel()
	d, err := a.Store.Delivery(ctx, a.d.ID)
	if err == nil && len(d.Parts) > 0 && d.Parts[0].At.Equal(at) { // another mark is of a call that was made
		err = a.advance(ctx, a.queuedAgain(0))
	}
	if err != nil && !errors.Is(err, errTaken) && !errors.Is(err, sessions.ErrNotFound) {
		a.Logger.Warn("answer not put back, it will be repeated with a mark", "channel", a.name, "delivery", a.d.ID, "error", err)
	}
}

// rememberUnsent notes that nothing was sent of an answer that stands as being sent with a mark of
// that time, or may.
func (l *lanes) rememberUnsent(id string, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.unsent) >= unsentMost {
		clear(l.unsent)
	}
	l.unsent[id] = at.Truncate(time.Microsecond) // as the store keeps it
}

// takeUnsent returns of when the mark is with which an answer may stand as sent by this process, and
// was not; and forgets it. It returns no time where there is none.
func (l *lanes) takeUnsent(id string) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.unsent[id]
	delete(l.unsent, id)
	return at
}
