package tools_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/tools"
)

// delegate is a tool that hands work on.
type delegate struct{ tools.Tool }

func (delegate) Delegates() {}

type mode struct {
	Change bool `json:"change,omitempty"`
}

// AI04: in plan mode a turn has what only looks, and what hands looking on; whatever set a tool
// comes from, a call that changes something is denied.
func TestPlanModeLeavesWhatChangesNothing(t *testing.T) {
	t.Parallel()
	run := func(context.Context, mode, tools.Call) (tools.Result, error) { return tools.Result{}, nil }
	made := func(name string, cat func(mode) tools.Category) tools.Tool {
		tool, err := tools.New(name, "does", cat, run)
		if err != nil {
			t.Fatal(err)
		}
		return tool
	}
	always := func(c tools.Category) func(mode) tools.Category { return func(mode) tools.Category { return c } }
	look := made("look", nil)
	either := made("either", func(m mode) tools.Category {
		if m.Change {
			return tools.Write
		}
		return tools.Read
	})
	all, err := tools.NewSet(look, made("write", always(tools.Write)), made("admin", always(tools.Admin)), delegate{made("spawn", always(tools.Write))})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"look", "spawn"}, all.Plan().Names()); d != "" {
		t.Errorf("what is left (-want +got):\n%s", d)
	}
	var asked []string
	next := func(_ context.Context, _ tools.Tool, c tools.Call) (tools.Verdict, error) {
		asked = append(asked, c.Name)
		return tools.Verdict{}, nil
	}
	for _, gate := range []tools.Gate{tools.PlanGate(next), tools.PlanGate(nil)} {
		for _, c := range []struct {
			tool   tools.Tool
			args   string
			allows bool
		}{
			{look, `{}`, true},
			{either, `{}`, true},
			{either, `{"change":true}`, false},
			{either, `{"nonsense":1}`, false},
			{made("write", always(tools.Write)), `{}`, false},
			{made("admin", always(tools.Admin)), `{}`, false},
			{delegate{made("spawn", always(tools.Write))}, `{}`, true},
		} {
			call := tools.Call{Name: c.tool.Definition().Name, Arguments: []byte(c.args)}
			v, err := gate(t.Context(), c.tool, call)
			if err != nil || (v.Decision == tools.Allow) != c.allows || !c.allows && !strings.Contains(v.Reason, "plan mode") {
				t.Errorf("%s %s: %+v, %v", call.Name, c.args, v, err)
			}
		}
	}
	if d := cmp.Diff([]string{"look", "either", "spawn"}, asked); d != "" {
		t.Errorf("the next gate is asked about (-want +got):\n%s", d)
	}
	var none *tools.Set
	if got := none.Plan().Len(); got != 0 {
		t.Errorf("of no tools %d are left", got)
	}
}
