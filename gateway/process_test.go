package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"parley/gateway/gatewaytest"
)

// binary builds the real program once.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "parley-test-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "parley")
	out, err := exec.Command("go", "build", "-o", path, "parley/cmd/parley").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the binary: %w\n%s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	gatewaytest.SignalCLI()
	code := m.Run()
	if path, err := binary(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// process is the real binary, running.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
	ops string
	log *bytes.Buffer
	end chan error
}

func start(t *testing.T, config string) *process {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, cmd: exec.CommandContext(context.Background(), path, "run", "--config", config), log: &bytes.Buffer{}, end: make(chan error, 1)}
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	started := make(chan string, 1)
	go func() {
		for s := bufio.NewScanner(stderr); s.Scan(); {
			p.log.Write(append(s.Bytes(), '\n'))
			var line struct{ Msg, Ops string }
			if json.Unmarshal(s.Bytes(), &line) == nil && line.Msg == "started" {
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
