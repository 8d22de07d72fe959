package slack

import (
	"context"
	"sync"

	"parley/channels"
)

// mostQueued bounds the events that wait for accept. What comes beyond is not
// taken, and Slack brings it again.
const mostQueued = 4096

// queue holds events until they are taken: those of one channel one after
// another in the order in which they came, channels side by side, since each
// waits for a disk.
type queue struct {
	ctx  context.Context                         // of Receive
	take func(ctx context.Context, e event) bool // until it is taken; false: ctx ended before

	mu      sync.Mutex
	waiting int
	lines   map[string][]queued // a channel that is in it has a goroutine
	working sync.WaitGroup
}

type queued struct {
	event event
	done  func(taken bool) // called once
}

// push puts an event behind those of its channel. One that is too many, or that
// comes when Receive ends, is done at once, and not taken.
func (q *queue) push(e event, done func(taken bool)) {
	if !q.enter(queued{e, done}) {
		done(false)
	}
}

func (q *queue) enter(one queued) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting >= mostQueued || q.ctx.Err() != nil {
		return false
	}
	if q.lines == nil {
		q.lines = map[string][]queued{}
	}
	at := one.event.line
	line, working := q.lines[at]
	q.lines[at] = append(line, one)
	q.waiting++
	if !working {
		q.working.Go(func() { q.work(at) })
	}
	return true
}

// work takes the events of one channel until there are none.
func (q *queue) work(line string) {
	for {
		q.mu.Lock()
		all := q.lines[line]
		if len(all) == 0 || q.ctx.Err() != nil {
			q.waiting -= len(all)
			delete(q.lines, line)
			q.mu.Unlock()
			for _, left := range all {
				left.done(false)
			}
			return
		}
		next := all[0]
		q.lines[line] = all[1:]
		q.mu.Unlock()
		taken := q.take(q.ctx, next.event)
		q.mu.Lock()
		q.waiting--
		q.mu.Unlock()
		next.done(taken)
	}
}

// wait returns when nothing is being taken any more; ctx has ended by then.
func (q *queue) wait() { q.working.Wait() }

// offer brings one event to accept until it is taken; false means that ctx ended
// before.
func (r *receiver) offer(ctx context.Context, e event) bool {
	pauses := r.o.pauses()
	for ctx.Err() == nil {
		m, err := e.message, error(nil)
		if e.complete != nil {
			err = e.complete(ctx, &m)
		}
		if err == nil {
			err = r.accept(ctx, m)
		}
		if err == nil {
			r.taken(e, m)
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		r.o.Log.Warn("event not taken, offering it again", "event", m.Event, "error", err)
		pauses.Wait(ctx)
	}
	return false
}

// taken is what is done once accept took an event.
func (r *receiver) taken(e event, m channels.Message) {
	r.o.Observer.Event(r.o.Name, m.ReceivedAt)
	if e.after != nil {
		e.after(m)
	}
}
