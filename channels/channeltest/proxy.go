package channeltest

import (
	"context"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"parley/channels"
)

// Proxy is a forward proxy that makes tunnels too, wants a name and a password, and
// writes down what passed.
type Proxy struct {
	*httptest.Server

	name, password string
	direct         *http.Transport
	passing        sync.WaitGroup

	mu     sync.Mutex // guards what is below
	passed []string
	hosts  map[string]string
	made   map[string]bool // by their addresses at this end
	open   map[net.Conn]bool
}

// ProxyPassword is what a Proxy wants.
const ProxyPassword = "proxy-canary/+1"

// NewProxy runs a Proxy on loopback until the test ends.
func NewProxy(t testing.TB) *Proxy {
	p := &Proxy{name: "ann", password: ProxyPassword, hosts: map[string]string{}, made: map[string]bool{}, open: map[net.Conn]bool{}}
	p.direct = &http.Transport{DisableKeepAlives: true, DialContext: p.dial}
	p.Server = httptest.NewServer(p)
	t.Cleanup(func() {
		p.mu.Lock()
		for c := range p.open {
			_ = c.Close()
		}
		p.mu.Unlock()
		p.CloseClientConnections()
		p.Close()
		p.passing.Wait()
	})
	return p
}

// AddressWith returns the proxy's address with a password, its own or another one, as it
// stands in a configuration.
func (p *Proxy) AddressWith(password string) channels.Secret {
	return channels.NewSecret("http://" + p.name + ":" + password + "@" + p.Listener.Addr().String())
}

// MapHost has a host, and a port if one is named, that only this proxy can find be another.
func (p *Proxy) MapHost(host, at string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hosts[host] = at
}

// Requests are the requests that passed, as "POST host/path" and "CONNECT host:port".
func (p *Proxy) Requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.passed)
}

// record notes what passes, and says where to.
func (p *Proxy) record(host, what string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.passed = append(p.passed, what)
	if at := p.hosts[host]; at != "" {
		return at
	}
	return host
}

// HasConnection reports whether the proxy made the connection that a server has from remote.
func (p *Proxy) HasConnection(remote string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.made[remote]
}

func (p *Proxy) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.made[conn.LocalAddr().String()] = true
	return conn, nil
}

func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte(p.name+":"+p.password))
	switch {
	case r.Header.Get("Proxy-Authorization") != want:
		w.Header().Set("Proxy-Authenticate", "Basic")
		w.WriteHeader(http.StatusProxyAuthRequired)
	case r.Method == http.MethodConnect:
		p.tunnel(w, p.record(r.Host, "CONNECT "+r.Host))
	default:
		p.forward(w, r, p.record(r.URL.Host, r.Method+" "+r.URL.Host+r.URL.Path))
	}
}

func (p *Proxy) forward(w http.ResponseWriter, r *http.Request, to string) {
	out := r.Clone(r.Context())
	out.RequestURI, out.URL.Host = "", to
	if to != r.URL.Host {
		out.Host = to
	}
	out.Header.Del("Proxy-Authorization")
	resp, err := p.direct.RoundTrip(out)
	if err != nil {
		panic(http.ErrAbortHandler) // the connection ends, as that to the network did
	}
	defer func() { _ = resp.Body.Close() }()
	for k, v := range resp.Header {
		w.Header()[k] = v
	}
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(flushWriter{w, http.NewResponseController(w)}, resp.Body) // its end is that of the connection
}

// flushWriter writes each piece at once: a stream may say nothing more for long.
type flushWriter struct {
	io.Writer

	c *http.ResponseController
}

func (f flushWriter) Write(b []byte) (int, error) {
	n, err := f.Writer.Write(b)
	if err == nil {
		err = f.c.Flush()
	}
	return n, err
}

func (p *Proxy) tunnel(w http.ResponseWriter, to string) {
	out, err := p.dial(context.Background(), "tcp", to)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	in, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		_ = out.Close()
		return
	}
	p.mu.Lock()
	p.open[in], p.open[out] = true, true
	p.mu.Unlock()
	_, _ = io.WriteString(in, "HTTP/1.1 200 Connection established\r\n\r\n")
	for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
		p.passing.Go(func() {
			_, _ = io.Copy(way[0], way[1])
			_, _ = in.Close(), out.Close()
			p.mu.Lock()
			defer p.mu.Unlock()
			delete(p.open, way[0])
		})
	}
}
