package delivery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/sessions"
)

const (
	receiptFirst = 100 * time.Millisecond // then doubled
	receiptMost  = 15 * time.Second

	// maxRepeats bounds how often a part is sent again because the one before may have
	// arrived. A process that is killed while
	// it sends does not know whether anything left, so giving up after the
	// first doubt would lose answers that no person has seen; a network that never
	// confirms must not fill a chat for ever.
	maxRepeats = 5
)

// repeatPause returns how long a part waits after so many of its calls ended in doubt, one after
// the other. Often a connection broke and the next call is answered, so the first pause is none. A
// server in front of a network that is down answers in doubt at once, so the others grow: together
// they outlast an outage of a minute and a half.
func repeatPause(doubts int) time.Duration {
	if doubts < 2 {
		return 0
	}
	return min(2*time.Second<<min(2*(doubts-2), 10), backoffMost)
}

// marked is sending, by this very call: only in memory.
const marked sessions.SendState = "marked"

// newMark moves part i, which was sent again as often as before.
func (a *attempt) newMark(i int, from, to sessions.SendState, problem string) sessions.Mark {
	return sessions.Mark{Index: i, From: from, To: to, Repeats: a.d.Parts[i].Repeats, Problem: problem, At: a.Now(), By: a.me}
}

// sendingMark returns the mark of a part that is sent now. If a preview that nobody knows
// the id of may stand in the chat, the text repeats that; and all of an answer that may
// have been given before is a repeat.
func (a *attempt) sendingMark(i int) sessions.Mark {
	p := a.d.Parts[i]
	m := a.newMark(i, p.State, sessions.Sending, "")
	switch {
	case p.State == sessions.Ambiguous:
		m.Repeats++
	case a.d.MaybeDuplicate:
		m.Repeats = 1
	case i == 0:
		if _, doubt := a.previews.target(a.d, a.at); doubt {
			m.Repeats = 1
			a.Logger.Warn("ambiguous preview: it may have arrived", "channel", a.name, "delivery", a.d.ID)
		}
	}
	return m
}

// advance makes marks durable. It returns errTaken when another process or an
// earlier call was there first, and nothing more is to be done here.
func (a *attempt) advance(ctx context.Context, ms ...sessions.Mark) error {
	err := a.Store.Advance(ctx, a.d.ID, sessions.Progress{Marks: ms})
	if errors.Is(err, sessions.ErrFenced) {
		return errTaken
	}
	if err != nil {
		return fmt.Errorf("record a delivery's progress: %w", err)
	}
	a.applyMarks(ms)
	return nil
}

// applyMarks brings the parts in memory to where marks brought them in the store.
func (a *attempt) applyMarks(ms []sessions.Mark) {
	for _, m := range ms {
		p := &a.d.Parts[m.Index]
		p.State, p.Repeats, p.Reason, p.Problem = m.To, m.Repeats, m.Reason, m.Problem
		if m.To == sessions.Sending {
			p.State = marked
		}
	}
}

// storeReceipt calls advance for a receipt, which is not given up while this process lives,
// however long the store takes no writes: without it the message must be sent a
// second time. Its chat waits for it; nothing could be noted of what comes next.
func (a *attempt) storeReceipt(ctx context.Context, ms ...sessions.Mark) error {
	for wait := receiptFirst; ; wait = min(2*wait, receiptMost) {
		err := a.advance(context.WithoutCancel(ctx), ms...)
		if err == nil || errors.Is(err, errTaken) {
			return err
		}
		a.Logger.Warn("delivery receipt not stored, retrying", "channel", a.name, "delivery", a.d.ID, "error", err)
		if a.Wait(ctx, wait) != nil {
			return err
		}
	}
}
