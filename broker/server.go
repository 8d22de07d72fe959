package broker

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"parley/disks"
)

// ErrInUse means that another process has the directory.
var ErrInUse = errors.New("another process uses this directory")

var errReopening = errors.New("embedded message server is being reopened")

// embeddedServer is the server in this process, behind one connection that outlives it:
// while there is no server the connection tries again, so a server that is
// reopened looks like any other reconnection.
type embeddedServer struct {
	o    Options
	log  *serverLog
	lock *os.File

	mu  sync.Mutex
	srv *server.Server // guarded by mu; nil while there is none
}

func newHost(o Options) (*embeddedServer, error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the log's directory: %w", err)
	}
	lock, err := lockDir(o.Dir)
	if err != nil {
		return nil, err
	}
	return &embeddedServer{o: o, lock: lock, log: &serverLog{log: o.Log}}, nil
}

// lockDir holds the directory until the file is closed or the process ends.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the log's directory: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock the log's directory: %w", ErrInUse)
		}
		return nil, fmt.Errorf("lock the log's directory: %w", err)
	}
	return f, nil
}

// InProcessConn returns how the client reaches the server.
func (h *embeddedServer) InProcessConn() (net.Conn, error) {
	h.mu.Lock()
	srv := h.srv
	h.mu.Unlock()
	if srv == nil {
		return nil, errReopening
	}
	return srv.InProcessConn()
}

// start starts a server that clients cannot reach yet, see admit.
func (h *embeddedServer) start() (*server.Server, error) {
	opts, err := h.serverOptions()
	if err != nil {
		return nil, err
	}
	srv, err := server.NewServer(opts)
	if err != nil {
		return nil, fmt.Errorf("make the message server: %w", err)
	}
	srv.SetLoggerV2(h.log, false, false, false)
	h.log.reset()
	srv.Start()
	if !srv.ReadyForConnections(h.o.openTimeout()) || !srv.JetStreamEnabled() {
		stopServer(srv)
		return nil, fmt.Errorf("start the message server: %s", h.log.lastError())
	}
	return srv, nil
}

func (h *embeddedServer) serverOptions() (*server.Options, error) {
	opts := &server.Options{
		ServerName:             serverName(h.o.Name),
		DontListen:             h.o.Listen == "",
		NoSigs:                 true,
		DisableJetStreamBanner: true,
		MaxPayload:             int32(h.o.embeddedBody() + frameSpare),
		JetStream:              true,
		StoreDir:               h.o.Dir,
		// The streams have limits of their own. This one only must not be
		// left out: the default is three quarters of what is free at start.
		JetStreamMaxStore:  1 << 50,
		JetStreamMaxMemory: 256 << 20,
		SyncAlways:         h.o.Relaxed == 0,
		SyncInterval:       h.o.Relaxed,
	}
	if h.o.Listen != "" {
		host, port, err := net.SplitHostPort(h.o.Listen)
		if err != nil {
			return nil, fmt.Errorf("listen: %w", err)
		}
		opts.Host = host
		if opts.Port, err = strconv.Atoi(port); err != nil {
			return nil, fmt.Errorf("listen: the port is not a number")
		}
		if opts.Port == 0 {
			opts.Port = server.RANDOM_PORT
		}
	}
	if h.o.TokenFile != "" {
		token, err := readToken(h.o.TokenFile)
		if err != nil {
			return nil, err
		}
		opts.Authorization = token
	}
	return opts, nil
}

// serverName keeps what a server's name may not hold out of it.
func serverName(s string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r == '.' || r == '*' || r == '>' || r > '~' {
			return '-'
		}
		return r
	}, s)
}

func (o Options) embeddedBody() int {
	if o.MaxBody == 0 {
		return DefaultMaxBody
	}
	return o.MaxBody
}

// admit makes srv the one that connections reach.
func (h *embeddedServer) admit(srv *server.Server) {
	h.mu.Lock()
	h.srv = srv
	h.mu.Unlock()
}

// stop stops the server, if there is one, and waits for it.
func (h *embeddedServer) stop() {
	h.mu.Lock()
	srv := h.srv
	h.srv = nil
	h.mu.Unlock()
	stopServer(srv)
}

func stopServer(srv *server.Server) {
	if srv != nil {
		srv.Shutdown()
		srv.WaitForShutdown()
	}
}

// close stops the server and gives the directory free. It unlocks before it closes:
// a process that is being started at this moment has a copy of the file until it
// runs, and closing alone would leave that one locked.
func (h *embeddedServer) close() error {
	h.stop()
	return errors.Join(syscall.Flock(int(h.lock.Fd()), syscall.LOCK_UN), h.lock.Close())
}

// addr returns where the server listens, nil when it does not.
func (h *embeddedServer) addr() net.Addr {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.srv == nil {
		return nil
	}
	return h.srv.Addr()
}

// checkWritable tries what the server will need: a file that is written and synced.
// Starting it on a full disk would only do harm.
func (h *embeddedServer) checkWritable() error {
	if err := disks.CheckWrite(h.o.Dir); err != nil {
		return fmt.Errorf("use the log's directory: %w", err)
	}
	return nil
}

func readToken(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the broker's token: %w", err)
	}
	token := strings.TrimSpace(string(b))
	if token == "" {
		return "", errors.New("read the broker's token: the file is empty")
	}
	return token, nil
}

const dialTimeout = 5 * time.Second
