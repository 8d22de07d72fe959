package ops_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"parley/agent"
	"parley/costs"
	"parley/gateway/gatewaytest"
	"parley/gateway/ops"
	"parley/gateway/outcomes"
	"parley/llm"
	"parley/runtest"
	"parley/sessions"
	"parley/transcript"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"))
}

// sets are the largest that the budget of series is for.
func sets() ops.LabelSets {
	return ops.LabelSets{
		Channels: []string{"telegram", "slack", "signal"},
		Models: []ops.ModelName{
			{"anthropic", "large"}, {"anthropic", "small"}, {"openai", "large"}, {"local", "tiny"},
		},
		Tools:       []string{"t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8", "t9"},
		PricedTools: []string{"t1", "t2"},
		Version:     "test",
	}
}

// ledger is totals that can be away.
type ledger struct {
	totals []sessions.Total
	err    error
}

func (l *ledger) Totals(context.Context) ([]sessions.Total, error) { return l.totals, l.err }

func metrics(t *testing.T) (*ops.Metrics, *ledger) {
	t.Helper()
	m, l := ops.NewMetrics(sets()), &ledger{}
	register(t, m, l, fixture{}, sets())
	return m, l
}

// sample is one series.
type sample struct {
	labels  string
	counter bool
	value   float64 // of a counter
}

func gather(t *testing.T, m *ops.Metrics) map[string][]sample {
	t.Helper()
	fs, err := m.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string][]sample{}
	for _, f := range fs {
		for _, s := range f.GetMetric() {
			var ls []string
			for _, l := range s.GetLabel() {
				ls = append(ls, l.GetName()+"="+l.GetValue())
			}
			byName[f.GetName()] = append(byName[f.GetName()], sample{
				strings.Join(ls, ","), s.GetCounter() != nil, s.GetCounter().GetValue(),
			})
		}
	}
	return byName
}

// increase() over a series that begins at 5 is 0.
func TestEachCounterOfTheClosedSetsBeginsAtZero(t *testing.T) {
	t.Parallel()
	m, _ := metrics(t)
	there := gather(t, m)
	descs := make(chan *prometheus.Desc)
	go func() {
		defer close(descs)
		m.Describe(descs)
	}()
	names := regexp.MustCompile(`fqName: "([^"]+)"`)
	n := 0
	for d := range descs {
		name := names.FindStringSubmatch(d.String())[1]
		if !strings.HasPrefix(name, "parley_") {
			continue
		}
		n++
		f := there[name]
		if len(f) == 0 {
			t.Errorf("%s has no series before something happens", name)
			continue
		}
		for _, s := range f {
			if s.counter && s.value != 0 {
				t.Errorf("%s{%s} begins at %v", name, s.labels, s.value)
			}
		}
	}
	if n < 25 {
		t.Errorf("only %d metrics are described", n)
	}
}

var finishes = []transcript.FinishReason{
	transcript.EndTurn, transcript.Canceled, transcript.PermissionDenied, transcript.MaxIterations, transcript.MaxTokens,
	transcript.Refusal, transcript.ContextLimit, transcript.Budget, transcript.Stopped, transcript.Done, transcript.Failed,
}

