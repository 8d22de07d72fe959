package sessions_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
		"a skip":         func(j *sessions.Journal) error { return j.Skip(ctx, 1) },
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

// said is a store of one session's history, which counts what was read of it.
type said struct {
	sessions.JournalStore
	history []transcript.Message
	whole   int // how often all of it was read
	some    int // messages that were read otherwise
}

func (s *said) Messages(context.Context, sessionkeys.SessionID) ([]transcript.Message, error) {
	s.whole++
	return slices.Clone(s.history), nil
}

func (s *said) MessagesAfter(_ context.Context, _ sessionkeys.SessionID, after, limit int) ([]transcript.Message, error) {
	ms := s.history[min(after, len(s.history)):]
	ms = ms[:min(limit, len(ms))]
	s.some += len(ms)
	return slices.Clone(ms), nil
}

func messages(n int) (ms []transcript.Message) {
	for i := range n {
		ms = append(ms, transcript.Message{ID: fmt.Sprint("m", i+1), Role: transcript.User})
	}
	return ms
}

// A worker that has read a history before reads what was added to it, unless it begins otherwise
// now.
func TestJournalReadsWhatWasAdded(t *testing.T) {
	t.Parallel()
	other := messages(40)
	other[29].ID = "x"
	for name, c := range map[string]struct {
		history, earlier []transcript.Message
		whole, some      int
	}{
		"nothing known":        {messages(40), nil, 1, 0},
		"nothing added":        {messages(40), messages(40), 0, 1},
		"two added":            {messages(42), messages(40), 0, 3},
		"a page exactly":       {messages(295), messages(40), 0, 256},
		"several pages":        {messages(1000), messages(40), 0, 961},
		"another in its place": {other, messages(30), 1, 11},
		"shorter than it was":  {messages(20), messages(30), 1, 0},
	} {
		for _, opens := range []bool{false, true} {
			s := &said{history: c.history}
			j := &sessions.Journal{Store: s, Now: time.Now}
			earlier := slices.Clone(c.earlier)
			for i := range earlier {
				earlier[i].Model = "known"
			}
			j.SetEarlier(earlier)
			want := slices.Clone(c.history)
			if opens {
				m := transcript.Message{ID: "opening", Role: transcript.User}
				j.SetOpening(m, func(context.Context, *sessions.OpeningCall) error { return nil })
				want = append(want, m)
			}
			for range 2 { // the second time it is known
				got, err := j.Messages(t.Context())
				if err != nil || !slices.EqualFunc(got, want, func(a, b transcript.Message) bool { return a.ID == b.ID }) {
					t.Errorf("%s, opening %t: %d messages of %d, %v", name, opens, len(got), len(want), err)
				}
			}
			if slices.ContainsFunc(earlier, func(m transcript.Message) bool { return m.Model != "known" }) {
				t.Errorf("%s: what was known, and may still be read, was written over", name)
			}
			if s.whole != c.whole || s.some != c.some {
				t.Errorf("%s: all read %d times and %d messages beside, want %d and %d", name, s.whole, s.some, c.whole, c.some)
			}
		}
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
