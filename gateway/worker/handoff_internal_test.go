package worker

import (
	"context"
	"errors"
	"testing"
	"time"

	"parley/sessions"
)

// brokenStore panics when a turn is to be finished.
type brokenStore struct{ sessions.Store }

func (brokenStore) Finish(context.Context, sessions.Fence, sessions.FinishTurn) (sessions.Finished, error) {
	panic("broken")
}

// A lane waits until it is decided what becomes of an answer that it was handed.
func TestAHandoffIsSettledAlsoAfterAPanic(t *testing.T) {
	t.Parallel()
	settled := errors.New("not settled")
	j := &journal{Journal: sessions.Journal{Store: brokenStore{}}, handoff: func(context.Context, sessions.Outgoing, time.Time) (*sessions.Progress, func(bool, error)) {
		return &sessions.Progress{}, func(sending bool, err error) {
			if sending {
				t.Error("it is to be sent")
			}
			settled = err
		}
	}}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		_, _ = j.endSettled(t.Context(), sessions.FinishTurn{Replies: []sessions.Outgoing{{ID: "t1"}}})
	}()
	if !errors.Is(settled, errPanicked) {
		t.Errorf("settled with %v", settled)
	}
}
