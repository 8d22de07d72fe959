package delivery

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"parley/gateway/signals"

	"parley/sessions"
	"parley/wake"
)

const laneMost = 64 // previews and signs waiting in one lane; more are dropped

// lanes sends what waits in the outbox of one bot account: to each chat one thing
// after another, to different chats side by side.
type lanes struct {
	*account
	previews  *previews
	reactions *reactions
	wake      wake.Signal

	wg       sync.WaitGroup
	mu       sync.Mutex       // guards what follows
	ctx      context.Context  // of the lanes; nil when nothing is taken. Set by begin
	stop     func()           // ends ctx; likewise
	running  context.Context  // of run: it ends before ctx, by the grace period. Set by begin, and by run to its own
	inFlight map[string]bool  // deliveries that a lane has
	passed   map[string]bool  // of those that are being handed over, which a scan passed over
	chats    map[string]*lane // by the id that answers are addressed to
	seen     uint64           // the highest order of a delivery that a scan found
	returned int              // how often a lane gave deliveries back to the outbox
	scans    int              // that read the outbox at the moment
	finished map[string]bool  // deliveries that lanes finished since the first of them began to read
	runs     uint64           // how often begin began
	// unsent are deliveries that may stand as sent by this process with a mark of that time, and
	// were not. With another mark they are in doubt as any other.
	unsent map[string]time.Time
}

// lane is the work for one chat; it exists while there is some.
type lane struct {
	chat string
	jobs []job // guarded by lanes.mu
}

// job is one thing to do in a lane: a delivery, or a sign of a running turn.
type job struct {
	delivery *sessions.Delivery
	show     *signals.Preview
}

// isAnswerOf reports whether the job is the answer of a turn, after which nothing more
// is shown of it. A file that a turn sends is not.
func (j job) isAnswerOf(turn string) bool {
	return j.delivery != nil && j.delivery.Turn == turn && j.delivery.File == nil
}

func newLanes(a *account) *lanes {
	l := &lanes{account: a, wake: wake.New()}
	l.previews = &previews{account: a, owes: l.mayOwe}
	l.reactions = &reactions{account: a, start: l.start}
	return l
}

// start runs f beside the lanes, and with their life; false: they take nothing.
func (l *lanes) start(f func(ctx context.Context)) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx == nil || l.ctx.Err() != nil {
		return false
	}
	ctx := l.ctx
	l.wg.Go(func() { f(ctx) })
	return true
}

// mayOwe reports whether an answer may wait for a chat, in its lane or in the outbox.
func (l *lanes) mayOwe(ctx context.Context, chat string) bool {
	if !l.scan(ctx, false) {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.chats[chat]
	return c != nil && slices.ContainsFunc(c.jobs, func(j job) bool { return j.delivery != nil })
}

// queuePreview queues a sign of a running turn. Of several for one turn only the
// newest counts, and none after its answer or its end.
func (l *lanes) queuePreview(p signals.Preview) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx == nil || l.ctx.Err() != nil {
		return
	}
	if c := l.chats[p.To.Peer]; c != nil {
		if len(c.jobs) >= laneMost && !p.Over {
			return
		}
		for i, j := range c.jobs {
			switch {
			case j.isAnswerOf(p.Turn):
				return
			case j.show != nil && j.show.Turn == p.Turn:
				if p.Over || p.Shows() && !j.show.Over {
					c.jobs[i].show = &p
				}
				return
			}
		}
	}
	l.push(p.To.Peer, job{show: &p})
}

// push adds a job to the chat's lane and starts the lane if there is none. The
// caller holds mu.
func (l *lanes) push(chat string, j job) {
	c := l.chats[chat]
	if c != nil {
		if j.delivery != nil && j.isAnswerOf(j.delivery.Turn) {
			c.jobs = slices.DeleteFunc(c.jobs, func(o job) bool { return o.show != nil && o.show.Turn == j.delivery.Turn })
		}
		c.jobs = append(c.jobs, j)
		return
	}
	c = &lane{chat: chat, jobs: []job{j}}
	l.chats[chat] = c
	ctx := l.ctx
	l.wg.Go(func() { l.work(ctx, c) })
}

// finishJob takes a delivery out of the lane's hands. After an error the ones behind
// it go back to the outbox too, so that the next scan takes them up in order.
func (l *lanes) finishJob(c *lane, d *sessions.Delivery, err error) {
	if d.File == nil {
		l.previews.forget(d.Turn)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.inFlight, d.ID)
	if err == nil || errors.Is(err, errDropped) {
		if l.scans > 0 {
			l.finished[d.ID] = true
		}
		return
	}
	l.Logger.Debug("delivery returned", "channel", l.name, "delivery", d.ID, "order", d.Order, "error", err)
	l.returnFrom(c, d.Order)
	if errors.Is(err, errTaken) { // often by an older picture of it: look again
		l.wake.Send()
	}
}

// returnFrom gives the deliveries that wait in a lane back to the outbox, because one that goes
// before them went back there: the next scan finds what is queued from order on; 0: all, where the
// order of that one is not known. The caller holds mu.
func (l *lanes) returnFrom(c *lane, order uint64) {
	l.returned++
	l.seen = min(l.seen, max(order, 1)-1)
	c.jobs = slices.DeleteFunc(c.jobs, func(j job) bool {
		if j.delivery != nil {
			delete(l.inFlight, j.delivery.ID)
		}
		return j.delivery != nil
	})
}

// work does a lane's jobs in order until there are none, or ctx ends.
func (l *lanes) work(ctx context.Context, c *lane) {
	for {
		l.mu.Lock()
		if len(c.jobs) == 0 || ctx.Err() != nil {
			delete(l.chats, c.chat)
			l.mu.Unlock()
			return
		}
		j := c.jobs[0]
		c.jobs = c.jobs[1:]
		l.mu.Unlock()
		if j.show != nil {
			l.previews.show(ctx, *j.show)
			continue
		}
		l.deliver(ctx, c, l.newAttempt(j.delivery))
	}
}

// newAttempt returns an attempt at d, in which the secrets are taken out of what people see.
func (l *lanes) newAttempt(d *sessions.Delivery) *attempt {
	d.Text = l.Redactor.Clean(d.Text)
	d.Choices = slices.Clone(d.Choices)
	for i, c := range d.Choices { // a program or a server may have worded them
		d.Choices[i].Label = l.Redactor.Clean(c.Label)
	}
	if f := d.File; f != nil {
		shown := *f
		shown.Name = l.Redactor.Clean(f.Name)
		d.File = &shown
	}
	return &attempt{account: l.account, place: place{of: l.places}, previews: l.previews, running: l.context, takeUnsent: l.takeUnsent, d: d}
}

// deliver makes one attempt in its lane.
func (l *lanes) deliver(ctx context.Context, c *lane, a *attempt) {
	err := a.run(ctx)
	a.releaseRoom()
	a.place.release()
	if l.Attempted != nil {
		l.Attempted(*a.d, a.started, a.outcome(err))
	}
	l.finishJob(c, a.d, err)
	a.conclude(ctx, err)
}
