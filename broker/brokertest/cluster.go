// Package brokertest runs real NATS servers with JetStream as processes, so
// that a test can kill them.
package brokertest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"parley/cmd/cmdtest"
)

// Patience is how long a server or a cluster may take to be there. Only a test
// that fails waits that long.
const Patience = 60 * time.Second

// Nodes are the servers of one cluster, counted from 0; one alone is no
// cluster. Their files are in a folder of the test's, and stay over kills. The
// methods may be called from several goroutines, not two for the same server.
type Nodes struct {
	t       testing.TB
	program string
	nodes   []*node
}

type node struct {
	name                string
	dir                 string
	port, http, cluster int

	mu    sync.Mutex
	cmd   *exec.Cmd // guarded by mu, as stdin; nil while it does not run
	stdin io.Closer
}

// Cluster starts n servers, waits until they have a leader and are in step, and
// ends them with the test. They keep no more than one process alive each, and
// none outlives this one.
func Cluster(t testing.TB, n int) *Nodes {
	t.Helper()
	program, err := cmdtest.Program(cmdtest.Node)
	if err != nil {
		t.Fatal(err)
	}
	c := &Nodes{t: t, program: program}
	dir := t.TempDir()
	for i, ports := range freePorts(t, n) {
		name := "n" + strconv.Itoa(i)
		c.nodes = append(c.nodes, &node{
			name: name, dir: filepath.Join(dir, name), port: ports[0], http: ports[1], cluster: ports[2],
		})
	}
	t.Cleanup(c.killAll)
	for i := range c.nodes {
		c.start(i)
	}
	c.AwaitHealthy()
	return c
}

// URL returns the addresses of all servers, as broker.Options.URL takes them.
func (c *Nodes) URL() string {
	urls := make([]string, len(c.nodes))
	for i := range c.nodes {
		urls[i] = c.URLOf(i)
	}
	return strings.Join(urls, ",")
}

// URLOf returns the address of one server.
func (c *Nodes) URLOf(i int) string { return "nats://127.0.0.1:" + strconv.Itoa(c.nodes[i].port) }

// Len returns how many servers there are, running or not.
func (c *Nodes) Len() int { return len(c.nodes) }

// PIDs are the processes of the servers that run.
func (c *Nodes) PIDs() (pids []int) {
	for _, n := range c.nodes {
		n.mu.Lock()
		if n.cmd != nil {
			pids = append(pids, n.cmd.Process.Pid)
		}
		n.mu.Unlock()
	}
	return pids
}

// Kill ends server i by SIGKILL and waits for its end.
func (c *Nodes) Kill(i int) { c.stop(i, syscall.SIGKILL) }

// Stop ends server i in order and waits for its end.
func (c *Nodes) Stop(i int) { c.stop(i, syscall.SIGTERM) }

// Restart starts server i again after Kill or Stop, on its old files, and waits
// until it takes connections; it may still be catching up, see AwaitHealthy.
func (c *Nodes) Restart(i int) {
	c.t.Helper()
	c.start(i)
}

// Pause freezes server i (SIGSTOP) until Resume, or Kill. When it returns the
// server does nothing any more.
func (c *Nodes) Pause(i int) {
	c.t.Helper()
	c.signal(i, syscall.SIGSTOP)
	n := c.nodes[i]
	n.mu.Lock()
	defer n.mu.Unlock()
	for end := time.Now().Add(Patience); !isStopped(n.cmd.Process.Pid); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			c.t.Fatalf("server %d does not stop", i)
		}
	}
}

// isStopped reports whether each thread of a process stands still: the signal reaches
// one that runs on another processor a moment later.
func isStopped(pid int) bool {
	states, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(states) == 0 {
		return false
	}
	for _, path := range states {
		b, err := os.ReadFile(path) // of a process of ours
		if err != nil {
			return false
		}
		// pid (name) state …, and a name may hold anything.
		if _, rest, _ := strings.Cut(string(b[bytes.LastIndexByte(b, ')')+1:]), " "); !strings.HasPrefix(rest, "T") {
			return false
		}
	}
	return true
}

// Resume lets a paused server go on.
func (c *Nodes) Resume(i int) { c.signal(i, syscall.SIGCONT) }

func (c *Nodes) signal(i int, s syscall.Signal) {
	c.t.Helper()
	n := c.nodes[i]
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cmd == nil {
		c.t.Fatalf("server %d does not run", i)
	}
	if err := n.cmd.Process.Signal(s); err != nil {
		c.t.Fatalf("signal %s to server %d: %v", s, i, err)
	}
}

func (c *Nodes) start(i int) {
	c.t.Helper()
	n := c.nodes[i]
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cmd != nil {
		c.t.Fatalf("server %d runs already", i)
	}
	args := []string{
		"-name", n.name, "-dir", n.dir, "-log", n.dir + ".log",
		"-port", strconv.Itoa(n.port), "-http", strconv.Itoa(n.http),
	}
	if len(c.nodes) > 1 {
		var routes []string
		for _, other := range c.nodes {
			routes = append(routes, "nats://127.0.0.1:"+strconv.Itoa(other.cluster))
		}
		args = append(args, "-cluster", strconv.Itoa(n.cluster), "-routes", strings.Join(routes, ","))
	}
	cmd := exec.CommandContext(context.Background(), c.program, args...) // built here
	cmd.Stderr = os.Stderr
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		c.t.Fatal(err1, err2)
	}
	if err := cmd.Start(); err != nil {
		c.t.Fatalf("start server %d: %v", i, err)
	}
	n.cmd, n.stdin = cmd, stdin
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || line != "ready\n" {
		c.t.Fatalf("server %d does not start: %q, %v\n%s", i, line, err, n.log())
	}
}

func (n *node) log() string {
	b, err := os.ReadFile(n.dir + ".log")
	if err != nil {
		return err.Error()
	}
	var kept []byte
	for line := range bytes.Lines(b) {
		if !isRouteNoise(line) {
			kept = append(kept, line...)
		}
	}
	return string(kept[max(0, len(kept)-1500):])
}

// isRouteNoise is what a server says again and again of another that is down, and
// of every connection between two.
func isRouteNoise(line []byte) bool {
	return bytes.Contains(line, []byte("connect to route")) || bytes.Contains(line, []byte(" - rid:"))
}

// stop signals server i, if it runs, and waits for its end.
func (c *Nodes) stop(i int, s syscall.Signal) {
	n := c.nodes[i]
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cmd == nil {
		return
	}
	_ = n.cmd.Process.Signal(s)
	if s != syscall.SIGKILL {
		late := time.AfterFunc(Patience, func() { _ = n.cmd.Process.Kill() })
		defer late.Stop()
	}
	_ = n.cmd.Wait() // killed: always an error
	_ = n.stdin.Close()
	n.cmd, n.stdin = nil, nil
}

// killAll kills all, and keeps their logs when the test failed.
func (c *Nodes) killAll() {
	for i := range c.nodes {
		c.Kill(i)
	}
	for _, n := range c.nodes {
		cmdtest.KeepLog(c.t, "nats-"+n.name, n.dir+".log")
	}
}
