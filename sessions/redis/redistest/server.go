// Package redistest runs real Redis servers for tests and benchmarks: each in a
// folder of its own, on a free port of the loopback, and gone with the test. It
// needs redis-server in the path.
package redistest

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"parley/cmd/cmdtest"
)

// patience is how long a server may take to say something; only a test that
// fails waits for it.
const patience = time.Minute

// Options sets how a server is run. The zero value is one that a store accepts.
type Options struct {
	// Args are laid over the configuration, as on the command line:
	// "--maxmemory-policy", "allkeys-lru".
	Args []string
	// Password is asked of clients; empty: none. It is in URL.
	Password string
	// Repair runs redis-check-aof over the append-only file before each start, as
	// operators should.
	Repair bool
}

// Server is one redis-server. One goroutine uses it at a time.
type Server struct {
	// URL of the database 0, with the password. It stays the same after a
	// Restart.
	URL string

	t      testing.TB
	o      Options
	dir    string
	port   int
	host   string
	leader *Server // that it replicates; nil: none

	mu   sync.Mutex
	proc *exec.Cmd
	done chan struct{} // closed when proc has ended
	log  *os.File
}

// Start runs a server with an append-only file, fsynced every second, until the
// test ends.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	s := &Server{t: t, o: o, dir: t.TempDir(), host: ownHost()}
	t.Cleanup(func() {
		s.Kill()
		cmdtest.KeepLog(t, "redis", filepath.Join(s.dir, "log"))
	})
	s.begin()
	s.URL = "redis://" + userinfo(o.Password) + s.Addr() + "/0"
	return s
}

// begin starts the server on a free port.
func (s *Server) begin() {
	s.t.Helper()
	for try := 0; ; try++ {
		s.port = freePort(s.t, s.host)
		err := s.start()
		if err == nil {
			return
		}
		if try == 4 || !errors.Is(err, errEnded) { // the port was taken meanwhile
			s.t.Fatal(err)
		}
	}
}

func userinfo(password string) string {
	if password == "" {
		return ""
	}
	return ":" + password + "@"
}

var started atomic.Uint32

// ownHost returns a loopback address that no other server of the tests has. A port that
// is free after a kill may be taken before the restart, and then the clients of two
// tests would write to one server.
func ownHost() string {
	n := started.Add(1)
	pid := os.Getpid()
	return net.IPv4(127, byte(1+pid>>8%250), byte(pid), byte(1+n%250)).String()
}

func freePort(t testing.TB, host string) int {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0")) //nolint:noctx // it is closed at once
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // nothing was sent
	return l.Addr().(*net.TCPAddr).Port
}

// PID returns the server's process, 0 while none runs.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		return 0
	}
	return s.proc.Process.Pid
}

// Addr is host and port.
func (s *Server) Addr() string { return net.JoinHostPort(s.host, strconv.Itoa(s.port)) }

var errEnded = errors.New("redis-server ended")

// start runs the process and returns when it answers.
func (s *Server) start() error {
	if s.o.Repair {
		if err := s.repair(); err != nil {
			return err
		}
	}
	port := strconv.Itoa(s.port)
	args := []string{
		"--port", port, "--bind", s.host, "--dir", s.dir, "--save", "",
		"--appendonly", "yes", "--appendfsync", "everysec", "--maxmemory-policy", "noeviction",
		"--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1",
	}
	if s.o.Password != "" {
		args = append(args, "--requirepass", s.o.Password, "--masterauth", s.o.Password)
	}
	if s.leader != nil {
		args = append(args, "--replicaof", s.leader.host, strconv.Itoa(s.leader.port))
	}
	args = append(args, s.o.Args...)
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("log of redis-server: %w", err)
	}
	cmd := exec.Command("redis-server", args...) //nolint:noctx // it is killed when the test ends
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return errors.Join(fmt.Errorf("start redis-server (is it installed?): %w", err), log.Close())
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it is killed mostly
		close(done)
	}()
	s.mu.Lock()
	s.proc, s.done, s.log = cmd, done, log
	s.mu.Unlock()
	return s.answers()
}

// answers waits until the server has loaded its data and answers. Another server
// may have its port, in which case ours ends.
func (s *Server) answers() error {
	var last error
	me := fmt.Sprintf("process_id:%d\r\n", s.PID())
	for end := time.Now().Add(patience); time.Now().Before(end); {
		select {
		case <-s.done:
			return fmt.Errorf("%w:\n%s", errEnded, s.Log())
		default:
		}
		answer, err := s.ask("PING")
		if err == nil && bytes.HasPrefix(answer, []byte("+PONG")) {
			answer, err = s.ask("INFO", "server")
			if bytes.Contains(answer, []byte(me)) {
				return nil
			}
		}
		last = err
		if err == nil {
			last = fmt.Errorf("it answers %q", answer)
		}
		select {
		case <-s.done:
		case <-time.After(2 * time.Millisecond):
		}
	}
	return fmt.Errorf("redis-server does not answer: %w:\n%s", last, s.Log())
}

// Kill ends the server with SIGKILL, and with it the copies of itself by which it
// writes a file anew, and waits for their end. A dead one stays dead.
func (s *Server) Kill() {
	s.mu.Lock()
	proc, done, log := s.proc, s.done, s.log
	s.proc = nil
	s.mu.Unlock()
	if proc == nil {
		return
	}
	_ = proc.Process.Kill() // it may have ended by itself
	<-done
	_ = log.Close()
	s.endCopies()
}

// endCopies ends what still works in the server's folder.
func (s *Server) endCopies() {
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		pids, err := worksIn(s.dir)
		if err != nil {
			s.t.Errorf("look for what redis-server left running: %v", err)
			return
		}
		if len(pids) == 0 {
			return
		}
		if time.Now().After(end) {
			s.t.Errorf("redis-server left processes that do not end: %v", pids)
			return
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended by itself
		}
	}
}

// worksIn are the processes whose working directory is dir.
func worksIn(dir string) (pids []int, err error) {
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		return nil, err
	}
	for _, link := range links {
		if at, err := os.Readlink(link); err != nil || at != dir { // gone, or somebody else's
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(link)))
		if err != nil {
			return nil, err
		}
		pids = append(pids, pid)
	}
	return pids, nil
}

// Restart runs the server again on the same port and the same data; one that
// lives is killed first. A connection of somebody else may have got the port
// meanwhile, for as long as it lives.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		err := s.start()
		if err == nil {
			return
		}
		if !errors.Is(err, errEnded) || !strings.Contains(s.Log(), "in use") || time.Now().After(end) {
			s.t.Fatal(err)
		}
	}
}

// Unhurried is URL for a client that waits a minute for an answer, where go-redis
// waits for 3 s: a machine that stands still meanwhile fails no test.
func (s *Server) Unhurried() string {
	return s.URL + "?dial_timeout=1m&read_timeout=1m&write_timeout=1m"
}

// Pause stops the process where it stands, as a machine that hangs: connections
// stay open and nothing is answered. Resume lets it go on.
func (s *Server) Pause() { s.signal(syscall.SIGSTOP) }

// Resume ends a Pause.
func (s *Server) Resume() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		s.t.Fatal("signal to a redis-server that does not run")
	}
	if err := s.proc.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// Log returns what the server has written to its log.
func (s *Server) Log() string {
	b, err := os.ReadFile(filepath.Join(s.dir, "log"))
	if err != nil {
		return err.Error()
	}
	return string(b)
}
