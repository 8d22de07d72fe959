package faulttest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"parley/cmd/cmdtest"
	"parley/simulators/telegram"
)

// Patience is how long a test waits for what must come. It is no measure of
// speed: only a test that fails waits that long.
const Patience = 3 * time.Minute

// marker is the variable by which a run knows its processes again, and theirs.
const marker = "PARLEY_FAULTTEST"

// Process is one life of the real binary. Its methods may be called by several
// goroutines.
type Process struct {
	// PID of the process.
	PID int
	// Ops is the address of its /metrics.
	Ops string
	// Log is the file that holds what it said.
	Log string
	// Incarnation is its name in the books.
	Incarnation Incarnation
	// StartedAt is when it said that it had started.
	StartedAt time.Time

	cmd     *exec.Cmd
	started chan string
	ended   chan struct{} // closed when it is gone; the next two are set then
	err     error
	gone    time.Time

	mu    sync.Mutex
	fault string // the plan that killed it
}

// command is what a process is started with.
type command struct {
	args   []string
	run    string // value of marker
	faults string // PARLEY_FAULTS
	clock  string // PARLEY_CLOCK
	log    string
}

// launch starts the binary and returns when it has started, or has ended before.
// Who gets a process has to end it.
func launch(t testing.TB, c command) (*Process, error) {
	log, err := os.Create(c.log)
	if err != nil {
		return nil, fmt.Errorf("a file for the log: %w", err)
	}
	p := &Process{
		cmd: exec.CommandContext(context.Background(), Binary(t), c.args...), Log: c.log,
		started: make(chan string, 1), ended: make(chan struct{}),
	}
	p.cmd.Env = append(os.Environ(), marker+"="+c.run, "PARLEY_FAULTS="+c.faults, "PARLEY_CLOCK="+c.clock)
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, fmt.Errorf("start the binary: %w", err)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the binary: %w", err)
	}
	p.PID = p.cmd.Process.Pid
	go p.collectLog(stderr, log)
	select {
	case p.Ops = <-p.started:
		p.StartedAt = time.Now()
		return p, nil
	case <-p.ended:
		return p, nil
	case <-time.After(Patience):
		p.Kill()
		return nil, fmt.Errorf("the binary did not start\n%s", logTail(c.log))
	}
}

// collectLog writes the log and waits for the end.
func (p *Process) collectLog(stderr io.Reader, log *os.File) {
	for r := bufio.NewReader(stderr); ; {
		b, err := r.ReadBytes('\n')
		_, _ = log.Write(b)
		var line struct{ Msg, Ops, Plan string }
		if json.Unmarshal(b, &line) == nil {
			switch line.Msg {
			case "gateway started":
				p.started <- line.Ops
			case "fault":
				if !strings.Contains(line.Plan, "=kill") {
					break
				}
				p.mu.Lock()
				p.fault = line.Plan
				p.mu.Unlock()
			}
		}
		if err != nil {
			break
		}
	}
	p.err = p.cmd.Wait()
	p.gone = time.Now()
	_ = log.Close()
	close(p.ended)
}

// Kill sends SIGKILL, and returns when the process is gone.
func (p *Process) Kill() {
	p.signal(syscall.SIGKILL)
	<-p.ended
}

// Term asks the process to end, and returns when it is gone: the error is that
// of its exit status, or that it did not end within Patience.
func (p *Process) Term() error {
	p.signal(syscall.SIGTERM)
	select {
	case <-p.ended:
		return p.err
	case <-time.After(Patience):
		p.Kill()
		return fmt.Errorf("it did not end on SIGTERM\n%s", logTail(p.Log))
	}
}

// Freeze stops the process in its tracks (SIGSTOP), Thaw lets it go on.
func (p *Process) Freeze() { p.signal(syscall.SIGSTOP) }

// Thaw lets a frozen process go on.
func (p *Process) Thaw() { p.signal(syscall.SIGCONT) }

func (p *Process) signal(s os.Signal) { _ = p.cmd.Process.Signal(s) }

