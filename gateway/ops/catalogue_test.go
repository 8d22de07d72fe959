package ops_test

import (
	"context"
	"fmt"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"

	"parley/broker"
	"parley/gateway/ops"
)

// documented is a row of docs/metrics.md.
type documented struct {
	kind, help, bound string
	labels            []string
	values            map[string][]string // of labels whose values are listed
}

func catalogue(t *testing.T) map[string]documented {
	t.Helper()
	text, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "|---|---|---|---|---|\n")
	rows := map[string]documented{}
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		cells := strings.Split(strings.ReplaceAll(strings.TrimSpace(line), `\|`, "\x00"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(strings.ReplaceAll(cells[i], "\x00", "|"))
		}
		d := documented{kind: cells[2], help: cells[4], bound: cells[5], values: map[string][]string{}}
		for l := range strings.SplitSeq(cells[3], ",") {
			name, values, listed := strings.Cut(strings.TrimSpace(l), "=")
			if name == "" {
				continue
			}
			d.labels = append(d.labels, name)
			if listed {
				d.values[name] = strings.Split(values, "|")
			}
		}
		if _, twice := rows["parley_"+cells[1]]; twice {
			t.Errorf("%s is documented twice", cells[1])
		}
		rows["parley_"+cells[1]] = d
	}
	if len(rows) < 40 {
		t.Fatalf("only %d metrics were found in the document", len(rows))
	}
	return rows
}

var descText = regexp.MustCompile(`^Desc\{fqName: "([^"]+)", help: "(.*)", unit: "[^"]*", constLabels: \{\}, variableLabels: \{(.*)\}\}$`)

// described is every metric of m, with its help and its labels. Describe names
// also those that have no series yet.
func described(t *testing.T, m *ops.Metrics) map[string][2]string {
	t.Helper()
	descs := make(chan *prometheus.Desc)
	go func() {
		defer close(descs)
		m.Describe(descs)
	}()
	all := map[string][2]string{}
	for d := range descs {
		p := descText.FindStringSubmatch(d.String())
		switch {
		case p != nil && strings.HasPrefix(p[1], "parley_"):
			all[p[1]] = [2]string{p[2], p[3]}
		case strings.Contains(d.String(), `"parley_`):
			t.Errorf("cannot be read: %s", d)
		}
	}
	return all
}

func families(t *testing.T, m *ops.Metrics) map[string]*dto.MetricFamily {
	t.Helper()
	fs, err := m.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*dto.MetricFamily{}
	for _, f := range fs {
		if strings.HasPrefix(f.GetName(), "parley_") {
			all[f.GetName()] = f
		}
	}
	return all
}

func TestTheDocumentListsExactlyWhatIsExported(t *testing.T) {
	t.Parallel()
	m, _ := metrics(t)
	rows, there := catalogue(t), families(t, m)
	for name, d := range described(t, m) {
		row, ok := rows[name]
		if !ok {
			t.Errorf("%s is not in docs/metrics.md", name)
			continue
		}
		if row.help != d[0] {
			t.Errorf("%s: the document says %q and the code %q", name, row.help, d[0])
		}
		if got := strings.Join(row.labels, ","); got != d[1] {
			t.Errorf("%s: the document has the labels %s and the code %s", name, got, d[1])
		}
		f := there[name]
		if f == nil {
			t.Errorf("%s has no series", name)
			continue
		}
		if got := strings.ToLower(f.GetType().String()); got != row.kind {
			t.Errorf("%s: the document says %s and the code %s", name, row.kind, got)
		}
		values := map[string]map[string]bool{}
		for _, s := range f.GetMetric() {
			for _, l := range s.GetLabel() {
				if values[l.GetName()] == nil {
					values[l.GetName()] = map[string]bool{}
				}
				values[l.GetName()][l.GetValue()] = true
			}
		}
		for label, want := range row.values {
			got := slices.Sorted(maps.Keys(values[label]))
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("%s: the document has the values %s=%v and the code %v", name, label, want, got)
			}
		}
	}
	for name := range rows {
		if there[name] == nil {
			t.Errorf("%s is documented and not exported", name)
		}
	}
}

// sized is sets of any size.
func sized(channels, models, tools, depth int) ops.LabelSets {
	s := ops.LabelSets{Version: "test", Depth: depth}
	for i := range channels {
		s.Channels = append(s.Channels, fmt.Sprint("c", i))
	}
	for i := range models {
		s.Models = append(s.Models, ops.ModelName{Provider: fmt.Sprint("p", i), Model: "m"})
	}
	for i := range tools {
		s.Tools = append(s.Tools, fmt.Sprint("t", i))
	}
	s.PricedTools = s.Tools[:tools/4] // most cost nothing
	return s
}

