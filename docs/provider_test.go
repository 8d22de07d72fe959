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
)

// TestWritingAProvider holds docs/writing-a-provider.md to the kinds of errors, to what the suite
// wants of an adapter, and to the files that it names.
func TestWritingAProvider(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("writing-a-provider.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := func(heading string) (names []string) {
		_, part, ok := strings.Cut(string(data), "\n## "+heading+"\n")
		if !ok {
			t.Fatalf("writing-a-provider.md has no part %q", heading)
		}
		part, _, _ = strings.Cut(part, "\n## ")
		for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(part, -1) {
			names = append(names, m[1])
		}
		return names
	}

	source, err := os.ReadFile("../llm/errors.go")
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, m := range regexp.MustCompile(`(?m)^\t(\w+) +Kind = "`).FindAllStringSubmatch(string(source), -1) {
		kinds = append(kinds, m[1])
	}
	if d := cmp.Diff(kinds, rows("Kinds of errors")); d != "" {
		t.Errorf("kinds of errors (-declared +described):\n%s", d)
	}

	var fields []string
	wire, ok := typesOf(t, "../llm/llmtest/suite.go")["Wire"].(*ast.StructType)
	if !ok {
		t.Fatal("the suite has no struct Wire")
	}
	for _, f := range wire.Fields.List {
		for _, name := range f.Names {
			fields = append(fields, name.Name)
		}
	}
	described := rows("The suite")
	slices.Sort(fields)
	slices.Sort(described)
	if d := cmp.Diff(fields, described); d != "" {
		t.Errorf("what the suite wants (-declared +described):\n%s", d)
	}
	for _, path := range regexp.MustCompile("`((?:llm|gateway|configs|costs)/[\\w./-]+)`").FindAllStringSubmatch(string(data), -1) {
		if _, err := os.Stat(filepath.Join("..", path[1])); err != nil {
			t.Errorf("it names %s: %v", path[1], err)
		}
	}
}
