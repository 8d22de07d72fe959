// Package docs holds the code to its drawing.
package docs

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

type pkg struct {
	ImportPath                string
	Imports                   []string
	TestImports, XTestImports []string
}

// block is the lines of a fenced block of architecture.md.
func block(t *testing.T, name string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "```"+name+"\n")
	body, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatalf("architecture.md has no block %s", name)
	}
	m := map[string][]string{}
	for line := range strings.Lines(body) {
		if f := strings.Fields(line); len(f) > 0 {
			m[f[0]] = f[1:]
		}
	}
	return m
}

// lines is the first words of the lines of such a block, in their order.
func lines(t *testing.T, name string) (first []string) {
	t.Helper()
	text, err := os.ReadFile("architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```"+name+"\n")
	body, _, _ := strings.Cut(rest, "```")
	for line := range strings.Lines(body) {
		if f := strings.Fields(line); len(f) > 0 {
			first = append(first, f[0])
		}
	}
	return first
}

// packages are all of the module, with the files that these build tags choose.
func packages(t *testing.T, tags ...string) []pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-tags="+strings.Join(tags, ","), "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var ps []pkg
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return ps
		} else if err != nil {
			t.Fatal(err)
		}
		ps = append(ps, p)
	}
}

// own is the path inside the module, and false for other modules.
func own(path string) (string, bool) { return strings.CutPrefix(path, "parley/") }

func top(path string) string { s, _, _ := strings.Cut(path, "/"); return s }

// exempt are packages that no binary holds.
func exempt(path string) bool {
	return strings.HasSuffix(path, "test") || slices.Contains([]string{"bench", "deploy", "docs", "mutants"}, top(path))
}

func TestArrowsPointDownAsDrawn(t *testing.T) {
	t.Parallel()
	drawn, order := block(t, "arrows"), lines(t, "arrows")
	found := map[string]map[string]string{}
	for _, p := range packages(t) {
		path, ok := own(p.ImportPath)
		if !ok || exempt(path) {
			continue
		}
		from := top(path)
		if _, ok := drawn[from]; !ok {
			t.Errorf("%s is not in the drawing", from)
			continue
		}
		for _, i := range p.Imports {
			if to, ok := own(i); ok && top(to) != from {
				if found[from] == nil {
					found[from] = map[string]string{}
				}
				found[from][top(to)] = path + " imports " + to
			}
		}
	}
	for from, tos := range drawn {
		for _, to := range tos {
			if _, ok := drawn[to]; !ok {
				t.Errorf("the drawing has an arrow from %s to %s, which is not in it", from, to)
			}
			if found[from][to] == "" {
				t.Errorf("the arrow from %s to %s is drawn, but nothing goes that way", from, to)
			}
			if slices.Index(order, to) < slices.Index(order, from) {
				t.Errorf("%s stands above %s in the drawing, but an arrow goes up to it", to, from)
			}
		}
		for to, who := range found[from] {
			if !slices.Contains(tos, to) {
				t.Errorf("%s: there is no arrow from %s to %s in docs/architecture.md", who, from, to)
			}
		}
	}
}

// meeting returns the folder in which the ways to two packages part, and the name of
// each in it; "." is the folder's own package.
func meeting(from, to string) (folder, a, b string) {
	x, y := strings.Split(from, "/"), strings.Split(to, "/")
	n := 0
	for n < len(x) && n < len(y) && x[n] == y[n] {
		n++
	}
	name := func(path []string) string {
		if n < len(path) {
			return path[n]
		}
		return "."
	}
	return strings.Join(x[:n], "/"), name(x), name(y)
}

// TestArrowsInsideFoldersAreAsDrawn holds every level below the first to the block
// inside: in both directions, and in its order, so that none goes back.
func TestArrowsInsideFoldersAreAsDrawn(t *testing.T) {
	t.Parallel()
	drawn, order := block(t, "inside"), lines(t, "inside")
	found := map[string]map[string]string{}
	for _, p := range packages(t) {
		path, ok := own(p.ImportPath)
		if !ok || exempt(path) {
			continue
		}
		for _, i := range p.Imports {
			to, ok := own(i)
			if !ok {
				continue
			}
			folder, a, b := meeting(path, to)
			if folder == "" {
				continue // the drawing of the first level
			}
			from := folder + "/" + a
			if found[from] == nil {
				found[from] = map[string]string{}
			}
			found[from][b] = path + " imports " + to
			if back := slices.Index(order, folder+"/"+b); back >= 0 && back < slices.Index(order, from) {
				t.Errorf("%s/%s stands above %s in the drawing, but %s imports %s", folder, b, from, path, to)
			}
		}
	}
	for from, tos := range drawn {
		for _, to := range tos {
			if found[from][to] == "" {
				t.Errorf("the arrow from %s to %s is drawn, but nothing goes that way", from, to)
			}
		}
	}
	for from, tos := range found {
		for to, who := range tos {
			if !slices.Contains(drawn[from], to) {
				t.Errorf("%s: there is no arrow from %s to %s in docs/architecture.md", who, from, to)
			}
		}
	}
}

// TestImportsAreNotDeep counts the packages of the longest way from one that imports
// nothing of ours.
func TestImportsAreNotDeep(t *testing.T) {
	t.Parallel()
	const deepest = 9
	imports := map[string][]string{}
	for _, p := range packages(t) {
		if path, _ := own(p.ImportPath); !exempt(path) {
			imports[p.ImportPath] = p.Imports
		}
	}
	var way func(path string) []string
	ways := map[string][]string{}
	way = func(path string) []string {
		if w, ok := ways[path]; ok {
			return w
		}
		var longest []string
		for _, i := range imports[path] {
			if _, ours := own(i); ours {
				if w := way(i); len(w) > len(longest) {
					longest = w
				}
			}
		}
		ways[path] = append([]string{path}, longest...)
		return ways[path]
	}
	for path := range imports {
		if w := way(path); len(w) > deepest {
			t.Errorf("%d packages stand on each other, %d are the most: %s", len(w), deepest, strings.Join(w, " > "))
		}
	}
}

