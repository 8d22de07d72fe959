package files_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"parley/tools/files"
)

func TestAFileIsReadInPieces(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	text := ""
	for i := range 10 {
		text += fmt.Sprintf("line %d\n", i+1)
	}
	h.write(t, filepath.Join(h.ws, "ten"), text)
	h.write(t, filepath.Join(h.ws, "open-end"), "a\nb")
	h.write(t, filepath.Join(h.ws, "empty"), "")
	h.write(t, filepath.Join(h.ws, "long"), strings.Repeat("é", 100)+"\nnext\n")
	h.write(t, filepath.Join(h.ws, "latin"), strings.Repeat("caf\xe9 ", 3)+strings.Repeat("plain text ", 20)+"\n")
	h.write(t, filepath.Join(h.ws, "zeros"), "\x00\x01\x02")
	h.write(t, filepath.Join(h.ws, "picture"), "\x89PNG\r\n\x1a\n\x00\x00")
	for _, c := range []struct {
		path          string
		offset, limit int
		max           int64
		want, err     string
	}{
		{path: "ten", want: text},
		{path: "ten", offset: 9, want: "line 9\nline 10\n"},
		{path: "ten", limit: 2, want: "line 1\nline 2\n\n[lines 1 to 2 shown; read on with offset 3]"},
		{path: "ten", offset: 3, limit: 1, want: "line 3\n\n[lines 3 to 3 shown; read on with offset 4]"},
		{path: "ten", limit: 10, want: text},
		{path: "ten", max: 15, want: "line 1\nline 2\n\n[lines 1 to 2 shown; read on with offset 3]"},
		{path: "ten", offset: 11, err: "offset 11 is past the end: the file has 10 lines"},
		{path: "open-end", offset: 2, want: "b"},
		{path: "empty", want: "[empty file]"},
		{path: "long", max: 11, want: "ééééé\n[line 1 is longer than 11 bytes and was cut; read on with offset 2]"},
		{path: "long", max: 11, offset: 2, want: "next\n"},
		{path: "zeros", want: "[binary file, application/octet-stream, 3 bytes; not shown]"},
		{path: "picture", want: "[binary file, image/png, 10 bytes; not shown]"},
	} {
		args := map[string]any{"path": c.path}
		if c.offset > 0 {
			args["offset"] = c.offset
		}
		if c.limit > 0 {
			args["limit"] = c.limit
		}
		got, err := use(t, files.Config{MaxBytes: c.max}, h.ws, "read_file", args)
		if c.err != "" {
			if err == nil || err.Error() != c.err {
				t.Errorf("%v: %v, want %s", args, err, c.err)
			}
			continue
		}
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%v: %v (-want +got)\n%s", args, err, diff)
		}
	}
	if got, err := use(t, files.Config{}, h.ws, "read_file", map[string]any{"path": "latin"}); err != nil || !strings.HasPrefix(got, "caf") {
		t.Errorf("text with a few odd bytes: %q, %v", got, err)
	}
}

func TestLongLinesOfALargeFileStayWithinTheLimit(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.write(t, filepath.Join(h.ws, "big"), strings.Repeat(strings.Repeat("x", 99_999)+"\n", 5))
	h.write(t, filepath.Join(h.ws, "one"), strings.Repeat("€", 200_000))
	for path, want := range map[string]string{
		"big": "[lines 1 to 1 shown; read on with offset 2]", "one": "[line 1 is longer than 190000 bytes",
	} {
		got, err := use(t, files.Config{}, h.ws, "read_file", map[string]any{"path": path})
		if err != nil || len(got) > files.DefaultMaxBytes+200 || !utf8.ValidString(got) || !strings.Contains(got, want) {
			t.Errorf("%s: %d bytes, %v, ends %q", path, len(got), err, got[max(0, len(got)-80):])
		}
	}
}

func TestAFolderIsListedWithTypesAndSizes(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.write(t, filepath.Join(h.ws, ".hidden"), "1234567")
	h.write(t, filepath.Join(h.ws, "odd\nname"), "")
	h.setUp(t, "symlink dir-out -> ../out")
	want := `file           7  .hidden
file           2  a.txt
link           -  dir-out
file           0  "odd\nname"
dir            -  real
dir            -  sub`
	for _, args := range []map[string]any{{}, {"path": "."}, {"path": h.ws + "/"}} {
		got, err := use(t, h.config(), h.ws, "list_directory", args)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v: %v (-want +got)\n%s", args, err, diff)
		}
	}
}

func TestALongListIsCut(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for i := range 1003 {
		h.write(t, filepath.Join(h.ws, "many", fmt.Sprintf("f%04d", i)), "")
	}
	got, err := use(t, h.config(), h.ws, "list_directory", map[string]any{"path": "many"})
	if lines := strings.Split(got, "\n"); err != nil || len(lines) != 1001 || lines[1000] != "[3 more]" || !strings.HasSuffix(lines[999], "f0999") {
		t.Errorf("%d lines, %v", len(lines), err)
	}
}
