package configs_test

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"golang.org/x/tools/txtar"

	"parley/configs"
	"parley/tools"
	"parley/tools/commandline"
	"parley/tools/programs"
)

// programsOf makes a folder with programs that do nothing.
func programsOf(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o755); err != nil { // a program
			t.Fatal(err)
		}
	}
	return dir
}

// loadTools reads text as a file of tools.
func loadTools(t *testing.T, text string, vars map[string]string) ([]commandline.Spec, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tools.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	specs, err := configs.LoadTools(file, environ(vars))
	return specs, err // as it is
}

// seed is the list of the specification, to the letter. (G01, G07, G08)
const seed = `
tools:
  - name: kubectl_get
    description: "Get Kubernetes resources"
    category: read
    cmd: kubectl
    args: ["get", "{{resource}}"]
    optional_args:
      namespace: ["-n", "{{namespace}}"]
    parameters:
      resource:
        type: string
        enum: [pods, services, deployments, configmaps, secrets, nodes, namespaces]
        description: "The resource type"
      namespace:
        type: string
        description: "The Kubernetes namespace"
        pattern: "^[a-z0-9-]+$"
        optional: true

  - name: kubectl_apply
    description: "Apply a Kubernetes manifest"
    category: write
    cmd: kubectl
    args: ["apply", "-f", "{{file}}"]
    parameters:
      file:
        type: string
        description: "Path to the manifest file"
        pattern: "^[a-zA-Z0-9_./-]+$"

  - name: deploy_app
    description: Deploy
    category: admin
    cmd: deploy
    args: ["--env", "{{environment}}"]
    parameters: {environment: {type: string}}
    env:
      DEPLOY_TOKEN: "${DEPLOY_TOKEN}" # Explicitly passed from host env
`

