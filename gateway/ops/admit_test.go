package ops_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"parley/agent"
	"parley/costs"
	"parley/gateway/ops"
)

// However often an operator changes models, there are so many series and no more; what was
// counted stays counted.
func TestMetricsAdmit(t *testing.T) {
	t.Parallel()
	m := ops.NewMetrics(ops.LabelSets{Models: []ops.ModelName{{"p", "m0"}}, Windows: map[ops.ModelName]int{{"p", "m0"}: 7}, Depth: 1})
	called := func(model string) {
		m.ModelCalled(agent.CallReport{Entry: costs.Entry{Labels: costs.Labels{Provider: "p", Model: model, Purpose: costs.RootTurn}}})
	}
	var calling sync.WaitGroup
	for i := 1; i <= 3*ops.MaxModels; i++ {
		name := fmt.Sprint("m", i)
		calling.Go(func() { called("m0"); called(name) })
		m.Admit(ops.LabelSets{Models: []ops.ModelName{{"p", name}}, Windows: map[ops.ModelName]int{{"p", name}: 9}, Depth: 3})
	}
	calling.Wait()
	m.SubagentSpawned(3)
	all, err := m.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	models := map[string]float64{}
	for _, f := range all {
		for _, s := range f.GetMetric() {
			for _, l := range s.GetLabel() {
				switch {
				case f.GetName() == "parley_llm_context_window_tokens" && l.GetName() == "model":
					models[l.GetValue()] = s.GetGauge().GetValue()
				case f.GetName() == "parley_subagent_spawns_total" && l.GetValue() == "3" && s.GetCounter().GetValue() != 1:
					t.Errorf("a sub-agent at depth 3: %v", s)
				}
			}
		}
	}
	if len(models) != ops.MaxModels+1 || models["m0"] != 0 || models["m1"] != 0 {
		t.Errorf("%d models: %v", len(models), models)
	}
	m.Admit(ops.LabelSets{Models: []ops.ModelName{{"p", "m0"}}, Windows: map[ops.ModelName]int{{"p", "m0"}: 7}})
	if got := values(t, m, "llm_context_window_tokens"); got["m0 p"] != 7 {
		t.Errorf("windows %v", got)
	}
	if n := strings.Count(fmt.Sprint(models), ":"); n != ops.MaxModels+1 {
		t.Errorf("%d", n)
	}
}
