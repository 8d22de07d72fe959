package files_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
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

// try runs the row with one tool in a house of its own.
func (a attack) try(t *testing.T, tool string, args map[string]any) (house, string, error) {
	t.Helper()
	h := newHouse(t)
	fill := strings.NewReplacer("{WS}", h.ws, "{OUT}", h.out, "{AGENT}", h.agent)
	h.setUp(t, fill.Replace(a.Setup))
	args["path"] = fill.Replace(a.Input)
	got, err := use(t, h.config(), h.ws, tool, args)
	h.untouched(t)
	return h, got, err
}

// S6.10, S6.11, S6.12
func TestEveryAttackOnAPathGetsItsVerdict(t *testing.T) {
	t.Parallel()
	toolsOf := map[string][]string{"read": {"read_file", "view"}, "list": {"list_directory"}, "write": {"write_file"}}
	ran, denials := 0, map[string]bool{}
	for _, c := range attacks(t) {
		for _, tool := range toolsOf[c.Op] {
			ran++
			args := map[string]any{}
			if c.Op == "write" {
				args["content"] = "W"
			}
			h, got, err := c.try(t, tool, args)
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

// The tools that have no column in paths.json must not be laxer than the others.
func TestNoToolIsAWayAroundAnother(t *testing.T) {
	t.Parallel()
	for _, c := range attacks(t) {
		for tool, args := range map[string]func() map[string]any{
			"write_file":     func() map[string]any { return map[string]any{"content": "W", "create_parents": true} },
			"edit_file":      func() map[string]any { return map[string]any{"old_text": "E", "new_text": "W", "replace_all": true} },
			"delete_file":    func() map[string]any { return map[string]any{} },
			"view":           func() map[string]any { return map[string]any{} },
			"read_file":      func() map[string]any { return map[string]any{} },
			"list_directory": func() map[string]any { return map[string]any{} },
			"glob":           func() map[string]any { return map[string]any{"pattern": "**"} },
			"grep":           func() map[string]any { return map[string]any{"pattern": "E"} },
		} {
			h, got, err := c.try(t, tool, args())
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
}

func leaks(text string) bool {
	return strings.Contains(text, "SECRET") || strings.Contains(text, "KEY") || strings.Contains(text, "EVIL")
}

// read is the text of a file of the workspace, "" where there is none.
func (h house) read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(h.ws, path))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(b)
}

// list is the names in a folder of the workspace.
func (h house) list(t *testing.T, path string) []string {
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
