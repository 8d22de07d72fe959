package files_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"parley/tools"
	"parley/tools/files"
)

// category is what a call with this path is asked about.
func category(t testing.TB, c files.Config, tool, workspace, path string) tools.Category {
	t.Helper()
	args := map[string]any{"path": path}
	switch tool {
	case "write_file":
		args["content"] = "x"
	case "edit_file":
		args["old_text"], args["new_text"] = "a", "b"
	}
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return lookup(t, c, tool).Category(tools.Call{Name: tool, Arguments: raw, Workspace: workspace})
}

// requirements F04
func TestAPersonDecidesAboutWhatSomethingElseTrusts(t *testing.T) {
	t.Parallel()
	const ws = "/srv/.config/.git/ws" // its own place does not count
	c := files.Config{Trusted: []string{"Persona.md"}}
	for path, want := range map[string]tools.Category{
		"notes.txt": tools.Write, "src/main.go": tools.Write, ".gitignore": tools.Write, "env": tools.Write,
		"my.env": tools.Write, "git/hooks/x": tools.Write, "environment/.keep": tools.Write, ws + "/notes.txt": tools.Write,
		"../ws/notes.txt": tools.Write, ".git/../notes.txt": tools.Write,

		".git/hooks/pre-commit": tools.Admin, ".git/config": tools.Admin, ".git": tools.Admin, "sub/.git/hooks/x": tools.Admin,
		".bashrc": tools.Admin, "home/.bashrc": tools.Admin, ".env": tools.Admin, ".env.production": tools.Admin,
		"CLAUDE.md": tools.Admin, "docs/claude.md": tools.Admin, "AGENTS.md": tools.Admin, ".mcp.json": tools.Admin,
		".GIT/hooks/x": tools.Admin, ".g\u200cit/config": tools.Admin, ".ba\u017fhrc": tools.Admin, ".EnV": tools.Admin,
		"./sub/../.git/x": tools.Admin, "sub//..//.env": tools.Admin, ws + "/.env": tools.Admin, "../ws/.env": tools.Admin,
		".vscode/tasks.json": tools.Admin, ".github/workflows/x.yml": tools.Admin, ".ssh/config": tools.Admin,
		"persona.MD": tools.Admin, "MEMORY.md": tools.Admin, "TOOLS.md": tools.Admin, "sub/Tools.md": tools.Admin, "SOUL.md": tools.Admin,

		// abuse L8: spellings, and the instructions of other agents.
		".env.": tools.Admin, ".env ": tools.Admin, ".git. ./config": tools.Admin, "CLAUDE.md . .": tools.Admin, "\uff0eenv": tools.Admin,
		"\uff23\uff2c\uff21\uff35\uff24\uff25.md": tools.Admin, "CLAUDE\ufe0f.md": tools.Admin, ".g\u034fit/hooks/x": tools.Admin, ".g\u115fit/x": tools.Admin,
		"AGENTS\U000e0100.md": tools.Admin, "GIT~1/config": tools.Admin, "\u2160DENTITY.md": tools.Admin,
		"QWEN.md": tools.Admin, "sub/WARP.md": tools.Admin, "CRUSH.md": tools.Admin, "opencode.json": tools.Admin, ".kiro/steering/x.md": tools.Admin,
		".junie/guidelines.md": tools.Admin, ".continue/rules/x.md": tools.Admin, ".opencode/agent/x.md": tools.Admin, ".crush.json": tools.Admin,
		"...": tools.Write, "notes. ": tools.Write, "\ufe0f": tools.Write, "warp.mdx": tools.Write, "kiro/x": tools.Write,

		// abuse L12: Run refuses them, in the words of every path out of reach.
		"/etc/passwd": tools.Write, "../other/x": tools.Write, "~/x": tools.Write, "": tools.Write, "a\x00": tools.Write,
	} {
		for _, tool := range []string{"write_file", "edit_file", "delete_file"} {
			if got := category(t, c, tool, ws, path); got != want {
				t.Errorf("%s %q: %s, want %s", tool, path, got, want)
			}
		}
	}
	for _, call := range []tools.Call{
		{Workspace: ws},
		{Workspace: ws, Arguments: json.RawMessage(`{"path":"a","Path":".env","content":""}`)},
		{Workspace: ws, Arguments: json.RawMessage(`{"path":"a","path":".env","content":""}`)},
		{Workspace: "ws", Arguments: json.RawMessage(`{"path":"a","content":""}`)},
	} {
		if got := lookup(t, c, "write_file").Category(call); got != tools.Admin {
			t.Errorf("%s in %q: %s", call.Arguments, call.Workspace, got)
		}
	}
}

func TestALinkIsNoWayAroundThePerson(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.write(t, filepath.Join(h.ws, ".git", "hooks", "pre-commit"), "A")
	h.setUp(t, "symlink tidy -> .git/hooks")
	const byLink = "the path leads by a link to a file that needs permission to change; give the path without the link"
	for tool, args := range map[string]map[string]any{
		"write_file": {"content": "B"}, "edit_file": {"old_text": "A", "new_text": "B"}, "delete_file": {},
	} {
		if got := category(t, h.config(), tool, h.ws, "tidy/pre-commit"); got != tools.Write {
			t.Errorf("%s: of category %s", tool, got)
		}
		args["path"] = "tidy/pre-commit"
		if _, err := use(t, h.config(), h.ws, tool, args); err == nil || err.Error() != byLink {
			t.Errorf("%s: %v", tool, err)
		}
	}
	if got := h.read(t, ".git/hooks/pre-commit"); got != "A" {
		t.Errorf("the hook is %q", got)
	}
	if _, err := use(t, h.config(), h.ws, "write_file", map[string]any{"path": ".git/hooks/pre-commit", "content": "B"}); err != nil || h.read(t, ".git/hooks/pre-commit") != "B" {
		t.Errorf("with permission: %v", err)
	}
}

