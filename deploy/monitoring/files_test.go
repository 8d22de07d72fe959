package monitoring_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"go.yaml.in/yaml/v3"

	"parley/gateway/ops"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"))
}

// installed is the path of a program of Prometheus.
func installed(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%s is needed: install prometheus (Debian: apt-get install prometheus): %v", name, err)
	}
	return path
}

func promtool(t *testing.T, args ...string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), installed(t, "promtool"), args...).CombinedOutput()
	if err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func files(t *testing.T, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no files %s: %v", pattern, err)
	}
	return names
}

func TestPromtoolAcceptsWhatIsShipped(t *testing.T) {
	t.Parallel()
	promtool(t, append([]string{"check", "rules"}, slices.Concat(files(t, "rules/*.yml"), files(t, "alerts/*.yml"))...)...)
	promtool(t, "check", "config", "prometheus.yml")
	promtool(t, append([]string{"test", "rules"}, files(t, "tests/*.test.yml")...)...)
}

// rule is one of a rule file.
type rule struct {
	Record, Alert, Expr, For string
	Labels, Annotations      map[string]string
}

func rules(t *testing.T) (all []rule) {
	t.Helper()
	for _, name := range slices.Concat(files(t, "rules/*.yml"), files(t, "alerts/*.yml")) {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var f struct{ Groups []struct{ Rules []rule } }
		if err := yaml.Unmarshal(b, &f); err != nil {
			t.Fatal(err)
		}
		for _, g := range f.Groups {
			all = append(all, g.Rules...)
		}
	}
	return all
}

// panel is one of a dashboard.
type panel struct {
	Title, Description, Type string
	Targets                  []struct{ Expr, LegendFormat string }
	FieldConfig              struct{ Defaults struct{ Unit string } }
	GridPos                  struct{ X, Y, W, H int }
}

type dashboard struct {
	UID        string
	Panels     []panel
	Links      []struct{ Title, URL string }
	Templating struct{ List []struct{ Name string } }
}

func dashboards(t *testing.T) (all []dashboard) {
	t.Helper()
	for _, name := range files(t, "dashboards/*.json") {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var d dashboard
		if err := json.Unmarshal(b, &d); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, d)
	}
	return all
}

// filled is a question of a panel as Prometheus is asked it when all variables are at "All".
func filled(expr string) string {
	return strings.NewReplacer("$__rate_interval", "1m", "$__range", "1h", "$job", ".+", "$channel", ".+").Replace(expr)
}

// expressions is what the panels ask, as Prometheus is asked.
func expressions(t *testing.T) (all []string) {
	t.Helper()
	for _, d := range dashboards(t) {
		for _, p := range d.Panels {
			for _, q := range p.Targets {
				all = append(all, filled(q.Expr))
			}
		}
	}
	if len(all) < 45 {
		t.Fatalf("only %d expressions were found", len(all))
	}
	return all
}

func TestPromtoolAcceptsWhatTheDashboardAsks(t *testing.T) {
	t.Parallel()
	var rs []map[string]string
	for i, e := range expressions(t) {
		if strings.Contains(e, "$") {
			t.Errorf("a variable is left in %s", e)
		}
		rs = append(rs, map[string]string{"record": fmt.Sprint("panel:", i), "expr": e})
	}
	b, err := yaml.Marshal(map[string]any{"groups": []map[string]any{{"name": "panels", "rules": rs}}})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "panels.yml")
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, "check", "rules", name)
}

func TestEveryPanelSaysWhatItShows(t *testing.T) {
	t.Parallel()
	for _, d := range dashboards(t) {
		if d.UID == "" || len(d.Panels) < 32 {
			t.Errorf("the dashboard %q has %d panels", d.UID, len(d.Panels))
		}
		for _, p := range d.Panels {
			if p.Title == "" || p.Description == "" || p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0 {
				t.Errorf("the panel %q lacks a title, a description, a unit or a question", p.Title)
			}
		}
	}
}

// What fills up, waits or grows old is seen before its alert fires, and what was spent by each label
// of the cost that an operator can do something about.
func TestEachOfThesePanelsIsThere(t *testing.T) {
	t.Parallel()
	asked := expressions(t)
	for _, name := range []string{
		"channel:parley_cost_usd:increase1h", "agent_kind:parley_llm_cost_usd:increase1h", "model:parley_llm_cost_usd:increase1h",
		"parley_message_log_bytes", "parley_message_log_limit_bytes", "parley_database_bytes", "parley_state_disk_free_bytes",
		"parley_outbox_answers", "parley_dead_letters", "parley_turn_slots", "parley_turn_slots_busy",
		"parley_budget_held_usd", "time() - max by (job) (parley_llm_price_table_timestamp_seconds",
	} {
		if !slices.ContainsFunc(asked, func(expr string) bool { return strings.Contains(expr, name+"{") }) {
			t.Errorf("no panel asks for %s", name)
		}
	}
}

