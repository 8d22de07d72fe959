package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"parley/cmd/cmdtest"
	"parley/gateway/gatewaytest"
	"parley/tools/mcp/mcptest"
	"parley/tools/sandbox"
)

// binary is the real program, and mortal the one that can be told where to die.
var (
	binary = sync.OnceValues(func() (string, error) { return cmdtest.Program(cmdtest.Parley) })
	mortal = sync.OnceValues(func() (string, error) { return cmdtest.Program(cmdtest.Parley, cmdtest.FaultPoints) })
)

func TestMain(m *testing.M) {
	sandbox.Main()
	mcptest.Main()
	os.Exit(m.Run())
}

// process is the real binary, running.
type process struct {
	t        *testing.T
	cmd      *exec.Cmd
	ops      string
	webhooks string // "": it has no listener for them
	log      *lines
	end      chan error
}

func start(t *testing.T, config string) *process {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	return startAs(t, path, config)
}

// startAs starts a program, with more in its environment.
func startAs(t *testing.T, path, config string, env ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.CommandContext(context.Background(), path, "run", "--config", config), log: &lines{}, end: make(chan error, 1)}
	p.cmd.Env = append(os.Environ(), env...)
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	noError(t, p.cmd.Start())
	started := make(chan string, 1)
	go func() {
		for s := bufio.NewScanner(stderr); s.Scan(); {
			_, _ = p.log.Write(append(s.Bytes(), '\n')) // into memory
			var line struct{ Msg, Ops, Webhooks string }
			if json.Unmarshal(s.Bytes(), &line) == nil && line.Msg == "gateway started" {
				p.webhooks = line.Webhooks
				started <- line.Ops
			}
		}
		p.end <- p.cmd.Wait()
	}()
	select {
	case p.ops = <-started:
	case err := <-p.end:
		t.Fatalf("the binary ended while starting: %v\n%s", err, p.log)
	case <-time.After(gatewaytest.Patience):
		_ = p.cmd.Process.Kill()
		t.Fatalf("the binary did not start\n%s", p.log)
	}
	t.Cleanup(p.kill)
	t.Cleanup(func() {
		if t.Failed() {
			p.kill()
			t.Logf("its log:\n%s", p.log)
		}
	})
	return p
}

// kill is SIGKILL; nothing of the process runs after it.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	if _, ok := <-p.end; ok {
		close(p.end)
	}
}

// died waits until the process has died by itself.
func (p *process) died() {
	p.t.Helper()
	select {
	case err := <-p.end:
		close(p.end)
		if err == nil {
			p.t.Fatalf("it ended in order\n%s", p.log)
		}
	case <-time.After(gatewaytest.Patience):
		p.t.Fatalf("it lives on\n%s", p.log)
	}
}

func (p *process) scrape() string {
	p.t.Helper()
	resp, err := http.Get("http://" + p.ops + "/metrics") //nolint:noctx // a test's own process
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(b)
}