// Ended is closed when the process is gone.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// wasKilled reports whether SIGKILL ended it, and by which plan of PARLEY_FAULTS, if
// any. It is for a process that is gone.
func (p *Process) wasKilled() (by string, ok bool) {
	exit, is := errors.AsType[*exec.ExitError](p.err)
	if !is {
		return "", false
	}
	status, is := exit.Sys().(syscall.WaitStatus)
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fault, is && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// missedLog reports whether the process ended because the message log did not answer
// when it started.
func (p *Process) missedLog() bool {
	select {
	case <-p.ended:
		return p.Ops == "" && p.err != nil && strings.Contains(logTail(p.Log), "the message log does not answer")
	default:
		return false
	}
}

// Get reads a page of the operator's listener.
func (p *Process) Get(ctx context.Context, path string) (string, error) {
	_, body, err := p.get(ctx, path)
	return body, err
}

// IsReady reports whether the process says that it is ready, with what it says of its parts.
func (p *Process) IsReady(ctx context.Context) (ready bool, page string, err error) {
	status, page, err := p.get(ctx, "/readyz")
	return status == http.StatusOK, page, err
}

func (p *Process) get(ctx context.Context, path string) (status int, body string, _ error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.Ops+path, nil)
	if err != nil {
		return 0, "", fmt.Errorf("ask for %s: %w", path, err)
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", fmt.Errorf("ask for %s: %w", path, err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, "", fmt.Errorf("read %s: %w", path, err)
	}
	return resp.StatusCode, string(b), nil
}

// Descriptors returns how many files the process has open.
func (p *Process) Descriptors() (int, error) {
	fds, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(p.PID), "fd"))
	if err != nil {
		return 0, fmt.Errorf("count descriptors: %w", err)
	}
	return len(fds), nil
}

// livingProcesses are the processes of a run that are there, whoever started them.
func livingProcesses(run string) []string {
	var found []string
	all, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range all {
		env, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(env), marker+"="+run) {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		found = append(found, filepath.Base(filepath.Dir(path))+": "+strings.ReplaceAll(string(line), "\x00", " "))
	}
	return found
}

// logTail returns the end of a log.
func logTail(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	const most = 8 << 10
	if len(b) > most {
		b = b[len(b)-most:]
	}
	return string(b)
}

// keepLogs keeps what the processes of all lives said, and what people saw, if the row has failed.
func (r *Run) keepLogs() {
	paths, err := filepath.Glob(filepath.Join(r.Dir, "process-*.log"))
	if err != nil {
		r.t.Logf("the logs of the processes are not kept: %v", err)
	}
	if r.t.Failed() {
		path := filepath.Join(r.Dir, "chats.txt")
		if err := os.WriteFile(path, []byte(chatsOf(r.Telegram.Books())), 0o600); err != nil {
			r.t.Logf("what was said is not kept: %v", err)
		}
		paths = append(paths, path)
	}
	for _, path := range paths {
		cmdtest.KeepLog(r.t, strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), path)
	}
}

// chatsOf returns all that was said, chat by chat: what people did, and every version of what they were
// shown, with who showed it.
func chatsOf(b telegram.Book) string {
	lines := map[int64][]string{}
	add := func(chat int64, at time.Time, format string, args ...any) {
		lines[chat] = append(lines[chat], at.Format("15:04:05.000000 ")+fmt.Sprintf(format, args...))
	}
	for _, u := range b.Updates {
		add(u.ChatID, u.Created, "person, message %d: %q", u.MessageID, u.Text)
	}
	for _, m := range b.Messages {
		for i, v := range m.Versions {
			add(m.ChatID, v.At, "bot at %s, message %d, version %d, in reply to %d: %q", v.Client, m.MessageID, i+1, m.ReplyTo, v.Text)
		}
	}
	var all strings.Builder
	for _, chat := range slices.Sorted(maps.Keys(lines)) {
		slices.Sort(lines[chat])
		fmt.Fprintf(&all, "chat %d\n%s\n\n", chat, strings.Join(lines[chat], "\n"))
	}
	return all.String()
}
