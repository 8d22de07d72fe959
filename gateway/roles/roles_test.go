package roles_test

import (
	"testing"

	"parley/gateway/roles"
)

// (security 5.1) The table of docs/operating.md.
func TestMay(t *testing.T) {
	t.Parallel()
	for right, want := range map[roles.Right][4]bool{
		roles.Talk:       {true, true, true, true},
		roles.Write:      {false, true, true, true},
		roles.Direct:     {false, true, true, true},
		roles.Schedule:   {false, true, true, true},
		roles.Approve:    {false, false, true, true},
		roles.Pair:       {false, false, true, true},
		roles.Unschedule: {false, false, true, true},
		roles.Rule:       {false, false, false, true},
		roles.Right(99):  {false, false, false, true},
	} {
		for i, r := range roles.All() {
			if r.May(right) != want[i] {
				t.Errorf("%s may %d: %v", r, right, r.May(right))
			}
		}
		for _, no := range []roles.Role{roles.None, "Owner", "root"} {
			if no.May(right) || no.Validate() == nil {
				t.Errorf("%q, which is no role, may %d, or is a valid one", no, right)
			}
		}
	}
}

func TestLeast(t *testing.T) {
	t.Parallel()
	all := append([]roles.Role{roles.None}, roles.All()...)
	for i, a := range all {
		for j, b := range all {
			want := all[min(i, j)]
			if want == roles.None {
				want = all[max(i, j)]
			}
			if got := roles.Least(a, b); got != want {
				t.Errorf("of %q and %q: %q", a, b, got)
			}
		}
	}
}
