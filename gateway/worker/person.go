package worker

import (
	"context"

	"parley/agent"
)

// enter counts a turn of p for as long as this step of the actor takes, and waits
// while p runs as many as one person may; what came for p meanwhile in other
// conversations is behind. Who waits holds no slot. It returns errPoked when
// somebody asked for something, and agent.ErrHandover when this process ends.
func (a *queue) enter(p person) (waited bool, err error) {
	if a.of != nil {
		if *a.of == p {
			return false, nil
		}
		a.leave()
	}
	t := a.w.slots.enter(p)
	if t == nil {
		a.of = &p
		return false, nil
	}
	a.seat.held = false
	a.ahead = nil // it is read again
	a.w.lookForBacklog()
	a.w.Observer.TurnWaiting(p.channel, 1)
	defer a.w.Observer.TurnWaiting(p.channel, -1)
	if err := a.attend(a.ctx, t); err != nil {
		a.w.slots.cancel(t)
		a.w.lookForBacklog()
		return true, err
	}
	a.of, a.seat.held = &p, true
	return true, nil
}

// attend waits until t is ready.
func (a *queue) attend(ctx context.Context, t *ticket) error {
	select {
	case <-t.ready:
		return nil
	case <-a.poked:
		return errPoked
	case <-ctx.Done():
		return agent.ErrHandover
	case <-a.w.closing:
		return agent.ErrHandover
	}
}

// leave ends what enter counted.
func (a *queue) leave() {
	if a.of != nil {
		a.w.slots.leave(*a.of)
		a.of = nil
	}
}
