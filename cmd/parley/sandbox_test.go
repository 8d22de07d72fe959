package main

import (
	"testing"

	"parley/gateway/admin"
)

func TestTheStatusSaysWhichWallsThereAre(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]admin.Sandbox{
		"level A":                           {Level: "A", Backend: "parley", Usable: true},
		"level A by bubblewrap":             {Level: "A", Backend: "bubblewrap", Usable: true},
		"level B: no namespaces; no shadow": {Level: "B", Usable: true, Reasons: []string{"no namespaces", "no shadow"}},
		"none: the configuration says so":   {Level: "D", Usable: true, Reasons: []string{"the configuration says so"}},
		"level C, with this machine's network for get, put: no Landlock": {Level: "C", Usable: true, Reasons: []string{"no Landlock"}, Tools: []string{"bash", "get", "put"}, Network: []string{"get", "put"}},
		"level A; bash: the network of a.example.org, *.example.net:443 alone; get, put: the network of * alone": {
			Level: "A", Usable: true, Confines: true, Tools: []string{"bash", "get", "put"},
			Hosts: []admin.Reach{{Tools: []string{"bash"}, Hosts: []string{"a.example.org", "*.example.net:443"}}, {Tools: []string{"get", "put"}, Hosts: []string{"*"}}},
		},
		"level B: no n; bash: not run, because programs cannot be kept to a list of hosts here": {
			Level: "B", Usable: true, Reasons: []string{"no n"}, Tools: []string{"bash"}, Hosts: []admin.Reach{{Tools: []string{"bash"}, Hosts: []string{"a.example.org"}}},
		},
		"level A; bash: not offered, because its program is not on this machine": {Level: "A", Usable: true, Tools: []string{"bash", "get"}, Missing: []string{"bash"}},
		"none, so these tools are not offered: bash, get: no Landlock":           {Level: "D", Reasons: []string{"no Landlock"}, Tools: []string{"bash", "get"}},
	} {
		if got := sandboxState(s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTheStatusSaysWhatLimitsHoldFor(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]admin.Sandbox{
		"memory and processes of each run of a program, as a whole":   {Usable: true, LimitsOfRuns: true},
		"memory of each process that a program starts: not delegated": {Usable: true, LimitsReason: "not delegated"},
	} {
		if got := sandboxLimits(s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
