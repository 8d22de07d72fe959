package files_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/tools/files"
)

// library is a house with something to find in it.
func library(t *testing.T) fixture {
	t.Helper()
	h := newHouse(t)
	h.write(t, filepath.Join(h.ws, "go", "main.go"), "package main\n\nfunc main() {\n\tprintln(\"hello\")\n}\n")
	h.write(t, filepath.Join(h.ws, "go", "util", "text.go"), "package util\r\n\r\n// Hello greets.\r\nfunc Hello() {}\r\n")
	h.write(t, filepath.Join(h.ws, "go", "data.bin"), "hello\x00")
	h.write(t, filepath.Join(h.ws, ".git", "hello.go"), "hello\n")
	h.write(t, filepath.Join(h.ws, "private", "hello.go"), "hello KEY\n")
	h.write(t, filepath.Join(h.ws, "odd\nname.go"), "hello odd\n")
	h.setUp(t, "symlink to-out -> ../out")
	h.setUp(t, "symlink to-private -> private")
	h.setUp(t, "symlink to-go -> go")
	h.setUp(t, "hardlink hard = "+filepath.Join(h.out, "secret"))
	return h
}

func TestFilesAreFoundByPattern(t *testing.T) {
	t.Parallel()
	h := library(t)
	for _, c := range []struct {
		args      map[string]any
		want, err string
	}{
		{args: map[string]any{"pattern": "*.go"}, want: "go/main.go\ngo/util/text.go\n\"odd\\nname.go\""},
		{args: map[string]any{"pattern": "*.go", "path": "go"}, want: "go/main.go\ngo/util/text.go"},
		{args: map[string]any{"pattern": "*/*.go", "path": "go/"}, want: "go/util/text.go"},
		{args: map[string]any{"pattern": "*.go", "path": h.ws + "/go/util"}, want: "go/util/text.go"},
		{args: map[string]any{"pattern": "*.go", "path": "to-go"}, want: "to-go/main.go\nto-go/util/text.go"},
		{args: map[string]any{"pattern": "**", "path": h.agent}, want: h.agent + "/t.txt"},
		{args: map[string]any{"pattern": "*.go", "path": ".git"}, want: ".git/hello.go"},
		{args: map[string]any{"pattern": "*.rs"}, want: "[no file matches]"},
		{args: map[string]any{"pattern": "*.go", "limit": 1}, want: "go/main.go\n[the search was cut short: more was found than is shown; narrow it by path or pattern]"},
		{args: map[string]any{"pattern": "*", "path": "to-out"}, err: "deny"},
		{args: map[string]any{"pattern": "*", "path": "to-private"}, err: "deny"},
		{args: map[string]any{"pattern": "*", "path": "private"}, err: "deny"},
		{args: map[string]any{"pattern": "*", "path": "none"}, err: "not_found"},
		{args: map[string]any{"pattern": "*", "path": "a.txt"}, err: "the path is a file, not a folder"},
		{args: map[string]any{"pattern": "[a"}, err: "the pattern has a [, { or } without its other half, an empty [] or a \\ at its end; put a \\ before what stands for itself"},
	} {
		got, err := use(t, h.config(), h.ws, "glob", c.args)
		if c.err != "" {
			if verdict(err) != c.err {
				t.Errorf("%v: %v, want %s", c.args, err, c.err)
			}
			continue
		}
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%v: %v (-want +got)\n%s", c.args, err, diff)
		}
	}
}

