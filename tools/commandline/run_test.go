package commandline_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"parley/tools"
	"parley/tools/commandline"
	"parley/tools/programs"
	"parley/tools/sandbox"
)

// walled runs programs in the machine's sandbox, or without walls where it can build none.
type walled struct{ *sandbox.Sandbox }

func (w walled) Run(ctx context.Context, c programs.Command) (programs.Result, error) {
	r, err := w.Sandbox.Run(ctx, sandbox.Command{
		Args: c.Args, Dir: c.Dir, Workspace: c.Workspace, ReadOnly: c.ReadOnly, Env: c.Env,
		Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr, Timeout: c.Timeout, Network: c.Network.Whole,
	})
	return programs.Result(r), err
}

// host has one variable that no program gets.
func host(name string) (string, bool) {
	v, ok := map[string]string{"PATH": "/usr/bin:/bin", "TZ": "UTC", "HOST_TOKEN": "canary-of-the-host"}[name]
	return v, ok
}

var opened = sync.OnceValues(func() (*sandbox.Sandbox, error) {
	s, err := sandbox.Open(context.Background(), sandbox.Config{Getenv: host})
	if err != nil || s.Usable() {
		return s, err
	}
	return sandbox.Open(context.Background(), sandbox.Config{Getenv: host, Mode: sandbox.ModeUnsafeHost})
})

func newRunner(t *testing.T) walled {
	t.Helper()
	s, err := opened()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("level %s %q", s.Level(), s.Reasons())
	return walled{s}
}

