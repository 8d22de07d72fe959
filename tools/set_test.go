package tools_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/tools"
)

func named(t *testing.T, names ...string) *tools.Set {
	t.Helper()
	var ts []tools.Tool
	for _, n := range names {
		ts = append(ts, mustNew(t, n, nil, echo[struct{}]))
	}
	return mustSet(t, ts...)
}

// TX14
func TestWhatASetHidesItRefuses(t *testing.T) {
	t.Parallel()
	all := named(t, "read_file", "write_file", "bash")
	for name, c := range map[string]struct {
		set  *tools.Set
		want []string
	}{
		"only":                {all.Only("bash", "read_file", "root"), []string{"read_file", "bash"}},
		"only nothing":        {all.Only(), nil},
		"without":             {all.Without("bash"), []string{"read_file", "write_file"}},
		"without after only":  {all.Only("bash").Without("bash"), nil},
		"nil":                 {nil, nil},
		"nil, narrowed":       {(*tools.Set)(nil).Only("bash"), nil},
		"the set it was made": {all, []string{"read_file", "write_file", "bash"}},
	} {
		var shown []string
		for _, d := range c.set.Definitions() {
			shown = append(shown, d.Name)
		}
		if diff := cmp.Diff(c.want, shown); diff != "" {
			t.Errorf("%s: shown (-want +got)\n%s", name, diff)
		}
		for _, n := range all.Names() {
			_, found := c.set.Lookup(n)
			err := c.set.Check(n, tools.Arguments{})
			if want := slices.Contains(c.want, n); found != want || (err == nil) != want || !want && !errors.Is(err, tools.ErrUnknownTool) {
				t.Errorf("%s: %s: found %v, check %v, want %v", name, n, found, err, want)
			}
		}
	}
}

func TestASetRefusesNamesThatProvidersDo(t *testing.T) {
	t.Parallel()
	now := mustNew(t, "now", nil, echo[struct{}])
	if _, err := tools.NewSet(now, now); err == nil {
		t.Error("two tools of one name")
	}
	if _, err := named(t, "now").With(now); err == nil {
		t.Error("two tools of one name, later")
	}
	more, err := named(t, "a").With(now)
	if err != nil || !slices.Equal(more.Names(), []string{"a", "now"}) {
		t.Errorf("got %v, %v", more.Names(), err)
	}
}

func TestAWrongNameFindsItsNeighbours(t *testing.T) {
	t.Parallel()
	set := named(t, "read_file", "list_directory", "write_file", "bash")
	for name, want := range map[string][]string{
		"ReadFile":   {"read_file"},
		"raed_file":  {"read_file"},
		"file":       {"read_file", "write_file"},
		"bsh":        {"bash"},
		"directory":  {"list_directory"},
		"send_money": nil,
		"":           nil,
	} {
		if diff := cmp.Diff(want, set.Nearest(name)); diff != "" {
			t.Errorf("%q (-want +got)\n%s", name, diff)
		}
	}
}