func TestLoadTools(t *testing.T) {
	t.Parallel()
	dir := programsOf(t, "kubectl", "deploy")
	vars := map[string]string{"PATH": dir, "HOME": "/home/ann", "DEPLOY_TOKEN": canary + "-token"}
	t.Run("reads the seed's three tools", func(t *testing.T) {
		t.Parallel()
		specs, err := loadTools(t, seed, vars)
		if err != nil {
			t.Fatal(err)
		}
		program := func(name string) programs.Program {
			p, err := programs.FindProgram(name, dir)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		want := []commandline.Spec{
			{
				Name: "kubectl_get", Description: "Get Kubernetes resources", Category: tools.Read, Cmd: "kubectl", Args: []string{"get", "{{resource}}"},
				OptionalArgs: []commandline.Optional{{Parameter: "namespace", Args: []string{"-n", "{{namespace}}"}}},
				Parameters: []commandline.Parameter{
					{Name: "resource", Type: "string", Description: "The resource type", Enum: []string{"pods", "services", "deployments", "configmaps", "secrets", "nodes", "namespaces"}},
					{Name: "namespace", Type: "string", Description: "The Kubernetes namespace", Pattern: "^[a-z0-9-]+$", Optional: true},
				}, Program: program("kubectl"),
			},
			{
				Name: "kubectl_apply", Description: "Apply a Kubernetes manifest", Category: tools.Write, Cmd: "kubectl", Args: []string{"apply", "-f", "{{file}}"},
				Parameters: []commandline.Parameter{{Name: "file", Type: "string", Description: "Path to the manifest file", Pattern: "^[a-zA-Z0-9_./-]+$"}}, Program: program("kubectl"),
			},
			{
				Name: "deploy_app", Description: "Deploy", Category: tools.Admin, Cmd: "deploy", Args: []string{"--env", "{{environment}}"},
				Parameters: []commandline.Parameter{{Name: "environment", Type: "string"}}, Program: program("deploy"),
				Env: []programs.Variable{{Name: "DEPLOY_TOKEN", Value: canary + "-token", Secrets: []string{canary + "-token"}}},
			},
		}
		if d := cmp.Diff(want, specs); d != "" {
			t.Errorf("-want +got\n%s", d)
		}
	})
	t.Run("keeps the order of the file", func(t *testing.T) {
		t.Parallel()
		specs, err := loadTools(t, `tools: [{name: a, description: d, category: read, cmd: kubectl, optional_args: {z: ["{{z}}"], m: ["{{m}}"], a: ["{{a}}"]},
			parameters: {z: {type: string, optional: true}, a: {type: number, optional: true}, m: {type: integer, optional: true}}}]`, vars)
		if err != nil {
			t.Fatal(err)
		}
		var order []string
		for _, o := range specs[0].OptionalArgs {
			order = append(order, o.Parameter)
		}
		for _, p := range specs[0].Parameters {
			order = append(order, p.Name)
		}
		if want := []string{"z", "m", "a", "z", "a", "m"}; !slices.Equal(order, want) {
			t.Errorf("%q, want %q", order, want)
		}
	})
	t.Run("takes true, false or hosts for a network", func(t *testing.T) {
		t.Parallel()
		for text, want := range map[string]programs.Network{
			"true": {Whole: true}, "false": {}, "": {}, "[]": {Hosts: []string{}},
			`[a.example.org, "*.example.org:443"]`: {Hosts: []string{"a.example.org", "*.example.org:443"}},
		} {
			specs, err := loadTools(t, `tools: [{name: a, description: d, category: read, cmd: kubectl, network: `+text+`}]`, vars)
			if err != nil || !cmp.Equal(specs[0].Network, want) {
				t.Errorf("%s is %+v, %v", text, specs, err)
			}
		}
		for text, want := range map[string]string{
			"a.example.org": `"a.example.org" is neither true nor false; a list stands in brackets, [a, b], also one of one`,
			"{a: b}":        "true, false or a list belongs here",
			"[[a]]":         "a single value belongs here",
			"[a/b]":         `tools[0].network[0]: "a/b" is neither a host such as example.org`,
		} {
			if _, err := loadTools(t, `tools: [{name: a, description: d, category: read, cmd: kubectl, network: `+text+`}]`, vars); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", text, err, want)
			}
		}
	})
	t.Run("puts variables in below env, and nowhere else", func(t *testing.T) {
		t.Parallel()
		specs, err := loadTools(t, `tools: [{name: a, description: "costs $$5, not ${DEPLOY_TOKEN}", category: read, cmd: kubectl, args: ["{{a}}"],
			parameters: {a: {type: string, pattern: '\$\$|${1}'}},
			env: {HOME: "${HOME}/x", S3_BUCKET_2: b, A: "a-${DEPLOY_TOKEN}-${MORE:-and more}", B: "$$5"}}]`, vars)
		if err != nil {
			t.Fatal(err)
		}
		s := specs[0]
		if s.Description != "costs $$5, not ${DEPLOY_TOKEN}" || s.Parameters[0].Pattern != `\$\$|${1}` {
			t.Errorf("%+v", s)
		}
		// What every program has is no secret, and neither is what stands in the file.
		want := []programs.Variable{
			{Name: "HOME", Value: "/home/ann/x"},
			{Name: "S3_BUCKET_2", Value: "b"},
			{Name: "A", Value: "a-" + canary + "-token-and more", Secrets: []string{canary + "-token"}},
			{Name: "B", Value: "$5"},
		}
		if d := cmp.Diff(want, s.Env); d != "" {
			t.Errorf("-want +got\n%s", d)
		}
	})
	t.Run("takes relative paths from the file's folder", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(dir, "tools.yaml")
		if err := os.WriteFile(file, []byte(`tools: [{name: a, description: d, category: read, cmd: ./deploy, read_only: [kubectl]}]`), 0o600); err != nil {
			t.Fatal(err)
		}
		specs, err := configs.LoadTools(file, environ(nil))
		if err != nil || specs[0].Program.Path != filepath.Join(dir, "deploy") || specs[0].ReadOnly[0] != filepath.Join(dir, "kubectl") {
			t.Errorf("%+v, %v", specs, err)
		}
	})
}

