// Package outlet is the proxy by which a program in a sandbox reaches the hosts that its
// operator names, and no others.
//
//	program ── CONNECT, or a request with a whole URL ──▶ hosts ── guard: resolver → check → connect ──▶ host
//
// The name that a program asks for is compared with the list, and the address that it leads to
// is checked when the connection is made. What goes through a tunnel nobody reads. An Outlet
// serves one program; see docs/decisions/0112.
package outlet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"slices"
	"strconv"
	"sync"
	"time"

	"parley/tools/web/guard"
)

// Bounds of one outlet.
const (
	maxConnections = 128              // of the program at a time; further ones wait
	maxHeader      = 64 << 10         // bytes of the header of a request, and of an answer
	maxBytes       = 4 << 30          // that go through one connection to a host, both ways together
	headerTime     = 30 * time.Second // until a request is there
	dialTime       = 30 * time.Second // until a host has accepted
	idleTime       = 5 * time.Minute  // after which a connection ends on which nothing is said
	maxRefusals    = 16               // that are remembered
)

// Options are what an outlet leads to.
type Options struct {
	// Hosts are where the program may connect to; see guard.ReadDestination.
	Hosts []string
	// Private are networks in which hosts may be although they are not public.
	Private []guard.Network
	// Resolver resolves names; nil: net.DefaultResolver.
	Resolver *net.Resolver
	// Log says which hosts were refused, each once; nil: silence.
	Log *slog.Logger
}

// Outlet is the proxy of one program.
type Outlet struct {
	hosts   []guard.Destination
	listed  []string // hosts, as they were written
	guard   *guard.Guard
	log     *slog.Logger
	forward http.Handler

	mu       sync.Mutex // guards what follows
	over     bool
	open     map[io.Closer]struct{} // connections to hosts, and tunnels of the program
	refusals []refusal
	requests sync.WaitGroup // under way; nothing is added once over is set
}

// New makes an Outlet.
func New(o Options) (*Outlet, error) {
	p := &Outlet{listed: o.Hosts, log: o.Log, open: map[io.Closer]struct{}{}}
	for _, text := range o.Hosts {
		d, err := guard.ReadDestination(text)
		if err != nil {
			return nil, fmt.Errorf("outlet: host %q: %w", text, err)
		}
		p.hosts = append(p.hosts, d)
	}
	var err error
	if p.guard, err = guard.New(guard.Options{Private: o.Private, Ports: guard.PortsOf(p.hosts), Resolver: o.Resolver}); err != nil {
		return nil, err // it names the network
	}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	p.forward = p.newForwarder()
	return p, nil
}

// Serve serves the program that connects to l, until ctx ends. Then it closes all connections
// of the program and to hosts, and returns when nothing of them is left. It is called once.
func (o *Outlet) Serve(ctx context.Context, l net.Listener) {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	s := &http.Server{
		Handler: o, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader, Protocols: protocols,
		DisableGeneralOptionsHandler: true, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), // the program's faults
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	if err := s.Serve(limitConnections(l, maxConnections)); !errors.Is(err, http.ErrServerClosed) {
		o.log.Error("proxy of a program ended before it", "error", err)
	}
	stop()
	_ = s.Close()
	o.end()
}

// end closes what is open, and waits for the requests under way.
func (o *Outlet) end() {
	o.mu.Lock()
	o.over = true
	open := slices.Collect(maps.Keys(o.open))
	o.mu.Unlock()
	for _, c := range open {
		_ = c.Close()
	}
	o.requests.Wait()
}

// ServeHTTP implements [http.Handler].
func (o *Outlet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !o.begin() {
		return
	}
	defer o.requests.Done()
	switch {
	case r.Method == http.MethodConnect:
		o.connect(w, r)
	case r.URL.Host == "":
		http.Error(w, "this is a proxy: ask it for a whole URL, as programs do that know HTTP_PROXY", http.StatusBadRequest)
	case r.URL.Scheme != "http":
		http.Error(w, "this proxy asks http only; to https lead tunnels, by CONNECT", http.StatusBadRequest)
	default:
		o.forward.ServeHTTP(w, r)
	}
}

// begin reports whether a request may still begin.
func (o *Outlet) begin() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over {
		return false
	}
	o.requests.Add(1)
	return true
}

// keep notes a connection, which end closes; it reports whether there still is time for one.
func (o *Outlet) keep(c io.Closer) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.over {
		o.open[c] = struct{}{}
	}
	return !o.over
}

func (o *Outlet) forget(c io.Closer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.open, c)
}

// newForwarder makes what asks hosts in the program's place. It answers as they do.
func (o *Outlet) newForwarder() http.Handler {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.RawQuery = r.In.URL.RawQuery // as it is, well-formed or not
		},
		// No other proxy: it would connect in place of the guard.
		Transport: &http.Transport{
			Proxy: nil, DialContext: o.dial, DisableKeepAlives: true, DisableCompression: true,
			MaxResponseHeaderBytes: maxHeader, Protocols: protocols,
		},
		FlushInterval: -1,
		ErrorLog:      slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), // hosts' faults
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			status, text := explain(r.URL.Host, err)
			http.Error(w, text, status)
		},
	}
}

// connect makes a tunnel.
func (o *Outlet) connect(w http.ResponseWriter, r *http.Request) {
	host, err := o.dial(r.Context(), "tcp", r.URL.Host)
	client, buffered, hijackErr := http.NewResponseController(w).Hijack()
	if hijackErr != nil {
		if err == nil {
			_ = host.Close()
		}
		return
	}
	defer func() { _ = client.Close() }()
	if err != nil {
		status, text := explain(r.URL.Host, err)
		// Most programs show of a tunnel that was refused nothing but the words behind the status.
		_, _ = fmt.Fprintf(client, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s\n", status, text, len(text)+1, text)
		return
	}
	defer func() { _ = host.Close() }()
	if !o.keep(client) {
		return
	}
	defer o.forget(client)
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { pass(host, buffered.Reader, client) })
	both.Go(func() { pass(client, host, host) })
	both.Wait()
}

// pass copies what is read from one end to the other, and then closes that for writing. Where
// one way breaks off, the other ends too.
func pass(to net.Conn, from io.Reader, source net.Conn) {
	_, err := io.Copy(to, from)
	if half, ok := to.(interface{ CloseWrite() error }); ok && err == nil {
		_ = half.CloseWrite()
		return
	}
	_ = to.Close()
	_ = source.Close()
}

// split returns the host and the port that a program asks for, as they are compared and dialled.
func split(address string) (host string, port uint16, err error) {
	name, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, errAddress
	}
	number, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return "", 0, errAddress
	}
	if host, err = guard.CanonicalHost(name); err != nil {
		return "", 0, errAddress
	}
	return host, uint16(number), nil
}
