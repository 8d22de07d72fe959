package gateway_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/gateway/admin"
	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
	"parley/simulators/model"
	"parley/tools"
	"parley/tools/commandline"
	"parley/tools/programs"
)

// using has a tool called as a person says, "name {arguments}", and answers with its result. It
// names the tools that it was offered, one request after another.
func using(offered chan<- []string) model.Brain {
	return func(_ context.Context, p *model.Prompt) model.Answer {
		if rs := p.Answering(); len(rs) > 0 && !strings.HasPrefix(rs[0].Text, "This call needs a person's permission") {
			return model.Reply(model.Say("```\n" + rs[0].Text + "\n```"))
		}
		var names []string
		for _, t := range p.Tools {
			names = append(names, t.Name)
		}
		offered <- names
		name, args, _ := strings.Cut(p.LastText(), " ")
		return model.Reply(model.Use(name, json.RawMessage(args)))
	}
}

// kubectl are the seed's tools over a script that shows what it gets.
func kubectl(t *testing.T, script string) []commandline.Spec {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubectl")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil { // a program
		t.Fatal(err)
	}
	p, err := programs.FindProgram(path, "")
	if err != nil {
		t.Fatal(err)
	}
	return []commandline.Spec{
		{
			Name: "kubectl_get", Description: "Get Kubernetes resources", Category: tools.Read, Cmd: "kubectl", Program: p,
			Args: []string{"get", "{{resource}}"}, OptionalArgs: []commandline.Optional{{Parameter: "namespace", Args: []string{"-n", "{{namespace}}"}}},
			Parameters: []commandline.Parameter{
				{Name: "resource", Type: "string", Enum: []string{"pods", "nodes"}},
				{Name: "namespace", Type: "string", Pattern: "^[a-z0-9-]+$", Optional: true},
			},
			Env: []programs.Variable{{Name: "KUBE_TOKEN", Value: "canary-77aa-token", Secrets: []string{"canary-77aa-token"}}}, Network: programs.Network{Whole: true},
		},
		{
			Name: "kubectl_apply", Description: "Apply a manifest", Category: tools.Write, Cmd: "kubectl", Program: p, Args: []string{"apply", "-f", "{{file}}"},
			Parameters: []commandline.Parameter{{Name: "file", Type: "string", Pattern: "^[a-zA-Z0-9_./-]+$"}},
		},
		{
			Name: "deploy_app", Description: "Deploy", Category: tools.Admin, Cmd: "deploy", Program: p, Args: []string{"--env", "{{environment}}"},
			Parameters: []commandline.Parameter{{Name: "environment", Type: "string"}},
		},
	}
}

