package signal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// The receive modes of a daemon.
const (
	// OnStart receives from the beginning, whether anybody listens or not.
	OnStart = "on-start"
	// OnConnection receives while a client is connected.
	OnConnection = "on-connection"
	// Manual receives while a client has subscribed or reads the stream of
	// events.
	Manual = "manual"
)

// DaemonOptions are signal-cli's command line. World and one of HTTP, TCP and
// Socket are required.
type DaemonOptions struct {
	// World is the URL of the [Server].
	World string
	// Config is the folder of the daemon's state; a lock in it keeps a second
	// daemon out. Empty: none, so nothing is cached and no attachment is kept.
	Config string
	// Account is the number or ACI it holds; empty: all of them.
	Account string
	// HTTP and TCP are listening addresses, host:port; Socket is a path.
	HTTP, TCP, Socket string
	// ReceiveMode is OnStart if empty.
	ReceiveMode string
	// JSON writes what is received to Stdout as JSON, one object per line;
	// otherwise as text for people.
	JSON bool
	// NoReceiveStdout writes nothing of what is received to Stdout.
	NoReceiveStdout bool
	// Verbose logs what is received and called to Stderr.
	Verbose bool
	// Trust is on-first-use if empty, or always or never.
	Trust          string
	Stdout, Stderr io.Writer
	// Die ends the process at once when the simulator kills the daemon; nil: Run
	// breaks everything off and returns [ErrKilled].
	Die func()
}

// ErrKilled is how a daemon ends that the simulator killed.
var ErrKilled = errors.New("killed")

var (
	errChannel = errors.New("at least one channel parameter is required")
	errMode    = errors.New("receive mode is not on-start, on-connection or manual")
	errTrust   = errors.New("trust is not on-first-use, always or never")
	errLink    = errors.New("the simulated service refuses")
	errLost    = errors.New("connection to the simulated service is lost")
)

// Daemon is signal-cli in daemon mode.
type Daemon struct {
	o     DaemonOptions
	link  *uplink
	hello welcome
	dir   *folder
	ready chan struct{}

	stop context.CancelCauseFunc
	ctx  context.Context
	wg   sync.WaitGroup

	managers  []*manager // one for each account
	listeners []net.Listener
	bound     bool // the Unix socket is this daemon's

	mu        sync.Mutex // guards what follows, and lines to Stdout
	conns     map[net.Conn]struct{}
	nextSub   int
	lastEvent int
	httpAddr  string
	tcpAddr   string
	hung      chan struct{} // closed when it may go on; nil when it does
	errMu     sync.Mutex    // lines to Stderr
	keepAlive time.Duration
}

// NewDaemon checks the options; it starts nothing.
func NewDaemon(o DaemonOptions) (*Daemon, error) {
	o.ReceiveMode = cmp.Or(o.ReceiveMode, OnStart)
	o.Trust = cmp.Or(o.Trust, "on-first-use")
	switch {
	case o.HTTP == "" && o.TCP == "" && o.Socket == "":
		return nil, errChannel
	case o.ReceiveMode != OnStart && o.ReceiveMode != OnConnection && o.ReceiveMode != Manual:
		return nil, fmt.Errorf("%w: %q", errMode, o.ReceiveMode)
	case o.Trust != "on-first-use" && o.Trust != "always" && o.Trust != "never":
		return nil, fmt.Errorf("%w: %q", errTrust, o.Trust)
	}
	if o.Stdout == nil {
		o.Stdout = io.Discard
	}
	if o.Stderr == nil {
		o.Stderr = io.Discard
	}
	return &Daemon{o: o, link: newUplink(o.World), ready: make(chan struct{}), conns: map[net.Conn]struct{}{}}, nil
}

// Ready is closed when every channel listens; HTTPAddr and TCPAddr are known from
// then on.
func (d *Daemon) Ready() <-chan struct{} { return d.ready }

// HTTPAddr returns the address of the HTTP channel, empty if it has none.
func (d *Daemon) HTTPAddr() string { return d.httpAddr }

// TCPAddr returns the address of the TCP channel, empty if it has none.
func (d *Daemon) TCPAddr() string { return d.tcpAddr }

