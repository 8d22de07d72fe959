package ops_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/agent"
	"parley/costs"
	"parley/gateway/ops"
	"parley/gateway/outcomes"
	"parley/llm"
	"parley/transcript"
)

func TestRecent(t *testing.T) {
	t.Parallel()
	known := ops.ModelName{Provider: "p", Model: "m"}
	called := func(m *ops.Metrics, n ops.ModelName, err *llm.Error) {
		m.ModelCalled(agent.CallReport{Entry: costs.Entry{Labels: costs.Labels{Provider: n.Provider, Model: n.Model, Purpose: costs.RootTurn}}, Err: err})
	}
	ended := func(m *ops.Metrics, outcome transcript.FinishReason, timedOut bool) {
		m.TurnEnded(outcomes.Turn{Channel: "tg", Outcome: outcome, TimedOut: timedOut})
	}
	bubble := func(name string, test func(t *testing.T, m *ops.Metrics)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				test(t, ops.NewMetrics(ops.LabelSets{Channels: []string{"tg"}, Models: []ops.ModelName{known}, Tools: []string{}}))
			})
		})
	}
	same := func(t *testing.T, m *ops.Metrics, want ops.Recent) {
		t.Helper()
		got := m.Recent()
		got.Failures = nil // which have a test of their own
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	}
	bubble("counts failed turns, and not those that somebody ended or that a budget did", func(t *testing.T, m *ops.Metrics) {
		ended(m, transcript.EndTurn, false)
		ended(m, transcript.Canceled, false)
		ended(m, transcript.Budget, false)
		same(t, m, ops.Recent{Turns: 3})
		ended(m, transcript.Failed, false)
		ended(m, transcript.ContextLimit, false)
		ended(m, transcript.Canceled, true)
		same(t, m, ops.Recent{Turns: 6, FailedTurns: 3})
	})
	bubble("counts the failed calls of each model, and not those that were given up", func(t *testing.T, m *ops.Metrics) {
		began := time.Now()
		called(m, known, nil)
		called(m, known, &llm.Error{Kind: llm.Network})
		time.Sleep(3 * time.Minute)
		called(m, known, &llm.Error{Kind: llm.Quota})
		called(m, known, &llm.Error{Kind: llm.Canceled})
		called(m, ops.ModelName{Provider: "p", Model: "unknown"}, nil)
		same(t, m, ops.Recent{Models: []ops.ModelRecent{
			{ModelName: known, Calls: 3, Failed: 2, LastError: llm.Quota, LastErrorAt: began.Add(3 * time.Minute)},
			{ModelName: ops.ModelName{Provider: "p", Model: "unknown"}, Calls: 1},
		}})
	})
	bubble("counts rows of the ledger that failed lately, and remembers what was lost", func(t *testing.T, m *ops.Metrics) {
		m.LedgerWriteFailed()
		m.CountLost(0)
		same(t, m, ops.Recent{LedgerErrors: 1})
		m.CountLost(2)
		lost := time.Now()
		time.Sleep(2 * ops.RecentFor)
		same(t, m, ops.Recent{Lost: 2, LostAt: lost})
	})
	bubble("remembers the last turns that ended early, the latest first", func(t *testing.T, m *ops.Metrics) {
		began := time.Now()
		ended(m, transcript.Failed, false)
		ended(m, transcript.EndTurn, false)
		ended(m, transcript.Canceled, false)
		time.Sleep(2 * ops.RecentFor)
		ended(m, transcript.Canceled, true)
		ended(m, transcript.Budget, false)
		want := []ops.FailedTurn{
			{At: began.Add(2 * ops.RecentFor), Channel: "tg", Outcome: "budget"},
			{At: began.Add(2 * ops.RecentFor), Channel: "tg", Outcome: "timeout"},
			{At: began, Channel: "tg", Outcome: "error"},
		}
		if diff := cmp.Diff(want, m.Recent().Failures); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		for range ops.MaxFailures {
			ended(m, transcript.ContextLimit, false)
		}
		if all := m.Recent().Failures; len(all) != ops.MaxFailures || all[len(all)-1].Outcome != "error" {
			t.Errorf("%d are remembered", len(all))
		}
	})
	bubble("forgets what is longer ago, also when nothing comes after it", func(t *testing.T, m *ops.Metrics) {
		ended(m, transcript.Failed, false)
		called(m, known, &llm.Error{Kind: llm.Server})
		time.Sleep(ops.RecentFor - time.Second)
		if r := m.Recent(); r.FailedTurns != 1 || len(r.Models) != 1 {
			t.Errorf("too early: %+v", r)
		}
		time.Sleep(2 * time.Second)
		same(t, m, ops.Recent{})
		ended(m, transcript.EndTurn, false) // in the place of the first
		same(t, m, ops.Recent{Turns: 1})
	})
}