// S6.11
func TestADeniedFileIsOutOfReachByALinkToItsFolderToo(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.setUp(t, "symlink deep -> sub/deep")
	c := h.config()
	c.Denied = append(c.Denied, filepath.Join(h.ws, "sub", "deep", "f"))
	for _, folder := range []string{"deep", "sub/deep"} {
		for tool, args := range map[string]map[string]any{
			"write_file": {"content": "B"}, "edit_file": {"old_text": "F", "new_text": "B"}, "delete_file": {},
			"read_file": {}, "view": {}, "grep": {"pattern": "F"},
		} {
			args["path"] = folder + "/f"
			if _, err := use(t, c, h.ws, tool, args); verdict(err) != "deny" {
				t.Errorf("%s %s: %v", tool, args["path"], err)
			}
		}
		for tool, want := range map[string]string{"glob": "[no file matches]", "grep": "[no match in 0 files]"} {
			got, err := use(t, c, h.ws, tool, map[string]any{"path": folder, "pattern": "[fF]"})
			if got != want || err != nil {
				t.Errorf("%s %s: %q, %v", tool, folder, got, err)
			}
		}
	}
	if got := h.read(t, "sub/deep/f"); got != "F\n" {
		t.Errorf("it holds %q", got)
	}
}

func TestACheckedCallIsStillCheckedBehindTheJudge(t *testing.T) {
	t.Parallel()
	tool := lookup(t, files.Config{}, "edit_file")
	c, ok := tool.(tools.Checker)
	if !ok {
		t.Fatal("the tool checks nothing")
	}
	a, err := tools.DecodeArguments(`{"path":"x","old_text":"a","new_text":"a"}`)
	if err != nil {
		t.Fatal(err)
	}
	if c.Check(a) == nil {
		t.Error("an edit that changes nothing passed")
	}
}

// Whatever the path: nothing outside changes, what is denied does not change, and
// what was written without a person is nothing that one has to decide about.
func FuzzAPathNeverLeadsOut(f *testing.F) {
	for _, path := range []string{"a.txt", "../out/secret", "sub/../../out/x", ".git/x", "to-git/x", "to-private/key", "private/../private/key", "//", "a/./b/", "\uff0e\uff0e/out", "to-out/x", "..."} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if filepath.IsAbs(path) {
			return // it may name what is not of this test
		}
		h := newHouse(t)
		h.write(t, filepath.Join(h.ws, ".git", "config"), "G")
		h.setUp(t, "symlink to-git -> .git")
		h.setUp(t, "symlink to-private -> private")
		h.setUp(t, "symlink to-out -> ../out")
		for _, tool := range []string{"write_file", "edit_file", "delete_file"} {
			args := map[string]string{"path": path}
			switch tool {
			case "write_file":
				args["content"] = "x"
			case "edit_file":
				args["old_text"], args["new_text"] = "x", "y"
			}
			raw, err := json.Marshal(args)
			if err != nil {
				t.Fatal(err)
			}
			call := tools.Call{Name: tool, Arguments: raw, Workspace: h.ws}
			tl := lookup(t, h.config(), tool)
			cat := tl.Category(call)
			_, _ = tl.Run(t.Context(), call)
			h.untouched(t)
			if h.read(t, "private/key") != "KEY\n" || len(h.list(t, "private")) != 1 {
				t.Fatalf("%s %q changed what is denied", tool, path)
			}
			if cat == tools.Write && (h.read(t, ".git/config") != "G" || len(h.list(t, ".git")) != 1) {
				t.Fatalf("%s %q changed .git and was of category write", tool, path)
			}
		}
		if got := h.read(t, "../ws-evil/f") + h.read(t, "../agent/t.txt"); got != "EVIL\nT\n" {
			t.Fatalf("%q changed another folder: %q", path, got)
		}
	})
}

// What a person is asked to permit is what would be done, in words, and all of it.
func TestPetition(t *testing.T) {
	t.Parallel()
	ts, err := files.NewWriteTools(files.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct{ name, args, want string }{
		{"write_file", `{"path":".env","content":"A=1\nB=2\n"}`, "write .env:\nA=1\nB=2"},
		{"write_file", `{"path":"x/.env","content":"A","create_parents":true}`, "make the folders of x/.env, and write x/.env:\nA"},
		{"edit_file", `{"path":".env","old_text":"A","new_text":"B"}`, "in .env put\nB\nin place of\nA"},
		{"edit_file", `{"path":".env","old_text":"A","new_text":"B","replace_all":true}`, "in .env put\nB\nin place of\nA\neverywhere"},
		{"delete_file", `{"path":".env"}`, "delete .env"},
	} {
		for _, tool := range ts {
			if tool.Definition().Name != c.name {
				continue
			}
			call := tools.Call{Name: c.name, Arguments: []byte(c.args), Workspace: "/ws"}
			p, ok := tool.(tools.Petitioner)
			if !ok {
				t.Fatalf("%s says nothing of what it is to be permitted", c.name)
			}
			got, err := p.Petition(call)
			if err != nil || got.Text != c.want {
				t.Errorf("case %d: asked %q, %v, want %q", i, got.Text, err, c.want)
			}
			if r, ok := tool.(tools.Reasoner); !ok || !strings.HasPrefix(r.Reason(call), "other programs trust what is in ") {
				t.Errorf("case %d: no reason", i)
			}
		}
	}
}
