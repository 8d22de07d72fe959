package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/tools"
	"parley/tools/mcp"
	"parley/tools/mcp/mcptest"
	"parley/tools/programs"
	"parley/tools/sandbox"
)

// fixture is a host that runs, and what it logs.
type fixture struct {
	*mcp.Host
	t       *testing.T
	folder  string
	changed chan struct{}
	log     *logged
	tasks   *notebook
	stop    func() // ends the host, and returns when it has ended
}

// logged is a log that may be read while it is written.
type logged struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// nobody is where no question reaches a person.
type nobody struct{}

func (nobody) Ask(context.Context, tools.Call, mcp.Question) error { return mcp.ErrNobody }

func (nobody) TakeUp(context.Context, tools.Call, string, string) (mcp.Reply, error) {
	return mcp.Reply{}, nil
}

func (nobody) Settle(context.Context, tools.Call, string, string, bool) error { return nil }

// open runs a host whose servers can ask nobody.
func open(t *testing.T, runner programs.Runner, servers ...mcp.Server) *fixture {
	t.Helper()
	return openFor(t, nobody{}, runner, servers...)
}

// openFor runs a host.
func openFor(t *testing.T, people mcp.People, runner programs.Runner, servers ...mcp.Server) *fixture {
	t.Helper()
	r := &fixture{t: t, folder: t.TempDir(), changed: make(chan struct{}, 1), log: &logged{}, tasks: &notebook{all: map[string]mcp.Ongoing{}, by: map[string]string{}}}
	h, err := mcp.NewHost(mcp.Options{
		Servers: servers, Runner: runner, People: people, Tasks: r.tasks, Version: "test", Logins: filepath.Join(r.folder, "logins"),
		Folder: func(server string) string { return filepath.Join(r.folder, server) },
		Changed: func() {
			select {
			case r.changed <- struct{}{}:
			default:
			}
		},
		Log: slog.New(slog.NewTextHandler(r.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Host = h
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := h.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	r.stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(r.stop)
	return r
}

// hang is how long something is waited for that comes at once, or never.
const hang = time.Minute

// awaitTool returns when a tool of the only server is in a state.
func (r *fixture) awaitTool(tool string, want mcp.ToolState) mcp.ToolStatus {
	r.t.Helper()
	for end := time.After(hang); ; {
		for _, s := range r.tool() {
			if s.Tool == tool && s.State == want {
				return s
			}
		}
		select {
		case <-r.changed:
		case <-end:
			r.t.Fatalf("%s does not become %s\n%s", tool, want, r.log)
		}
	}
}

func (r *fixture) tool() []mcp.ToolStatus { return r.Status()[0].Tools }

// consent consents to tools of the only server as they are.
func (r *fixture) consent(names ...string) {
	r.t.Helper()
	all := map[string]mcp.Definition{}
	for _, name := range names {
		for end := time.After(hang); r.Status()[0].State != mcp.Up; {
			select {
			case <-r.changed:
			case <-end:
				r.t.Fatalf("the server does not get up\n%s", r.log)
			}
		}
		for _, s := range r.tool() {
			if s.Tool == name {
				all[name] = s.Definition()
			}
		}
	}
	r.SetConsents(r.Status()[0].Name, all)
}

// offered returns a tool that is offered.
func (r *fixture) offered(name string) tools.Tool {
	r.t.Helper()
	set, err := tools.NewSet(r.Tools()...)
	if err != nil {
		r.t.Fatal(err)
	}
	t, ok := set.Lookup(name)
	if !ok {
		r.t.Fatalf("%s is not offered: %q\n%+v\n%s", name, set.Names(), r.Status(), r.log)
	}
	return t
}

// call calls a tool that is offered.
func (r *fixture) call(ctx context.Context, name, text string) (string, error) {
	r.t.Helper()
	args, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		r.t.Fatal(err)
	}
	res, err := r.offered(name).Run(ctx, tools.Call{Name: name, Arguments: args})
	return res.Content, err
}

// notes returns what the program of a server noted.
func (r *fixture) notes(server string) string {
	b, err := os.ReadFile(filepath.Join(r.folder, server, "notes"))
	if err != nil && !os.IsNotExist(err) {
		r.t.Fatal(err)
	}
	return strings.TrimSpace(strings.ReplaceAll(string(b), "\n", " "))
}

// program returns the server test, which is this test binary, and the tools that it may be asked for.
func program(t *testing.T, all ...mcp.ToolConfig) mcp.Server {
	t.Helper()
	p, command, err := mcptest.Program()
	if err != nil {
		t.Fatal(err)
	}
	return mcp.Server{Name: "test", Command: command, Program: p, Tools: all}
}

// walls runs programs in the sandbox of this machine.
type walls struct{ *sandbox.Sandbox }

func (w walls) Run(ctx context.Context, c programs.Command) (programs.Result, error) {
	r, err := w.Sandbox.Run(ctx, sandbox.Command{
		Args: c.Args, Dir: c.Dir, Workspace: c.Workspace, ReadOnly: c.ReadOnly, Env: c.Env,
		Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr, Timeout: c.Timeout, Network: c.Network.Whole,
	})
	return programs.Result(r), err
}

// newWalls opens the sandbox of this machine.
func newWalls(t *testing.T) walls {
	t.Helper()
	s, err := sandbox.Open(t.Context(), sandbox.Config{Getenv: os.LookupEnv})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if !s.Usable() {
		t.Skipf("this machine has no sandbox: %q", s.Reasons())
	}
	return walls{s}
}

// await returns when the only server, which does not get up, has a problem.
func (r *fixture) await(problem string) {
	r.t.Helper()
	for end := time.After(hang); !strings.Contains(r.Status()[0].Problem, problem); {
		if r.Status()[0].State == mcp.Up {
			r.t.Fatalf("the server is up, without the problem %q\n%s", problem, r.log)
		}
		select {
		case <-r.changed:
		case <-end:
			r.t.Fatalf("no problem %q\n%s", problem, r.log)
		}
	}
}
