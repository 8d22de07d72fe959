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

func called(t *testing.T, name string) tools.Tool {
	t.Helper()
	tl, _ := named(t, name).Lookup(name)
	return tl
}
