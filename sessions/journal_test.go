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
	counted int // messages by the session's row
}

func (s *said) Session(context.Context, sessionkeys.SessionID) (sessions.Session, error) {
	return sessions.Session{Messages: s.counted}, nil
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
			j.SetEarlier(sessions.Passage{Messages: earlier})
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

// Of a long history the end is read that a turn needs, and the rest when somebody asks for it.
func TestJournalReadsTheEndOfALongHistory(t *testing.T) {
	t.Parallel()
	ids := func(ms []transcript.Message) (all []string) {
		for _, m := range ms {
			all = append(all, m.ID)
		}
		return all
	}
	for name, c := range map[string]struct {
		messages, counted, needs int
		whole, some, first       int
	}{
		"short":                   {511, 511, 500, 1, 0, 0},
		"a page":                  {5000, 5000, 4900, 0, 256, 4744},
		"several pages":           {5000, 5000, 4500, 0, 768, 4232},
		"all":                     {1000, 1000, 0, 0, 1000, 0},
		"fewer than are counted":  {400, 5000, 4900, 1, 0, 0},
		"none, after a deletion":  {0, 5000, 4900, 1, 0, 0},
		"what was not looked for": {5000, 5000, 5000, 0, 0, 5000},
	} {
		s := &said{history: messages(c.messages), counted: c.counted}
		j := &sessions.Journal{Store: s, Now: time.Now, Suffices: func(ms []transcript.Message, first int) bool {
			if len(ms) != c.counted || slices.ContainsFunc(ms[:first], func(m transcript.Message) bool { return m.ID != "" }) {
				t.Errorf("%s: asked about %d messages from %d on", name, len(ms), first)
			}
			return first <= c.needs
		}}
		want := ids(s.history)
		short := slices.Concat(make([]string, c.first), want[c.first:])
		for range 2 {
			got, err := j.Messages(t.Context())
			if err != nil || !slices.Equal(ids(got), short) {
				t.Errorf("%s: %d messages, %v", name, len(got), err)
			}
		}
		if p, known := j.History(); !known || p.First != c.first || s.whole != c.whole || s.some != c.some {
			t.Errorf("%s: from %d on (%v), all read %d times and %d messages beside", name, p.First, known, s.whole, s.some)
		}
		before, err := j.Messages(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got, err := j.WholeHistory(t.Context())
		if err != nil || !slices.Equal(ids(got), want) {
			t.Errorf("%s: %d messages in all, %v", name, len(got), err)
		}
		if !slices.Equal(ids(before), short) {
			t.Errorf("%s: what was read before was written over", name)
		}
		if p, _ := j.History(); p.First != 0 || len(p.Messages) != c.messages {
			t.Errorf("%s: the journal knows %d messages from %d on", name, len(p.Messages), p.First)
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
