package replay

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"parley/agent"
	"parley/costs"
	"parley/sessions"
	"parley/transcript"
)

// errDied is what the store answers to a worker that has died in the recording.
var errDied = errors.New("worker died here in the recording")

// errEnds ends a turn where the recording does.
var errEnds = errors.New("recording ends here")

// workerRun is the store as one worker of the replay sees it: each commit gets the
// time that it had, and none is made after the worker's death.
type workerRun struct {
	sessions.Store
	s     *player
	nonce string
	dead  atomic.Bool
	// unbooked are ids of reservations of tools that the recording has not: they cost nothing
	// then, so they cost nothing now.
	unbooked sync.Map
}

// commit makes a commit, unless the worker is dead, and notes the ids that are
// stored with it.
func (l *workerRun) commit(do func() error, ids ...string) error {
	if l.dead.Load() {
		return errDied
	}
	err := do()
	if err == nil || errors.Is(err, sessions.ErrFenced) {
		l.s.markDone(ids...)
	}
	return err
}

// restoreTimes gives messages the times that they had.
func (l *workerRun) restoreTimes(ms []transcript.Message) (ids []string) {
	for i := range ms {
		ids = append(ids, ms[i].ID)
		if was, ok := l.s.script.messages[ms[i].ID]; ok {
			ms[i].CreatedAt = was.CreatedAt
			l.s.advanceClock(was.CreatedAt)
		}
	}
	return ids
}

func (l *workerRun) restoreCost(s *costs.Settlement) string {
	if was, ok := l.s.script.r.Costs[firstTry(s.Entry.Call).String()]; ok {
		s.Entry.At = was.At
		l.s.advanceClock(was.At)
	}
	return s.Entry.ID
}

// Open implements [sessions.Turns].
func (l *workerRun) Open(ctx context.Context, f sessions.Fence, o sessions.OpenTurn) (t sessions.Turn, opened bool, err error) {
	was, ok := l.s.script.turns[o.Turn.ID]
	if !ok {
		l.s.addDifference(Turns, "turn "+o.Turn.ID, "opened now, not in the recording")
	} else {
		o.Turn.OpenedAt = was.Opened
		l.s.advanceClock(was.Opened)
	}
	ms := []transcript.Message{o.Message}
	ids := l.restoreTimes(ms)
	o.Message = ms[0]
	if o.Call != nil {
		call := *o.Call
		o.Call = &call
		err := l.restoreCall(&call.Charge, &call.Reservation)
		if errors.Is(err, errEnds) { // the recording ends between the two
			o.Call = nil
			t, opened, openErr := l.Store.Open(ctx, f, o)
			return t, opened, errors.Join(err, openErr)
		}
		if err != nil {
			return t, false, err
		}
	}
	err = l.commit(func() (err error) {
		t, opened, err = l.Store.Open(ctx, f, o)
		return err
	}, ids...)
	return t, opened, err
}

// Join implements [sessions.Turns].
func (l *workerRun) Join(ctx context.Context, f sessions.Fence, j sessions.JoinTurn) (joined bool, err error) {
	ms := []transcript.Message{j.Message}
	ids := l.restoreTimes(ms)
	j.Message = ms[0]
	err = l.commit(func() (err error) {
		joined, err = l.Store.Join(ctx, f, j)
		return err
	}, ids...)
	return joined, err
}

// Append implements [sessions.Turns].
func (l *workerRun) Append(ctx context.Context, f sessions.Fence, turn string, ms ...transcript.Message) error {
	ids := l.restoreTimes(ms)
	return l.commit(func() error { return l.Store.Append(ctx, f, turn, ms...) }, ids...)
}

// Resume implements [sessions.Turns]: calls that were interrupted are booked
// when they were.
func (l *workerRun) Resume(ctx context.Context, f sessions.Fence, now time.Time) (t sessions.Turn, err error) {
	if b := l.s.lastInterruption(); b != nil && !b.handover {
		now = b.at
		l.s.advanceClock(now)
	}
	err = l.commit(func() (err error) {
		t, err = l.Store.Resume(ctx, f, now)
		return err
	})
	return t, err
}

// Reserve implements [sessions.Turns]. Budgets decide as they did.
func (l *workerRun) Reserve(ctx context.Context, f sessions.Fence, c sessions.Charge, r costs.Reservation) error {
	if r.Estimate.Call.Purpose == costs.Tool {
		if l.dead.Load() {
			return errDied
		}
		c.Scopes = withoutLimits(c.Scopes)
		return l.reserveTool(ctx, f, c, r)
	}
	if err := l.restoreCall(&c, &r); err != nil {
		return err
	}
	return l.Store.Reserve(ctx, f, c, r)
}

