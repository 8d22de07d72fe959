package ops_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"parley/agent"
	"parley/broker"
	"parley/costs"
	"parley/disks"
	"parley/gateway/ops"
	"parley/llm"
	"parley/sessionkeys"
	"parley/sessions"
)

// fixture is a store and a log that a test fills.
type fixture struct {
	quietLog
	*houseState
}

type houseState struct {
	err     error
	backlog sessions.Backlog
	reads   int
	dearest []costs.Amount
	active  []sessions.Activity
	queues  []sessions.Queue
	waiting map[string]int
	since   time.Time
}

func (h fixture) state() houseState {
	if h.houseState == nil {
		return houseState{}
	}
	h.reads++
	return *h.houseState
}

func (h fixture) Dearest(context.Context, time.Time, int) ([]costs.Amount, error) {
	s := h.state()
	return s.dearest, s.err
}

func (h fixture) Active(_ context.Context, since time.Time) ([]sessions.Activity, error) {
	s := h.state()
	if h.houseState != nil {
		h.since = since
	}
	return s.active, s.err
}

func (h fixture) Backlog(context.Context) (sessions.Backlog, error) {
	s := h.state()
	return s.backlog, s.err
}

func (h fixture) Queues(context.Context, int) ([]sessions.Queue, int, error) {
	s := h.state()
	return s.queues, len(s.queues), s.err
}

func (h fixture) Waiting(_ context.Context, token string, _ uint64) (int, error) {
	return h.waiting[token], nil
}

func (h fixture) NextAtLeast(_ context.Context, token string, _, _ uint64) (broker.Envelope, error) {
	return broker.Envelope{Body: fmt.Appendf(nil, `{"channel":%q}`, strings.TrimRight(token, "0123456789"))}, nil
}

// dependencies are what a gateway with every network checks, beside its providers.
var dependencies = []string{"nats", "store", "workspaces", "journals", "dead_letters"}

func register(t testing.TB, m *ops.Metrics, l *ledger, h fixture, s ops.LabelSets) *ops.Shared {
	t.Helper()
	shared := ops.NewShared(m, s)
	shared.Store, shared.Log = h, ops.Log(h)
	if h.houseState == nil {
		shared.Log = quietLog{}
	}
	fine := func(context.Context) error { return nil }
	for _, d := range dependencies {
		shared.Checks = append(shared.Checks, ops.Check{Metric: d, Test: fine})
	}
	shared.Process = ops.Process{
		Ready: func(context.Context) bool { return true }, Slots: func() (int, int) { return 3, 8 },
		Database: func() (int64, error) { return 4096, nil }, Disk: func() (disks.Space, error) { return disks.Space{Free: 5, Size: 50}, nil },
	}
	spent := func(context.Context, time.Time) (settled, held costs.Amount, err error) { return 3e12, 1e12, nil }
	var budgets []ops.Budget
	for _, w := range []string{"day", "month"} {
		budgets = append(budgets, ops.Budget{Scope: "global", Name: ops.BudgetAll, Window: w, Limit: 4e12, Spent: spent})
		for _, c := range s.Channels[:min(len(s.Channels), ops.MaxChannels)] {
			budgets = append(budgets, ops.Budget{Scope: "channel", Name: c, Window: w, Limit: 5e12, Spent: spent})
		}
	}
	shared.Budgets = func() []ops.Budget { return budgets }
	if err := errors.Join(m.Register(ops.NewCosts(l, s)), m.Register(shared)); err != nil {
		t.Fatal(err)
	}
	return shared
}

// values is every series of a metric that is a gauge.
func values(t *testing.T, m *ops.Metrics, name string) map[string]float64 {
	t.Helper()
	all := map[string]float64{}
	fs, _ := m.Gatherer().Gather() // what is missing is seen as missing
	for _, f := range fs {
		if f.GetName() != "parley_"+name {
			continue
		}
		for _, s := range f.GetMetric() {
			var ls []string
			for _, l := range s.GetLabel() {
				ls = append(ls, l.GetValue())
			}
			all[strings.Join(ls, " ")] = s.GetGauge().GetValue()
		}
	}
	return all
}

