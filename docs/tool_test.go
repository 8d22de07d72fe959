package docs

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/configs"
)

// fenced returns the text of the first block of a language.
func fenced(t *testing.T, text, language string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, "```"+language+"\n")
	body, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatalf("writing-a-tool.md has no block of %s", language)
	}
	return body
}

// TestWritingATool holds docs/writing-a-tool.md to the abilities that a tool may have. Its
// command line is one without a mistake, and its function that of the example of package tools.
func TestWritingATool(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("writing-a-tool.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	var described, declared []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(text, -1) {
		described = append(described, row[1])
	}
	for name, typ := range typesOf(t, "../tools/*.go") {
		if _, ok := typ.(*ast.InterfaceType); ok && name != "Tool" {
			declared = append(declared, name)
		}
	}
	slices.Sort(declared)
	slices.Sort(described)
	if d := cmp.Diff(declared, described); d != "" {
		t.Errorf("abilities of tools (-declared +described):\n%s", d)
	}

	dir := t.TempDir()
	file := filepath.Join(dir, "tools.yaml")
	for name, content := range map[string]string{"tools.yaml": fenced(t, text, "yaml"), "du": "#!/bin/sh\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o700); err != nil { // one is a program
			t.Fatal(err)
		}
	}
	specs, err := configs.LoadTools(file, func(string) (string, bool) { return dir, true })
	if err != nil || len(specs) != 1 {
		t.Errorf("its file of tools: %+v, %v", specs, err)
	}

	example, err := os.ReadFile("../tools/example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	function := "\t" + strings.ReplaceAll(strings.TrimSpace(fenced(t, text, "go")), "\n", "\n\t")
	if !strings.Contains(string(example), function) {
		t.Errorf("its function is not in tools/example_test.go:\n%s", function)
	}
}