// A process that runs no turns needs no programs of tools: they may be on another machine.
func TestLoadLooksForProgramsWhereTurnsRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"tools.yaml": "tools: [{name: a, description: d, category: read, cmd: no-such-program}]",
		"parley.yaml": `channels: {telegram: {main: {token: "${TELEGRAM_TOKEN}"}}}
providers: {anthropic: {api_key: "${ANTHROPIC_API_KEY}"}}
agents: {main: {model: anthropic/m, tools: [a]}}
broker: {url: "nats://127.0.0.1:1"}
store: {redis: {url: "redis://127.0.0.1:1"}}
tools: {file: tools.yaml}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "parley.yaml")
	cfg, err := configs.Load(file, environ(set), "gateway")
	if err != nil || len(cfg.Tools.Commands) != 1 || !slices.Contains(cfg.ReadFrom, filepath.Join(dir, "tools.yaml")) {
		t.Errorf("%+v, read from %q, %v", cfg.Tools, cfg.ReadFrom, err)
	}
	for _, roles := range [][]string{nil, {"worker"}} {
		if _, err := configs.Load(file, environ(set), roles...); err == nil || !strings.Contains(err.Error(), "tools.yaml:1:51: tools[0].cmd: no-such-program not found") {
			t.Errorf("%q: %v", roles, err)
		}
	}
	if err := os.Remove(filepath.Join(dir, "tools.yaml")); err != nil {
		t.Fatal(err)
	}
	// That the agent's tool is unknown then is no mistake of its own.
	if _, err := configs.Load(file, environ(set)); err == nil || err.Error() != file+":6:9: tools.file: "+dir+"/tools.yaml: no such file or directory\n    file: …\n    ^" {
		t.Errorf("without the file: %v", err)
	}
}

// Every mistake in a file of tools is reported at once, with its place and what to do; with
// those of the configuration that names it.
func TestMistakesInTools(t *testing.T) {
	t.Parallel()
	const file = "testdata/tools.txtar"
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	bin := programsOf(t, "kubectl", "deploy", "bash", "python3")
	for name, mode := range map[string]os.FileMode{"plain": 0o644, "open": 0o777} {
		if err := os.WriteFile(filepath.Join(bin, name), nil, mode); err != nil { // what is wrong with it
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(bin, name), mode); err != nil { // as above
			t.Fatal(err)
		}
	}
	vars := maps.Clone(set)
	vars["PATH"] = bin
	for i, c := range archive.Files {
		name, ok := strings.CutSuffix(c.Name, "/tools.yaml")
		if !ok {
			continue
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "tools.yaml"), c.Data, 0o600); err != nil {
			t.Fatal(err)
		}
		var got error
		if name == "beside the configuration's" {
			_, got = configs.Parse(filepath.Join(dir, "parley.yaml"), archive.Files[i+1].Data, environ(vars))
		} else {
			_, got = configs.LoadTools(filepath.Join(dir, "tools.yaml"), environ(vars))
		}
		if got == nil {
			t.Errorf("%s: no mistake was found", name)
			continue
		}
		said := strings.NewReplacer(dir+string(filepath.Separator), "", dir, "DIR", bin, "BIN").Replace(got.Error()) + "\n"
		if strings.Contains(strings.ToLower(said), canary) {
			t.Errorf("%s: a secret is shown:\n%s", name, said)
		}
		wanted := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == name+"/said" })
		if wanted < 0 {
			t.Fatalf("%s: testdata has no file %s/said", name, name)
		}
		if d := cmp.Diff(string(archive.Files[wanted].Data), said); d != "" && !*update {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		archive.Files[wanted].Data = []byte(said)
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// The example of tools has every key, and no mistake but what the machine does not have.
func TestTheExampleOfTools(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("tools.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	collect(doc.Content[0], "", shown)
	var walk func(of reflect.Type, path string)
	walk = func(of reflect.Type, path string) {
		for of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct {
			return
		}
		for _, f := range reflect.VisibleFields(of) {
			key := f.Tag.Get("yaml")
			if key == "" || key[0] == ',' {
				continue
			}
			if !slices.ContainsFunc(slices.Collect(maps.Keys(shown)), func(p string) bool { return strings.HasPrefix(p, path) && strings.HasSuffix(p, "."+key) }) {
				t.Errorf("the example does not show %s.%s", path, key)
			}
			walk(f.Type, path+"."+key)
		}
	}
	walk(reflect.TypeFor[commandline.Spec](), ".tools")
	text := strings.ReplaceAll(string(data), "[/etc/kubernetes/bot.kubeconfig]", "[]")
	if _, err := loadTools(t, text, map[string]string{"PATH": programsOf(t, "kubectl", "deploy"), "DEPLOY_TOKEN": "t"}); err != nil {
		t.Error(err)
	}
}
