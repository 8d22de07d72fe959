package commandline_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/tools"
	"parley/tools/commandline"
	"parley/tools/programs"
)

// A person who permits a call permits the program and the files that it names as they are then,
// and sees where each argument begins. (docs/decisions/0081)
func TestPetition(t *testing.T) {
	t.Parallel()
	p := write(t, "echo 1")
	spec := commandline.Spec{
		Name: "apply", Description: "d", Category: tools.Admin, Cmd: "x", Program: p, Network: programs.Network{Whole: true},
		Args: []string{"-f", "{{file}}", "{{note}}"}, Parameters: []commandline.Parameter{{Name: "file", Type: "string"}, {Name: "note", Type: "string"}},
		Env: []programs.Variable{{Name: "TOKEN", Value: "canary-value", Secrets: []string{"canary-value"}}},
	}
	ws := t.TempDir()
	manifest := filepath.Join(ws, "a.yaml")
	ask := func(spec commandline.Spec, text string) tools.Petition {
		t.Helper()
		if err := os.WriteFile(manifest, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		tool := mustNew(t, spec, commandline.Options{Runner: &fakeRunner{}, Where: "a sandbox of level A"})
		got, err := tool.(tools.Petitioner).Petition(tools.Call{Arguments: []byte(`{"file":"a.yaml","note":"it's a 'b'; rm x"}`), Workspace: ws})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	first := ask(spec, "kind: Pod")
	if want := p.Path + ` -f a.yaml 'it'\''s a '\''b'\''; rm x'`; first.Text != want || first.Where != "a sandbox of level A, with this machine's network" {
		t.Errorf("asked is %q in %q, want %q", first.Text, first.Where, want)
	}
	if strings.Contains(strings.Join(first.Binding, " "), "canary") {
		t.Errorf("a secret is in %q", first.Binding)
	}
	if again := ask(spec, "kind: Pod"); !slices.Equal(again.Binding, first.Binding) {
		t.Errorf("the same call has %q and %q", first.Binding, again.Binding)
	}
	other := spec
	other.Program = write(t, "echo 2")
	walled, chosen, more := spec, spec, spec
	walled.Network = programs.Network{}
	chosen.Network = programs.Network{Hosts: []string{"api.example.org"}}
	more.Network = programs.Network{Hosts: []string{"api.example.org", "*.example.net:443"}}
	for name, got := range map[string]tools.Petition{"another file": ask(spec, "kind: Secret"), "another program": ask(other, "kind: Pod"), "no network": ask(walled, "kind: Pod"), "chosen hosts": ask(chosen, "kind: Pod")} {
		if slices.Equal(got.Binding, first.Binding) {
			t.Errorf("%s: the permission would hold for it", name)
		}
	}
	few, many := ask(chosen, "kind: Pod"), ask(more, "kind: Pod")
	if slices.Equal(few.Binding, many.Binding) || many.Where != "a sandbox of level A, with the network of these hosts alone: api.example.org, *.example.net:443" {
		t.Errorf("a permission for one host holds for two, or nobody reads them: %q, %q", few, many)
	}
	tool := mustNew(t, spec, commandline.Options{Runner: &fakeRunner{}})
	if _, err := tool.(tools.Petitioner).Petition(tools.Call{Arguments: []byte(`{"file":"-f"}`), Workspace: ws}); err == nil {
		t.Error("a call that would not run is asked about")
	}
}
