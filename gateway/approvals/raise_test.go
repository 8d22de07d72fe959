package approvals_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"parley/costs"
	"parley/gateway/approvals"
	"parley/sessions"
	"parley/sessions/memtest"
)

// A raise holds when it was permitted, from then until its time or the end of its day or month.
func TestRaiseHolds(t *testing.T) {
	t.Parallel()
	ann := approvals.Person{ID: "1"}
	lateInMay := time.Date(2026, 5, 31, 23, 30, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		window costs.Window
		yes    bool
		change func(*approvals.Request)
		at     time.Time
		want   bool
	}{
		"in its time":                 {costs.Always, true, nil, lateInMay.Add(59 * time.Minute), true},
		"at its end":                  {costs.Always, true, nil, lateInMay.Add(time.Hour), false},
		"in its day":                  {costs.Day, true, nil, lateInMay.Add(29 * time.Minute), true},
		"on the next day":             {costs.Day, true, nil, lateInMay.Add(30 * time.Minute), false},
		"in the next month":           {costs.Month, true, nil, lateInMay.Add(30 * time.Minute), false},
		"refused":                     {costs.Always, false, nil, lateInMay, false},
		"withdrawn, whatever it says": {costs.Always, true, func(r *approvals.Request) { r.State = approvals.Withdrawn }, lateInMay, false},
		"a call":                      {costs.Always, true, func(r *approvals.Request) { r.Raise = nil }, lateInMay, false},
	} {
		asked := approvals.New(lateInMay, time.Hour)
		asked.Raise = approvals.NewRaise(sessions.Scope{Kind: "session", ID: "s", Window: c.window}, "session", costs.USD, time.Hour)
		r := asked.Decide(ann, c.yes, "t", lateInMay)
		if c.change != nil {
			c.change(&r)
		}
		if r.Holds(c.at) != c.want {
			t.Errorf("%s: it holds: %v", name, !c.want)
		}
		if asked.Holds(lateInMay) {
			t.Errorf("%s: what was asked holds", name)
		}
	}
}

// What the operator raises unasked holds as any raise does, counts where no raise is offered, and ends
// when it is taken back.
func TestRaiseByOperator(t *testing.T) {
	t.Parallel()
	lateInMay := time.Date(2026, 5, 31, 23, 30, 0, 0, time.UTC)
	day := sessions.Scope{Kind: "global", Window: costs.Day}
	r := approvals.RaiseByOperator("ann", day, "global_per_day", costs.USD, 48*time.Hour, lateInMay)
	if end := lateInMay.Add(30 * time.Minute); !r.Raise.Until.Equal(end) || !r.Expires.Equal(end) || !r.Holds(lateInMay) || r.Holds(end) {
		t.Errorf("it holds until %s and is kept from %s on", r.Raise.Until, r.Expires)
	}
	asked := approvals.New(lateInMay, time.Hour)
	asked.Raise = approvals.NewRaise(day, "global_per_day", 2*costs.USD, time.Hour)
	permitted := asked.Decide(approvals.Person{Operator: true}, true, "t", lateInMay)
	for offered, want := range map[bool]costs.Amount{true: 3 * costs.USD, false: costs.USD} {
		if got, err := approvals.More([]approvals.Request{r, permitted}, day, offered, nil); got != want || err != nil {
			t.Errorf("offered %v: %s more, %v", offered, got, err)
		}
	}
	back := r.Revoke(lateInMay.Add(time.Minute))
	if back.Holds(lateInMay.Add(time.Minute)) || !r.Holds(lateInMay.Add(time.Minute)) || back.Raise.Revoked.IsZero() {
		t.Errorf("taken back it is %+v", back.Raise)
	}
	if back.Holds(lateInMay) { // by the clock of a machine that is late
		t.Error("it was taken back, and holds by a clock that is late")
	}
}

// Whoever reserves looks for raises as long as one by the operator may hold, whichever was made last.
func TestHasUnasked(t *testing.T) {
	t.Parallel()
	store, now := memtest.New(memtest.Every), time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	holds := func(at time.Time, want bool) {
		t.Helper()
		if got, err := approvals.HasUnasked(t.Context(), store, at); got != want || err != nil {
			t.Errorf("at %s: %v, %v", at, got, err)
		}
	}
	holds(now, false)
	for _, d := range []time.Duration{2 * time.Hour, time.Hour} {
		r := approvals.RaiseByOperator("ann", sessions.Scope{Kind: "global"}, "global_per_day", costs.USD, d, now)
		if _, err := r.WriteUnasked(t.Context(), store, now); err != nil {
			t.Fatal(err)
		}
	}
	holds(now, true)
	holds(now.Add(2*time.Hour-1), true)
	holds(now.Add(2*time.Hour), false)
	if all, err := approvals.Raises(t.Context(), store, now); len(all) != 2 || err != nil {
		t.Errorf("%d raises, %v", len(all), err)
	}
}

// busyStore is a store in which records of one kind cannot be written.
type busyStore struct {
	approvals.UnaskedStore

	kind string
}

var errBusy = errors.New("busy")

func (s busyStore) WriteRecord(ctx context.Context, r sessions.Record) (int64, error) {
	if r.ID.Kind == s.kind {
		return 0, errBusy
	}
	return s.UnaskedStore.WriteRecord(ctx, r) // as it is
}

// A raise by the operator that failed raises nothing, also not when they raise the budget again: that
// would hold twice.
func TestARaiseThatFailedDoesNotHold(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"raised", "raise"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			store, now := memtest.New(memtest.Every), time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
			raise := func(s approvals.UnaskedStore) error {
				_, err := approvals.RaiseByOperator("", sessions.Scope{Kind: "global"}, "global_per_day", costs.USD, time.Hour, now).WriteUnasked(t.Context(), s, now)
				return err
			}
			if err := raise(busyStore{store, kind}); !errors.Is(err, errBusy) {
				t.Fatal(err)
			}
			if err := raise(store); err != nil {
				t.Fatal(err)
			}
			if all, err := approvals.Raises(t.Context(), store, now); len(all) != 1 || err != nil {
				t.Errorf("%d raises hold, %v", len(all), err)
			}
			if may, err := approvals.HasUnasked(t.Context(), store, now); !may || err != nil {
				t.Errorf("nobody looks at the one that holds: %v", err)
			}
		})
	}
}
