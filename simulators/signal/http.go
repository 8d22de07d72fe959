package signal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"parley/simulators/internal/stage"
)

// listen opens the channels.
func (d *Daemon) listen() error {
	var lc net.ListenConfig
	open := func(network, addr string) (net.Listener, error) {
		l, err := lc.Listen(d.ctx, network, addr)
		if err != nil {
			return nil, fmt.Errorf("failed to bind socket %s: %w", addr, err)
		}
		d.listeners = append(d.listeners, l)
		return l, nil
	}
	if d.o.Socket != "" {
		if err := os.MkdirAll(filepath.Dir(d.o.Socket), 0o700); err != nil {
			return fmt.Errorf("failed to bind socket %s: %w", d.o.Socket, err)
		}
		l, err := open("unix", d.o.Socket)
		if err != nil {
			return err
		}
		d.bound = true
		// Who is killed leaves it behind, and the next cannot bind.
		l.(*net.UnixListener).SetUnlinkOnClose(false)
		d.log("INFO", "SocketHandler", "Started JSON-RPC server on "+d.o.Socket)
		d.wg.Go(func() { d.acceptAll(l, "unix") })
	}
	if d.o.TCP != "" {
		l, err := open("tcp", d.o.TCP)
		if err != nil {
			return err
		}
		d.tcpAddr = l.Addr().String()
		d.log("INFO", "SocketHandler", "Started JSON-RPC server on /"+d.tcpAddr)
		d.wg.Go(func() { d.acceptAll(l, "tcp") })
	}
	if d.o.HTTP != "" {
		l, err := open("tcp", d.o.HTTP)
		if err != nil {
			return err
		}
		d.httpAddr = l.Addr().String()
		d.log("INFO", "HttpServerHandler", "Started HTTP server on /"+d.httpAddr)
		d.wg.Go(func() { d.serveHTTP(l) })
	}
	return nil
}

func (d *Daemon) serveHTTP(l net.Listener) {
	mux := http.NewServeMux()
	mux.HandleFunc("/api/v1/rpc", d.httpRPC)
	mux.HandleFunc("/api/v1/events", d.httpEvents)
	mux.HandleFunc("/api/v1/check", func(w http.ResponseWriter, r *http.Request) {
		d.waitWhileHung()
		if r.Method != http.MethodGet {
			w.WriteHeader(http.StatusMethodNotAllowed)
		}
	})
	h := &http.Server{Handler: d.checkHost(mux), ReadHeaderTimeout: 30 * time.Second}
	go func() {
		<-d.ctx.Done()
		_ = h.Close()
	}()
	if err := h.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) && d.ctx.Err() == nil {
		d.log("ERROR", "HttpServerHandler", err.Error())
	}
}

// checkHost refuses a Host that is not the address, since 0.14.4.
func (d *Daemon) checkHost(next http.Handler) http.Handler {
	host, port, err := net.SplitHostPort(d.httpAddr)
	ip := net.ParseIP(host)
	if err != nil || isOlder(d.hello.Version, 0, 14, 4) || ip != nil && ip.IsUnspecified() {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, at, err := net.SplitHostPort(r.Host)
		if err != nil {
			name, at = r.Host, "80"
		}
		given, _, _ := net.SplitHostPort(d.o.HTTP)
		local := ip != nil && ip.IsLoopback() && (name == "localhost" || name == "127.0.0.1" || name == "::1")
		if at != port || name != host && name != given && !local {
			w.WriteHeader(http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (d *Daemon) httpRPC(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		w.WriteHeader(http.StatusUnsupportedMediaType)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	// The call goes on when its client has gone, as in signal-cli.
	o := d.answerTo(d.ctx, rpcClient{transport: "http"}, body)
	if d.ctx.Err() != nil {
		panic(http.ErrAbortHandler)
	}
	switch o.trouble {
	case HTTPError:
		w.WriteHeader(http.StatusInternalServerError)
	case Dropped, Ambiguous:
		panic(http.ErrAbortHandler)
	case Hanging, Hung:
		select {
		case <-d.ctx.Done():
		case <-r.Context().Done():
		}
		panic(http.ErrAbortHandler)
	case Truncated:
		stage.WriteHalf(w, inJSON, o.body)
	case Garbage:
		stage.WriteGarbage(w)
	default:
		if o.body == nil {
			w.WriteHeader(http.StatusCreated)
			return
		}
		stage.WriteBody(w, http.StatusOK, inJSON, o.body)
	}
}

const inJSON = "application/json"

// httpEvents is the stream of what is received. The connection is taken over,
// because signal-cli finds out that a client has gone only when a write fails.
func (d *Daemon) httpEvents(w http.ResponseWriter, r *http.Request) {
	d.waitWhileHung()
	if r.Method != http.MethodGet {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	managers := d.managers
	if id := r.URL.Query().Get("account"); id != "" && d.o.Account == "" {
		m := d.manager(id)
		if m == nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		managers = []*manager{m}
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	d.wg.Add(1)
	defer d.wg.Done()
	_ = conn.SetDeadline(time.Time{})
	defer d.track(conn)()
	newStream(d, conn).serve(managers, r.Header.Get("Last-Event-ID"))
}

const streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

// stream is a connection that gets server-sent events.
type stream struct {
	d      *Daemon
	conn   net.Conn
	broken chan struct{} // closed by the first write that fails
	turn   chan struct{} // a lock on what follows
	begun  bool          // the head was sent
	failed bool
}

func newStream(d *Daemon, conn net.Conn) *stream {
	return &stream{d: d, conn: conn, broken: make(chan struct{}), turn: make(chan struct{}, 1)}
}

func (s *stream) serve(managers []*manager, last string) {
	h := &handler{event: s.event, cut: s.cut}
	for _, m := range managers {
		m.follow(h, last)
		defer m.drop(h, false)
	}
	if !isOlder(s.d.hello.Version, 0, 14) {
		// 0.13 sends its head only with the first event or comment.
		_ = s.write("")
	}
	t := time.NewTicker(s.d.keepAlive)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			s.d.waitWhileHung()
			_ = s.write(":\n")
		case <-s.broken:
			return
		case <-s.d.ctx.Done():
			return
		}
	}
}

func (s *stream) event(id string, raw json.RawMessage) error {
	if id != "" {
		id = "id:" + id + "\n"
	}
	return s.write(id + "event:receive\ndata:" + string(raw) + "\n\n")
}

// write sends a chunk, and the head before the first one.
func (s *stream) write(text string) error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if s.failed {
		return net.ErrClosed
	}
	if text != "" {
		text = fmt.Sprintf("%x\r\n%s\r\n", len(text), text)
	}
	if !s.begun {
		s.begun, text = true, streamHead+text
	}
	if _, err := io.WriteString(s.conn, text); err != nil {
		s.fail()
		return err
	}
	return nil
}

func (s *stream) fail() {
	s.failed = true
	close(s.broken)
	_ = s.conn.Close()
}

// cut sends half an event and ends the connection.
func (s *stream) cut(raw json.RawMessage) {
	_ = s.write("event:receive\ndata:" + string(raw[:len(raw)/2]))
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if !s.failed {
		s.fail()
	}
}
