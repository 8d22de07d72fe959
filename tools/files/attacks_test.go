package files_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/tools/files"
)

// attack is a row of paths.json.
type attack struct{ Input, Expected, Why, Op, Setup string }

func attacks(t *testing.T) []attack {
	t.Helper()
	raw, err := os.ReadFile("testdata/paths.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []attack
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	var cases []attack
	for _, c := range all {
		if c.Expected != "race" { // these are tests of their own
			cases = append(cases, c)
		}
	}
	return cases
}

// attacked is a house as a row wants it, and its tools.
type attacked struct {
	fixture
	use  user
	path string // as the row writes it
}

func (a attack) house(t *testing.T, top string) attacked {
	t.Helper()
	h := build(t, top)
	fill := strings.NewReplacer("{WS}", h.ws, "{OUT}", h.out, "{AGENT}", h.agent)
	h.setUp(t, fill.Replace(a.Setup))
	return attacked{h, with(t, h.config()), fill.Replace(a.Input)}
}

// try uses one tool on the path of the row.
func (a attacked) try(t *testing.T, tool string, args map[string]any) (string, error) {
	t.Helper()
	args["path"] = a.path
	got, err := a.use(t, a.ws, tool, args)
	a.untouched(t)
	return got, err
}

// S6.10, S6.11, S6.12
func TestEveryAttackOnAPathGetsItsVerdict(t *testing.T) {
	t.Parallel()
	toolsOf := map[string][]string{"read": {"read_file", "view", files.SendName}, "list": {"list_directory"}, "write": {"write_file"}}
	ran, denials, top := 0, map[string]bool{}, ground(t)
	for _, c := range attacks(t) {
		for _, tool := range toolsOf[c.Op] {
			ran++
			args := map[string]any{}
			if c.Op == "write" {
				args["content"] = "W"
			}
			h := c.house(t, top)
			got, err := h.try(t, tool, args)
			if v := verdict(err); v != c.Expected {
				t.Errorf("%s %q (%s): %s, want %s", tool, c.Input, c.Why, v, c.Expected)
			}
			if err != nil && verdict(err) == "deny" {
				denials[err.Error()] = true
			}
			if leaks(got) {
				t.Errorf("%s %q: what is outside came in: %q", tool, c.Input, got)
			}
			if c.Op == "write" && c.Expected == "allow" && h.read(t, c.Input) != "W" {
				t.Errorf("write %q: not written", c.Input)
			}
		}
	}
	if ran < 80 {
		t.Errorf("only %d cases ran", ran)
	}
	if len(denials) != 1 {
		t.Errorf("denials differ: %v", denials)
	}
}

// fits are the tools for which a path is good that a row denies to its own: a
// folder can be listed and not read, the second name of a file taken away and
// not read.
var fits = map[string][]string{
	"":         {"list_directory", "glob", "grep"}, // left out: the workspace
	".":        {"list_directory", "glob", "grep"},
	"a.txt/..": {"list_directory", "glob", "grep"},
	"sub":      {"list_directory", "glob", "grep", "delete_file"},
	"hard":     {"write_file", "delete_file"},
}

// The tools that have no column in paths.json must not be laxer than the others.
func TestNoToolIsAWayAroundAnother(t *testing.T) {
	t.Parallel()
	denials, denied := map[string]bool{}, 0
	still, changed := ground(t), ground(t)
	for _, c := range attacks(t) {
		look := c.house(t, still) // of those that change nothing
		for tool, args := range map[string]map[string]any{
			"write_file":     {"content": "W", "create_parents": true},
			"edit_file":      {"old_text": "E", "new_text": "W", "replace_all": true},
			"delete_file":    {},
			"view":           {},
			"read_file":      {},
			files.SendName:   {},
			"list_directory": {},
			"glob":           {"pattern": "**"},
			"grep":           {"pattern": "E"},
		} {
			h := look
			if slices.Contains([]string{"write_file", "edit_file", "delete_file"}, tool) {
				h = c.house(t, changed)
			}
			got, err := h.try(t, tool, args)
			if c.Expected == "deny" && !slices.Contains(fits[c.Input], tool) {
				denied++
				if verdict(err) != "deny" {
					t.Errorf("%s %q (%s): %s, want deny", tool, c.Input, c.Why, verdict(err))
				} else {
					denials[err.Error()] = true
				}
			}
			if leaks(got) || strings.Contains(got, "private/key") {
				t.Errorf("%s %q (%s): what is out of reach came in: %q", tool, c.Input, c.Why, got)
			}
			if err == nil && c.Op == "write" && c.Expected == "deny" && strings.HasSuffix(tool, "_file") && tool != "read_file" {
				t.Errorf("%s %q (%s): allowed: %q", tool, c.Input, c.Why, got)
			}
			if h.read(t, "private/key") != "KEY\n" || len(h.list(t, "private")) != 1 {
				t.Errorf("%s %q (%s): what is denied was changed", tool, c.Input, c.Why)
			}
			for _, path := range []string{"../ws-evil/f", "../agent/t.txt"} {
				if text := h.read(t, path); text != "EVIL\n" && text != "T\n" {
					t.Errorf("%s %q (%s): %s was changed to %q", tool, c.Input, c.Why, path, text)
				}
			}
		}
	}
	if len(denials) != 1 || denied < 200 {
		t.Errorf("%d denials in the words %v", denied, denials)
	}
}

func leaks(text string) bool {
	return strings.Contains(text, "SECRET") || strings.Contains(text, "KEY") || strings.Contains(text, "EVIL")
}

// read is the text of a file of the workspace, "" where there is none.
func (h fixture) read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(h.ws, path))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(b)
}

// list is the names in a folder of the workspace.
func (h fixture) list(t *testing.T, path string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(h.ws, path))
	if err != nil {
		t.Fatal(err)
	}
	out := make([]string, len(entries))
	for i, e := range entries {
		out[i] = e.Name()
	}
	return out
}
