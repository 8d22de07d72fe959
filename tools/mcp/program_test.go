package mcp_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"parley/tools"
	"parley/tools/mcp"
	"parley/tools/mcp/mcptest"
	"parley/tools/programs"
)

// A server is one program, behind the walls of command lines, whatever it does and however
// often it dies; after a stop nothing of it is left.
func TestServerOfAProgram(t *testing.T) {
	w := newWalls(t)
	t.Setenv("PARLEY_TEST_CANARY", "canary-5f1e")
	before := mcptest.Descendants(t)
	s := program(t, mcp.ToolConfig{Name: "echo", Category: tools.Read}, mcp.ToolConfig{Name: "die", Category: tools.Write},
		mcp.ToolConfig{Name: "env", Category: tools.Read}, mcp.ToolConfig{Name: "fork", Category: tools.Write}, mcp.ToolConfig{Name: "note", Category: tools.Write})
	s.Env = []programs.Variable{{Name: "TOKEN", Value: "given"}}
	r := open(t, w, s)
	r.awaitTool("echo", mcp.New)
	r.consent("echo", "die", "env", "fork", "note")

	got, err := r.call(t.Context(), "test__echo", "hello")
	if err != nil || !strings.HasPrefix(got, "What the MCP server test said, untrusted, up to the mark ") || !strings.Contains(got, ":\nhello\n") {
		t.Errorf("echo says %q, %v", got, err)
	}
	env, err := r.call(t.Context(), "test__env", "")
	if err != nil || !strings.Contains(env, "TOKEN=given") || strings.Contains(env, "canary") {
		t.Errorf("the program's environment is %s, %v", env, err)
	}
	for range 3 {
		if _, err := r.call(t.Context(), "test__echo", "again"); err != nil {
			t.Error(err)
		}
	}
	running := mcptest.Descendants(t) - before
	if _, err := r.call(t.Context(), "test__fork", ""); err != nil {
		t.Error(err)
	}
	if now := mcptest.Descendants(t) - before; now != running+1 {
		t.Errorf("%d processes, and %d with the one that the server starts", running, now)
	}

	// It dies in a call, is told of as that, and is there again, once.
	got, err = r.call(t.Context(), "test__die", "once")
	if err == nil || !strings.HasPrefix(err.Error(), "interrupted; outcome unknown: the connection to the MCP server test broke after die was called") || tools.KindOf(err) != tools.Permanent {
		t.Errorf("a call in which the server dies: %q, %v", got, err)
	}
	if got, err := r.call(t.Context(), "test__note", "after"); err != nil || !strings.Contains(got, "noted") {
		t.Errorf("after it died: %q, %v", got, err)
	}
	if notes := r.notes("test"); notes != "once after" {
		t.Errorf("the server noted %q", notes)
	}
	if !strings.Contains(r.log.String(), "exit code: 3") || !strings.Contains(r.log.String(), "mcptest: dying") {
		t.Errorf("the log does not say how it ended:\n%s", r.log)
	}
	if now := mcptest.Descendants(t) - before; now != running {
		t.Errorf("%d processes, after a death %d", running, now)
	}
	r.stop()
	if left := mcptest.Descendants(t) - before; left != 0 {
		t.Errorf("%d processes are left", left)
	}
	if st := r.Status()[0]; st.State != mcp.Stopped || st.Protocol != "2026-07-28" {
		t.Errorf("stopped, the server is %+v", st)
	}
}

// A program that was changed does not run.
func TestServerOfAChangedProgram(t *testing.T) {
	t.Parallel()
	w := newWalls(t)
	path := filepath.Join(t.TempDir(), "server")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil { // a program
			t.Fatal(err)
		}
	}
	write("#!/bin/sh\necho broken >&2\nexit 7\n")
	p, err := programs.FindProgram(path, "")
	if err != nil {
		t.Fatal(err)
	}
	r := open(t, w, mcp.Server{Name: "test", Command: []string{path}, Program: p, Tools: []mcp.ToolConfig{{Name: "echo"}}})
	r.await("its program ended: exit code: 7, and wrote at last: broken")
	write(fmt.Sprintf("#!/bin/sh\ntouch %s\n", "/workspace/ran"))
	r.await("its program has changed since the gateway was started")
	r.stop()
	if _, err := os.Stat(filepath.Join(r.folder, "test", "ran")); !os.IsNotExist(err) {
		t.Errorf("the changed program ran: %v", err)
	}
}

// A program that does not end when its input does is killed, with what it started.
func TestServerOfAProgramThatDoesNotEnd(t *testing.T) {
	w := newWalls(t)
	before := mcptest.Descendants(t)
	path := filepath.Join(t.TempDir(), "server")
	if err := os.WriteFile(path, []byte("#!/bin/sh\nsleep 100000 &\ntouch ready\nexec sleep 100000\n"), 0o755); err != nil { // a program
		t.Fatal(err)
	}
	p, err := programs.FindProgram(path, "")
	if err != nil {
		t.Fatal(err)
	}
	r := open(t, w, mcp.Server{Name: "test", Command: []string{path}, Program: p, Tools: []mcp.ToolConfig{{Name: "echo"}}})
	for end := time.Now().Add(hang); ; runtime.Gosched() {
		if _, err := os.Stat(filepath.Join(r.folder, "test", "ready")); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the program does not start\n%s", r.log)
		}
	}
	if mcptest.Descendants(t) < before+3 { // a helper, and two that sleep
		t.Error("the processes of the server are not counted")
	}
	r.stop()
	if left := mcptest.Descendants(t) - before; left != 0 {
		t.Errorf("%d processes are left", left)
	}
}
