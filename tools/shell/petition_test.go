package shell_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"parley/tools"
	"parley/tools/programs"
	"parley/tools/shell"
)

// A permission for a script holds for the files that it names as they are, however it names
// them, and for the walls.
func TestPetition(t *testing.T) {
	t.Parallel()
	call := hostCall(t, "sh ./build.sh && python3 'in/tool.py' <data.txt")
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(call.Workspace, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"build.sh", "in/tool.py", "data.txt", "other.txt"} {
		write(name, name)
	}
	ask := func(where string) tools.Petition {
		t.Helper()
		petitioner, ok := mustNew(t, shell.Options{Runner: hostRunner{t}, Where: where}).(tools.Petitioner)
		if !ok {
			t.Fatal("bash says nothing of what it is to be permitted")
		}
		p, err := petitioner.Petition(call)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	few, ok := mustNew(t, shell.Options{Runner: hostRunner{t}, Where: "walls", Network: programs.Network{Hosts: []string{"a.example.org"}}}).(tools.Petitioner)
	if !ok {
		t.Fatal("bash says nothing of what it is to be permitted")
	}
	if p, err := few.Petition(call); err != nil || p.Where != "walls, with the network of these hosts alone: a.example.org" || !slices.Contains(p.Binding, p.Where) {
		t.Errorf("with hosts asked is %+v, %v", p, err)
	}
	asked := ask("walls")
	if asked.Text != "sh ./build.sh && python3 'in/tool.py' <data.txt" || asked.Where != "walls" || len(asked.Binding) != 4 {
		t.Errorf("asked %+v", asked)
	}
	write("other.txt", "changed")
	if again := ask("walls"); !slices.Equal(again.Binding, asked.Binding) {
		t.Errorf("a file that is not named counts: %q", again.Binding)
	}
	if again := ask("none"); slices.Equal(again.Binding, asked.Binding) {
		t.Error("other walls do not count")
	}
	for _, name := range []string{"build.sh", "in/tool.py", "data.txt"} {
		before := ask("walls").Binding
		write(name, "changed")
		if slices.Equal(ask("walls").Binding, before) {
			t.Errorf("another %s does not count", name)
		}
	}
}
