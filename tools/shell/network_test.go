package shell_test

import (
	"slices"
	"strings"
	"testing"

	"parley/tools/programs"
	"parley/tools/shell"
	"parley/tools/web/guard"
)

// The model reads which hosts its scripts reach, and they reach those.
func TestHostsOfScripts(t *testing.T) {
	t.Parallel()
	f := &fakeRunner{}
	private := []guard.Network{{CIDR: "10.0.0.5/32"}}
	tool := mustNew(t, shell.Options{Runner: f, Network: programs.Network{Hosts: []string{"a.example.org", "*.example.net:443"}}, AllowPrivate: private})
	if text := tool.Definition().Description; !strings.Contains(text, "Programs reach these hosts by HTTP and HTTPS, through the proxy that their environment names,\nand nothing else: a.example.org, *.example.net:443") {
		t.Errorf("the model reads %q", text)
	}
	if _, err := tool.Run(t.Context(), callOf(t, "ls")); err != nil {
		t.Fatal(err)
	}
	got := f.got[0]
	if got.Network.Whole || !slices.Equal(got.Network.Hosts, []string{"a.example.org", "*.example.net:443"}) || len(got.AllowPrivate) != 1 {
		t.Errorf("the script runs with %+v", got)
	}
	if text := mustNew(t, shell.Options{Runner: f}).Definition().Description; strings.Contains(text, "hosts") {
		t.Errorf("without any the model reads %q", text)
	}
}
