package main

import (
	"testing"

	"parley/gateway/admin"
)

func TestTheStatusSaysWhichWallsThereAre(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]admin.Sandbox{
		"level A":                                   {Level: "A", Usable: true},
		"level B: no namespaces; no shadow":         {Level: "B", Usable: true, Reasons: []string{"no namespaces", "no shadow"}},
		"none: the configuration says so":           {Level: "D", Usable: true, Reasons: []string{"the configuration says so"}},
		"none, so bash is not offered: no Landlock": {Level: "D", Reasons: []string{"no Landlock"}},
	} {
		if got := sandboxState(s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
