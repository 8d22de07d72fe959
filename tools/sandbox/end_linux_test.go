//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func itoa(n int) string { return strconv.Itoa(n) }

// marked are the processes that have a variable in their environment.
func marked(t *testing.T, mark string) (pids []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		env, _ := os.ReadFile("/proc/" + e.Name() + "/environ")
		if bytes.Contains(env, []byte(mark)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// awaitTwo waits until two processes with that in their environment are seen, so that they can be
// missed: what a shell has started may not be there yet when the shell goes on.
func awaitTwo(t *testing.T, mark string) {
	t.Helper()
	for start := time.Now(); len(marked(t, mark)) < 2; {
		if time.Since(start) > bound {
			t.Fatal("what runs is not seen")
		}
	}
}

// helpers are the helpers that this process has.
func helpers(t *testing.T) (n int) {
	t.Helper()
	pids, err := descendants(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		line, _ := os.ReadFile("/proc/" + itoa(pid) + "/cmdline")
		if bytes.Contains(line, []byte(helperArg)) || bytes.Contains(line, []byte(launcherArg)) || bytes.Contains(line, []byte(bubblewrapArg)) {
			n++
		}
	}
	return n
}

// whenWritten calls f once when text has been written.
func whenWritten(text string, f func()) *watcher { return &watcher{text: text, f: f} }

type watcher struct {
	text string
	f    func()
	once sync.Once
	seen bytes.Buffer
}

func (w *watcher) Write(p []byte) (int, error) {
	if w.seen.Len() < 1<<20 {
		w.seen.Write(p)
	}
	if bytes.Contains(w.seen.Bytes(), []byte(w.text)) {
		w.once.Do(w.f)
	}
	return len(p), nil
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

var errEnough = errors.New("enough")

// However a run ends, nothing of it is left: no process, no descriptor (faults F24, TX of
// peers that leave processes).
func TestNothingSurvives(t *testing.T) {
	s := walled(t)
	for name, c := range map[string]struct {
		script string
		after  string // what is written before the run is cancelled; empty: it ends by itself
		time   time.Duration
	}{
		"a child that ignores SIGTERM":   {script: "trap '' TERM INT HUP; echo ready; while :; do sleep 1000; done", after: "ready"},
		"output without end":             {script: "exec yes", after: "y\n"},
		"a fork bomb":                    {script: "bomb() { bomb | bomb & }; bomb; wait; while :; do sleep 1000; done", after: "fork"},
		"a timeout":                      {script: "echo ready; sleep 1000; :", time: 50 * time.Millisecond},
		"a grandchild in the background": {script: "sleep 1000 & echo ready; read x"},
		"a daemon":                       {script: "(setsid nohup sleep 1000 < /dev/null > /dev/null 2>&1 &) ; echo ready; read x"},
		"a daemon, cancelled":            {script: "(setsid nohup sleep 1000 < /dev/null > /dev/null 2>&1 &) ; echo ready; sleep 1000; :", after: "ready"},
		"many daemons":                   {script: "for i in $(seq 5); do (setsid sleep 1000 > /dev/null 2>&1 &); done; echo ready; read x"},
		"a stopped process":              {script: "(setsid bash -c 'kill -STOP $$' > /dev/null 2>&1 &); echo ready; kill -STOP $$", after: "ready"},
	} {
		t.Run(name, func(t *testing.T) {
			before := descriptors(t)
			mark := fmt.Sprintf("SANDBOX_MARK=%s-%d", strings.ReplaceAll(name, " ", "-"), time.Now().UnixNano())
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			during := atomic.Int64{}
			text := c.after
			if text == "" {
				text = "ready"
			}
			// What ends by itself waits until it has been seen.
			seen, look := io.Pipe()
			out := whenWritten(text, func() {
				defer func() { _ = look.Close() }()
				during.Store(int64(len(marked(t, mark))))
				if c.after != "" {
					cancel(errEnough)
				}
			})
			hang := time.AfterFunc(bound, func() { cancel(errors.New("the program hangs")) })
			defer hang.Stop()
			_, err := with(s, func(c *Config) { c.Processes = 40 }).Run(ctx, Command{
				Args: []string{"bash", "-c", c.script}, Workspace: t.TempDir(), Env: []string{mark}, Stdin: seen, Stdout: out, Stderr: out, Timeout: c.time,
			})
			_ = look.Close()
			left := marked(t, mark)
			want := error(nil)
			switch {
			case c.time > 0:
				want = ErrTimeout
			case c.after != "":
				want = errEnough
			}
			if !errors.Is(err, want) || want == nil && err != nil {
				t.Errorf("error %v, not %v; it wrote %.2000q", err, want, out.seen.String())
			}
			if c.time == 0 && during.Load() == 0 {
				t.Error("no process was seen while it ran, so none can be missed")
			}
			if len(left) > 0 || helpers(t) > 0 {
				t.Errorf("processes %v and %d helpers are left", left, helpers(t))
			}
			if n := descriptors(t); n != before {
				t.Errorf("%d descriptors, not %d as before", n, before)
			}
		})
	}
}

// A context that has ended starts nothing.
func TestEndedContextRunsNothing(t *testing.T) {
	s := walled(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errEnough)
	var out bytes.Buffer
	if _, err := s.Run(ctx, Command{Args: []string{"echo", "ran"}, Workspace: t.TempDir(), Stdout: &out}); !errors.Is(err, errEnough) || out.Len() > 0 {
		t.Errorf("%v %q", err, out.String())
	}
}

// runAlone is a gateway that runs something until it is killed.
func runAlone(ws string) {
	s, err := Open(context.Background(), Config{Getenv: os.LookupEnv, Backend: os.Getenv(backendEnv)})
	if err == nil {
		_, err = s.Run(context.Background(), Command{
			Args: []string{"bash", "-c", "(setsid sleep 1000 &); echo ready; sleep 1000; :"}, Workspace: ws, Env: []string{"SANDBOX_MARK=" + ws}, Stdout: os.Stdout, Stderr: os.Stderr,
		})
	}
	fmt.Println(err)
	os.Exit(4)
}

// Nothing survives the gateway either, even if it is killed.
func TestNothingSurvivesTheGateway(t *testing.T) {
	walled(t)
	ws := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	ready := make(chan struct{})
	gateway := exec.CommandContext(ctx, exe)
	gateway.Env = append(os.Environ(), aloneEnv+"="+ws, worldEnv+"=nothing")
	out := whenWritten("ready", func() { close(ready) })
	gateway.Stdout, gateway.Stderr = out, out
	gateway.WaitDelay = bound
	if err := gateway.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- gateway.Wait() }()
	select {
	case <-ready:
	case err := <-ended:
		t.Fatal(err, out.seen.String())
	}
	awaitTwo(t, "SANDBOX_MARK="+ws)
	if err := gateway.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("it ended by itself")
	}
	for start := time.Now(); len(marked(t, "SANDBOX_MARK="+ws)) > 0; {
		if time.Since(start) > bound {
			t.Fatalf("processes %v survive", marked(t, "SANDBOX_MARK="+ws))
		}
	}
}
