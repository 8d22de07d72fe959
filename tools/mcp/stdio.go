package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/tools"
	"parley/tools/mcp/tasks"
	"parley/tools/programs"
)

// Bounds of a server that is a program.
const (
	endGrace   = 2 * time.Second // from the end of its input until it is killed
	maxMessage = 4 << 20         // bytes of one message of a server
	maxWaiting = 8 << 20         // bytes that wait until a server reads them
	maxTail    = 2 << 10         // bytes that are kept of what it last wrote to its standard error
)

var (
	errStopped = errors.New("the server is stopped")
	errChanged = errors.New("its program has changed since the gateway was started, and does not run before a restart")
	errDeaf    = errors.New("the server does not read what it is sent")
)

// wire is how a session reaches its server.
type wire interface {
	// connect returns the transport of one session.
	connect() sdk.Transport
	// close ends what connect began, and returns when nothing of it is left.
	close()
	// refusal returns why the server has refused to be connected to, if it wants a login.
	refusal() error
	// explain returns err with what is known of how the server ended, after close.
	explain(err error) error
}

// process is a server that runs.
type process struct {
	stdin  *queue
	stdout *io.PipeReader
	errors *tail
	kill   context.CancelCauseFunc
	killed bool          // it did not end by itself
	done   chan struct{} // closed when nothing of it is left; guards what follows
	result programs.Result
	err    error
}

// startProcess starts the program of a server behind walls. It ends with ctx.
func (s *server) startProcess(ctx context.Context) (*process, error) {
	sum, err := s.c.Program.Sum()
	if err != nil {
		return nil, fmt.Errorf("hash its program: %w", err)
	}
	if sum != s.sum {
		return nil, errChanged
	}
	folder := s.o.Folder(s.c.Name)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("make its folder: %w", err)
	}
	out, in := io.Pipe()
	running, kill := context.WithCancelCause(ctx)
	p := &process{stdin: newQueue(), stdout: out, errors: &tail{}, kill: kill, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.result, p.err = s.o.Runner.Run(running, programs.Command{
			Args: append([]string{s.c.Program.Path}, s.c.Command[1:]...), Workspace: folder, Env: environment(s.c.Env),
			ReadOnly: append(s.c.Program.Paths(), s.c.ReadOnly...), Network: s.c.Network, AllowPrivate: s.c.AllowPrivate,
			Stdin: p.stdin, Stdout: in, Stderr: p.errors,
		})
		_ = in.Close() // it never fails
	}()
	return p, nil
}

func (p *process) refusal() error { return nil }

func (p *process) connect() sdk.Transport {
	return marking{&sdk.IOTransport{Reader: p.stdout, Writer: p.stdin, MaxLineLength: maxMessage}}
}

// marking is a transport that notes what may have been sent, see sentKey.
type marking struct{ sdk.Transport }

// Connect implements [sdk.Transport].
func (m marking) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := m.Transport.Connect(ctx)
	if err != nil {
		return nil, err // as it is
	}
	return markingConnection{tasks.Conn(c)}, nil
}

type markingConnection struct{ sdk.Connection }

// Write implements [sdk.Connection].
func (c markingConnection) Write(ctx context.Context, m jsonrpc.Message) error {
	markSent(ctx)
	return c.Connection.Write(ctx, m) // as it is
}

// close lets the program end by itself, as the protocol wants, and kills what has not.
func (p *process) close() {
	_ = p.stdin.Close()
	grace := time.NewTimer(endGrace)
	defer grace.Stop()
	select {
	case <-p.done:
	case <-grace.C:
		p.killed = true
	}
	_ = p.stdout.Close() // what it still writes has no reader
	p.kill(errStopped)
	<-p.done
}

func (p *process) explain(err error) error {
	if p.killed {
		return err
	}
	how := strings.ReplaceAll(strings.TrimSpace(p.result.String()), "\n", ", ")
	if p.err != nil {
		how = p.err.Error()
	}
	if last := p.errors.String(); last != "" {
		how += ", and wrote at last: " + last
	}
	return fmt.Errorf("%w; its program ended: %s", err, how)
}

// queue is what a program is sent and has not read yet. Writing never waits, so that a program
// which does not read holds up nobody; beyond maxWaiting it is refused.
type queue struct {
	mu     sync.Mutex // guards what follows
	filled *sync.Cond
	buf    bytes.Buffer
	closed bool
}

func newQueue() *queue {
	q := &queue{}
	q.filled = sync.NewCond(&q.mu)
	return q
}

func (q *queue) Write(b []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return 0, io.ErrClosedPipe
	case q.buf.Len()+len(b) > maxWaiting:
		return 0, errDeaf
	}
	defer q.filled.Signal()
	return q.buf.Write(b) // it never fails
}

// Read waits for something to read, or for Close.
func (q *queue) Read(b []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.buf.Len() == 0 && !q.closed {
		q.filled.Wait()
	}
	return q.buf.Read(b) // io.EOF, as it is
}

// Close ends what is read behind what was written.
func (q *queue) Close() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.filled.Broadcast()
	return nil
}

// tail keeps the end of what a program writes.
type tail struct {
	mu   sync.Mutex // guards kept
	kept []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b[max(0, len(b)-maxTail):]...)
	t.kept = append([]byte(nil), t.kept[max(0, len(t.kept)-maxTail):]...)
	return len(b), nil
}

// String returns it on one line.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(strings.Fields(tools.Visible(strings.ToValidUTF8(string(t.kept), ""))), " ")
}
