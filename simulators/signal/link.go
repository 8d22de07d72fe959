package signal

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"parley/simulators/internal/stage"
)

// The link is what stands for the connection to Signal's service: a daemon opens
// one for its life, one for each account that receives, and posts what it is
// called to do.

// daemons are the daemons that run, the devices that want to be linked, and how both get
// what waits for them.
type daemons struct {
	*world
	*chats
	links      sync.WaitGroup // hijacked connections
	processes  map[int]*process
	provisions map[string]*provision // by address
	lastProc   int
}

// process is a daemon that runs.
type process struct {
	n        int
	version  string // when it started
	accounts []*account
	multi    bool
	trust    string // on-first-use, always or never
	entry    *DaemonEntry
	orders   chan order      // capacity 16
	life     context.Context // ends when the server does, or forgets the process
	end      context.CancelFunc
}

// order is what a daemon is told to do.
type order struct {
	Do string `json:"do"` // kill, hang or resume
}

const (
	doKill   = "kill"
	doHang   = "hang"
	doResume = "resume"
)

// welcome is the first line to a new daemon.
type welcome struct {
	Process   int           `json:"process"`
	Accounts  []Account     `json:"accounts"`
	Version   string        `json:"version"`
	KeepAlive time.Duration `json:"keep_alive_ns"`
}

var errNoProcess = errors.New("no such daemon")

func (s *Server) link(mux *http.ServeMux) {
	mux.HandleFunc("GET /link/process", s.serveProcess)
	mux.HandleFunc("GET /link/queue", s.serveQueue)
	mux.HandleFunc("POST /link/call", s.serveCall)
	mux.HandleFunc("GET /link/trusts", s.serveTrusts)
	mux.HandleFunc("GET /link/version", func(w http.ResponseWriter, _ *http.Request) { stage.Answer(w, s.version(), nil) })
	mux.HandleFunc("GET /link/file/{id}", s.serveFile)
	// The program's command link: first the address, then the account.
	mux.HandleFunc("GET /link/provision", func(w http.ResponseWriter, r *http.Request) {
		stage.Answer(w, s.beginLink(r.URL.Query().Get("name")), nil)
	})
	mux.HandleFunc("GET /link/provisioned", func(w http.ResponseWriter, r *http.Request) {
		a, err := s.awaitLink(r.Context(), r.URL.Query().Get("uri"))
		stage.Answer(w, a, err)
	})
}

// lines is a hijacked connection on which lines of JSON go both ways.
type lines struct {
	net.Conn
	in  *json.Decoder
	out *json.Encoder
}

func newLines(c net.Conn, r io.Reader) *lines {
	return &lines{Conn: c, in: json.NewDecoder(r), out: json.NewEncoder(c)}
}

// takeOver answers 101 and gives the connection.
func takeOver(w http.ResponseWriter) (*lines, error) {
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, fmt.Errorf("take the connection: %w", err)
	}
	if err := errors.Join(conn.SetDeadline(time.Time{}), switchTo(conn)); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return newLines(conn, rw.Reader), nil
}

