package delivery

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"parley/broker"
	"parley/channels"
	"parley/gateway/worker"
	"parley/sessions"
)

const (
	scanEvery = time.Second // a lost signal costs this much
	scanMost  = 512         // deliveries looked at in one scan, beside those in the lanes
	laneMost  = 64          // previews and signs waiting in one lane; more are dropped
)

// account sends for one bot account.
type account struct {
	d    *Delivery
	ch   channels.Channel
	name string
	wake chan struct{}

	mu       sync.Mutex
	wg       sync.WaitGroup
	ctx      context.Context // of the lanes; nil when nothing is taken. Set by begin
	stop     func()          // ends ctx; likewise
	running  context.Context // of run: it ends before ctx, by the grace period. Set by begin, and by run to its own
	began    time.Time       // likewise
	inFlight map[string]bool // deliveries that a lane has
	lanes    map[string]*lane
	previews map[string]*preview // by turn
	ends     map[string]*ending  // likewise
	seen     uint64              // the highest order of a delivery that a scan found
	returned int                 // how often a lane gave deliveries back to the outbox
}

// lane is the work for one chat; it exists while there is some.
type lane struct {
	chat string
	jobs []job // guarded by account.mu
}

// job is one thing to do in a lane: a delivery, or a sign of a running turn.
type job struct {
	delivery *sessions.Delivery
	show     *worker.PreviewSignal
}

// answers says whether the job is the answer of a turn, after which nothing more
// is shown of it. A file that a turn sends is not.
func (j job) answers(turn string) bool {
	return j.delivery != nil && j.delivery.Turn == turn && j.delivery.File == nil
}

func newAccount(d *Delivery, c channels.Channel) *account {
	return &account{
		d: d, ch: c, name: c.Name(), wake: make(chan struct{}, 1),
	}
}

func (a *account) wakeUp() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// begin lets the account take jobs, with nothing left of an earlier run. It does
// nothing when it was called before run.
func (a *account) begin(ctx context.Context) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ctx != nil {
		return
	}
	a.ctx, a.stop = context.WithCancel(context.WithoutCancel(ctx))
	a.running = ctx                                // a preview that comes before run looks at the outbox, too
	a.began = a.d.Now().Truncate(time.Millisecond) // as the store keeps times
	a.inFlight, a.lanes, a.previews = map[string]bool{}, map[string]*lane{}, map[string]*preview{}
	a.ends = map[string]*ending{}
	a.seen = 0
}

// end stops the lanes and waits for them. Nothing is taken after it.
func (a *account) end() {
	a.mu.Lock()
	stop := a.stop
	a.mu.Unlock()
	stop()
	a.wg.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ctx, a.stop, a.running = nil, nil, nil
}

// run sends until ctx ends, and what is queued then for the grace period.
func (a *account) run(ctx context.Context) {
	a.begin(ctx)
	defer a.end()
	a.mu.Lock()
	lanes, stop := a.ctx, a.stop
	a.running = ctx
	a.mu.Unlock()
	tick := time.NewTicker(scanEvery)
	defer tick.Stop()
	a.scan(ctx, true)
	for ctx.Err() == nil {
		all := false
		select {
		case <-ctx.Done():
			continue
		case <-a.wake:
		case <-tick.C:
			all = true
		}
		select { // one scan is for both
		case <-a.wake:
		case <-tick.C:
			all = true
		default:
		}
		a.endAgain()
		a.scan(ctx, all)
	}
	if errors.Is(context.Cause(ctx), broker.ErrLeaseLost) {
		return
	}
	a.scan(lanes, true)
	done := make(chan struct{})
	go func() {
		a.wg.Wait()
		close(done)
	}()
	grace := time.NewTimer(a.d.Grace)
	defer grace.Stop()
	select {
	case <-done:
	case <-grace.C:
		stop()
		<-done
	}
}

