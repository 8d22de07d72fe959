package sessions_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
)

var errBroken = errors.New("the store broke down")

// bare is a store that nothing may be asked of but its ledger, which fails as told.
type bare struct {
	sessions.JournalStore
	err  error
	read int
}

func (b *bare) Ledger(context.Context, sessionkeys.SessionID, func(sessionkeys.SessionID, costs.Entry) bool) error {
	b.read++
	return b.err
}

// What a turn does first is what opens it. If that fails, nothing of it is written, and the next
// one opens it.
func TestJournalOfATurnThatCannotBeOpenedWritesNothing(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for name, write := range map[string]func(*sessions.Journal) error{
		"a message":      func(j *sessions.Journal) error { return j.Append(ctx, transcript.Message{Role: transcript.User}) },
		"what joins it":  func(j *sessions.Journal) error { _, err := j.Join(ctx, sessions.JoinTurn{}); return err },
		"a call's begin": func(j *sessions.Journal) error { _, err := j.Begin(ctx, 1, "c1"); return err },
		"a reservation": func(j *sessions.Journal) error {
			_, err := j.Reserve(ctx, costs.Estimate{}, transcript.RequestRecord{})
			return err
		},
		"a tool's reserve": func(j *sessions.Journal) error { _, err := j.ReserveTool(ctx, costs.Estimate{}, 0); return err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tries := 0
			j := &sessions.Journal{Store: &bare{}, Now: time.Now}
			j.SetOpening(transcript.Message{}, func(context.Context, *sessions.OpeningCall) error {
				tries++
				return errBroken
			})
			for range 2 { // bare panics when more is asked of it
				if err := write(j); !errors.Is(err, errBroken) {
					t.Errorf("written with %v", err)
				}
			}
			if tries != 2 {
				t.Errorf("opened %d times, not at each try", tries)
			}
		})
	}
}

// A journal that does not know what was spent, or which budgets count, reserves nothing.
func TestJournalWithoutItsBooksReservesNothing(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store := &bare{err: errBroken}
	j := &sessions.Journal{Store: store, Now: time.Now}
	if _, err := j.Used(ctx); !errors.Is(err, errBroken) {
		t.Errorf("used: %v", err)
	}
	if _, err := j.ReserveTool(ctx, costs.Estimate{}, 0); !errors.Is(err, errBroken) || store.read != 2 {
		t.Errorf("reserved with %v after %d looks", err, store.read)
	}
	j.Scopes = func(context.Context, time.Time) ([]sessions.Scope, error) { return nil, errBroken }
	if _, err := j.Reserve(ctx, costs.Estimate{}, transcript.RequestRecord{}); !errors.Is(err, errBroken) {
		t.Errorf("reserved with %v", err)
	}
}