// Whatever is counted, no series of a counter is new.
func TestWhatIsCountedStandsInASeriesThatWasThere(t *testing.T) {
	t.Parallel()
	m, _ := metrics(t)
	series := func() map[string]bool {
		all := map[string]bool{}
		for name, f := range gather(t, m) {
			for _, s := range f {
				if s.counter {
					all[name+"{"+s.labels+"}"] = true
				}
			}
		}
		return all
	}
	before := series()
	for _, c := range sets().Channels {
		for _, dm := range []bool{true, false} {
			m.CountReceived(c, dm)
			m.FirstReply(c, dm, time.Second)
			for _, o := range finishes {
				m.TurnEnded(outcomes.Turn{Channel: c, DM: dm, Outcome: o})
				m.TurnEnded(outcomes.Turn{Channel: c, DM: dm, Outcome: o, TimedOut: true})
			}
		}
		for _, r := range []string{"not_mentioned", "not_allowed", "unsupported", "too_large"} {
			m.CountIgnored(c, r)
		}
		m.CountDuplicate(c, "edit")
		m.CountDuplicate(c, "message_id")
		for _, r := range []string{"unreadable", "address", "encoding", "too_large", "attempts", "key", "foreign"} {
			m.CountDeadLetter(c, r)
		}
		for _, o := range []string{"ok", "rejected", "ambiguous", "dropped"} {
			m.CountSent(c, o, time.Second)
		}
		for _, r := range []string{"rate_limited", "network", "server"} {
			m.SendRetried(c, r)
		}
		m.Reconnected(c)
	}
	m.CountDeadLetter("", "key")
	m.CountDeadLetter("", "encoding")
	m.CountLost(1)
	for _, n := range sets().Models {
		for _, p := range []costs.Purpose{costs.RootTurn, costs.Subagent} {
			l := costs.Labels{Provider: n.Provider, Model: n.Model, Channel: "slack", Purpose: p}
			u := costs.Usage{Input: 9, CacheRead: 9, CacheWrite5m: 9, Output: 9, Reasoning: 3, Source: costs.Estimated}
			m.ModelCalled(agent.CallReport{Entry: costs.Entry{Labels: l, Usage: u}})
			for _, k := range []llm.Kind{llm.RateLimited, llm.Overloaded, llm.Auth, llm.Quota, llm.Timeout, llm.Network, llm.Server, llm.Other, llm.Canceled, "new"} {
				m.ModelCalled(agent.CallReport{Entry: costs.Entry{Labels: l}, Err: &llm.Error{Kind: k}})
				m.ModelRetried(l, k)
			}
		}
	}
	for _, tool := range append(sets().Tools, "invented by a model") {
		for _, s := range []string{agent.StatusOK, agent.StatusError, agent.StatusTimeout, agent.StatusDenied, agent.StatusCancelled} {
			m.ToolCalled(tool, costs.RootTurn, s, time.Second)
		}
	}
	for d := range ops.MaxDepth + 2 {
		m.SubagentSpawned(d)
		m.SubagentRunning(d, 1)
	}
	for _, r := range []string{"depth", "fanout", "concurrency", "budget", "policy"} {
		m.SubagentDenied(r)
	}
	for _, scope := range []string{"global", "channel", "peer", "session", "turn"} {
		m.BudgetDenied(scope, "refused")
		m.BudgetDenied(scope, "stopped")
	}
	after := series()
	for s := range before {
		delete(after, s)
	}
	for _, s := range slices.Sorted(maps.Keys(after)) {
		t.Errorf("new: %s", s)
	}
}

func TestNamesOutsideTheSetsBecomeOther(t *testing.T) {
	t.Parallel()
	m, _ := metrics(t)
	for _, name := range []string{"a", "b", "c"} {
		m.ToolCalled(name, costs.RootTurn, agent.StatusOK, time.Second)
		m.ModelRetried(costs.Labels{Provider: name, Model: name}, llm.Server)
		m.CountDeadLetter(name, "key")
	}
	fs := gather(t, m)
	for _, want := range []struct {
		metric, labels string
		value          float64
	}{
		{"parley_tool_calls_total", "agent_kind=root,outcome=ok,tool=other", 3},
		{"parley_llm_retries_total", "model=other,provider=other,reason=" + string(llm.Server), 3},
		{"parley_messages_dead_lettered_total", "channel=other,reason=key", 3},
		{"parley_label_overflows_total", "label=tool", 3},
		{"parley_label_overflows_total", "label=model", 3},
	} {
		if !slices.Contains(fs[want.metric], sample{want.labels, true, want.value}) {
			t.Errorf("%s{%s} is not %v", want.metric, want.labels, want.value)
		}
	}
}

func TestCostsEqualTheLedgerAndAreMissingWhenItCannotBeRead(t *testing.T) {
	t.Parallel()
	m, l := metrics(t)
	known := costs.Labels{Provider: "openai", Model: "large", Channel: "slack", Purpose: costs.RootTurn}
	unknown := costs.Labels{Provider: "gone", Model: "old", Channel: "tg", Purpose: costs.Title}
	l.totals = []sessions.Total{{Labels: known, Amount: 1_500_000_000_000}, {Labels: unknown, Amount: 1}}
	sum := func() (float64, int) {
		total, f := 0.0, gather(t, m)["parley_llm_cost_usd_total"]
		for _, s := range f {
			total += s.value
		}
		return total, len(f)
	}
	if got, n := sum(); got != 1.5+1e-12 || n != 4*3*4+1 {
		t.Errorf("%v over %d series", got, n)
	}
	l.err = errors.New("away")
	rec := httptest.NewRecorder()
	m.Handler().ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	body := rec.Body.String()
	if rec.Code != http.StatusOK || strings.Contains(body, "parley_llm_cost_usd_total{") || !strings.Contains(body, "parley_messages_received_total{") {
		t.Errorf("with the ledger away: %d, %d bytes", rec.Code, len(body))
	}
	l.err = nil
	if got, _ := sum(); got != 1.5+1e-12 {
		t.Errorf("afterwards %v", got)
	}
	// A label that is no text spoils only itself.
	l.totals = append(l.totals, sessions.Total{Labels: costs.Labels{Provider: "\xff"}, Amount: 1})
	rec = httptest.NewRecorder()
	m.Handler().ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if !strings.Contains(rec.Body.String(), `parley_llm_cost_usd_total{agent_kind="root",channel="slack",model="large",provider="openai"} 1.5`) {
		t.Error("one bad label took the others along")
	}
}

