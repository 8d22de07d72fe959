package bench

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is how long a benchmark waits for what must come. It is no measure
// of speed: only one that fails waits that long.
const patience = 2 * time.Minute

// profileVar names a folder for profiles of CPU and allocations of the systems under test.
const profileVar = "PARLEY_BENCH_PROFILE"

// child is a running system under test.
type child struct {
	b     *testing.B
	cmd   *exec.Cmd
	life  io.Closer // its standard input: when it closes, the child ends
	ready time.Duration
	ended chan error
	over  bool
}

// start runs system against w, with nothing stored, and returns when it is
// ready. It ends with the benchmark at the latest.
func start(b *testing.B, w *world, system string, turns int) *child {
	b.Helper()
	return startIn(b, w, system, turns, b.TempDir())
}

// startIn is start with what an earlier one left in dir.
func startIn(b *testing.B, w *world, system string, turns int, dir string) *child {
	b.Helper()
	return launch(b, w, plan{System: system, Dir: dir, Turns: turns})
}

// launch is start of a process with its whole plan, but for the world.
func launch(b *testing.B, w *world, p plan) *child {
	b.Helper()
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	p.Model = w.modelURL
	if w.other == nil {
		p.Telegram = w.telegram.URL()
	} else if err := w.other.join(&p); err != nil {
		b.Fatal(err)
	}
	if dir := os.Getenv(profileVar); dir != "" {
		p.Profile = filepath.Join(dir, strings.NewReplacer("/", "-", "=", "-").Replace(b.Name()+p.Name)+".pprof")
	}
	raw, err := json.Marshal(p)
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(exe) //nolint:noctx // it is asked to end, by Stop, and waited for
	cmd.Env = append(os.Environ(), planVar+"="+string(raw))
	cmd.Stderr = os.Stderr
	life, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	c := &child{b: b, cmd: cmd, life: life, ended: make(chan error, 1)}
	b.Cleanup(c.stop)
	lines := make(chan time.Duration, 1)
	go func() {
		s := bufio.NewScanner(out)
		for s.Scan() {
			if s.Text() == isReady {
				lines <- time.Since(began)
			}
		}
		c.ended <- cmd.Wait()
	}()
	select {
	case c.ready = <-lines:
	case err := <-c.ended:
		c.over = true
		b.Fatalf("%s ended while starting: %v", p.System, err)
	case <-time.After(patience):
		b.Fatalf("%s did not start", p.System)
	}
	return c
}

// stop asks the child to end, and waits for it.
func (c *child) stop() {
	if c.over {
		return
	}
	c.over = true
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-c.ended:
		if err != nil {
			c.b.Errorf("the system ended with: %v", err)
		}
	case <-time.After(patience):
		_ = c.cmd.Process.Kill()
		c.b.Errorf("the system did not end: %v", <-c.ended)
	}
	_ = c.life.Close()
}

// kill ends the child by SIGKILL, and returns when it is gone.
func (c *child) kill() {
	if c.over {
		return
	}
	c.over = true
	_ = c.cmd.Process.Kill()
	<-c.ended //nolint:errcheck // killed: always an error
	_ = c.life.Close()
}

// usage is what a system has spent so far.
type usage struct {
	at  time.Time
	cpu time.Duration
	ok  bool
}

func (c *child) usage() usage {
	c.b.Helper()
	cpu, ok := cpuTime(c.b, c.cmd.Process.Pid)
	return usage{time.Now(), cpu, ok}
}

// memory is what the child holds, and the most it ever held, in bytes.
func (c *child) memory() (now, peak int64, ok bool) {
	c.b.Helper()
	return memory(c.b, c.cmd.Process.Pid)
}