// requirements H01, H02, H03, TS09, TS14 (S6.6), TS15, TS16 (S6.8), TS21 (S6.13): a program
// runs in the workspace with its arguments as they are, and with no variables but the ones that
// every program gets and those of its description.
func TestRun(t *testing.T) {
	t.Parallel()
	run := newRunner(t)
	get := kubectlGet(write(t, `printf '<%s>' "$@"; echo; pwd; cat note; env | sort`))
	get.Parameters[1].Pattern = ""
	get.Env = []programs.Variable{{Name: "KUBECONFIG", Value: "/etc/kube config"}, {Name: "TZ", Value: "Europe/Rome"}}
	ws := t.TempDir()
	if err := os.WriteFile(filepath.Join(ws, "note"), []byte("a note\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	res, err := call(t, t.Context(), mustNew(t, get, commandline.Options{Runner: run}), ws, `{"resource":"pods","namespace":"a; touch x && $(touch y) 'b'"}`)
	if err != nil {
		t.Fatal(err, res.Content)
	}
	begin := "exit code: 0\nstdout:\n<get><pods><-n><a; touch x && $(touch y) 'b'>\n" + run.Inside(ws) + "\na note\n"
	if !strings.HasPrefix(res.Content, begin) {
		t.Errorf("%q does not begin with %q", res.Content, begin)
	}
	names := map[string]bool{}
	for line := range strings.Lines(strings.TrimPrefix(res.Content, begin)) {
		name, _, _ := strings.Cut(line, "=")
		names[name] = true
	}
	for _, own := range []string{"PWD", "OLDPWD", "SHLVL", "_", "HOME", "USER", "TMPDIR"} { // of the shell, and of the sandbox
		delete(names, own)
	}
	if len(names) != 3 || !names["PATH"] || !names["TZ"] || !names["KUBECONFIG"] || !strings.Contains(res.Content, "TZ=Europe/Rome\n") || !strings.Contains(res.Content, "KUBECONFIG=/etc/kube config\n") {
		t.Errorf("the environment has %v in\n%s", names, res.Content)
	}
	entries, err := os.ReadDir(ws)
	if err != nil || len(entries) != 1 {
		t.Errorf("the workspace has %v, %v", entries, err)
	}
	if want := `"<get>`; strings.Contains(res.Metadata, want) || !strings.Contains(res.Metadata, `"get","pods","-n","a; touch x \u0026\u0026 $(touch y) 'b'"],"exit_code":0}`) {
		t.Errorf("metadata %s", res.Metadata)
	}
}

// A program that fails is an error for the model, with what it wrote. (TS10)
func TestRunFails(t *testing.T) {
	t.Parallel()
	run := newRunner(t)
	for script, want := range map[string]string{
		"echo out; echo why >&2; exit 3": "exit code: 3\nstdout:\nout\nstderr:\nwhy\n",
		"kill -9 $$":                     "exit code: 137\nended by signal: killed\nstdout:\n",
	} {
		res, err := call(t, t.Context(), mustNew(t, kubectlGet(write(t, script)), commandline.Options{Runner: run}), t.TempDir(), `{"resource":"pods"}`)
		if err == nil || err.Error() != "kubectl_get failed" || tools.KindOf(err) != tools.Transient || res.Content != want {
			t.Errorf("%s: %q, %v, want %q", script, res.Content, err, want)
		}
	}
}

// requirements TS11 (S6.3), TS12 (S6.4)
func TestRunIsBounded(t *testing.T) {
	t.Parallel()
	run := newRunner(t)
	t.Run("in output", func(t *testing.T) {
		t.Parallel()
		s := kubectlGet(write(t, "yes | head -c 100000"))
		s.Output = 1000
		res, err := call(t, t.Context(), mustNew(t, s, commandline.Options{Runner: run}), t.TempDir(), `{"resource":"pods"}`)
		if err != nil || len(res.Content) > 1000 || !strings.Contains(res.Content, " of 100000 bytes shown]") {
			t.Errorf("%d bytes, %v: %.100s", len(res.Content), err, res.Content)
		}
	})
	// security F24: nobody waits for the end of what writes for ever. There is no timeout.
	t.Run("in what it writes for ever", func(t *testing.T) {
		t.Parallel()
		for _, script := range []string{"yes", "yes >&2", "trap '' PIPE; while :; do yes; done", "(yes &) ; yes >&2"} {
			s := kubectlGet(write(t, "echo begun; "+script))
			s.Output = 1000
			res, err := call(t, t.Context(), mustNew(t, s, commandline.Options{Runner: run}), t.TempDir(), `{"resource":"pods"}`)
			if err == nil || !strings.HasPrefix(err.Error(), "the program was stopped, because it wrote more than 8388608 bytes: ") || tools.KindOf(err) != tools.Permanent {
				t.Errorf("%s: %v", script, err)
			}
			if len(res.Content) > 1000 || !strings.HasPrefix(res.Content, "stdout:\nbegun\n") || !strings.Contains(res.Content, "[output truncated: ") {
				t.Errorf("%s: %d bytes: %.100s", script, len(res.Content), res.Content)
			}
		}
	})
	t.Run("in time", func(t *testing.T) {
		t.Parallel()
		s := kubectlGet(write(t, "echo begun; sleep 600"))
		s.Timeout = 7
		tool := mustNew(t, s, commandline.Options{Runner: run})
		if timed, ok := tool.(tools.Timed); !ok || timed.Timeout(tools.Call{}) != 7 {
			t.Error("its timeout is not asked for")
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		a := `{"resource":"pods"}`
		res, err := tool.Run(ctx, tools.Call{Arguments: []byte(a), Workspace: t.TempDir(), Progress: func(text string) {
			if strings.Contains(text, "begun") { // it is under way
				cancel(errStop)
			}
		}})
		if !errors.Is(err, errStop) || res.Content != "stdout:\nbegun\n" {
			t.Errorf("%q, %v", res.Content, err)
		}
	})
}

// H03: what came from the gateway's environment is in no output, also where the output is cut
// in the middle of it, and in no report while the program runs.
func TestRunShowsNoSecret(t *testing.T) {
	t.Parallel()
	const secret = "canary-0123456789-0123456789"
	s := kubectlGet(write(t, `echo "token $TOKEN"; i=0; while [ $i -lt 40 ]; do printf '%s' "$TOKEN"; i=$((i+1)); done`))
	s.Env = []programs.Variable{{Name: "TOKEN", Value: secret, Secrets: []string{secret}}}
	run := newRunner(t)
	for output := 600; output < 640; output += 3 {
		s.Output = output
		var seen strings.Builder
		tool := mustNew(t, s, commandline.Options{Runner: run, Clean: cleaner(secret)})
		res, err := tool.Run(t.Context(), tools.Call{Arguments: []byte(`{"resource":"pods"}`), Workspace: t.TempDir(), Progress: func(text string) { seen.WriteString(text) }})
		if !strings.Contains(seen.String(), "token [redacted]\n") {
			t.Errorf("while it ran, it showed %q", seen.String())
		}
		if err != nil || !strings.Contains(res.Content, "token [redacted]\n") || strings.Contains(res.Content, "canary") || strings.Contains(seen.String(), "canary") || strings.Contains(res.Metadata, "canary") {
			t.Fatalf("output %d: %s, %s, %s, %v", output, res.Content, res.Metadata, seen.String(), err)
		}
	}
}

// cleaner takes one secret out.
type cleaner string

func (c cleaner) Clean(text string) string { return strings.ReplaceAll(text, string(c), "[redacted]") }

func (c cleaner) CleanGrowing(text string) string {
	clean, _ := c.CleanPiece(text)
	return clean
}

func (c cleaner) CleanPiece(text string) (clean, rest string) {
	text = c.Clean(text)
	for n := len(c) - 1; n > 0; n-- {
		if before, found := strings.CutSuffix(text, string(c[:n])); found {
			return before, string(c[:n])
		}
	}
	return text, ""
}

// A program is resolved and hashed when its description is read, and runs as it was then.
func TestRunRefusesAnotherProgram(t *testing.T) {
	t.Parallel()
	run := newRunner(t)
	p := write(t, "echo first")
	tool := mustNew(t, kubectlGet(p), commandline.Options{Runner: run})
	const a = `{"resource":"pods"}`
	if res, err := call(t, t.Context(), tool, t.TempDir(), a); err != nil || !strings.Contains(res.Content, "first") {
		t.Fatal(res.Content, err)
	}
	if err := os.WriteFile(p.Path, []byte("#!/bin/sh\necho other\n"), 0o755); err != nil { // a program
		t.Fatal(err)
	}
	if res, err := call(t, t.Context(), tool, t.TempDir(), a); err == nil || !strings.HasPrefix(err.Error(), "not run: the program has changed") || tools.KindOf(err) != tools.Permanent || res.Content != "" {
		t.Errorf("%q, %v", res.Content, err)
	}
}

// What a description does not name is not in sight; what it names is, behind links too.
func TestRunSeesWhatItsDescriptionNames(t *testing.T) {
	t.Parallel()
	run := newRunner(t)
	if run.Level() == sandbox.LevelD {
		t.Skip("without walls programs see the machine; the level is in the log")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config"), []byte("the config\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	script := write(t, `cat "$CONFIG"; exec 3<>/dev/tcp/127.0.0.1/9`)
	link := filepath.Join(t.TempDir(), "linked")
	if err := os.Symlink(script.Path, link); err != nil {
		t.Fatal(err)
	}
	p, err := programs.FindProgram(link, "")
	if err != nil {
		t.Fatal(err)
	}
	s := kubectlGet(p)
	s.Env = []programs.Variable{{Name: "CONFIG", Value: filepath.Join(dir, "config")}}
	if res, err := call(t, t.Context(), mustNew(t, s, commandline.Options{Runner: run}), t.TempDir(), `{"resource":"pods"}`); err == nil || strings.Contains(res.Content, "the config") {
		t.Errorf("%q, %v", res.Content, err)
	}
	s.ReadOnly = []string{dir}
	if res, _ := call(t, t.Context(), mustNew(t, s, commandline.Options{Runner: run}), t.TempDir(), `{"resource":"pods"}`); !strings.Contains(res.Content, "stdout:\nthe config\n") {
		t.Errorf("%q", res.Content)
	}
}
