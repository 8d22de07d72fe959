package ops_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"parley/costs"
	"parley/gateway/ops"
	"parley/gateway/outcomes"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
)

func report(session sessionkeys.SessionID) outcomes.Turn {
	return outcomes.Turn{
		Turn: "t-" + strings.Repeat("ab", 16), Session: session, Channel: "slack", Outcome: transcript.EndTurn,
		Took: time.Second, Cost: 2e10,
	}
}

// exemplars is the labels of every exemplar of a metric.
func exemplars(t *testing.T, m *ops.Metrics, name string) (all []map[string]string) {
	t.Helper()
	for _, s := range families(t, m)["parley_"+name].GetMetric() {
		for _, b := range s.GetHistogram().GetBucket() {
			if e := b.GetExemplar(); e != nil {
				labels := map[string]string{}
				for _, l := range e.GetLabel() {
					labels[l.GetName()] = l.GetValue()
				}
				all = append(all, labels)
			}
		}
	}
	return all
}

func TestAnExemplarNamesTheTurnAndHidesTheSession(t *testing.T) {
	t.Parallel()
	m, _ := metrics(t)
	session := sessionkeys.SessionID("01J00000000000000000000000")
	for _, id := range []sessionkeys.SessionID{session, "another", session} {
		r := report(id)
		m.TurnEnded(r)
		for _, name := range []string{"turn_cost_usd", "turn_duration_seconds"} {
			es := exemplars(t, m, name)
			if len(es) != 1 || es[0]["turn"] != r.Turn || len(es[0]["session"]) != 16 || len(es[0]) != 2 {
				t.Errorf("%s has the exemplars %v", name, es)
			}
		}
	}
	same := exemplars(t, m, "turn_cost_usd")[0]["session"]
	m.TurnEnded(report("another"))
	other := exemplars(t, m, "turn_cost_usd")[0]["session"]
	if same == other || strings.Contains(string(session), same) {
		t.Errorf("sessions are hashed to %s and %s", same, other)
	}
	m2, _ := metrics(t)
	m2.TurnEnded(report("another"))
	if exemplars(t, m2, "turn_cost_usd")[0]["session"] == other {
		t.Error("the hash has no key of its own")
	}
	// What is too long for an exemplar is counted without one.
	m3, _ := metrics(t)
	long := report(session)
	long.Turn = strings.Repeat("x", 500)
	m3.TurnEnded(long)
	if es := exemplars(t, m3, "turn_cost_usd"); len(es) != 0 {
		t.Errorf("%v", es)
	}
}

// failing is a store that answers bookings with an error.
type failing struct {
	sessions.Store
	err error
}

func (f failing) Settle(context.Context, sessions.Fence, costs.Settlement, ...transcript.Message) error {
	return f.err
}

func (f failing) Finish(context.Context, sessions.Fence, sessions.FinishTurn) (sessions.Finished, error) {
	return sessions.Finished{}, f.err
}

func TestBookingsThatFailAreCounted(t *testing.T) {
	t.Parallel()
	errAway := errors.New("away")
	for _, c := range []struct {
		err  error
		want float64
	}{
		{nil, 0}, {sessions.ErrFenced, 0}, {errAway, 2},
	} {
		m, _ := metrics(t)
		b := ops.MeteredStore{Store: failing{err: c.err}, Metrics: m}
		if err := b.Settle(t.Context(), sessions.Fence{}, costs.Settlement{}); !errors.Is(err, c.err) {
			t.Error(err)
		}
		for _, s := range []*costs.Settlement{nil, {}} {
			if _, err := b.Finish(t.Context(), sessions.Fence{}, sessions.FinishTurn{Settlement: s}); !errors.Is(err, c.err) {
				t.Error(err)
			}
		}
		if got := gather(t, m)["parley_ledger_write_errors_total"][0].value; got != c.want {
			t.Errorf("after %v: %v", c.err, got)
		}
	}
}