var product = regexp.MustCompile(`([0-9CMTD)])([CMTD(])`)

// atMost works out a bound such as 6(C+1).
func atMost(t *testing.T, bound string, s ops.LabelSets) int64 {
	t.Helper()
	expr := product.ReplaceAllString(product.ReplaceAllString(bound, "$1*$2"), "$1*$2")
	for letter, n := range map[string]int{"C": len(s.Channels), "M": len(s.Models) + 1, "T": len(s.Tools) + 1, "D": s.Depth} {
		expr = strings.ReplaceAll(expr, letter, strconv.Itoa(n))
	}
	v, err := types.Eval(token.NewFileSet(), nil, token.NoPos, expr)
	if err != nil {
		t.Fatalf("the bound %s: %v", bound, err)
	}
	n, _ := constant.Int64Val(v.Value)
	return n
}

// series counts as a scraper of classic histograms does.
func series(f *dto.MetricFamily) (n int64) {
	for _, s := range f.GetMetric() {
		n++
		if h := s.GetHistogram(); h != nil {
			n += int64(len(h.GetBucket())) + 2 // and +Inf, sum and count
		}
	}
	return n
}

func TestNoMetricHasMoreSeriesThanItsBound(t *testing.T) {
	t.Parallel()
	rows := catalogue(t)
	for _, c := range []struct {
		name    string
		sets    ops.LabelSets
		from    int64 // all of them together
		through int64
	}{
		{"a usual house", sized(3, 3, 8, 3), 1000, 1400},
		{"all caps filled", sized(ops.MaxChannels, ops.MaxModels, ops.MaxTools, ops.MaxDepth), 4500, 5600},
	} {
		m := ops.NewMetrics(c.sets)
		register(t, m, &ledger{}, fixture{}, c.sets)
		total, bounds := int64(0), int64(0)
		for name, f := range families(t, m) {
			n, limit := series(f), atMost(t, rows[name].bound, c.sets)
			total, bounds = total+n, bounds+limit
			if n > limit {
				t.Errorf("%s: %s has %d series, more than %s = %d", c.name, name, n, rows[name].bound, limit)
			}
		}
		t.Logf("%s: %d series, bounds %d", c.name, total, bounds)
		if total < c.from || total > c.through {
			t.Errorf("%s: %d series, not between %d and %d", c.name, total, c.from, c.through)
		}
	}
}

// What is configured beyond the caps makes no series.
func TestWhatIsBeyondTheCapsIsOther(t *testing.T) {
	t.Parallel()
	s := sized(ops.MaxChannels+3, ops.MaxModels+3, ops.MaxTools+3, ops.MaxDepth+3)
	m := ops.NewMetrics(s)
	for _, c := range s.Channels {
		m.CountReceived(c, true)
	}
	fs := gather(t, m)
	if n := len(fs["parley_messages_received_total"]); n != 2*ops.MaxChannels+1 {
		t.Errorf("%d series of received messages", n)
	}
	if !slices.Contains(fs["parley_messages_received_total"], sample{"channel=other,chat=dm", true, 3}) {
		t.Error("three channels too many are not counted as other")
	}
	if n := len(fs["parley_llm_unpriced_requests_total"]); n != 2*(ops.MaxModels+1) {
		t.Errorf("%d series of unpriced requests", n)
	}
	if n := len(fs["parley_tool_calls_total"]); n != 10*(ops.MaxTools+1) {
		t.Errorf("%d series of tool calls", n)
	}
	if n := len(fs["parley_subagents_active"]); n != ops.MaxDepth {
		t.Errorf("%d depths", n)
	}
}

func TestLintFindsNothing(t *testing.T) {
	t.Parallel()
	m, _ := metrics(t)
	fs, err := m.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(fs).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// quietLog is a log with nothing in it.
type quietLog struct{}

func (quietLog) Stats(context.Context) (broker.Stats, error) {
	return broker.Stats{Stream: "INBOUND", Consumer: "dispatch", Bytes: 700, MaxBytes: 1000}, nil
}
func (quietLog) Waiting(context.Context, string, uint64) (int, error) { return 0, nil }
func (quietLog) NextAtLeast(context.Context, string, uint64, uint64) (broker.Envelope, error) {
	return broker.Envelope{}, broker.ErrNone
}
