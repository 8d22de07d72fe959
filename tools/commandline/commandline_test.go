package commandline_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/tools"
	"parley/tools/commandline"
	"parley/tools/programs"
	"parley/tools/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	os.Exit(m.Run())
}

// fakeRunner runs nothing: it remembers what it got.
type fakeRunner struct{ got []programs.Command }

func (*fakeRunner) Inside(string) string { return "/workspace" }

func (f *fakeRunner) Run(_ context.Context, c programs.Command) (programs.Result, error) {
	f.got = append(f.got, c)
	return programs.Result{}, nil
}

// write makes a program that is a script of sh, and finds it.
func write(t *testing.T, script string) programs.Program {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil { // a program
		t.Fatal(err)
	}
	p, err := programs.FindProgram(path, "")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// kubectlGet is the seed's tool.
func kubectlGet(p programs.Program) commandline.Spec {
	return commandline.Spec{
		Name: "kubectl_get", Description: "Get Kubernetes resources", Category: tools.Read, Cmd: "kubectl", Program: p,
		Args:         []string{"get", "{{resource}}"},
		OptionalArgs: []commandline.Optional{{Parameter: "namespace", Args: []string{"-n", "{{namespace}}"}}},
		Parameters: []commandline.Parameter{
			{Name: "resource", Type: "string", Enum: []string{"pods", "services", "nodes"}, Description: "The resource type"},
			{Name: "namespace", Type: "string", Pattern: "^[a-z0-9-]+$", Optional: true},
		},
	}
}

func mustNew(t testing.TB, s commandline.Spec, o commandline.Options) tools.Tool {
	t.Helper()
	tool, err := commandline.New(s, o)
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

// call does with a tool what a turn does: check, then run.
func call(t testing.TB, ctx context.Context, tool tools.Tool, workspace, args string) (tools.Result, error) {
	t.Helper()
	set, err := tools.NewSet(tool)
	if err != nil {
		t.Fatal(err)
	}
	a, err := tools.DecodeArguments(args)
	if err != nil {
		t.Fatal(err)
	}
	name := tool.Definition().Name
	c := tools.Call{ID: "c1", Name: name, Arguments: a.JSON(), Workspace: workspace, Env: []string{"LD_PRELOAD=/workspace/evil.so"}, Progress: func(string) {}}
	checked := set.Check(name, a)
	res, err := tool.Run(ctx, c)
	if checked != nil && (err == nil || tools.KindOf(err) != tools.Permanent || !strings.HasSuffix(err.Error(), checked.Error())) {
		t.Errorf("%s: the check says %v, and the tool %v", args, checked, err)
	}
	if checked != nil {
		return res, checked
	}
	return res, err
}

// requirements G02 to G06, TS09, TS10, TS16 (S6.8), TS17 (S6.9): what runs is the program with
// its arguments, each value a part of one of them; what does not fit is an answer for the model.
func TestArguments(t *testing.T) {
	t.Parallel()
	p := write(t, ":")
	three := 3
	wide := commandline.Spec{
		Name: "wide", Description: "d", Category: tools.Write, Cmd: "x", Program: p,
		Args: []string{"--n={{n}}", "{{ratio}}", "{{{{.Names}}", "a{{text}}b{{text}}", "--", "{{raw}}"},
		OptionalArgs: []commandline.Optional{
			{Parameter: "yes", Args: []string{"--yes"}},
			{Parameter: "last", Args: []string{"--last", "{{last}}", "{{text}}"}},
		},
		Parameters: []commandline.Parameter{
			{Name: "n", Type: "integer"},
			{Name: "ratio", Type: "number"},
			{Name: "text", Type: "string", MaxLength: &three},
			{Name: "raw", Type: "string", AllowDash: true},
			{Name: "yes", Type: "boolean", Optional: true},
			{Name: "last", Type: "string", Pattern: "a|b", Optional: true},
		},
	}
	const some = `"n":-1,"ratio":0.5,"text":"äöü","raw":"-rf"`
	for _, c := range []struct {
		spec commandline.Spec
		args string
		want []string
		err  string
	}{
		{kubectlGet(p), `{"resource":"pods"}`, []string{"get", "pods"}, ""},
		{kubectlGet(p), `{"resource":"pods","namespace":"kube-system"}`, []string{"get", "pods", "-n", "kube-system"}, ""},
		{kubectlGet(p), `{}`, nil, `"resource" is required`},
		{kubectlGet(p), `{"resource":"pods; rm -rf ~"}`, nil, `"resource" must be one of "pods", "services", "nodes", not "pods; rm -rf ~"`},
		{kubectlGet(p), `{"resource":"pods","namespace":"a;b"}`, nil, `"namespace" does not match ^[a-z0-9-]+$`},
		{kubectlGet(p), `{"resource":"pods","namespace":"a\nb"}`, nil, `"namespace" does not match ^[a-z0-9-]+$`},
		{kubectlGet(p), `{"resource":"pods","namespace":"a\n"}`, nil, `"namespace" does not match ^[a-z0-9-]+$`},
		{kubectlGet(p), `{"resource":"pods","namespace":"--kubeconfig"}`, nil, `"namespace" must not begin with "-": the program would take it for an option`},
		{kubectlGet(p), `{"resource":"pods","namespace":""}`, nil, `"namespace" does not match ^[a-z0-9-]+$`},
		{kubectlGet(p), `{"resource":"pods","all":true}`, nil, `there is no parameter "all"; the parameters are: namespace, resource`},
		{kubectlGet(p), `{"resource":7}`, nil, `"resource" must be a string, not a whole number`},
		{kubectlGet(p), `{"resource":null}`, nil, `"resource" must be a string, not null`},

		{wide, `{` + some + `}`, []string{"--n=-1", "0.5", "{{.Names}}", "aäöübäöü", "--", "-rf"}, ""},
		{wide, `{` + some + `,"yes":true,"last":"a"}`, []string{"--n=-1", "0.5", "{{.Names}}", "aäöübäöü", "--", "-rf", "--yes", "--last", "a", "äöü"}, ""},
		{wide, `{` + some + `,"yes":false}`, []string{"--n=-1", "0.5", "{{.Names}}", "aäöübäöü", "--", "-rf"}, ""},
		{wide, `{"n":1,"ratio":-0.5,"text":"a","raw":"b"}`, nil, `"ratio" must not begin with "-": the program would take it for an option`},
		{wide, `{"n":1,"ratio":1,"text":"abcd","raw":"b"}`, nil, `"text" must have at most 3 characters, not 4`},
		{wide, `{"n":1,"ratio":1,"text":"","raw":"b"}`, nil, `"text" must not be empty`},
		{wide, `{"n":1.5,"ratio":1,"text":"a","raw":"b"}`, nil, `"n" must be a whole number, not a number`},
		{wide, `{"n":1,"ratio":1,"text":"a","raw":"b","last":"ab"}`, nil, `"last" does not match ^(?:a|b)$`},
		{wide, `{"n":1,"ratio":1,"text":"a","raw":"a\u0000b"}`, nil, `"raw" must not hold the character U+0000, which is a control character`},
		{wide, `{"n":1,"ratio":1,"text":"a","raw":"a\u001b[2Jb"}`, nil, `"raw" must not hold the character U+001B, which is a control character`},
		{wide, `{"n":1,"ratio":1,"text":"a","raw":"a\u202eb"}`, nil, `"raw" must not hold the character U+202E, which is a control character`},
		{wide, `{"n":1,"ratio":1,"text":"a","raw":"` + strings.Repeat("x", 4097) + `"}`, nil, `"raw" must have at most 4096 characters, not 4097`},
		{wide, `{"n":1,"ratio":1,"text":"a","raw":"$(id) && ` + "`id`" + ` | * ~ ' \" \\ ; > x"}`, []string{"--n=1", "1", "{{.Names}}", "aaba", "--", "$(id) && `id` | * ~ ' \" \\ ; > x"}, ""},
	} {
		f := &fakeRunner{}
		_, err := call(t, t.Context(), mustNew(t, c.spec, commandline.Options{Runner: f}), "/state/ws", c.args)
		switch {
		case c.err != "" && (err == nil || err.Error() != c.err || len(f.got) > 0):
			t.Errorf("%s: %v, ran %v, want %s", c.args, err, f.got, c.err)
		case c.err == "" && (err != nil || len(f.got) != 1 || !slices.Equal(f.got[0].Args, append([]string{p.Path}, c.want...))):
			t.Errorf("%s: %v, ran %+v, want %q", c.args, err, f.got, c.want)
		}
	}
}

// Whatever a value is, it is refused, or stands in its own argument and changes no other.
func FuzzArguments(f *testing.F) {
	for _, s := range []string{"a", "-a", "--", "", "a b", "{{resource}}", "$(id)", "a\x00b", "\u2028", "é", strings.Repeat("x", 5000), "-\u202e", "\n-x", "\xd3\xd3"} {
		f.Add(s)
	}
	spec := commandline.Spec{
		Name: "t", Description: "d", Category: tools.Read, Cmd: "x",
		Args:       []string{"first", "{{v}}", "--v={{v}}", "last"},
		Parameters: []commandline.Parameter{{Name: "v", Type: "string"}},
	}
	tool, err := commandline.New(spec, commandline.Options{Runner: &fakeRunner{}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, v string) {
		text, err := json.Marshal(map[string]string{"v": v})
		if err != nil {
			t.Fatal(err)
		}
		cmd, err := tool.Command(tools.Call{Arguments: text})
		if err != nil {
			return
		}
		var sent map[string]string // v as JSON can hold it
		if err := json.Unmarshal(text, &sent); err != nil {
			t.Fatal(err)
		}
		v = sent["v"]
		if v == "" || v[0] == '-' || strings.ContainsAny(v, "\x00\n\r\x1b") || !slices.Equal(cmd.Args[1:], []string{"first", v, "--v=" + v, "last"}) {
			t.Errorf("%q became %q", v, cmd.Args)
		}
	})
}

// G01, G06: what a model is shown of a description.
func TestNew(t *testing.T) {
	t.Parallel()
	spec := kubectlGet(programs.Program{})
	tool := mustNew(t, spec, commandline.Options{Runner: &fakeRunner{}})
	want := `{"type":"object","properties":{"namespace":{"type":"string","pattern":"^[a-z0-9-]+$"},"resource":{"type":"string","description":"The resource type","enum":["pods","services","nodes"]}},"required":["resource"],"additionalProperties":false}`
	if d := tool.Definition(); d.Name != "kubectl_get" || d.Description != spec.Description || string(d.Schema) != want {
		t.Errorf("%s", cmp.Diff(want, string(d.Schema)))
	}
	for _, c := range []tools.Category{tools.Read, tools.Write, tools.Admin} {
		spec.Category = c
		if got := mustNew(t, spec, commandline.Options{Runner: &fakeRunner{}}).Category(tools.Call{}); got != c {
			t.Errorf("%s is of category %s", c, got)
		}
	}
	none := commandline.Spec{Name: "date", Description: "d", Category: tools.Read, Cmd: "date"}
	if d := mustNew(t, none, commandline.Options{Runner: &fakeRunner{}}).Definition(); string(d.Schema) != `{"type":"object","properties":{},"additionalProperties":false}` {
		t.Errorf("without parameters: %s", d.Schema)
	}
	if _, err := commandline.New(commandline.Spec{Name: "a"}, commandline.Options{Runner: &fakeRunner{}}); err == nil || !strings.Contains(err.Error(), "category: required") {
		t.Errorf("a description with mistakes: %v", err)
	}
	if _, err := commandline.New(spec, commandline.Options{}); err == nil {
		t.Error("it needs a runner")
	}
}

// Of a description a recording has what the model and people were shown, and no secret.
func TestASpecAsJSONHoldsNoSecret(t *testing.T) {
	t.Parallel()
	s := kubectlGet(programs.Program{Path: "/opt/kubectl", Real: "/opt/real"})
	s.Env = []programs.Variable{{Name: "TOKEN", Value: "canary-value", Secrets: []string{"canary-value"}}}
	text, err := json.Marshal(s)
	if err != nil || strings.Contains(string(text), "canary") || strings.Contains(string(text), "/opt/real") {
		t.Errorf("%s, %v", text, err)
	}
	var back commandline.Spec
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	s.Env, s.Program = nil, programs.Program{Path: "/opt/kubectl"}
	if d := cmp.Diff(s, back); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func TestFindProgram(t *testing.T) {
	t.Parallel()
	p := write(t, "echo 1")
	dir := filepath.Dir(p.Path)
	link := filepath.Join(t.TempDir(), "linked")
	if err := os.Symlink(p.Path, link); err != nil {
		t.Fatal(err)
	}
	for cmd, path := range map[string]string{"program": "relative:" + t.TempDir() + ":" + dir, p.Path: "", link: ""} {
		got, err := programs.FindProgram(cmd, path)
		if err != nil || got.Real != p.Real || got.Size != p.Size || !got.Changed.Equal(p.Changed) {
			t.Errorf("%s: %+v, %v", cmd, got, err)
		}
	}
	if sum, err := p.Sum(); err != nil || len(sum) != 64 {
		t.Errorf("hash %q, %v", sum, err)
	}
	if got, err := programs.FindProgram("program", "."); err == nil {
		t.Errorf("in the working directory it found %+v", got)
	}
}

var errStop = errors.New("stopped by the test")
