package tools_test

import (
	"slices"
	"testing"

	"parley/tools"
)

type aliased struct {
	tools.Tool
	names []string
}

func (a aliased) Aliases() []string { return a.names }

func TestAnotherNameIsTakenAndNotShown(t *testing.T) {
	t.Parallel()
	set, err := tools.NewSet(aliased{called(t, "spawn"), []string{"agent", "look"}}, called(t, "look"))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := set.Lookup("agent"); !ok || !slices.Equal(set.Names(), []string{"spawn", "look"}) || len(set.Definitions()) != 2 {
		t.Errorf("shown: %v", set.Names())
	}
	if err := set.Check("agent", tools.Arguments{}); err != nil {
		t.Errorf("its other name: %v", err)
	}
	if tl, _ := set.Lookup("look"); tl.Definition().Name != "look" {
		t.Error("another name hides a tool")
	}
	if _, ok := set.Without("spawn").Lookup("agent"); ok {
		t.Error("the other name outlives the tool")
	}
	if _, ok := set.Only("agent").Lookup("spawn"); ok {
		t.Error("a list of rights counts by the tools' own names")
	}
}

func TestBindingAToolAddsNoRights(t *testing.T) {
	t.Parallel()
	set, err := tools.NewSet(called(t, "a"), called(t, "b"))
	if err != nil {
		t.Fatal(err)
	}
	mine := aliased{called(t, "b"), []string{"bee"}}
	bound := set.Bind(mine, called(t, "c"))
	if !slices.Equal(bound.Names(), []string{"a", "b"}) {
		t.Errorf("%v", bound.Names())
	}
	if tl, _ := bound.Lookup("bee"); tl == nil {
		t.Error("b was not bound")
	}
	if tl, _ := set.Lookup("bee"); tl != nil {
		t.Error("the set it came from has changed")
	}
	if n := (*tools.Set)(nil).Bind(mine).Len(); n != 0 {
		t.Errorf("%d tools in no set", n)
	}
}

func TestWhatIsBoundStaysBound(t *testing.T) {
	t.Parallel()
	set, err := tools.NewSet(called(t, "a"), called(t, "b"), called(t, "c"))
	if err != nil {
		t.Fatal(err)
	}
	a, b := &aliased{Tool: called(t, "a")}, &aliased{Tool: called(t, "b")}
	bound := set.Bind(a).Bind(b)
	more, err := bound.With(called(t, "d"))
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*tools.Set{"bound": bound, "fewer": bound.Without("c"), "more": more, "again": bound.Bind()} {
		if tl, _ := s.Lookup("a"); tl != tools.Tool(a) {
			t.Errorf("%s: a is %v", name, tl)
		}
		if tl, _ := s.Lookup("b"); tl != tools.Tool(b) {
			t.Errorf("%s: b is %v", name, tl)
		}
	}
	if tl, _ := set.Lookup("a"); tl == tools.Tool(a) {
		t.Error("the set it came from has changed")
	}
}

// A set is bound for each turn.
func TestBindingMakesNoSetAnew(t *testing.T) { // it counts allocations
	set := named(t, "a", "b", "c", "d", "e", "f")
	mine := called(t, "b")
	if n := testing.AllocsPerRun(100, func() { set.Bind(mine).Definitions() }); n > 2 {
		t.Errorf("%v allocations", n)
	}
}

func called(t *testing.T, name string) tools.Tool {
	t.Helper()
	tl, _ := named(t, name).Lookup(name)
	return tl
}
