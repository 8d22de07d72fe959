package files_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"parley/tools"
	"parley/tools/files"
)

// fixture is the folders that the cases of paths.json speak of.
type fixture struct {
	ws, out, agent string
}

func newHouse(t *testing.T) fixture {
	t.Helper()
	return build(t, ground(t))
}

// ground is a folder in which a house can be built.
func ground(t *testing.T) (top string) {
	t.Helper()
	// A Unix socket's path must be short, so the folder of the test cannot hold it.
	top, err := os.MkdirTemp("", "f")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(top); err != nil {
			t.Error(err)
		}
	})
	if top, err = filepath.EvalSymlinks(top); err != nil {
		t.Fatal(err)
	}
	return top
}

// build makes a house, in the place of the one that was there before.
func build(t *testing.T, top string) fixture {
	t.Helper()
	h := fixture{filepath.Join(top, "ws"), filepath.Join(top, "out"), filepath.Join(top, "agent")}
	for _, old := range []string{h.ws, h.out, h.agent, h.ws + "-evil"} {
		if err := os.RemoveAll(old); err != nil {
			t.Fatal(err)
		}
	}
	for path, text := range map[string]string{
		"ws/a.txt": "A\n", "ws/sub/deep/f": "F\n", "ws/private/key": "KEY\n", "ws/real/secret": "INSIDE",
		"out/secret": "SECRET", "agent/t.txt": "T\n", "ws-evil/f": "EVIL\n",
	} {
		h.write(t, filepath.Join(top, path), text)
	}
	return h
}

func (h fixture) write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (h fixture) config() files.Config {
	return files.Config{Denied: []string{filepath.Join(h.ws, "private")}, ExtraRoots: []string{h.agent}}
}

// untouched checks that nothing outside changed.
func (h fixture) untouched(t *testing.T) {
	t.Helper()
	entries, err := os.ReadDir(h.out)
	if err != nil || len(entries) != 1 {
		t.Fatalf("outside: %v, %v", entries, err)
	}
	if b, err := os.ReadFile(filepath.Join(h.out, "secret")); err != nil || string(b) != "SECRET" {
		t.Fatalf("outside: %q, %v", b, err)
	}
}

// user calls a tool as the loop does.
type user func(t *testing.T, workspace, name string, args map[string]any) (string, error)

// kit is the tools of a configuration, as a process has them: made once, and used
// by all at once.
type kit struct {
	all    []tools.Tool
	sender *files.Sender
	set    *tools.Set
}

var (
	kitsMu sync.Mutex
	kits   = map[string]kit{} // by configuration; to make the tools takes longer than to use them
)

func kitOf(t testing.TB, c files.Config) kit {
	t.Helper()
	kitsMu.Lock()
	defer kitsMu.Unlock()
	name := fmt.Sprintf("%+v", c)
	k, ok := kits[name]
	if ok {
		return k
	}
	var err error
	if k.all, err = files.All(c); err != nil {
		t.Fatal(err)
	}
	if k.sender, err = files.NewSender(c); err != nil {
		t.Fatal(err)
	}
	if k.set, err = tools.NewSet(append(slices.Clone(k.all), k.sender.Tool())...); err != nil {
		t.Fatal(err)
	}
	if len(kits) == 256 { // a fuzzer makes houses without end
		clear(kits)
	}
	kits[name] = k
	return k
}

func with(t *testing.T, c files.Config) user {
	t.Helper()
	k := kitOf(t, c)
	return func(t *testing.T, workspace, name string, args map[string]any) (string, error) {
		t.Helper()
		raw, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		a, err := tools.DecodeArguments(string(raw))
		if err != nil {
			return "", err
		}
		if err := k.set.Check(name, a); err != nil {
			return "", err
		}
		chat := &mirror{known: true, limit: 1 << 30}
		tool, _ := k.set.Bind(k.sender.Bind(chat, 0)).Lookup(name)
		call := tools.Call{Name: name, Arguments: a.JSON(), Workspace: workspace}
		if cat := tool.Category(call); (cat == tools.Read) == strings.HasSuffix(name, "_file") && name != "read_file" {
			t.Errorf("%s is of category %s", name, cat)
		}
		res, err := tool.Run(t.Context(), call)
		return unframed(t, res.Content) + chat.got, err
	}
}

// mirror is a chat that keeps what it gets.
type mirror struct {
	limit int64
	known bool
	sent  []files.Outfile
	got   string

	before files.Outfile // what the call sent when it came before
}

func (m *mirror) SizeLimit() (int64, bool) { return m.limit, m.known }

func (m *mirror) FindSent(context.Context, tools.Call) (files.Outfile, bool, error) {
	return m.before, m.before.Name != "", nil
}

func (m *mirror) Send(_ context.Context, _ tools.Call, f files.Outfile, content io.Reader, limit int64) (files.Outfile, error) {
	b, err := io.ReadAll(content)
	if err != nil {
		return f, fmt.Errorf("keep it: %w", err)
	}
	if int64(len(b)) > limit {
		return f, fmt.Errorf("keep it: %w", files.ErrTooLarge)
	}
	m.sent, m.got = append(m.sent, f), m.got+string(b)
	return f, nil
}

