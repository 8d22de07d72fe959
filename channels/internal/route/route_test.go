package route_test

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/channels"
	"parley/channels/channeltest"
	"parley/channels/internal/route"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func at(t *testing.T, address string) channels.Proxy {
	t.Helper()
	p, err := channels.ProxyAt(channels.NewSecret(address))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func get(t *testing.T, r *route.Route, address string) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	return (&http.Client{Transport: r}).Do(req)
}

// firstday A3: requests for https go through a tunnel, and the proxy sees no more of
// them than where to.
func TestRouteTunnelsHTTPS(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	t.Cleanup(server.Close)
	p := channeltest.NewProxy(t)
	over, err := channels.ProxyAt(p.AddressWith("proxy-canary%2F+1"))
	if err != nil {
		t.Fatal(err)
	}
	r := route.New(over)
	t.Cleanup(r.CloseIdleConnections)
	r.TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig
	resp, err := get(t, r, server.URL+"/secret")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if text, err := io.ReadAll(resp.Body); string(text) != "hello" || err != nil {
		t.Errorf("read %q, %v", text, err)
	}
	if want := []string{"CONNECT " + server.Listener.Addr().String()}; !slices.Equal(p.Requests(), want) {
		t.Errorf("passed %q, want %q", p.Requests(), want)
	}
}

// firstday A3: a proxy that makes no tunnel is named, and nothing left.
func TestRouteNamesAProxyThatMakesNoTunnel(t *testing.T) {
	t.Parallel()
	p := channeltest.NewProxy(t)
	for _, address := range []string{p.AddressWith("wrong-canary").Reveal(), "http://ann:wrong-canary@127.0.0.1:1", "socks5://ann:wrong-canary@127.0.0.1:1"} {
		r := route.New(at(t, address))
		t.Cleanup(r.CloseIdleConnections)
		_, asked := get(t, r, "https://network.invalid/x")
		_, dialled := r.Dial(t.Context(), &url.URL{Scheme: "wss", Host: "network.invalid"}, "tcp", "network.invalid:443")
		for what, err := range map[string]error{"a request": asked, "a connection": dialled} {
			u, _ := url.Parse(address)
			if err == nil || !strings.Contains(err.Error(), "over the proxy "+u.Scheme+"://"+u.Host+": ") || strings.Contains(err.Error(), "canary") {
				t.Errorf("%s gave %v", what, err)
			}
		}
	}
	if passed := p.Requests(); len(passed) > 0 {
		t.Errorf("%q passed", passed)
	}
}

// firstday A3: SOCKS, with a name and a password; the proxy looks up the host.
func TestRouteOverSOCKS(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	t.Cleanup(server.Close)
	s := newSOCKS(t, server.Listener.Addr().String())
	r := route.New(at(t, "socks5://ann:pass-word@"+s.Addr().String()))
	t.Cleanup(r.CloseIdleConnections)
	resp, err := get(t, r, "http://network.invalid/")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if string(text) != "hello" || err != nil {
		t.Errorf("read %q, %v", text, err)
	}
	r.CloseIdleConnections() // one at a time
	conn, err := r.Dial(t.Context(), &url.URL{Scheme: "tcp"}, "tcp", "other.invalid:7583")
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	for _, want := range []string{"network.invalid:80", "other.invalid:7583"} {
		if got := <-s.asked; got != want {
			t.Errorf("the proxy was asked for %s, want %s", got, want)
		}
	}
}

// firstday A3: a connection through a tunnel loses nothing that came with the proxy's
// answer.
func TestRouteDialKeepsWhatComesWithTheAnswer(t *testing.T) {
	t.Parallel()
	for _, secured := range []bool{false, true} {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\nearly")
			_ = conn.Close()
		}))
		if secured {
			s.TLS = &tls.Config{NextProtos: []string{"http/1.1"}} // of a test
			s.StartTLS()
		} else {
			s.Start()
		}
		t.Cleanup(s.Close)
		conn, err := route.New(at(t, s.URL)).Dial(t.Context(), &url.URL{Scheme: "ws"}, "tcp", "x.invalid:1")
		if secured { // nobody vouches for it: what is asked for is TLS
			if err == nil || !strings.Contains(err.Error(), "certificate") {
				t.Errorf("Dial over a proxy of an unknown certificate gave %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if text, err := io.ReadAll(conn); string(text) != "early" || err != nil {
			t.Errorf("read %q, %v", text, err)
		}
	}
}

// A dial that its context ends leaves no connection.
func TestRouteDialEndsWithItsContext(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			left <- err
			return
		}
		cancel()
		_, err = io.Copy(io.Discard, conn) // until it is closed
		left <- err
		_ = conn.Close()
	}()
	defer cancel()
	_, err = route.New(at(t, "http://"+l.Addr().String())).Dial(ctx, &url.URL{Scheme: "https"}, "tcp", "x.invalid:1")
	if err == nil || !strings.Contains(err.Error(), "canceled") {
		t.Errorf("Dial gave %v", err)
	}
	select {
	case err := <-left:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("the connection to the proxy stays")
	}
}

// socks is a SOCKS 5 proxy (RFC 1928, 1929) by which everything is in one place.
type socks struct {
	net.Listener

	asked chan string
}

func newSOCKS(t *testing.T, to string) *socks {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &socks{l, make(chan string, 8)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.serve(t, conn, to)
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return s
}

// serve makes one connection, of one exchange.
func (s *socks) serve(t *testing.T, conn net.Conn, to string) {
	t.Helper()
	defer func() { _ = conn.Close() }()
	read := func(n int) []byte {
		b := make([]byte, n)
		if _, err := io.ReadFull(conn, b); err != nil {
			t.Error(err)
		}
		return b
	}
	methods := read(int(read(2)[1]))
	if !slices.Contains(methods, 2) {
		t.Errorf("the methods are %v, none with a password", methods)
		return
	}
	_, _ = conn.Write([]byte{5, 2})
	name := read(int(read(2)[1]))
	if pass := read(int(read(1)[0])); string(name) != "ann" || string(pass) != "pass-word" {
		t.Errorf("came as %s with %s", name, pass)
	}
	_, _ = conn.Write([]byte{1, 0})
	if head := read(4); head[3] != 3 {
		t.Errorf("asked for an address of the kind %d, not for a name", head[3])
		return
	}
	host := string(read(int(read(1)[0])))
	s.asked <- net.JoinHostPort(host, portOf(read(2)))
	out, err := new(net.Dialer).DialContext(t.Context(), "tcp", to)
	if err != nil {
		t.Error(err)
		return
	}
	_, _ = conn.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0}) // only now: then who asked may go
	go func() {
		_, _ = io.Copy(out, conn)
		_ = out.Close()
	}()
	_, _ = io.Copy(conn, out)
}

func portOf(b []byte) string { return strconv.Itoa(int(binary.BigEndian.Uint16(b))) }
