package settings_test

import (
	"testing"

	"parley/gateway/settings"
	"parley/tools/programs"
)

// decision 0112: what could send anything to the hosts of scripts is judged as such.
func TestBashPolicyKnowsWhetherScriptsReachHosts(t *testing.T) {
	t.Parallel()
	var c settings.Config
	if c.BashPolicy(false).Networked {
		t.Error("scripts without a host are judged as if they reached one")
	}
	c.Bash.Network = programs.Network{Hosts: []string{"api.example.org"}}
	if !c.BashPolicy(false).Networked {
		t.Error("scripts that reach a host are judged as if they reached none")
	}
}
