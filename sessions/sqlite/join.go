package sqlite

import (
	"context"
	"fmt"

	"parley/sessions"
	"parley/transcript"
)

// Join implements [sessions.Turns].
func (s *Store) Join(ctx context.Context, f sessions.Fence, j sessions.Joining) (bool, error) {
	joined, err := write(ctx, s, func(x *tx) (bool, error) { return join(x, f, j) })
	if err != nil {
		return false, fmt.Errorf("join message %d to turn %s: %w", j.Seq, j.Turn, err)
	}
	return joined, nil
}

func join(x *tx, f sessions.Fence, j sessions.Joining) (bool, error) {
	b, err := owned(x, f)
	if err != nil {
		return false, err
	}
	if j.Turn == "" || b.turn != j.Turn {
		return false, sessions.ErrFenced
	}
	seq, err := number(j.Seq)
	if err != nil {
		return false, err
	}
	through, err := number(max(j.Through, j.Seq))
	if err != nil {
		return false, err
	}
	row := inboxRow{token: f.Token, turn: j.Turn, seq: seq, fence: f}
	known, err := receivedOf(x, j.Events)
	if err != nil {
		return false, err
	}
	if len(known) > 0 {
		if !allOf(j.Events, known) {
			return false, &sessions.KnownError{Events: known}
		}
		mine, err := receivedBy(x, j.Events[0], row)
		if err != nil || mine {
			return mine, err // mine: its answer was lost
		}
		b.skip(x, through)
		return false, nil
	}
	for _, e := range j.Events {
		if _, err := received(x, e, row); err != nil {
			return false, err
		}
	}
	if err := word(x, j.Words); err != nil {
		return false, err
	}
	t, err := x.turn(j.Turn)
	if err != nil {
		return false, err
	}
	b.pass(x, through)
	b.save(x)
	return true, appendMessages(x, t.Session, []transcript.Message{j.Message}, j.Message.CreatedAt)
}