func TestWhatTheStoreAndTheLogKnowIsReadAtAScrape(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	at := func(peer string) sessionkeys.Address {
		return sessionkeys.Address{Channel: "telegram", Account: peer, Kind: sessionkeys.DM, Peer: "p"}
	}
	h := fixture{houseState: &houseState{
		dearest: []costs.Amount{3e12, 2e12},
		active:  []sessions.Activity{{Channel: "slack", Kind: sessionkeys.Group, Sessions: 4}, {Channel: "gone", Kind: sessionkeys.DM, Sessions: 1}},
		queues:  []sessions.Queue{{Token: "slack1", Address: at("a")}, {Token: "slack2", Address: at("a")}, {Token: "signal1", Address: at("b")}, {Token: "gone1", Address: at("c")}},
		waiting: map[string]int{"slack1": 3, "slack2": 1, "signal1": 5, "gone1": 2},
	}}
	m := ops.NewMetrics(sets())
	s := register(t, m, &ledger{}, h, sets())
	s.Now = func() time.Time { return now }

	if got := values(t, m, "session_cost_rank_usd"); len(got) != 10 || got["1"] != 3 || got["2"] != 2 || got["3"] != 0 {
		t.Errorf("ranks %v", got)
	}
	if got := values(t, m, "sessions_active"); len(got) != 7 || got["slack group"] != 4 || got["slack dm"] != 0 || got["other dm"] != 1 {
		t.Errorf("active %v", got)
	}
	if !h.since.Equal(now.Add(-15 * time.Minute)) {
		t.Errorf("active since %s", h.since)
	}
	if got := values(t, m, "queue_messages"); len(got) != 4 || got["slack"] != 4 || got["signal"] != 5 || got["telegram"] != 0 || got["other"] != 2 {
		t.Errorf("queues %v", got)
	}

	reads := h.reads
	values(t, m, "queue_messages")
	now = now.Add(ops.DefaultRead - 1)
	values(t, m, "queue_messages")
	if h.reads != reads {
		t.Error("a reading is not used again")
	}
	h.err = errors.New("away")
	now = now.Add(1)
	for _, name := range []string{"session_cost_rank_usd", "sessions_active", "queue_messages"} {
		if got := values(t, m, name); len(got) != 0 {
			t.Errorf("with the store away %s is %v", name, got)
		}
	}
	if got := values(t, m, "jetstream_consumer_pending_messages"); len(got) != 1 {
		t.Errorf("with the store away the log's numbers are %v", got)
	}
	if h.reads == reads {
		t.Error("a reading is used for ever")
	}
}

func TestAnOverfullQueueIsReadInBoundedTime(t *testing.T) {
	t.Parallel()
	h := fixture{houseState: &houseState{waiting: map[string]int{}}}
	for i := range 1000 {
		token := fmt.Sprint("slack", i)
		h.queues = append(h.queues, sessions.Queue{Token: token})
		h.waiting[token] = 3
	}
	m := ops.NewMetrics(sets())
	register(t, m, &ledger{}, h, sets())
	if got := values(t, m, "queue_messages")["slack"]; got != 256*3+744 {
		t.Errorf("%v messages wait", got)
	}
}

func TestADependencyIsUpWhenItsLastCallWasServed(t *testing.T) {
	t.Parallel()
	s := sets()
	s.Models = append(s.Models, ops.ModelName{Provider: "nats", Model: "m"})
	m := ops.NewMetrics(s)
	shared := register(t, m, &ledger{}, fixture{}, s)
	shared.Checks[1].Test = func(context.Context) error { return errors.New("away") }
	up := func() map[string]float64 { t.Helper(); return values(t, m, "dependency_up") }
	if got := up(); got["nats"] != 1 || got["store"] != 0 || got["provider_nats"] != 1 || got["openai"] != 1 || len(got) != len(dependencies)+4 {
		t.Errorf("at first %v", got)
	}
	for _, c := range []struct {
		kind llm.Kind
		up   float64
	}{
		{llm.Network, 0},
		{llm.RateLimited, 1},
		{llm.Server, 0},
		{llm.Canceled, 0},
		{llm.InvalidRequest, 1},
		{llm.Canceled, 1},
		{llm.Auth, 0},
		{llm.ContextLength, 1},
		{llm.Timeout, 0},
		{"", 1},
		{llm.Overloaded, 0},
	} {
		r := agent.CallReport{Entry: costs.Entry{Labels: costs.Labels{Provider: "openai", Model: "large"}}}
		if c.kind != "" {
			r.Err = &llm.Error{Kind: c.kind}
		}
		m.ModelCalled(r)
		if got := up(); got["openai"] != c.up || got["anthropic"] != 1 {
			t.Errorf("after %q: %v", c.kind, got)
		}
	}
}

