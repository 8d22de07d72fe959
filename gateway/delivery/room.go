package delivery

import (
	"context"
	"fmt"
	"time"

	"parley/channels"
	"parley/sessions"
)

// longWait is a wait after which an answer comes as a new message and not as an edit
// of its preview: an edit sends no notification, and the person has looked away.
const longWait = 10 * time.Second

// awaitPace waits until the network may be given part i, before anything says that it
// is being sent. Who waits for a place has booked no room: those who have a place would find
// none.
func (a *attempt) awaitPace(ctx context.Context, i int) error {
	for {
		if err := a.place.take(ctx); err != nil {
			return err
		}
		wait := a.bookRoom()
		if wait <= 0 {
			return nil
		}
		a.place.release()
		if err := a.abandonPreview(ctx, i, wait); err != nil {
			return err
		}
		if err := a.Wait(ctx, wait); err != nil {
			return err
		}
	}
}

// maxSends is how many deliveries of an account stand as being sent at a time. A process that dies
// leaves each of them in doubt, and one in doubt is repeated: more of them would not arrive sooner,
// since at 50 ms for a call and its commits these are 300 messages a second, more than any
// network takes.
const maxSends = 16

// place is one of the account's places for deliveries that stand as being sent, if it is taken.
type place struct {
	of    chan struct{} // has something in it for each that is taken
	taken bool
}

// take waits for a place, unless there is one already. It takes none after ctx has ended.
func (p *place) take(ctx context.Context) error {
	if ctx.Err() != nil {
		return fmt.Errorf("take a place to send: %w", context.Cause(ctx))
	}
	if p.taken {
		return nil
	}
	select {
	case p.of <- struct{}{}:
		p.taken = true
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for other answers that are being sent: %w", context.Cause(ctx))
	}
}

// tryTake takes a place, if one is free.
func (p *place) tryTake() bool {
	select {
	case p.of <- struct{}{}:
		p.taken = true
	default:
	}
	return p.taken
}

// release gives the place back: nothing of the delivery stands as being sent.
func (p *place) release() {
	if p.taken {
		<-p.of
	}
	p.taken = false
}

// bookRoom keeps room for the message that is sent next, until the call is made or releaseRoom is
// called, and returns 0; or returns how long it is until the network may be given one. So of all
// that are ready at once only those stand as being sent that can leave.
func (a *attempt) bookRoom() (wait time.Duration) {
	a.releaseRoom()
	if p, ok := a.ch.(channels.Pacer); ok {
		wait, a.release = p.Book(a.at.to)
	}
	return wait
}

// releaseRoom gives back the room that was booked.
func (a *attempt) releaseRoom() {
	if a.release != nil {
		a.release()
	}
	a.release = nil
}

// abandonPreview has part i go as a new message, if it would go into a preview after a
// long wait. That is noted first: an attempt that repeats the part must not edit the preview,
// beside a message that may stand there.
func (a *attempt) abandonPreview(ctx context.Context, i int, wait time.Duration) error {
	if _, paced := a.ch.(channels.Pacer); !paced || i > 0 || wait < longWait {
		return nil
	}
	if id, _ := a.previews.target(a.d, a.at); id == "" {
		return nil
	}
	if err := a.Store.Preview(context.WithoutCancel(ctx), a.d.Turn, sessions.Preview{}); err != nil {
		return fmt.Errorf("record that an answer leaves its preview: %w", err)
	}
	a.previews.drop(a.d)
	a.Logger.Info("preview abandoned after a long wait, answer sent as a new message", "channel", a.name, "delivery", a.d.ID, "wait", wait)
	return nil
}

// drop forgets the message that shows d's turn: it stays as it is.
func (ps *previews) drop(d *sessions.Delivery) {
	p := ps.forTurn(d.Turn)
	p.messageID, p.tried, p.ambiguous, p.ended = "", true, false, true
	d.Preview = sessions.Preview{}
}