// scan gives what waits in the outbox to the lanes of its chats: all of it, or
// only what was queued since the last scan. What a lane gave back comes before
// what was queued later, so a picture from before that is of no use. A delivery
// that a lane finishes while its older picture is being read may come to a
// lane again; its first mark is then refused, and nothing is sent. It returns
// whether nothing was left out.
func (a *account) scan(ctx context.Context, all bool) bool {
	a.mu.Lock()
	most, after, returned := scanMost, a.seen, a.returned
	if all {
		most, after = scanMost+len(a.inFlight), 0 // one chat that must wait keeps none from the others
	}
	a.forgetPreviews()
	a.mu.Unlock()
	ds, err := a.d.Store.Pending(ctx, a.name, after, most)
	if err != nil {
		if ctx.Err() == nil {
			a.d.Logger.Error("reading the outbox", "channel", a.name, "error", err)
		}
		return false
	}
	if len(ds) == most {
		a.wakeUp() // there may be more
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.returned != returned {
		a.wakeUp()
		return false
	}
	for _, d := range ds {
		a.seen = max(a.seen, d.Order)
		if a.inFlight[d.ID] {
			continue
		}
		a.inFlight[d.ID] = true
		a.push(d.To.Peer, job{delivery: &d})
	}
	return len(ds) < most
}

// owes says whether an answer may wait for a chat, in its lane or in the outbox.
func (a *account) owes(ctx context.Context, chat string) bool {
	if !a.scan(ctx, false) {
		return true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.lanes[chat]
	return l != nil && slices.ContainsFunc(l.jobs, func(j job) bool { return j.delivery != nil })
}

// show queues a sign of a running turn. Of several for one turn only the
// newest counts, and none after its answer or its end.
func (a *account) show(p worker.PreviewSignal) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ctx == nil || a.ctx.Err() != nil {
		return
	}
	if l := a.lanes[p.To.Peer]; l != nil {
		if len(l.jobs) >= laneMost && !p.Over {
			return
		}
		for i, j := range l.jobs {
			switch {
			case j.answers(p.Turn):
				return
			case j.show != nil && j.show.Turn == p.Turn:
				if p.Over || p.Text != "" && !j.show.Over {
					l.jobs[i].show = &p
				}
				return
			}
		}
	}
	a.push(p.To.Peer, job{show: &p})
}

// push adds a job to the chat's lane and starts the lane if there is none. The
// caller holds mu.
func (a *account) push(chat string, j job) {
	l := a.lanes[chat]
	if l != nil {
		if j.delivery != nil && j.answers(j.delivery.Turn) {
			l.jobs = slices.DeleteFunc(l.jobs, func(o job) bool { return o.show != nil && o.show.Turn == j.delivery.Turn })
		}
		l.jobs = append(l.jobs, j)
		return
	}
	l = &lane{chat: chat, jobs: []job{j}}
	a.lanes[chat] = l
	ctx := a.ctx
	a.wg.Go(func() { a.work(ctx, l) })
}

// done takes a delivery out of the lane's hands. After an error the ones behind
// it go back to the outbox too, so that the next scan takes them up in order.
func (a *account) done(l *lane, d *sessions.Delivery, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.inFlight, d.ID)
	if d.File == nil {
		delete(a.previews, d.Turn)
	}
	if err == nil || errors.Is(err, errDropped) {
		return
	}
	a.returned++
	a.seen = min(a.seen, d.Order-1)
	if errors.Is(err, errTaken) { // often by an older picture of it: look again
		a.wakeUp()
	}
	l.jobs = slices.DeleteFunc(l.jobs, func(j job) bool {
		if j.delivery != nil {
			delete(a.inFlight, j.delivery.ID)
		}
		return j.delivery != nil
	})
}

// work does a lane's jobs in order until there are none, or ctx ends.
func (a *account) work(ctx context.Context, l *lane) {
	for {
		a.mu.Lock()
		if len(l.jobs) == 0 || ctx.Err() != nil {
			delete(a.lanes, l.chat)
			a.mu.Unlock()
			return
		}
		j := l.jobs[0]
		l.jobs = l.jobs[1:]
		a.mu.Unlock()
		if j.show != nil {
			a.showNow(ctx, *j.show)
			continue
		}
		err := a.deliver(ctx, j.delivery)
		a.done(l, j.delivery, err)
		switch {
		case err == nil, errors.Is(err, errDropped):
			a.forget(ctx, j.delivery)
			if a.d.Delivered != nil {
				a.d.Delivered(*j.delivery)
			}
		case errors.Is(err, errTaken):
			if j.delivery.File != nil && a.finished(ctx, j.delivery) {
				a.forget(ctx, j.delivery)
			}
		case errors.Is(err, errEnding), ctx.Err() != nil:
		default:
			a.d.Logger.Error("an answer waits in the outbox", "channel", a.name, "delivery", j.delivery.ID, "error", err)
		}
	}
}
