package files_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/tools"
	"parley/tools/files"
)

func TestOnlyLookingIsInTheFirstSet(t *testing.T) {
	t.Parallel()
	for want, some := range map[string]func(files.Config) ([]tools.Tool, error){
		"read_file list_directory":         files.New,
		"glob grep view":                   files.NewSearchTools,
		"write_file edit_file delete_file": files.NewWriteTools,

		"read_file list_directory glob grep view write_file edit_file delete_file": files.All,
	} {
		ts, err := some(files.Config{})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range ts {
			names = append(names, tool.Definition().Name)
			if tool.Definition().Description == "" {
				t.Errorf("%s has no description", tool.Definition().Name)
			}
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if _, err := some(files.Config{MaxBytes: -1}); err == nil {
			t.Errorf("%s: a configuration without sense passed", want)
		}
	}
}

func TestAFileIsWrittenWhole(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for _, c := range []struct {
		path, want, err string
		parents         bool
	}{
		{path: "new.txt", want: "wrote a new file new.txt, 6 bytes"},
		{path: "a.txt", want: "replaced a.txt, 6 bytes"},
		{path: h.ws + "/sub/../b", want: "wrote a new file b, 6 bytes"},
		{path: "no/such/f", err: "the folder of that file does not exist; set create_parents to make it"},
		{path: "no/such/f", parents: true, want: "wrote a new file no/such/f, 6 bytes"},
		{path: "a.txt/f", err: "a part of the path is a file, not a folder"},
		{path: "a.txt/g/f", parents: true, err: "a part of the path is a file, not a folder"},
		{path: h.agent + "/t.txt", err: "path not allowed: only regular files and folders of the workspace can be reached"},
		{path: "b/", err: "path not allowed: only regular files and folders of the workspace can be reached"},
		{path: "private/made/f", parents: true, err: "path not allowed: only regular files and folders of the workspace can be reached"},
	} {
		got, err := use(t, h.config(), h.ws, "write_file", map[string]any{"path": c.path, "content": "hello\n", "create_parents": c.parents})
		if c.err != "" {
			if err == nil || err.Error() != c.err {
				t.Errorf("%s: %v, want %s", c.path, err, c.err)
			}
			continue
		}
		if got != c.want || err != nil {
			t.Errorf("%s: %q, %v, want %q", c.path, got, err, c.want)
			continue
		}
		if abs := strings.TrimPrefix(c.path, h.ws+"/"); h.read(t, abs) != "hello\n" {
			t.Errorf("%s holds %q", c.path, h.read(t, abs))
		}
	}
	if diff := cmp.Diff([]string{"a.txt", "b", "new.txt", "no", "private", "real", "sub"}, h.list(t, ".")); diff != "" {
		t.Errorf("left behind (-want +got)\n%s", diff)
	}
	h.untouched(t)
}

// S6.11, S6.12
func TestFoldersAreNotMadeByALink(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.write(t, filepath.Join(h.ws, ".git", "config"), "")
	h.setUp(t, "symlink to-private -> private")
	h.setUp(t, "symlink to-out -> ../out")
	h.setUp(t, "symlink to-git -> .git")
	h.setUp(t, "symlink gone -> nowhere")
	h.setUp(t, "symlink to-sub -> sub")
	for path, want := range map[string]string{
		"to-private/x/f": "deny", "to-out/x/f": "deny", "gone/x/f": "deny", "gone": "deny", "to-sub/x/f": "allow",
		"to-git/hooks/f": "the path leads by a link to a file that needs permission to change; give the path without the link",
	} {
		_, err := use(t, h.config(), h.ws, "write_file", map[string]any{"path": path, "content": "", "create_parents": true})
		if v := verdict(err); v != want {
			t.Errorf("%s: %s, want %s", path, v, want)
		}
	}
	if got := h.list(t, "private"); len(got) != 1 {
		t.Errorf("the denied folder holds %v", got)
	}
	if got := h.list(t, ".git"); len(got) != 1 {
		t.Errorf(".git holds %v", got)
	}
	h.untouched(t)
}

func TestWhatIsWrittenKeepsItsPermissions(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	name := filepath.Join(h.ws, "a.txt")
	for _, mode := range []fs.FileMode{0o755, 0o600, 0o640} {
		for tool, args := range map[string]map[string]any{
			"write_file": {"content": "X"}, "edit_file": {"old_text": "X", "new_text": "Y"},
		} {
			if err := errors.Join(os.WriteFile(name, []byte("X"), 0o600), os.Chmod(name, mode)); err != nil {
				t.Fatal(err)
			}
			args["path"] = "a.txt"
			if _, err := use(t, h.config(), h.ws, tool, args); err != nil {
				t.Fatal(err)
			}
			if info, err := os.Stat(name); err != nil || info.Mode().Perm() != mode {
				t.Errorf("%s: %v, %v, want %v", tool, info.Mode(), err, mode)
			}
		}
	}
	if err := os.Chmod(name, 0o444); err != nil {
		t.Fatal(err)
	}
	if _, err := use(t, h.config(), h.ws, "write_file", map[string]any{"path": "a.txt", "content": "Z"}); err == nil || err.Error() != "the file is marked read-only" {
		t.Errorf("read-only: %v", err)
	}
}

func TestAHardLinkIsReplacedNotFollowed(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.setUp(t, "hardlink hard = "+filepath.Join(h.out, "secret"))
	if _, err := use(t, h.config(), h.ws, "edit_file", map[string]any{"path": "hard", "old_text": "SECRET", "new_text": "x"}); verdict(err) != "deny" {
		t.Errorf("edit: %v", err)
	}
	if _, err := use(t, h.config(), h.ws, "write_file", map[string]any{"path": "hard", "content": "mine"}); err != nil || h.read(t, "hard") != "mine" {
		t.Errorf("write: %v, %q", err, h.read(t, "hard"))
	}
	h.untouched(t)
}

func TestLimitsOfSizeAreToldBeforeAnythingIsWritten(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.write(t, filepath.Join(h.ws, "eight"), "aaaaaaaa")
	h.write(t, filepath.Join(h.ws, "lines"), "a\r\nb\r\n")
	h.write(t, filepath.Join(h.ws, "big"), "123456789")
	h.write(t, filepath.Join(h.ws, "zero"), "a\x00b")
	c := h.config()
	c.MaxWrite = 8
	for _, e := range []struct {
		tool, want string
		args       map[string]any
	}{
		{"write_file", "the file would have 9 bytes; the most is 8", map[string]any{"path": "x", "content": "123456789"}},
		{"edit_file", "the file would have 16 bytes; the most is 8", map[string]any{"path": "eight", "old_text": "a", "new_text": "bb", "replace_all": true}},
		{"edit_file", "the file would have 10 bytes; the most is 8", map[string]any{"path": "lines", "old_text": "a", "new_text": "a\n\n"}},
		{"edit_file", "the file has 9 bytes; files of up to 8 can be edited", map[string]any{"path": "big", "old_text": "1", "new_text": ""}},
		{"edit_file", "the file is binary and cannot be edited", map[string]any{"path": "zero", "old_text": "a", "new_text": "b"}},
		{"edit_file", "path not allowed: only regular files and folders of the workspace can be reached", map[string]any{"path": "eight/", "old_text": "a", "new_text": "b", "replace_all": true}},
		{"edit_file", "not found", map[string]any{"path": "none", "old_text": "a", "new_text": "b"}},
		{"edit_file", "old_text and new_text are the same: nothing would change", map[string]any{"path": "eight", "old_text": "a", "new_text": "a"}},
	} {
		if _, err := use(t, c, h.ws, e.tool, e.args); err == nil || err.Error() != e.want {
			t.Errorf("%s %v: %v, want %s", e.tool, e.args, err, e.want)
		}
	}
	if h.read(t, "eight") != "aaaaaaaa" || h.read(t, "lines") != "a\r\nb\r\n" || h.read(t, "x") != "" {
		t.Error("something was written")
	}
}

func TestFilesAndEmptyFoldersAreDeleted(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	if err := os.MkdirAll(filepath.Join(h.ws, "empty", "inner"), 0o700); err != nil {
		t.Fatal(err)
	}
	h.setUp(t, "symlink link -> a.txt")
	for _, c := range [][2]string{
		{"link", "deny"},
		{"a.txt/", "deny"},
		{"a.txt", "allow"},
		{"a.txt", "not_found"},
		{"empty", "the folder is not empty; delete what is in it first"},
		{"empty/inner/", "allow"},
		{"empty", "allow"},
		{"empty/inner", "not_found"},
		{"private", "deny"},
		{"private/none", "deny"},
		{".", "deny"},
		{h.agent + "/t.txt", "deny"},
	} {
		if _, err := use(t, h.config(), h.ws, "delete_file", map[string]any{"path": c[0]}); verdict(err) != c[1] {
			t.Errorf("%s: %s, want %s", c[0], verdict(err), c[1])
		}
	}
	if diff := cmp.Diff([]string{"link", "private", "real", "sub"}, h.list(t, ".")); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestSpecialFilesAreRefusedAndDoNotBlock(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	if err := syscall.Mkfifo(filepath.Join(h.ws, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.setUp(t, "unix socket sock")
	for _, path := range []string{"pipe", "sock", "pipe/below", "sock/below"} {
		for tool, args := range map[string]map[string]any{
			"write_file": {"content": "", "create_parents": true}, "edit_file": {"old_text": "a", "new_text": ""}, "delete_file": {},
			"view": {}, "grep": {"pattern": "a"}, "glob": {"pattern": "*"},
		} {
			args["path"] = path
			if got, err := use(t, h.config(), h.ws, tool, args); err == nil {
				t.Errorf("%s %s: %q", tool, path, got)
			}
		}
	}
	if diff := cmp.Diff([]string{"a.txt", "pipe", "private", "real", "sock", "sub"}, h.list(t, ".")); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestAStoppedCallWritesNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	stop := errors.New("stopped by a person")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	for tool, args := range map[string]string{
		"write_file":  `{"path":"a.txt","content":"B"}`,
		"edit_file":   `{"path":"a.txt","old_text":"A","new_text":"B"}`,
		"delete_file": `{"path":"a.txt"}`,
		"grep":        `{"pattern":"A"}`,
		"glob":        `{"pattern":"*"}`,
		"view":        `{"path":"a.txt"}`,
	} {
		call := tools.Call{Name: tool, Arguments: json.RawMessage(args), Workspace: h.ws}
		if _, err := lookup(t, h.config(), tool).Run(ctx, call); !errors.Is(err, stop) {
			t.Errorf("%s: %v", tool, err)
		}
	}
	if h.read(t, "a.txt") != "A\n" || len(h.list(t, ".")) != 4 {
		t.Errorf("a.txt is %q, there are %v", h.read(t, "a.txt"), h.list(t, "."))
	}
}

// lookup is one of all tools.
func lookup(t testing.TB, c files.Config, name string) tools.Tool {
	t.Helper()
	for _, tool := range kitOf(t, c).all {
		if tool.Definition().Name == name {
			return tool
		}
	}
	t.Fatalf("no tool %s", name)
	return nil
}
