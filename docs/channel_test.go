package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// typesOf returns the types that the Go files declare.
func typesOf(t *testing.T, pattern string) map[string]ast.Expr {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no files %s: %v", pattern, err)
	}
	all := map[string]ast.Expr{}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.TypeSpec); ok {
				all[s.Name.Name] = s.Type
			}
			return true
		})
	}
	return all
}

// TestWritingAChannel holds docs/writing-a-channel.md to the abilities that a channel may
// have, and to the table of networks.
func TestWritingAChannel(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("writing-a-channel.md")
	if err != nil {
		t.Fatal(err)
	}
	var fields, abilities []string
	table, channel, ok := strings.Cut(string(text), "From optional interfaces")
	if !ok {
		t.Fatal("writing-a-channel.md has no part \"From optional interfaces\"")
	}
	for of, names := range map[string]*[]string{table: &fields, channel: &abilities} {
		for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(of, -1) {
			*names = append(*names, row[1])
		}
	}

	var declared []string
	for name, typ := range typesOf(t, "../channels/*.go") {
		// What every channel is, and who listens to one, is no ability.
		if _, ok := typ.(*ast.InterfaceType); ok && !slices.Contains([]string{"Channel", "Observer", "NoteTaker"}, name) {
			declared = append(declared, name)
		}
	}
	slices.Sort(declared)
	slices.Sort(abilities)
	if d := cmp.Diff(declared, abilities); d != "" {
		t.Errorf("abilities of channels (-declared +described):\n%s", d)
	}

	row, ok := typesOf(t, "../gateway/settings/networks.go")["Network"].(*ast.StructType)
	if !ok {
		t.Fatal("gateway/settings/networks.go has no struct Network")
	}
	declared = nil
	for _, f := range row.Fields.List {
		for _, name := range f.Names {
			if name.IsExported() { // the others are set by Describe
				declared = append(declared, name.Name)
			}
		}
	}
	slices.Sort(declared)
	slices.Sort(fields)
	if d := cmp.Diff(declared, fields); d != "" {
		t.Errorf("fields of the table (-declared +described):\n%s", d)
	}
	for _, path := range regexp.MustCompile("`((?:channels|simulators|gateway|configs|cmd)/[\\w./-]+)`").FindAllStringSubmatch(string(text), -1) {
		if _, err := os.Stat(filepath.Join("..", path[1])); err != nil {
			t.Errorf("it names %s: %v", path[1], err)
		}
	}
}
