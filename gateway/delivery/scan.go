package delivery

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"parley/broker"
)

const (
	scanEvery = time.Second // a lost signal costs this much
	scanMost  = 512         // deliveries looked at in one scan, beside those in the lanes
)

// begin lets the account take jobs, with nothing left of an earlier run. It does
// nothing when it was called before run.
func (l *lanes) begin(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx != nil {
		return
	}
	l.ctx, l.stop = context.WithCancel(context.WithoutCancel(ctx))
	l.running = ctx // a preview that comes before run looks at the outbox, too
	l.inFlight, l.passed, l.chats, l.seen = map[string]bool{}, map[string]bool{}, map[string]*lane{}, 0
	l.unsent, l.finished = map[string]time.Time{}, map[string]bool{}
	l.runs++
	l.previews.reset()
	l.reactions.reset()
}

// end stops the lanes and waits for them. Nothing is taken after it.
func (l *lanes) end() {
	l.mu.Lock()
	stop := l.stop
	l.mu.Unlock()
	stop()
	l.wg.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ctx, l.stop, l.running = nil, nil, nil
}

// run sends until ctx ends, and what is queued then for the grace period.
func (l *lanes) run(ctx context.Context) {
	l.begin(ctx)
	defer l.end()
	l.mu.Lock()
	lanes, stop := l.ctx, l.stop
	l.running = ctx
	l.mu.Unlock()
	tick := time.NewTicker(scanEvery)
	defer tick.Stop()
	l.scan(ctx, true)
	for ctx.Err() == nil {
		all := false
		select {
		case <-ctx.Done():
			continue
		case <-l.wake:
		case <-tick.C:
			all = true
		}
		select { // one scan is for both
		case <-l.wake:
		case <-tick.C:
			all = true
		default:
		}
		for _, p := range l.previews.takeDue() {
			l.queuePreview(p)
		}
		l.reactions.wakeUp()
		l.scan(ctx, all)
	}
	if errors.Is(context.Cause(ctx), broker.ErrLeaseLost) {
		return
	}
	l.scan(lanes, true)
	done := make(chan struct{})
	go func() {
		l.wg.Wait()
		close(done)
	}()
	grace := time.NewTimer(l.Grace)
	defer grace.Stop()
	select {
	case <-done:
	case <-grace.C:
		stop()
		<-done
	}
}

// context returns the context of run.
func (l *lanes) context() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.running
}

// scan gives what waits in the outbox to the lanes of its chats: all of it, or
// only what was queued since the last scan. What a lane gave back comes before
// what was queued later, so a picture from before that is of no use. A delivery
// that a lane finishes while its older picture is being read is passed over. It returns
// whether nothing was left out.
func (l *lanes) scan(ctx context.Context, all bool) bool {
	l.mu.Lock()
	limit, after, returned := scanMost, l.seen, l.returned
	if all {
		limit, after = scanMost+len(l.inFlight), 0 // one chat that must wait keeps none from the others
	}
	l.scans++
	l.mu.Unlock()
	l.previews.forgetOld()
	ds, err := l.Store.Pending(ctx, l.name, after, limit)
	l.mu.Lock()
	defer l.mu.Unlock()
	defer func() {
		if l.scans--; l.scans == 0 {
			clear(l.finished)
		}
	}()
	if err != nil {
		if ctx.Err() == nil {
			l.Logger.Error("outbox scan failed", "channel", l.name, "error", err)
		}
		return false
	}
	if len(ds) == limit {
		l.wake.Send() // there may be more
	}
	if l.returned != returned {
		l.wake.Send()
		return false
	}
	for _, d := range ds {
		l.seen = max(l.seen, d.Order)
		if l.finished[d.ID] {
			continue
		}
		if l.inFlight[d.ID] {
			if _, handed := l.passed[d.ID]; handed {
				l.passed[d.ID] = true
			}
			continue
		}
		l.inFlight[d.ID] = true
		if l.Logger.Enabled(ctx, slog.LevelDebug) {
			l.Logger.Debug("delivery found", "channel", l.name, "chat", d.To.Peer, "delivery", d.ID, "order", d.Order, "behind", after)
		}
		l.push(d.To.Peer, job{delivery: &d})
	}
	return len(ds) < limit
}
