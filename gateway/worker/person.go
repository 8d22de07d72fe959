package worker

import (
	"context"
	"time"

	"parley/agent"
)

// admit counts a turn of p for as long as this step of the actor takes, and waits
// while p runs as many as one person may; what came for p meanwhile in other
// conversations is behind. Who waits holds no slot. It returns errPoked when
// a person asked for something, and agent.ErrHandover when this process ends.
func (a *queue) admit(p person) (waited bool, err error) {
	if a.admitted != nil {
		if *a.admitted == p {
			return false, nil
		}
		a.discharge()
	}
	t := a.w.slots.admit(p)
	if t == nil {
		a.admitted = &p
		return false, nil
	}
	a.slot.held = false
	a.lookahead = nil // it is read again
	a.w.scanIfBacklog()
	a.w.Observer.TurnWaiting(p.channel, 1)
	defer a.w.Observer.TurnWaiting(p.channel, -1)
	if err := a.awaitTicket(a.ctx, t); err != nil {
		a.w.slots.cancel(t)
		a.w.scanIfBacklog()
		return true, err
	}
	a.admitted, a.slot.held = &p, true
	return true, nil
}

// awaitTicket waits until t is ready. It returns errPoked also for a request that no
// signal told of.
func (a *queue) awaitTicket(ctx context.Context, t *ticket) error {
	look := time.NewTicker(controlEvery)
	defer look.Stop()
	for {
		select {
		case <-t.ready:
			return nil
		case <-a.woken:
			return errPoked
		case <-look.C:
			if a.pollStore(ctx) {
				return errPoked
			}
		case <-ctx.Done():
			return agent.ErrHandover
		case <-a.w.closing:
			return agent.ErrHandover
		}
	}
}

// discharge ends what enter counted.
func (a *queue) discharge() {
	if a.admitted != nil {
		a.w.slots.discharge(*a.admitted)
		a.admitted = nil
	}
}