// restoreCall makes of the reservation of a request what it was, or returns why there was none.
func (l *workerRun) restoreCall(c *sessions.Charge, r *costs.Reservation) error {
	if l.dead.Load() {
		return errDied
	}
	c.Scopes = withoutLimits(c.Scopes)
	was := l.s.script.requests[r.ID]
	if refused := l.s.refusal(*c, *r, was != nil); refused != nil {
		return refused
	}
	if was == nil {
		if t, ok := l.s.script.turns[c.Turn]; ok && t.State != string(sessions.Done) {
			l.s.markEnded(c.Turn)
			return fmt.Errorf("%w: %w", agent.ErrHandover, errEnds)
		}
		l.s.addDifference(Requests, "request "+r.ID, "made now, not in the recording")
	} else {
		r.At = was.At
		l.s.advanceClock(was.At)
		if c.Request != nil && was.MaxTokens < c.Request.MaxTokens {
			if less := l.s.smallerCallRefusal(*r, c.Request.MaxTokens, was.MaxTokens); less != nil {
				return less
			}
		}
	}
	l.s.setPending(c.Session, r.ID)
	return nil
}

// withoutLimits are the scopes, which refuse nothing.
func withoutLimits(scopes []sessions.Scope) []sessions.Scope {
	out := make([]sessions.Scope, len(scopes))
	for i, s := range scopes {
		s.Limit = 0
		out[i] = s
	}
	return out
}

// Settle implements [sessions.Turns].
func (l *workerRun) Settle(ctx context.Context, f sessions.Fence, s costs.Settlement, ms ...transcript.Message) error {
	ids := append(l.restoreTimes(ms), l.restoreCost(&s))
	if _, unbooked := l.unbooked.Load(s.Reservation.ID); unbooked {
		return l.commit(func() error { return l.Store.Append(ctx, f, s.Entry.Call.Turn, ms...) }, ids...)
	}
	return l.commit(func() error { return l.Store.Settle(ctx, f, s, ms...) }, ids...)
}

// Finish implements [sessions.Turns].
func (l *workerRun) Finish(ctx context.Context, f sessions.Fence, e sessions.FinishTurn) (done sessions.Finished, err error) {
	ids := append(l.restoreTimes(e.Messages), e.Turn)
	if e.Settlement != nil {
		s := *e.Settlement
		e.Settlement = &s
		ids = append(ids, l.restoreCost(&s))
	}
	if was, ok := l.s.script.turns[e.Turn]; ok && !was.Ended.IsZero() {
		e.At = was.Ended
		l.s.advanceClock(was.Ended)
	}
	err = l.commit(func() (err error) {
		done, err = l.Store.Finish(ctx, f, e)
		return err
	}, ids...)
	return done, err
}

// Spawn implements [sessions.Turns].
func (l *workerRun) Spawn(ctx context.Context, f sessions.Fence, c sessions.Session) (child sessions.Session, made bool, err error) {
	if was, ok := l.s.script.sessions[c.ID]; ok {
		c.CreatedAt = was.Created
	} else {
		l.s.addDifference(ToolCalls, "sub-agent "+string(c.ID), "started now, not in the recording")
	}
	err = l.commit(func() (err error) {
		child, made, err = l.Store.Spawn(ctx, f, c)
		return err
	})
	return child, made, err
}

// Handover implements [sessions.Dispatch]: the dead hand nothing over.
func (l *workerRun) Handover(ctx context.Context, f sessions.Fence) error {
	return l.commit(func() error { return l.Store.Handover(ctx, f) })
}

// refusal is the refusal of a reservation as it was; nil: there was none here.
func (s *player) refusal(c sessions.Charge, r costs.Reservation, made bool) error {
	t, ok := s.script.turns[c.Turn]
	if !ok || t.Refused == nil || c.Request != nil && len(c.Request.Tail) > 0 && made {
		return nil
	}
	if r.Estimate.Call.Step < s.script.last[c.Turn] {
		return nil
	}
	if q := s.script.requests[r.ID]; made && len(q.Tail) == 0 {
		return nil // this one was made; the refused one comes later
	}
	e := *t.Refused
	return &e
}

// smallerCallRefusal is a refusal that makes the call be made with want output tokens
// instead of asked, as it was; nil: no price says how.
func (s *player) smallerCallRefusal(r costs.Reservation, asked, want int) error {
	p, ok := s.o.Prices.Price(r.Estimate.Labels.Provider, r.Estimate.Labels.Model)
	if !ok {
		return nil
	}
	limit, errMost := p.WorstCase(0, int64(asked))
	less, errLess := p.WorstCase(0, int64(want))
	if errMost != nil || errLess != nil {
		return nil //nolint:nilerr // a price without a worst case says nothing
	}
	left := r.Estimate.Upper - limit + less
	const plain = 8192 // beyond it a call takes half of what is left
	if want > plain {
		left *= 2
	}
	return &costs.BudgetError{Scope: "recorded", Limit: left, Need: r.Estimate.Upper}
}