// common are packages on which the members of a family stand. The gateway does not choose
// between them: its configuration has their words, such as a list of hosts.
var common = []string{"parley/tools/programs", "parley/tools/web/guard"}

// TestSiblingsDoNotKnowEachOther: what the gateway chooses between, such as networks,
// databases and providers, does not know what else there is to choose.
func TestSiblingsDoNotKnowEachOther(t *testing.T) {
	t.Parallel()
	all := packages(t)
	chosen := map[string]bool{}
	for _, p := range all {
		if p.ImportPath == "parley/gateway" || p.ImportPath == "parley/gateway/settings" {
			for _, i := range p.Imports {
				chosen[i] = true
			}
		}
	}
	families := map[string]bool{}
	for _, p := range all {
		path, _ := own(p.ImportPath)
		if !chosen[p.ImportPath] || top(path) == "gateway" {
			continue
		}
		for _, i := range p.Imports {
			to, ours := own(i)
			if folder, a, b := meeting(path, to); ours && folder != "" && a != "." && b != "." && chosen[i] && !slices.Contains(common, i) {
				t.Errorf("%s imports its sibling %s", path, i)
			}
		}
		families[filepath.Dir(path)] = true
	}
	for _, parent := range []string{"channels", "sessions", "llm"} {
		if !families[parent] {
			t.Errorf("nothing of %s is chosen by the gateway: this test looks at the wrong things", parent)
		}
	}
}

// databases are those that operations of sessions run on, by sessions/rules.
var databases = []string{"sessions/sqlite", "sessions/redis", "sessions/memtest"}

// TestDatabasesKnowNoRules: what a state of a turn or of an answer means, who may do
// what, and which limit holds is decided once, in sessions/rules. (Tests may sabotage
// the database that lives in memory: forget.go.)
func TestDatabasesKnowNoRules(t *testing.T) {
	t.Parallel()
	rules := map[string][]string{
		"sessions":   {"Open", "Done", "Queued", "Sending", "Sent", "Failed", "Uncertain", "ErrFenced", "KnownError"},
		"transcript": {"EndTurn", "Canceled"},
		"costs":      {"Title", "Summary"},
	}
	for _, dir := range databases {
		files, err := filepath.Glob(filepath.Join("..", dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no files in %s: %v", dir, err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") || filepath.Base(name) == "forget.go" {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				s, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if of, ok := s.X.(*ast.Ident); ok && slices.Contains(rules[of.Name], s.Sel.Name) {
					t.Errorf("%s names %s.%s: ask sessions/rules", name, of.Name, s.Sel.Name)
				}
				return true
			})
		}
	}
}

func TestSimulatorsShareTheirStageAndNothingElse(t *testing.T) {
	t.Parallel()
	const stage = "simulators/internal/stage"
	for _, p := range packages(t) {
		path, _ := own(p.ImportPath)
		if top(path) != "simulators" {
			continue
		}
		for _, i := range p.Imports {
			if to, ours := own(i); ours && (to != stage || path == stage) {
				t.Errorf("%s imports %s; a simulator imports nothing of ours but %s", path, i, stage)
			}
		}
	}
}

func TestThirdPartiesStayInTheirRoom(t *testing.T) {
	t.Parallel()
	rooms := block(t, "rooms")
	used := map[string]bool{}
	for _, p := range packages(t) {
		path, _ := own(p.ImportPath)
		if exempt(path) {
			continue
		}
		for _, i := range p.Imports {
			for prefix, where := range rooms {
				if !strings.HasPrefix(i, prefix) {
					continue
				}
				used[prefix] = true
				if !slices.ContainsFunc(where, func(w string) bool { return path == w || strings.HasPrefix(path, w+"/") }) {
					t.Errorf("%s imports %s, which stays in %s", path, i, strings.Join(where, ", "))
				}
			}
		}
	}
	for prefix := range rooms {
		if !used[prefix] {
			t.Errorf("%s has a room, but nobody imports it", prefix)
		}
	}
}

func TestJudgesAreSeenByTestsOfTheirTagOnly(t *testing.T) {
	t.Parallel()
	judges := block(t, "judges")
	judge := func(path string) (string, bool) {
		for prefix := range judges {
			if strings.HasPrefix(path, prefix) {
				return prefix, true
			}
		}
		return "", false
	}
	for _, p := range packages(t) {
		for _, i := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			if _, ok := judge(i); ok {
				t.Errorf("%s imports %s, which is for tests with the build tag judges", p.ImportPath, i)
			}
		}
	}
	used := map[string]bool{}
	for _, p := range packages(t, "judges") {
		path, _ := own(p.ImportPath)
		for _, i := range p.Imports {
			if _, ok := judge(i); ok {
				t.Errorf("%s imports %s outside of its tests", path, i)
			}
		}
		for _, i := range slices.Concat(p.TestImports, p.XTestImports) {
			prefix, ok := judge(i)
			if !ok {
				continue
			}
			used[prefix+" "+path] = true
			if !slices.Contains(judges[prefix], path) {
				t.Errorf("the tests of %s import %s, which judges %s", path, i, strings.Join(judges[prefix], ", "))
			}
		}
	}
	for prefix, rooms := range judges {
		for _, room := range rooms {
			if !used[prefix+" "+room] {
				t.Errorf("%s judges nothing in %s", prefix, room)
			}
		}
	}
}
