package presence

import (
	"context"
	"errors"
	"slices"
	"time"

	"parley/sessions"
)

// peer is another worker, as this one sees it.
type peer struct {
	w         *Watch
	id        sessions.Worker
	heard     chan bool // its last word: whether it works
	forgotten <-chan struct{}
	forget    func()

	eras  []uint64 // in which all its signs were seen; nil: they never were
	retry time.Time
}

func (p *peer) isForgotten() bool {
	select {
	case <-p.forgotten:
		return true
	default:
		return false
	}
}

// watch watches until the worker has ended, or says nothing for long.
func (p *peer) watch(ctx context.Context) {
	again := retryPause
	for {
		pause := memory
		if p.eras == nil { // one that has just begun shows its signs in a moment
			pause = again
		}
		t := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-t.C:
			if pause == memory {
				return
			}
			again = min(2*again, memory)
			p.see(ctx)
		case working := <-p.heard:
			p.see(ctx)
			if working && p.guard(ctx) {
				return
			}
		}
		t.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// guard stays with the worker while it works, and reports whether it has ended.
func (p *peer) guard(ctx context.Context) (ended bool) {
	last, pause, told := time.Now(), silence, false
	for {
		t := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			t.Stop()
			return false
		case working := <-p.heard:
			t.Stop()
			p.see(ctx)
			if !working {
				return false
			}
			last, pause = time.Now(), silence
			continue
		case <-t.C:
		}
		if time.Since(last) > p.w.Lease {
			return false
		}
		if p.hasEnded(ctx) {
			return true
		}
		if pause == longest && !told {
			told = true
			p.w.Logger.Info("worker silent, but not taken for dead", "worker", p.id.Name, "silent_for", time.Since(last).Round(time.Millisecond))
		}
		pause = min(2*pause, longest)
	}
}

// see looks whether all signs of the worker are there, unless they were seen already by
// the connections that this process has now. What was never seen is not missed: a worker
// of an earlier version has no signs, and one whose server is cut off from this one's
// shows none here.
func (p *peer) see(ctx context.Context) {
	eras := p.w.eras()
	if slices.Equal(eras, p.eras) || time.Now().Before(p.retry) {
		return
	}
	p.eras, p.retry = nil, time.Now().Add(retryPause)
	for _, s := range p.w.Signs {
		if there, err := p.ask(ctx, s); !there || err != nil {
			return
		}
	}
	if slices.Equal(eras, p.w.eras()) {
		p.eras, p.retry = eras, time.Time{}
		p.w.Logger.Debug("signs of a worker seen", "worker", p.id.Name)
	}
}

func (w *Watch) eras() (eras []uint64) {
	for _, s := range w.Signs {
		eras = append(eras, s.Era())
	}
	return eras
}

func (p *peer) ask(ctx context.Context, s Sign) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, signTime)
	defer cancel()
	return s.IsAttended(ctx, nameOf(p.id)) // it says what it asked
}

// areSignsGone reports whether no sign of the worker is there any more, by the
// connections that have seen them all.
func (p *peer) areSignsGone(ctx context.Context) bool {
	for i, s := range p.w.Signs {
		if p.eras == nil {
			return false
		}
		if there, err := p.ask(ctx, s); there || err != nil || s.Era() != p.eras[i] {
			return false
		}
	}
	return true
}

// hasEnded judges a worker that is silent. It has ended when all its signs are gone, and
// still are after a pause, in which its lease was not renewed either; then its lease is
// ended.
func (p *peer) hasEnded(ctx context.Context) bool {
	if !p.areSignsGone(ctx) {
		return false
	}
	until, err := p.lease(ctx)
	switch {
	case errors.Is(err, sessions.ErrNotFound):
		return true // it has left, or one of its name has followed it
	case err != nil:
		p.w.Logger.Warn("lease of a silent worker not read", "worker", p.id.Name, "error", err)
		return false
	case !until.After(p.w.Now()):
		return true // it is over already
	}
	if !wait(ctx, recheck) || len(p.heard) > 0 || !p.areSignsGone(ctx) {
		return false
	}
	bounded, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	owed, ended, err := p.w.Leases.EndLease(bounded, p.id, until, p.w.Now())
	if err != nil {
		p.w.Logger.Warn("lease of a dead worker not ended", "worker", p.id.Name, "error", err)
	}
	if ended {
		p.w.Ended(p.id, owed)
	}
	return ended
}

func (p *peer) lease(ctx context.Context) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	return p.w.Leases.Lease(ctx, p.id) // it says whose
}