func switchTo(w io.Writer) error {
	_, err := io.WriteString(w, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: lines\r\n\r\n")
	return err
}

// serveProcess holds a daemon's connection as long as it lives.
func (s *daemons) serveProcess(w http.ResponseWriter, r *http.Request) {
	s.links.Add(1)
	defer s.links.Done()
	p, hello, err := s.admit(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	defer s.removeProcess(p)
	l, err := takeOver(w)
	if err != nil {
		return
	}
	defer func() { _ = l.Close() }()
	closed := make(chan struct{})
	s.links.Go(func() {
		defer close(closed)
		_, _ = io.Copy(io.Discard, l) // ends with the daemon
	})
	if l.out.Encode(hello) != nil {
		return
	}
	for {
		select {
		case o := <-p.orders:
			if l.out.Encode(o) != nil {
				return
			}
		case <-closed:
			return
		case <-p.life.Done():
			return
		}
	}
}

func (s *daemons) admit(r *http.Request) (*process, welcome, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := r.URL.Query()
	p := &process{trust: q.Get("trust"), orders: make(chan order, 16)}
	if id := q.Get("account"); id != "" {
		a := s.account(id)
		if a == nil || a.Unlinked || a.Number != id && isOlder(s.opts.Version, 0, 14, 6) {
			return nil, welcome{}, fmt.Errorf("%w: %q", errNoAccount, id) // ACIs since 0.14.6
		}
		p.accounts = []*account{a}
	} else {
		p.accounts = slices.DeleteFunc(slices.Clone(s.accounts), func(a *account) bool { return a.Unlinked })
		p.multi = true
	}
	p.life, p.end = context.WithCancel(s.stop)
	s.lastProc++
	p.n, p.version = s.lastProc, s.opts.Version
	pid, _ := strconv.Atoi(q.Get("pid"))
	hello := welcome{Process: p.n, Version: p.version, KeepAlive: s.opts.KeepAlive}
	entry := DaemonEntry{Process: p.n, PID: pid, Mode: q.Get("mode"), Started: s.opts.Now()}
	for _, a := range p.accounts {
		hello.Accounts = append(hello.Accounts, a.Account)
		entry.Accounts = append(entry.Accounts, a.ID())
	}
	p.entry = s.books.daemons.Add(entry)
	s.processes[p.n] = p
	s.books.Notify()
	return p, hello, nil
}

func (s *daemons) removeProcess(p *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.end()
	delete(s.processes, p.n)
	p.entry.Ended = s.opts.Now()
	s.books.Notify()
}

// caller finds the process and its account. An account that the process does not
// hold is nil. The caller holds the lock.
func (s *daemons) caller(n int, id string) (*process, *account, error) {
	p := s.processes[n]
	if p == nil {
		return nil, nil, fmt.Errorf("%w: %d", errNoProcess, n)
	}
	for _, a := range p.accounts {
		if id != "" && (a.Number == id || a.ACI == id) {
			return p, a, nil
		}
	}
	return p, nil, nil
}

// serveTrusts answers whether a cached envelope's sender is trusted by now.
func (s *daemons) serveTrusts(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	n, _ := strconv.Atoi(q.Get("process"))
	s.mu.Lock()
	defer s.mu.Unlock()
	p, a, err := s.caller(n, q.Get("account"))
	if err == nil && a == nil {
		err = errNoAccount
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	stage.Answer(w, s.trusts(p, a, q.Get("source")), nil)
}

// serveFile gives an attachment.
func (s *fileStore) serveFile(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	f := s.stored[r.PathValue("id")]
	s.mu.Unlock()
	if f == nil || f.missing {
		http.NotFound(w, r)
		return
	}
	stage.WriteBody(w, http.StatusOK, "application/octet-stream", f.data)
}

// Kill ends every daemon that holds the account, as kill -9 does, and tells how
// many there were. It does not wait; [Server.Await] sees Ended.
func (s *daemons) Kill(account string) (int, error) { return s.order(doKill, account) }

// Hang lets the daemons that hold the account go on living without doing anything:
// they accept connections, but answer and receive nothing until Resume.
func (s *daemons) Hang(account string) (int, error) { return s.order(doHang, account) }

// Resume ends Hang.
func (s *daemons) Resume(account string) (int, error) { return s.order(doResume, account) }

// order tells the account's daemons to do something. One that has not obeyed the
// last sixteen is not told.
func (s *daemons) order(do, account string) (n int, err error) {
	defer stage.Act(&s.mu, &err, "%s the daemon", do)()
	a := s.registered(account)
	for _, p := range s.processes {
		if !slices.Contains(p.accounts, a) {
			continue
		}
		n++
		p.entry.Killed = p.entry.Killed || do == doKill
		select {
		case p.orders <- order{Do: do}:
		default:
		}
	}
	return n, nil
}

// readUpgrade is for the other side of the link: the answer to its request.
func readUpgrade(r *bufio.Reader) error {
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if res.StatusCode != http.StatusSwitchingProtocols {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 4096))
		_ = res.Body.Close()
		return fmt.Errorf("%w: %s: %s", errLink, res.Status, text)
	}
	return nil
}