// Run serves until ctx ends, which is no error; ErrKilled if the simulator killed
// it. Everything has stopped when it returns. A daemon runs once.
func (d *Daemon) Run(ctx context.Context) (err error) {
	d.ctx, d.stop = context.WithCancelCause(ctx)
	defer d.stop(nil)
	defer d.link.close()
	if d.o.Config != "" {
		d.log("INFO", "SignalAccountFiles", "using "+d.o.Config)
		if d.dir, err = openFolder(d.ctx, d.o.Config, d.o.Account, func() {
			d.log("WARN", "SignalAccount", "Config file is in use by another instance, waiting…")
		}); err != nil {
			return fmt.Errorf("signal-cli: %w", err)
		}
		defer func() { err = errors.Join(err, d.dir.close()) }()
	}
	life, err := d.link.live(d.ctx, d.o)
	if err != nil {
		return fmt.Errorf("signal-cli: %w", err)
	}
	d.hello, d.keepAlive = life.hello, life.hello.KeepAlive
	defer d.breakOff(life)
	for _, a := range d.hello.Accounts {
		d.managers = append(d.managers, newManager(d, a))
	}
	// Before anybody can connect, as signal-cli does: who connects early would
	// otherwise be shown what the journal never gets.
	for _, m := range d.managers {
		m.add(d.journal(), d.o.ReceiveMode != OnStart)
	}
	if err := d.listen(); err != nil {
		return fmt.Errorf("signal-cli: %w", err)
	}
	if d.dir != nil {
		if err := d.dir.accounts(d.hello.Accounts); err != nil {
			return fmt.Errorf("signal-cli: %w", err)
		}
	}
	d.wg.Go(func() { d.runOrders(life) })
	close(d.ready)
	<-d.ctx.Done()
	if cause := context.Cause(d.ctx); errors.Is(cause, ErrKilled) || errors.Is(cause, errLost) {
		return cause
	}
	return nil
}

// breakOff breaks everything off and waits.
func (d *Daemon) breakOff(life *life) {
	d.stop(nil)
	for _, l := range d.listeners {
		_ = l.Close()
	}
	d.mu.Lock()
	for c := range d.conns {
		_ = c.Close()
	}
	d.mu.Unlock()
	for _, m := range d.managers {
		m.close()
	}
	_ = life.conn.Close()
	d.wg.Wait()
	if d.bound && !errors.Is(context.Cause(d.ctx), ErrKilled) {
		_ = os.Remove(d.o.Socket)
	}
}

// crash is the end without a word.
func (d *Daemon) crash() {
	if d.o.Die != nil {
		d.o.Die()
	}
	d.stop(ErrKilled)
}

// runOrders does what the world orders, until it is gone.
func (d *Daemon) runOrders(life *life) {
	for {
		var o order
		if err := life.conn.in.Decode(&o); err != nil {
			d.stop(errLost)
			return
		}
		switch o.Do {
		case doKill:
			d.crash()
		case doHang, doResume:
			d.hang(o.Do == doHang)
		}
	}
}

// hang stops everything that goes through pass, or lets it go on.
func (d *Daemon) hang(stop bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if stop == (d.hung != nil) {
		return
	}
	if stop {
		d.hung = make(chan struct{})
		d.debug("Daemon", "hangs")
		return
	}
	close(d.hung)
	d.hung = nil
}

// waitWhileHung returns at once, or when a daemon that hangs goes on or ends.
func (d *Daemon) waitWhileHung() {
	d.mu.Lock()
	hung := d.hung
	d.mu.Unlock()
	if hung != nil {
		select {
		case <-hung:
		case <-d.ctx.Done():
		}
	}
}

// journal returns the handler that writes to standard output.
func (d *Daemon) journal() *handler {
	return &handler{journal: true, write: func(_ Account, raw json.RawMessage) error {
		if d.o.NoReceiveStdout {
			return nil
		}
		line := append([]byte(nil), raw...)
		if !d.o.JSON {
			line = plainText(raw)
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		_, err := d.o.Stdout.Write(append(line, '\n'))
		if err != nil {
			return fmt.Errorf("write to standard output: %w", err)
		}
		return nil
	}}
}

func (d *Daemon) debug(class, text string) {
	if d.o.Verbose {
		d.log("DEBUG", class, text)
	}
}

// log writes a line as signal-cli's logger does.
func (d *Daemon) log(level, class, text string) {
	d.errMu.Lock()
	defer d.errMu.Unlock()
	_, _ = fmt.Fprintf(d.o.Stderr, "%-5s %s - %s\n", level, class, text)
}

// manager finds the account of a request; nil is none.
func (d *Daemon) manager(id string) *manager {
	for _, m := range d.managers {
		if id == m.self.Number && id != "" || id == m.self.ACI {
			return m
		}
	}
	return nil
}

// soleAccount returns the account of a daemon that holds one, or nil.
func (d *Daemon) soleAccount() *manager {
	if d.o.Account == "" {
		return nil
	}
	return d.managers[0]
}

// track keeps a connection until it is closed, so that end can break it off.
func (d *Daemon) track(c net.Conn) (release func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.conns[c] = struct{}{}
	if d.ctx.Err() != nil {
		_ = c.Close()
	}
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.conns, c)
		_ = c.Close()
	}
}