// The first row is single figures, no two panels are in one place, each variable is declared, and links
// lead to pages that are there.
func TestTheDashboardIsInOrder(t *testing.T) {
	t.Parallel()
	variable := regexp.MustCompile(`\$\{?([a-z]+)`)
	for _, d := range dashboards(t) {
		declared := map[string]bool{}
		for _, v := range d.Templating.List {
			declared[v.Name] = true
		}
		taken, first := map[[2]int]string{}, []string(nil)
		for _, p := range d.Panels {
			if at := p.GridPos; at.Y == 0 {
				first = append(first, p.Type+" "+p.Title)
			}
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
					if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
						t.Fatalf("the panel %q stands outside, or over %q", p.Title, other)
					}
					taken[[2]int{x, y}] = p.Title
				}
			}
			for _, q := range p.Targets {
				for _, v := range variable.FindAllStringSubmatch(q.Expr, -1) {
					if !declared[v[1]] {
						t.Errorf("the panel %q asks with the variable %s, which the dashboard does not have", p.Title, v[1])
					}
				}
			}
		}
		want := []string{"stat Spent today", "stat Share of today's budget", "stat Turns", "stat Share of errors", "stat Channels up"}
		if !slices.Equal(first, want) {
			t.Errorf("the first row is %q", first)
		}
		for _, l := range d.Links {
			page, ok := strings.CutPrefix(l.URL, "https://parley.example.org/")
			if _, err := os.Stat("../../" + page); !ok || err != nil || l.Title == "" {
				t.Errorf("the link %q leads to %s, %v", l.Title, l.URL, err)
			}
		}
		if len(d.Links) < 2 {
			t.Errorf("the dashboard has %d links", len(d.Links))
		}
	}
}

var (
	exported = regexp.MustCompile(`(?:^|[^a-z:_])(parley_[a-z0-9_]+)`)
	recorded = regexp.MustCompile(`[a-z_]+:parley_[a-z0-9_]+:[a-z0-9_]+`)
	named    = regexp.MustCompile(`fqName: "([^"]+)"`)
)

// known is every name that may be asked for.
func known(t *testing.T) map[string]bool {
	t.Helper()
	s := ops.LabelSets{Channels: []string{"tg"}, Models: []ops.ModelName{{Provider: "p", Model: "m"}}, Tools: []string{"t"}, Version: "test"}
	m := ops.NewMetrics(s)
	if err := m.Register(ops.NewCosts(nil, s)); err != nil {
		t.Fatal(err)
	}
	if err := m.Register(ops.NewShared(m, s)); err != nil {
		t.Fatal(err)
	}
	descs := make(chan *prometheus.Desc)
	go func() {
		defer close(descs)
		m.Describe(descs)
	}()
	all := map[string]bool{}
	for d := range descs {
		name := named.FindStringSubmatch(d.String())[1]
		all[name] = true
		if strings.HasSuffix(name, "_seconds") || strings.HasSuffix(name, "_usd") {
			all[name+"_bucket"] = true
		}
	}
	for _, r := range rules(t) {
		all[r.Record] = true
	}
	return all
}

func TestEveryMetricThatIsAskedForIsThere(t *testing.T) {
	t.Parallel()
	there := known(t)
	asked := expressions(t)
	for _, r := range rules(t) {
		asked = append(asked, r.Expr)
	}
	n := 0
	for _, e := range asked {
		for _, name := range exported.FindAllStringSubmatch(e, -1) {
			n++
			if !there[name[1]] {
				t.Errorf("nobody exports %s, which %s asks for", name[1], e)
			}
		}
		for _, name := range recorded.FindAllString(e, -1) {
			n++
			if !there[name] {
				t.Errorf("nobody records %s, which %s asks for", name, e)
			}
		}
	}
	if n < 90 {
		t.Errorf("only %d names were looked at", n)
	}
}

var notInAnchors = regexp.MustCompile(`[^a-z0-9 -]`)

func TestEveryAlertPointsToWhatToDo(t *testing.T) {
	t.Parallel()
	const page = "docs/operating.md"
	text, err := os.ReadFile("../../" + page)
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			sections[strings.ReplaceAll(notInAnchors.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), ""), " ", "-")] = true
		}
	}
	records, alerts := 0, 0
	for _, r := range rules(t) {
		if r.Alert == "" {
			records++
			if !recorded.MatchString(r.Record) {
				t.Errorf("%s is not named level:metric:operation", r.Record)
			}
			continue
		}
		alerts++
		where, section, _ := strings.Cut(r.Annotations["runbook_url"], "#")
		if where != "https://parley.example.org/"+page || !sections[section] {
			t.Errorf("%s points to %q", r.Alert, r.Annotations["runbook_url"])
		}
		if !strings.Contains(string(text), "*"+r.Alert+":") {
			t.Errorf("the page does not name %s", r.Alert)
		}
		if r.Annotations["summary"] == "" || r.Annotations["description"] == "" || r.Labels["severity"] == "" {
			t.Errorf("%s says too little", r.Alert)
		}
	}
	if records != 12 || alerts != 26 {
		t.Errorf("%d recording rules and %d alerts", records, alerts)
	}
}