func TestLinesAreFoundByExpression(t *testing.T) {
	t.Parallel()
	h := library(t)
	for _, c := range []struct {
		args      map[string]any
		want, err string
	}{
		{args: map[string]any{"pattern": "hello"}, want: "go/main.go:4:\tprintln(\"hello\")\n\"odd\\nname.go\":1:hello odd"},
		{args: map[string]any{"pattern": "hello", "ignore_case": true, "include": "*.go", "path": "go"}, want: "go/main.go:4:\tprintln(\"hello\")\ngo/util/text.go:3:// Hello greets.\ngo/util/text.go:4:func Hello() {}"},
		{args: map[string]any{"pattern": "^func .*}$", "path": "go"}, want: "go/util/text.go:4:func Hello() {}"},
		{args: map[string]any{"pattern": "()", "literal": true, "path": "go"}, want: "go/main.go:3:func main() {\ngo/util/text.go:4:func Hello() {}"},
		{args: map[string]any{"pattern": "package", "path": "go", "files_only": true}, want: "go/main.go\ngo/util/text.go"},
		{args: map[string]any{"pattern": "hello", "path": "go/main.go", "context": 1}, want: "go/main.go-3-func main() {\ngo/main.go:4:\tprintln(\"hello\")\ngo/main.go-5-}"},
		{args: map[string]any{"pattern": "package|Hello", "path": "go", "context": 1}, want: "go/main.go:1:package main\ngo/main.go-2-\n--\ngo/util/text.go:1:package util\ngo/util/text.go-2-\ngo/util/text.go:3:// Hello greets.\ngo/util/text.go:4:func Hello() {}"},
		{args: map[string]any{"pattern": "package", "path": "go", "limit": 1}, want: "go/main.go:1:package main\n[the search was cut short: more was found than is shown; narrow it by path or pattern]"},
		{args: map[string]any{"pattern": "SECRET|KEY"}, want: "[no match in 6 files]"},
		{args: map[string]any{"pattern": "nothing", "path": "a.txt"}, want: "[no match in 1 file]"},
		{args: map[string]any{"pattern": "hello", "path": "go/data.bin"}, want: "[binary file, application/octet-stream, 6 bytes; not shown]"},
		{args: map[string]any{"pattern": "hello", "path": "hard"}, err: "deny"},
		{args: map[string]any{"pattern": "hello", "path": "a.txt/"}, err: "deny"},
		{args: map[string]any{"pattern": "hello", "path": "to-out/secret"}, err: "deny"},
		{args: map[string]any{"pattern": "hello", "path": "none"}, err: "not_found"},
		{args: map[string]any{"pattern": "(a"}, err: "the pattern is no regular expression (RE2): error parsing regexp: missing closing ): `(a`; escape it, or set literal"},
		{args: map[string]any{"pattern": "((a{50}){50}){10}"}, err: "the pattern is no regular expression (RE2): error parsing regexp: invalid repeat count: `{50}`; escape it, or set literal"},
		{args: map[string]any{"pattern": "(abcde){500}"}, err: "the pattern is too large; use fewer or shorter repetitions"},
		{args: map[string]any{"pattern": "a", "include": "{"}, err: "include: the pattern has a [, { or } without its other half, an empty [] or a \\ at its end; put a \\ before what stands for itself"},
	} {
		got, err := use(t, h.config(), h.ws, "grep", c.args)
		if c.err != "" {
			if verdict(err) != c.err {
				t.Errorf("%v: %v, want %s", c.args, err, c.err)
			}
			continue
		}
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%v: %v (-want +got)\n%s", c.args, err, diff)
		}
	}
	all := h.config()
	all.AllowHardlinks = true
	if got, err := use(t, all, h.ws, "grep", map[string]any{"pattern": "SECRET"}); err != nil || got != "hard:1:SECRET" {
		t.Errorf("where the operator allows it: %q, %v", got, err)
	}
}

func TestASearchIsBounded(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for i := range 300 {
		h.write(t, filepath.Join(h.ws, "many", fmt.Sprintf("f%03d", i)), strings.Repeat("needle ", 200)+"\n")
	}
	h.write(t, filepath.Join(h.ws, "long"), strings.Repeat("x", 100_000)+"needle\na needle\n")
	for _, c := range []struct {
		c          files.Config
		tool, path string
		args       map[string]any
		bytes      int
		has        string
	}{
		{files.Config{MaxBytes: 1000}, "grep", "many", map[string]any{"pattern": "needle"}, 1100, "more was found than is shown"},
		{files.Config{MaxBytes: 50}, "glob", "many", map[string]any{"pattern": "*"}, 150, "more was found than is shown"},
		{files.Config{}, "glob", "many", map[string]any{"pattern": "*"}, 200*10 + 100, "more was found than is shown"},
		{files.Config{SearchTime: 1}, "grep", "many", map[string]any{"pattern": "needle"}, 1000, "search took too long"},
		{files.Config{SearchTime: 1}, "glob", "many", map[string]any{"pattern": "*"}, 1000, "search took too long"},
		{files.Config{}, "grep", "long", map[string]any{"pattern": "needle"}, 200, "long:2:a needle\n[of 1 long lines only the first 65536 bytes were searched]"},
	} {
		c.args["path"] = c.path
		got, err := use(t, c.c, h.ws, c.tool, c.args)
		if err != nil || len(got) > c.bytes || !strings.Contains(got, c.has) {
			t.Errorf("%s %v: %d bytes, %v, ends %q", c.tool, c.args, len(got), err, got[max(0, len(got)-120):])
		}
	}
}