func use(t *testing.T, c files.Config, workspace, name string, args map[string]any) (string, error) {
	t.Helper()
	return with(t, c)(t, workspace, name, args)
}

// setUp makes what a case names as its setup.
func (h fixture) setUp(t *testing.T, setup string) {
	t.Helper()
	in := func(name string) string { return filepath.Join(h.ws, name) }
	kind, rest, _ := strings.Cut(setup, " ")
	switch kind {
	case "", "denied":
	case "symlink":
		chain := strings.Split(rest, " -> ")
		for i := range len(chain) - 1 {
			if err := os.Symlink(chain[i+1], in(chain[i])); err != nil {
				t.Fatal(err)
			}
		}
	case "hardlink":
		name, target, _ := strings.Cut(rest, " = ")
		if err := os.Link(target, in(name)); err != nil {
			t.Fatal(err)
		}
	case "unix":
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", in("sock"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
	default:
		t.Fatalf("unknown setup %q", setup)
	}
}

// verdict says what an answer of a tool means.
func verdict(err error) string {
	switch {
	case err == nil:
		return "allow"
	case err.Error() == "not found":
		return "not_found"
	case strings.HasPrefix(err.Error(), "path not allowed"):
		return "deny"
	default:
		return err.Error()
	}
}

func TestWhatIsDeniedDoesNotTellWhetherItIsThere(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.setUp(t, "symlink to-private -> private")
	h.setUp(t, "symlink gone -> private/none")
	for _, path := range []string{"to-private/key", "to-private/none", "to-private/none/deeper", "gone", "gone/x", "private/none", h.out + "/secret", h.out + "/none"} {
		if _, err := use(t, h.config(), h.ws, "read_file", map[string]any{"path": path}); verdict(err) != "deny" {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := use(t, h.config(), h.ws, "read_file", map[string]any{"path": "sub/none/deeper"}); verdict(err) != "not_found" {
		t.Errorf("a missing file inside: %v", err)
	}
}

func TestADeniedPathHoldsUnderItsRealNameToo(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	alias := filepath.Join(filepath.Dir(h.ws), "alias")
	if err := os.Symlink(filepath.Join(h.ws, "private"), alias); err != nil {
		t.Fatal(err)
	}
	c := files.Config{Denied: []string{alias}}
	if _, err := use(t, c, h.ws, "read_file", map[string]any{"path": "private/key"}); verdict(err) != "deny" {
		t.Errorf("got %v", err)
	}
}

func TestANameThatOnlyBeginsLikeADeniedOneIsReadable(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.write(t, filepath.Join(h.ws, "private-notes.txt"), "N\n")
	h.write(t, filepath.Join(h.ws, "draft~"), "D\n")
	for path, want := range map[string]string{"private-notes.txt": "N\n", "draft~": "D\n"} {
		if got, err := use(t, h.config(), h.ws, "read_file", map[string]any{"path": path}); err != nil || got != want {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
}

func TestNobodysHomeIsMeant(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for _, path := range []string{"~", "~/.ssh/id_rsa", "~root/x", "FILE:a.txt"} {
		if _, err := use(t, h.config(), h.ws, "read_file", map[string]any{"path": path}); verdict(err) != "deny" {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestAPipeIsRefusedAndDoesNotBlock(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	if err := syscall.Mkfifo(filepath.Join(h.ws, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"read_file", "list_directory"} {
		if _, err := use(t, h.config(), h.ws, tool, map[string]any{"path": "pipe"}); verdict(err) != "deny" {
			t.Errorf("%s: %v", tool, err)
		}
	}
}

func TestHardLinksAreReadOnlyWhereTheOperatorSaysSo(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.setUp(t, "hardlink two = "+filepath.Join(h.ws, "a.txt"))
	c := h.config()
	c.AllowHardlinks = true
	if got, err := use(t, c, h.ws, "read_file", map[string]any{"path": "two"}); err != nil || got != "A\n" {
		t.Errorf("allowed: %q, %v", got, err)
	}
}

func TestAWorkspaceMustBeAbsolute(t *testing.T) {
	t.Parallel()
	for _, ws := range []string{"", "testdata", "."} {
		if _, err := use(t, files.Config{}, ws, "read_file", map[string]any{"path": "paths.json"}); verdict(err) != "deny" {
			t.Errorf("workspace %q: %v", ws, err)
		}
	}
}

func TestAConfigurationWithoutSenseIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]files.Config{
		"relative denied": {Denied: []string{"etc"}},
		"relative root":   {ExtraRoots: []string{"~/x"}},
		"whole machine":   {ExtraRoots: []string{"/tmp/.."}},
		"whole, writable": {WritableRoots: []string{"/"}},
		"keys, writable":  {WritableRoots: []string{"/etc/ssh"}},
		"in both lists":   {WritableRoots: []string{"/srv/a"}, ExtraRoots: []string{"/srv/a"}},
		"in a writable":   {WritableRoots: []string{"/srv/a/"}, ExtraRoots: []string{"/srv/a/b"}},
		"negative size":   {MaxBytes: -1},
		"negative write":  {MaxWrite: -1},
		"negative time":   {SearchTime: -1},
		"trusted path":    {Trusted: []string{".git/hooks"}},
		"no name":         {Trusted: []string{""}},
	} {
		if _, err := files.New(c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