// What ought to be nowhere: names of people, chats and sessions.
func TestNothingIdentifiesAnybody(t *testing.T) {
	t.Parallel()
	const canary = "canary"
	h := fixture{houseState: &houseState{
		queues:  []sessions.Queue{{Token: canary + "1", Address: sessionkeys.Address{Channel: "telegram", Account: canary, Kind: sessionkeys.DM, Peer: canary}}},
		active:  []sessions.Activity{{Channel: canary, Kind: canary, Sessions: 1}},
		waiting: map[string]int{canary + "1": 1},
	}}
	m := ops.NewMetrics(sets())
	register(t, m, &ledger{}, h, sets())
	m.TurnEnded(report(canary))
	m.CountReceived(canary, true)
	m.SetConnected(canary, true)
	m.CountDeadLetter(canary, "key")
	m.ToolCalled(canary, costs.RootTurn, agent.StatusOK, time.Second)
	m.ModelRetried(costs.Labels{Provider: canary, Model: canary}, canary)
	fs, err := m.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(fs, func(f *dto.MetricFamily) bool { return strings.Contains(f.String(), canary) }); i >= 0 {
		t.Errorf("%s carries it", fs[i].GetName())
	}
}

func TestABudgetIsShownBesideWhatWasSpent(t *testing.T) {
	t.Parallel()
	m := ops.NewMetrics(sets())
	s := register(t, m, &ledger{}, fixture{}, sets())
	now := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	s.Now = func() time.Time { return now }
	var asked time.Time
	budgets := []ops.Budget{
		{Scope: "global", Name: ops.BudgetAll, Window: "day", Limit: 2e12, Spent: func(_ context.Context, at time.Time) (settled, held costs.Amount, err error) {
			asked = at
			return 1e12, 25e10, nil
		}},
		{Scope: "channel", Name: "slack", Window: "month", Spent: func(context.Context, time.Time) (settled, held costs.Amount, err error) { return 5, 0, nil }},
		{Scope: "channel", Name: "signal", Window: "day", Limit: 3e12, Spent: func(context.Context, time.Time) (settled, held costs.Amount, err error) {
			return 0, 0, errors.New("away")
		}},
	}
	s.Budgets = func() []ops.Budget { return budgets }
	if got := values(t, m, "budget_limit_usd"); len(got) != 2 || got["all global day"] != 2 || got["signal channel day"] != 3 {
		t.Errorf("limits %v", got)
	}
	if got := values(t, m, "budget_spent_usd"); len(got) != 2 || got["all global day"] != 1 || got["slack channel month"] != 5e-12 {
		t.Errorf("spent %v", got)
	}
	if got := values(t, m, "budget_held_usd"); len(got) != 2 || got["all global day"] != 0.25 || got["slack channel month"] != 0 {
		t.Errorf("held %v", got)
	}
	if !asked.Equal(now) {
		t.Errorf("asked for %s", asked)
	}
}

// What is owed, how full everything is, and whether this process works.
func TestTheBacklogAndTheRoomAreReadAtAScrape(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	h := fixture{houseState: &houseState{backlog: sessions.Backlog{
		Running: 1, Waiting: 2, WaitsSince: now.Add(-7 * time.Minute), Pending: 3, PendingSince: now.Add(-90 * time.Second), Ambiguous: 1,
	}}}
	m := ops.NewMetrics(sets())
	s := register(t, m, &ledger{}, h, sets())
	s.Now = func() time.Time { return now }
	for name, want := range map[string]float64{
		"outbox_answers": 3, "outbox_ambiguous_messages": 1, "outbox_oldest_seconds": 90, "queue_oldest_seconds": 420, "message_log_bytes": 700, "message_log_limit_bytes": 1000,
		"ready": 1, "turn_slots": 8, "turn_slots_busy": 3, "database_bytes": 4096, "state_disk_free_bytes": 5, "state_disk_size_bytes": 50,
	} {
		if got := values(t, m, name); len(got) != 1 || got[""] != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	h.backlog = sessions.Backlog{}
	s.Process.Ready = func(context.Context) bool { return false }
	now = now.Add(ops.DefaultRead)
	for _, name := range []string{"outbox_oldest_seconds", "queue_oldest_seconds", "ready"} {
		if got := values(t, m, name); len(got) != 1 || got[""] != 0 {
			t.Errorf("with nothing owed, by a process that is not ready, %s is %v", name, got)
		}
	}
	h.err = errors.New("away")
	s.Process.Disk = func() (disks.Space, error) { return disks.Space{}, errors.New("away") }
	now = now.Add(ops.DefaultRead)
	for _, name := range []string{"outbox_answers", "queue_oldest_seconds", "state_disk_free_bytes"} {
		if got := values(t, m, name); len(got) != 0 {
			t.Errorf("%s cannot be read and is %v", name, got)
		}
	}
}