// abuse L7: one match, which nothing can interrupt, took four seconds of a core, and
// one search up to twenty.
func TestOneMatchHasABoundedCost(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	line := strings.Repeat("-", 20_000) + "needle" // on which the pattern fails at once
	c := h.config()
	c.SearchTime = time.Hour
	h.write(t, filepath.Join(h.ws, "long"), line+"\nneedle\n")
	costly := `\w{1,900}!|needle$`
	for pattern, want := range map[string]string{
		costly:                    "long:2:needle\n[of 1 long lines only the first 9",
		`needle$`:                 "long:1:" + line[:500] + " [...]\nlong:2:needle",
		strings.Repeat("-", 1000): "long:1:" + line[:500] + " [...]",
	} {
		got, err := use(t, c, h.ws, "grep", map[string]any{"pattern": pattern, "path": "long"})
		if err != nil || !strings.HasPrefix(got, want) || pattern != costly && strings.Contains(got, "only the first") {
			t.Errorf("%.20s: %q, %v", pattern, got, err)
		}
	}
	got, err := use(t, c, h.ws, "grep", map[string]any{"pattern": costly, "path": "long"})
	if err != nil || !strings.Contains(got, "a simpler pattern looks further") {
		t.Errorf("what to do is not said: %q, %v", got, err)
	}
	if files.DefaultSearchTime > 5*time.Second {
		t.Errorf("a search may take %s", files.DefaultSearchTime)
	}
}

func TestFoldersInEachOtherAreWalkedToALimit(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	deep := filepath.Join(h.ws, strings.Repeat("d/", 100))
	h.write(t, filepath.Join(deep, "bottom"), "needle\n")
	h.write(t, filepath.Join(h.ws, strings.Repeat("d/", 60), "nearer"), "needle\n")
	got, err := use(t, h.config(), h.ws, "grep", map[string]any{"pattern": "needle", "files_only": true})
	if want := strings.Repeat("d/", 60) + "nearer"; got != want || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestAFileIsViewedWithNumbers(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	var text strings.Builder
	for i := range 2500 {
		fmt.Fprintf(&text, "line %d\n", i+1)
	}
	h.write(t, filepath.Join(h.ws, "lines"), text.String())
	h.write(t, filepath.Join(h.ws, "empty"), "")
	h.write(t, filepath.Join(h.ws, "wide"), strings.Repeat("é", 50_000)+"\nnext")
	for _, c := range []struct {
		path          string
		offset, limit int
		max           int64
		want, err     string
	}{
		{path: "a.txt", want: "     1\tA"},
		{path: "lines", offset: 2499, want: "  2499\tline 2499\n  2500\tline 2500"},
		{path: "lines", offset: 3, limit: 2, want: "     3\tline 3\n     4\tline 4\n[lines 3 to 4 shown; go on with offset 5]"},
		{path: "lines", max: 20, want: "     1\tline 1\n[lines 1 to 1 shown; go on with offset 2]"},
		{path: "lines", max: 10, want: "[line 1 does not fit; go on with offset 2]"},
		{path: "lines", offset: 2501, err: "offset 2501 is past the end: the file has 2500 lines"},
		{path: "empty", want: "[empty file]"},
		{path: "wide", want: "     1\t" + strings.Repeat("é", 1000) + " [...]\n     2\tnext"},
		{path: "none", err: "not_found"},
		{path: "private/key", err: "deny"},
	} {
		conf := h.config()
		conf.MaxBytes = c.max
		args := map[string]any{"path": c.path}
		if c.offset > 0 {
			args["offset"] = c.offset
		}
		if c.limit > 0 {
			args["limit"] = c.limit
		}
		got, err := use(t, conf, h.ws, "view", args)
		if c.err != "" {
			if verdict(err) != c.err {
				t.Errorf("%v: %v, want %s", args, err, c.err)
			}
			continue
		}
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%v: %v (-want +got)\n%s", args, err, diff)
		}
	}
	got, err := use(t, h.config(), h.ws, "view", map[string]any{"path": "lines"})
	if err != nil || !strings.HasSuffix(got, "  2000\tline 2000\n[lines 1 to 2000 shown; go on with offset 2001]") {
		t.Errorf("%v, ends %q", err, got[max(0, len(got)-80):])
	}
}
