package programs_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"parley/problems"
	"parley/tools/programs"
	"parley/tools/web/guard"
)

func TestNetwork(t *testing.T) {
	t.Parallel()
	for text, n := range map[string]programs.Network{
		"false":                                  {},
		"true":                                   {Whole: true},
		`["api.github.com","*.example.org:443"]`: {Hosts: []string{"api.github.com", "*.example.org:443"}},
	} {
		got, err := json.Marshal(n)
		var again programs.Network
		if err != nil || string(got) != text || json.Unmarshal(got, &again) != nil || !reflect.DeepEqual(again, n) {
			t.Errorf("%s: %s, %v, and back %v", text, got, err, again)
		}
	}
	var n programs.Network
	if err := json.Unmarshal([]byte(`{"a":1}`), &n); err == nil {
		t.Error("an object is a network")
	}
	for want, n := range map[string]programs.Network{
		"a sandbox":                              {},
		"a sandbox, with this machine's network": {Whole: true},
		"a sandbox, with the public internet":    {Hosts: []string{"*"}},
		"a sandbox, with the network of these hosts alone: api.github.com, *.example.org:443": {Hosts: []string{"api.github.com", "*.example.org:443"}},
	} {
		if got := n.Around("a sandbox"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := (programs.Network{Whole: true}).Around(""); got != "with this machine's network" {
		t.Errorf("around nothing: %q", got)
	}
}

func TestNetworkCheck(t *testing.T) {
	t.Parallel()
	var ps problems.List
	(programs.Network{Hosts: []string{"example.org", "https://example.org", "*:99999"}}).Check(&ps, "at", []guard.Network{{CIDR: "8.8.8.0/24"}})
	(programs.Network{Whole: true}).Check(&ps, "whole", []guard.Network{{CIDR: "10.0.0.0/8"}})
	text := ps.Err().Error()
	for _, want := range []string{
		`at.network[1]: "https://example.org" is neither a host such as example.org,`, "at.network[2]: ",
		"at.allow_private[0].cidr: ", "whole.allow_private: is for hosts that network lists, and it lists none",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("nothing of %q in\n%s", want, text)
		}
	}
	if len(ps) != 4 {
		t.Errorf("%d mistakes:\n%s", len(ps), text)
	}
}