// serve runs an operator's listener.
func serve(t *testing.T, checks ...ops.Check) (*ops.Server, string) {
	t.Helper()
	m, _ := metrics(t)
	s, err := ops.New(t.Context(), ops.Config{Listen: "127.0.0.1:0"}, m, slog.New(slog.DiscardHandler), checks...)
	if err != nil {
		t.Fatal(err)
	}
	runtest.Start(t, "the server", s.Run)
	return s, "http://" + s.Addr()
}

func request(t *testing.T, method, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func TestThePagesSayWhatTheyShould(t *testing.T) {
	t.Parallel()
	var broken error
	s, url := serve(t, ops.Check{Name: "store", Test: func(context.Context) error { return broken }})
	page := func(method, path string, code int, words ...string) {
		t.Helper()
		got, body := request(t, method, url+path)
		if got != code {
			t.Errorf("%s %s: %d %s", method, path, got, body)
		}
		for _, w := range words {
			if !strings.Contains(body, w) {
				t.Errorf("%s %s does not say %q: %s", method, path, w, body)
			}
		}
	}
	page(http.MethodGet, "/livez", 200, "ok")
	page(http.MethodGet, "/readyz", 503, `"gateway":"starting or ending"`, `"store":"ok"`)
	s.SetReady(true)
	page(http.MethodGet, "/readyz", 200, `"gateway":"ok"`, `"store":"ok"`)
	broken = errors.New("it burns")
	page(http.MethodGet, "/readyz", 503, `"gateway":"ok"`, `"store":"it burns"`)
	page(http.MethodGet, "/livez", 200)
	broken = nil
	s.SetReady(false)
	page(http.MethodGet, "/readyz", 503)
	page(http.MethodGet, "/metrics", 200, "parley_build_info", `version="test"`, "go_goroutines")
	for _, path := range []string{"/", "/nothing", "/livez/", "/debug/pprof/", "/metrics/x", "/..%2fetc"} {
		page(http.MethodGet, path, 404)
	}
	for _, path := range []string{"/livez", "/readyz", "/metrics"} {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
			page(method, path, 405)
		}
	}
}

func TestAnAddressThatIsTakenIsSaidAtOnce(t *testing.T) {
	t.Parallel()
	s, _ := serve(t)
	_, err := ops.New(t.Context(), ops.Config{Listen: s.Addr()}, s.Metrics, s.Logger)
	if err == nil || !strings.Contains(err.Error(), "ops.listen") || !strings.Contains(err.Error(), s.Addr()) {
		t.Errorf("%v", err)
	}
	off, err := ops.New(t.Context(), ops.Config{Listen: "off"}, s.Metrics, s.Logger)
	if err != nil || off.Addr() != "" {
		t.Errorf("%v", err)
	}
	if err := off.Close(); err != nil {
		t.Error(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := off.Run(ctx); err != nil {
		t.Error(err)
	}
	// What is never run gives its address back.
	idle, err := ops.New(t.Context(), ops.Config{Listen: "127.0.0.1:0"}, s.Metrics, s.Logger)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := idle.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestPromtoolHasNothingToSayOfARunningGateway(t *testing.T) {
	t.Parallel()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Fatalf("promtool is needed: install prometheus (Debian: apt-get install prometheus): %v", err)
	}
	gw := gatewaytest.Open(t, gatewaytest.Options{}).Start()
	gw.Ask(gatewaytest.Ann, "hello")
	cmd := exec.CommandContext(t.Context(), promtool, "check", "metrics")
	cmd.Stdin = strings.NewReader(gw.Scrape())
	out, err := cmd.CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

// abuse M3.
func TestAnOverrunIsCounted(t *testing.T) {
	t.Parallel()
	m, _ := metrics(t)
	n := sets().Models[0]
	e := costs.Entry{Labels: costs.Labels{Provider: n.Provider, Model: n.Model, Channel: "slack", Purpose: costs.RootTurn}, Overrun: costs.USD / 4}
	m.ModelCalled(agent.CallReport{Entry: e})
	m.ModelCalled(agent.CallReport{Entry: e})
	sum := 0.0
	for _, s := range gather(t, m)["parley_llm_overrun_usd_total"] {
		sum += s.value
	}
	if sum != 0.5 {
		t.Errorf("%v dollars above what was reserved", sum)
	}
}
