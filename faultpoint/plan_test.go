//go:build faultpoints

package faultpoint

import "testing"

func TestAPlanFallsOnTheHitItNames(t *testing.T) {
	t.Parallel()
	ps, err := parse("a.b=kill@2,c=panic,d[POISON]=delay:5ms")
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, hit := range []struct{ point, text string }{
		{"a.b", ""}, {"a.b", ""}, {"a.b", ""}, {"a", ""}, {"c", ""}, {"c", "x"}, {"d", "good"}, {"d", "has POISON in it"},
	} {
		falls := "-"
		for _, p := range ps {
			if p.isDue(hit.point, hit.text) {
				falls = string(p.action[0])
			}
		}
		got += falls
	}
	if want := "-k--pp-d"; got != want {
		t.Errorf("faults fell as %s, not %s", got, want)
	}
}

func TestAVariableThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"a", "a=", "a=explode", "a=kill@0", "a=kill@x", "a=kill:1s", "a=delay", "a=delay:-1s", "=kill", "a[b=kill"} {
		if _, err := parse(text); err == nil {
			t.Errorf("%q was understood", text)
		}
	}
}
