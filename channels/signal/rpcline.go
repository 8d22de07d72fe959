package signal

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync"
	"time"

	"parley/channels/internal/route"
)

// socketCaller calls a daemon over a socket, on which each line is a request or an
// answer. It connects when it is needed. What the daemon tells everybody it
// drops: a client that does not read holds up the daemon's receiving.
type socketCaller struct {
	at    *url.URL // unix or tcp
	way   *route.Route
	limit int64
	ids   ids

	dialing sync.Mutex // one dials at a time

	mu   sync.Mutex // guards conn
	conn *socketConn
}

// socketConn is one connection with the calls that wait on it.
type socketConn struct {
	net.Conn
	writing sync.Mutex

	mu      sync.Mutex // guards what is below
	waiting map[string]chan<- callResult
	broken  error
	done    chan struct{} // closed when nothing more is read
}

type callResult struct {
	result json.RawMessage
	err    error
}

func newSocketCaller(o Options, at *url.URL) *socketCaller {
	return &socketCaller{at: at, way: route.New(o.Proxy), limit: o.MaxAnswer}
}

// dial opens a connection to the daemon.
func (l *socketCaller) dial(ctx context.Context) (net.Conn, error) {
	if l.at.Scheme == "tcp" {
		return l.way.Dial(ctx, l.at, "tcp", l.at.Host)
	}
	var d net.Dialer
	return d.DialContext(ctx, "unix", l.at.Path)
}

func (l *socketCaller) call(ctx context.Context, method string, params map[string]any) (json.RawMessage, error) {
	id, text, err := l.ids.newRequest(method, params)
	if err != nil {
		return nil, err
	}
	c, err := l.connect(ctx)
	if err != nil {
		return nil, &lostError{false, fmt.Errorf("reach signal-cli: %w", err)}
	}
	answer := make(chan callResult, 1)
	if err := c.register(id, answer); err != nil {
		return nil, &lostError{false, err}
	}
	defer c.unregister(id)
	if n, err := c.write(ctx, text); err != nil {
		l.drop(c, err)
		// What is read at the end of a connection without its line's end is
		// taken for a line by signal-cli, if it is one.
		return nil, &lostError{n >= len(text)-1, fmt.Errorf("ask signal-cli: %w", err)}
	}
	select {
	case a := <-answer:
		return a.result, a.err
	case <-ctx.Done():
		return nil, &lostError{true, context.Cause(ctx)}
	}
}

func (l *socketCaller) connect(ctx context.Context) (*socketConn, error) {
	l.dialing.Lock()
	defer l.dialing.Unlock()
	l.mu.Lock()
	c := l.conn
	l.mu.Unlock()
	if c != nil && c.err() == nil {
		return c, nil
	}
	conn, err := l.dial(ctx)
	if err != nil {
		return nil, err // the caller says what for
	}
	c = &socketConn{Conn: conn, waiting: map[string]chan<- callResult{}, done: make(chan struct{})}
	l.mu.Lock()
	l.conn = c
	l.mu.Unlock()
	go func() {
		defer close(c.done)
		l.drop(c, c.read(l.limit))
	}()
	return c, nil
}

// drop gives up a connection and every call that waits on it.
func (l *socketCaller) drop(c *socketConn, why error) {
	l.mu.Lock()
	if l.conn == c {
		l.conn = nil
	}
	l.mu.Unlock()
	c.fail(why)
}

// closeIdle implements caller: the one connection is used by all calls.
func (*socketCaller) closeIdle() {}

// close ends the connection and waits until nothing reads it.
func (l *socketCaller) close() {
	l.dialing.Lock()
	defer l.dialing.Unlock()
	l.mu.Lock()
	c := l.conn
	l.mu.Unlock()
	if c != nil {
		l.drop(c, net.ErrClosed)
		<-c.done
	}
}

func (c *socketConn) err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.broken
}

func (c *socketConn) register(id string, answer chan<- callResult) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken == nil {
		c.waiting[id] = answer
	}
	return c.broken
}

func (c *socketConn) unregister(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, id)
}

func (c *socketConn) fail(why error) {
	c.mu.Lock()
	if c.broken == nil {
		c.broken = fmt.Errorf("%w: %w", errCut, why)
	}
	waiting := c.waiting
	c.waiting = map[string]chan<- callResult{}
	c.mu.Unlock()
	_ = c.Close()
	for _, w := range waiting {
		w <- callResult{err: &lostError{true, c.broken}}
	}
}

// write sends one whole line. It may take as long as ctx.
func (c *socketConn) write(ctx context.Context, text []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	deadline, _ := ctx.Deadline()
	if err := c.SetWriteDeadline(deadline); err != nil {
		return 0, err // the caller says what for
	}
	defer context.AfterFunc(ctx, func() { _ = c.SetWriteDeadline(time.Unix(1, 0)) })()
	n, err := c.Write(text)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return n, err // as above
}

// read brings answers to who waits for them, until the connection ends.
func (c *socketConn) read(limit int64) error {
	lines := bufio.NewReaderSize(c, 64<<10)
	for {
		text, _, err := readLine(lines, limit)
		switch {
		case errors.Is(err, errTooLarge):
			// Whose answer it is nobody knows, so everybody's is in doubt; a
			// notification is of no interest here.
			if !isNotification(text) {
				return err
			}
			continue
		case err != nil:
			return err
		}
		var r response
		if json.Unmarshal(text, &r) != nil {
			return errGarbage
		}
		if r.Method == "" {
			c.deliver(&r)
		}
	}
}

func (c *socketConn) deliver(r *response) {
	c.mu.Lock()
	var to chan<- callResult
	for id, w := range c.waiting {
		if matchesID(r.ID, id) {
			to = w
			delete(c.waiting, id)
		}
	}
	c.mu.Unlock()
	if to != nil {
		result, err := r.outcome()
		to <- callResult{result, err}
	}
}

// isNotification reports whether the beginning of a line is that of one, which has
// its method among its first keys.
func isNotification(start []byte) bool {
	const most = 256
	return bytes.Contains(start[:min(len(start), most)], []byte(`"method"`))
}

// readLine reads a line of so many bytes at most, without its end, and says how many
// bytes it read. Of a longer one it reads all, and gives the beginning with
// errTooLarge; at the end of r it gives what is left with r's error.
func readLine(r *bufio.Reader, limit int64) (text []byte, n int64, err error) {
	long := false
	for {
		part, err := r.ReadSlice('\n')
		n += int64(len(part))
		if err == nil {
			part = part[:len(part)-1]
		}
		if room := limit - int64(len(text)); int64(len(part)) > room {
			long = true
			part = part[:max(0, room)]
		}
		text = append(text, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil:
			return text, n, err // the caller knows what it reads
		case long:
			return text, n, errTooLarge
		default:
			return text, n, nil
		}
	}
}