// G01, G06, G08, H01, H03, TS10, TS14, TS15, TS17: the operator's command lines are tools of the
// agents that have them. A reload takes a description as it is now, from the next turn on.
// (docs/decisions/0082)
func TestAnAgentRunsTheOperatorsCommandLines(t *testing.T) {
	t.Setenv("PARLEY_TEST_CANARY", "canary-5f1e")
	offered := make(chan []string, 100)
	give := func(specs []commandline.Spec, names ...string) func(*settings.Config) {
		return func(c *settings.Config) {
			a := c.Agents["main"]
			a.Tools = names
			c.Agents["main"], c.Tools.Commands = a, specs
			for name, a := range c.Channels.Telegram {
				a.Access.Approvers = []string{"1001"} // Ann
				c.Channels.Telegram[name] = a
			}
		}
	}
	specs := kubectl(t, `echo "ran $*"; env; echo "$KUBE_TOKEN"; case $1 in apply) cat "$3" || exit 4;; esac`)
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: using(offered), Change: give(specs, "kubectl_get", "kubectl_apply", "deploy_app", "write_file")})
	gw := env.Start()
	client := admin.NewClient(gw.AdminSocket())
	st, err := client.Status(t.Context())
	if err != nil || st.Sandbox == nil || !slices.Equal(st.Sandbox.Tools, commandline.Names(specs)) || !slices.Equal(st.Sandbox.Network, []string{"kubectl_get"}) {
		t.Fatalf("the status says of the sandbox %+v, %v", st.Sandbox, err)
	}
	t.Logf("sandbox of this machine: level %s %q", st.Sandbox.Level, st.Sandbox.Reasons)
	if !st.Sandbox.Usable {
		gw.Ask(gatewaytest.Ann, `kubectl_get {"resource":"pods"}`)
		if got := <-offered; !slices.Equal(got, []string{"write_file"}) || st.Fine {
			t.Errorf("without walls %q are offered, and the status is %+v", got, st)
		}
		return
	}
	for _, row := range []struct{ text, want, not string }{
		{`kubectl_get {"resource":"pods","namespace":"kube-system"}`, "exit code: 0\nstdout:\nran get pods -n kube-system\n", "canary-"},
		{`kubectl_get {"resource":"pods; rm -rf ~"}`, `"resource" must be one of "pods", "nodes"`, "ran"},
		{`kubectl_get {"resource":"pods","namespace":"-A"}`, `"namespace" does not match`, "ran"},
		{`kubectl_apply {"file":"none.yaml"}`, "Error: kubectl_apply failed\n\nexit code: 4\nstdout:\nran apply -f none.yaml\n", "canary-"},
		{`write_file {"path":"a.yaml","content":"kind: Pod\n"}`, "a.yaml", ""},
		{`kubectl_apply {"file":"a.yaml"}`, "\nkind: Pod", ""},
		{`deploy_app {"environment":"--evil"}`, `"environment" must not begin with "-"`, "ran"},
	} {
		got := gw.Ask(gatewaytest.Ann, row.text)
		if !strings.Contains(got, row.want) || row.not != "" && strings.Contains(got, row.not) {
			t.Errorf("%q is answered with\n%s\nwant %q, and not %q", row.text, got, row.want, row.not)
		}
		if names := <-offered; len(names) != 4 {
			t.Errorf("offered are %q", names)
		}
	}
	question := gw.Ask(gatewaytest.Ann, `deploy_app {"environment":"staging area"}`)
	code := codeInQuestion.FindStringSubmatch(question)
	if <-offered; code == nil || !strings.Contains(question, specs[2].Program.Path+" --env 'staging area'") {
		t.Fatalf("no question: %s", question)
	}
	if got := gw.Ask(gatewaytest.Ann, "/approve "+code[1]); !strings.Contains(got, "ran --env staging area\n") {
		t.Errorf("the permitted call is answered with %s", got)
	}
	list, err := client.Sessions(t.Context(), admin.SessionQuery{})
	if err != nil || len(list.Sessions) != 1 {
		t.Fatalf("%+v, %v", list.Sessions, err)
	}
	file := recordingOf(t, gw, string(list.Sessions[0].ID))
	if strings.Contains(string(file), "canary-") {
		t.Error("a secret is in the recording")
	}
	replaysTheSame(t, file)

	other := kubectl(t, "echo changed")[:1]
	done := gw.Reconfigure(give(other, "kubectl_get"))
	if want := []string{"agents.main.tools", "tools.file"}; !slices.Equal(done.Changed, want) || len(done.NeedRestart) > 0 {
		t.Errorf("changed %q, restart %q; want %q", done.Changed, done.NeedRestart, want)
	}
	if got := gw.Ask(gatewaytest.Ann, `kubectl_get {"resource":"nodes"}`); !strings.Contains(got, "stdout:\nchanged") {
		t.Errorf("after the reload: %s", got)
	}
	if names := <-offered; !slices.Equal(names, []string{"kubectl_get"}) {
		t.Errorf("after the reload %q are offered", names)
	}
}

// The sandbox is opened at the start, and only where something may run in it.
func TestTheFirstCommandLinesNeedARestart(t *testing.T) {
	t.Parallel()
	offered := make(chan []string, 1)
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: using(offered)})
	gw := env.Start()
	done := gw.Reconfigure(func(c *settings.Config) { c.Tools.Commands = kubectl(t, "echo ran") })
	if want := []string{"tools.file"}; !slices.Equal(done.NeedRestart, want) || len(done.Changed) > 0 {
		t.Errorf("changed %q, restart %q", done.Changed, done.NeedRestart)
	}
	gw.Ask(gatewaytest.Ann, `kubectl_get {"resource":"pods"}`)
	if names := <-offered; slices.Contains(names, "kubectl_get") {
		t.Errorf("%q are offered", names)
	}
}
