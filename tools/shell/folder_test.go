package shell_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"parley/tools"
	"parley/tools/shell"
)

// AF02: the result of the tool names the folder for the next turn; no path leads out of the
// workspace, and what is no folder of it is refused in a sentence that says what to do.
func TestFolder(t *testing.T) {
	t.Parallel()
	workspace := t.TempDir()
	for _, dir := range []string{"sub/deep", "odd \"name\""} {
		if err := os.MkdirAll(filepath.Join(workspace, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(workspace, "a.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"out": t.TempDir(), "up": "..", "in": "sub"} {
		if err := os.Symlink(to, filepath.Join(workspace, name)); err != nil {
			t.Fatal(err)
		}
	}
	tool, err := shell.NewFolder(&fakeRunner{})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ path, dir, want string }{
		{"sub", "", `From your next turn on, commands begin in "sub". In this turn they begin in the workspace.`},
		{"./sub//deep/", "sub", `From your next turn on, commands begin in "sub/deep". In this turn they begin in "sub".`},
		{"/workspace/sub/deep", "", `From your next turn on, commands begin in "sub/deep". In this turn they begin in the workspace.`},
		{"/workspace", "sub", `From your next turn on, commands begin in the workspace. In this turn they begin in "sub".`},
		{".", "sub", `From your next turn on, commands begin in the workspace. In this turn they begin in "sub".`},
		{"in", "", `From your next turn on, commands begin in "in". In this turn they begin in the workspace.`},
		{`odd "name"`, "", `From your next turn on, commands begin in "odd \"name\"". In this turn they begin in the workspace.`},
	} {
		res, err := tool.Run(t.Context(), folderCall(t, workspace, row.path, row.dir))
		if err != nil || res.Content != row.want {
			t.Errorf("%s: %q, %v, want %q", row.path, res.Content, err, row.want)
		}
		dir, ok := shell.ChosenFolder(res.Metadata)
		if _, err := os.Stat(filepath.Join(workspace, dir)); !ok || err != nil {
			t.Errorf("%s: the next turn reads %q, %v of %s: %v", row.path, dir, ok, res.Metadata, err)
		}
	}
	for path, want := range map[string]string{
		"..":                ".. is not in the workspace",
		"sub/../../x":       "sub/../../x is not in the workspace",
		"/etc":              "/etc is not in the workspace",
		"/workspace/../etc": "/workspace/../etc is not in the workspace",
		"none":              "there is no folder none in the workspace: make it first",
		"a.txt":             "a.txt is a file, not a folder",
		"out":               "look at the folder out: statat out: path escapes from parent",
		"up":                "look at the folder up: statat up: path escapes from parent",
	} {
		res, err := tool.Run(t.Context(), folderCall(t, workspace, path, ""))
		if err == nil || err.Error() != want || tools.KindOf(err) != tools.Permanent || res.Metadata != "" {
			t.Errorf("%s: %+v, %v, want the error %q", path, res, err, want)
		}
	}
	if got := tool.Category(folderCall(t, workspace, "sub", "")); got != tools.Read {
		t.Errorf("it changes nothing, and is of category %s", got)
	}
}

// Whatever stands in a store, no turn begins outside the workspace.
func TestChosenFolderRefusesWhatLeadsOut(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{", `{"folder":".."}`, `{"folder":"/etc"}`, `{"folder":"a/../../b"}`, `"sub"`} {
		if dir, ok := shell.ChosenFolder(text); ok {
			t.Errorf("%s: %q", text, dir)
		}
	}
}

// Models see in which folder a script ran, where it is not the workspace.
func TestResultsNameTheFolder(t *testing.T) {
	t.Parallel()
	tool := mustNew(t, shell.Options{Runner: &fakeRunner{}})
	for dir, want := range map[string]string{"": "exit code: 0\nstdout:\n", "sub": "exit code: 0\nfolder: \"sub\"\nstdout:\n", "a\nb": "exit code: 0\nfolder: \"a\\nb\"\nstdout:\n"} {
		c := callOf(t, "ls")
		c.Dir = dir
		if res, err := tool.Run(t.Context(), c); err != nil || res.Content != want {
			t.Errorf("%q: %q, %v, want %q", dir, res.Content, err, want)
		}
	}
}

func folderCall(t *testing.T, workspace, path, dir string) tools.Call {
	t.Helper()
	args, err := json.Marshal(map[string]string{"path": path})
	if err != nil {
		t.Fatal(err)
	}
	return tools.Call{ID: "c1", Name: shell.FolderName, Arguments: args, Workspace: workspace, Dir: dir, Progress: func(string) {}}
}
