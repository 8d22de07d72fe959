package outlet_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"parley/tools/outlet"
	"parley/tools/web/guard"
	"parley/tools/web/guard/guardtest"
)

// bench is a site on loopback, an outlet that leads there by the name allowed.test, and a
// program that knows the outlet as its proxy.
type bench struct {
	site    *httptest.Server
	hits    atomic.Int64
	port    string
	outlet  *outlet.Outlet
	proxy   string
	program *http.Client
	end     func() // ends the program
}

// newBench makes one; change may say more of the options.
func newBench(t *testing.T, secure bool, change func(b *bench, o *outlet.Options)) *bench {
	t.Helper()
	b := &bench{}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.hits.Add(1)
		if r.URL.Path == "/hang" {
			_, _ = io.WriteString(w, "first")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return
		}
		_, _ = fmt.Fprintf(w, "hello to %s for %s, proxied: %q", r.Host, r.RequestURI, r.Header.Get("X-Forwarded-For")+r.Header.Get("Proxy-Authorization"))
	})
	b.site = httptest.NewUnstartedServer(h)
	if secure {
		b.site.StartTLS()
	} else {
		b.site.Start()
	}
	t.Cleanup(b.site.Close)
	at := netip.MustParseAddrPort(b.site.Listener.Addr().String())
	b.port = fmt.Sprint(at.Port())
	o := outlet.Options{
		Hosts:   []string{"allowed.test:" + b.port},
		Private: []guard.Network{{CIDR: "127.0.0.1/32", Ports: []int{int(at.Port())}}},
		Resolver: guardtest.Resolver(map[string][]string{
			"allowed.test.": {"127.0.0.1"}, "other.test.": {"127.0.0.1"}, "inside.test.": {"10.0.0.1"}, "cloud.test.": {"169.254.169.254"},
		}),
	}
	if change != nil {
		change(b, &o)
	}
	var err error
	if b.outlet, err = outlet.New(o); err != nil {
		t.Fatal(err)
	}
	b.serve(t)
	return b
}

// serve serves the program until the test, or end, ends it.
func (b *bench) serve(t *testing.T) {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.outlet.Serve(ctx, l)
	}()
	b.end = func() {
		cancel()
		<-done
	}
	t.Cleanup(b.end)
	b.proxy = l.Addr().String()
	transport, ok := b.site.Client().Transport.(*http.Transport)
	if !ok {
		t.Fatal("the site's client is of another kind")
	}
	transport = transport.Clone()
	transport.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: b.proxy})
	if transport.TLSClientConfig != nil {
		transport.TLSClientConfig.ServerName = "example.com" // whose certificate the site has
	}
	b.program = &http.Client{Transport: transport}
	t.Cleanup(transport.CloseIdleConnections)
}

// get asks for a URL through the outlet.
func (b *bench) get(t *testing.T, to string) (int, string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, to, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := b.program.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	return res.StatusCode, string(body), err
}

func TestOutletLeadsToHostsOfItsList(t *testing.T) {
	t.Parallel()
	b := newBench(t, false, nil)
	status, body, err := b.get(t, "http://allowed.test:"+b.port+"/a%2Fb?q=1;2")
	if want := "hello to allowed.test:" + b.port + ` for /a%2Fb?q=1;2, proxied: ""`; status != http.StatusOK || body != want || err != nil {
		t.Errorf("%d %q, %v, want %q", status, body, err, want)
	}
	s := newBench(t, true, nil)
	status, body, err = s.get(t, "https://ALLOWED.test.:"+s.port+"/x")
	if status != http.StatusOK || !strings.HasPrefix(body, "hello to") || err != nil {
		t.Errorf("through a tunnel: %d %q, %v", status, body, err)
	}
	if text := b.outlet.Report() + s.outlet.Report(); text != "" {
		t.Errorf("refused was %q", text)
	}
}

// What is not in the list is not asked, by whatever name; what is in it is not asked at an
// address out of reach. The program reads why, and what to do.
func TestOutletRefuses(t *testing.T) {
	t.Parallel()
	var logged strings.Builder
	change := func(_ *bench, o *outlet.Options) {
		o.Hosts = append(o.Hosts, "inside.test", "cloud.test:80", "*.test:9", "10.0.0.1")
		o.Log = slog.New(slog.NewTextHandler(&logged, nil))
	}
	plain, secure := newBench(t, false, change), newBench(t, true, change)
	for name, c := range map[string]struct{ host, want string }{
		"another host":               {"other.test:PORT", "other.test:PORT is out of reach: this program may connect to allowed.test:PORT, inside.test, cloud.test:80, *.test:9, 10.0.0.1 only. Do without, or tell the person that parley's operator would have to add the host under network"},
		"another port":               {"allowed.test:8", "allowed.test:8 is out of reach"},
		"an address":                 {"127.0.0.1:PORT", "127.0.0.1:PORT is out of reach"},
		"an address as a number":     {"2130706433:PORT", "2130706433:PORT is out of reach"},
		"an address, mapped":         {"[::ffff:127.0.0.1]:PORT", "127.0.0.1:PORT is out of reach"},
		"a private address":          {"10.0.0.1:80", "10.0.0.1:80 is out of reach: its address is not one of the public internet. Do without, or tell the person that parley's operator would have to open its network under allow_private"},
		"a private address, by name": {"inside.test:443", "inside.test:443 is out of reach: its address is not"},
		"a cloud's own, by name":     {"cloud.test:80", "cloud.test:80 is out of reach: its address is not"},
	} {
		for scheme, b := range map[string]*bench{"http": plain, "https": secure} {
			host, want := strings.ReplaceAll(c.host, "PORT", b.port), strings.ReplaceAll(c.want, "PORT", b.port)
			status, body, err := b.get(t, scheme+"://"+host+"/")
			said := body
			if scheme == "https" && err != nil { // of a tunnel that was refused a client has the status line alone
				status, said = http.StatusForbidden, err.Error()
			}
			if status != http.StatusForbidden || !strings.Contains(said, want) {
				t.Errorf("%s, %s: %d %q, %v, want %q", name, scheme, status, body, err, want)
			}
			if !strings.Contains(b.outlet.Report(), "parley: "+want) {
				t.Errorf("%s, %s: the report is %q", name, scheme, b.outlet.Report())
			}
		}
	}
	if plain.hits.Load()+secure.hits.Load() != 0 {
		t.Error("a site was asked")
	}
	if n := strings.Count(logged.String(), `msg="host refused to a program" host=allowed.test:8`); n != 2 {
		t.Errorf("the two logs name a host %d times:\n%s", n, logged.String())
	}
}

// A name that leads elsewhere the second time leads nowhere then.
func TestOutletChecksAddressesWhenItConnects(t *testing.T) {
	t.Parallel()
	b := newBench(t, false, func(_ *bench, o *outlet.Options) {
		o.Resolver = guardtest.Resolver(map[string][]string{"allowed.test.": {"127.0.0.1", "127.0.0.2"}})
	})
	if status, body, err := b.get(t, "http://allowed.test:"+b.port); status != http.StatusOK {
		t.Errorf("at first: %d %q, %v", status, body, err)
	}
	if status, body, err := b.get(t, "http://allowed.test:"+b.port); status != http.StatusForbidden || b.hits.Load() != 1 {
		t.Errorf("then: %d %q, %v", status, body, err)
	}
}

// Whatever a program sends that is no request for a host, it is told so.
func TestOutletIsAProxyOnly(t *testing.T) {
	t.Parallel()
	b := newBench(t, false, nil)
	for request, want := range map[string]string{
		"GET / HTTP/1.1\r\nHost: allowed.test:" + b.port:                                      "400 Bad Request",
		"GET ftp://allowed.test/x HTTP/1.1\r\nHost: allowed.test":                             "400 Bad Request",
		"GET https://allowed.test/x HTTP/1.1\r\nHost: allowed.test":                           "400 Bad Request",
		"CONNECT allowed.test HTTP/1.1\r\nHost: allowed.test":                                 "400 a host and its port belong behind CONNECT",
		"CONNECT allowed.test:http HTTP/1.1\r\nHost: allowed.test":                            "400 ",
		"OPTIONS * HTTP/1.1\r\nHost: allowed.test":                                            "400 Bad Request",
		"GET http://other.test:" + b.port + "/ HTTP/1.1\r\nHost: allowed.test:" + b.port:      "403 Forbidden",
		"CONNECT other.test:" + b.port + " HTTP/1.1\r\nHost: allowed.test:" + b.port:          "403 other.test:",
		"GET http://a@allowed.test:" + b.port + "@other.test/ HTTP/1.1\r\nHost: allowed.test": "4",
		"GET http://unknown.test/ HTTP/1.1\r\nHost: unknown.test":                             "403 ",
		"GET http://allowed.test:" + b.port + "/ HTTP/1.1\r\nHost: other.test":                "200 OK",
	} {
		var d net.Dialer
		c, err := d.DialContext(t.Context(), "tcp", b.proxy)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, request+"\r\nConnection: close\r\n\r\n"); err != nil {
			t.Error(err)
		}
		answer, err := io.ReadAll(c)
		if first, _, _ := strings.Cut(string(answer), "\r\n"); !strings.HasPrefix(first, "HTTP/1.1 "+want) {
			t.Errorf("%q is answered %q, %v, want %q", request, first, err, want)
		}
		if strings.HasPrefix(want, "200") && !strings.Contains(string(answer), "hello to allowed.test:") {
			t.Errorf("the site was asked for another host: %q", answer)
		}
		_ = c.Close()
	}
	if n := b.hits.Load(); n != 1 {
		t.Errorf("the site was asked %d times", n)
	}
}

// When a program has ended, nothing of what it began is left.
func TestOutletEndsWithItsProgram(t *testing.T) {
	t.Parallel()
	for name, secure := range map[string]bool{"a request": false, "a tunnel": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, secure, nil)
			ended := make(chan struct{})
			h := b.site.Config.Handler
			b.site.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				h.ServeHTTP(w, r)
				close(ended)
			})
			scheme := map[bool]string{false: "http", true: "https"}[secure]
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, scheme+"://allowed.test:"+b.port+"/hang", nil)
			if err != nil {
				t.Fatal(err)
			}
			res, err := b.program.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = res.Body.Close() }()
			if _, err := io.ReadFull(res.Body, make([]byte, 5)); err != nil {
				t.Fatal(err)
			}
			b.end()
			<-ended // the site has seen the connection end
			if rest, err := io.ReadAll(res.Body); err == nil {
				t.Errorf("the answer ended well, with %q", rest)
			}
			var d net.Dialer
			if c, err := d.DialContext(t.Context(), "tcp", b.proxy); err == nil {
				_ = c.Close()
				t.Error("the proxy still listens")
			}
		})
	}
}

func TestNewRefusesWhatIsNoHost(t *testing.T) {
	t.Parallel()
	for _, o := range []outlet.Options{
		{Hosts: []string{"https://example.org"}},
		{Hosts: []string{"example.org"}, Private: []guard.Network{{CIDR: "8.8.8.8/32"}}},
	} {
		if _, err := outlet.New(o); err == nil {
			t.Errorf("%v: made", o)
		}
	}
}

// A server that says nothing more, and a program that sends on, are both heard to the end: each
// way of a tunnel ends by itself.
func TestTunnelsEndOneWayAtATime(t *testing.T) {
	t.Parallel()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	heard := make(chan string, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			heard <- err.Error()
			return
		}
		defer func() { _ = c.Close() }()
		text, err := io.ReadAll(c) // until the program says that nothing more comes
		_, _ = io.WriteString(c, "bye")
		heard <- string(text) + fmt.Sprint(err)
	}()
	at := netip.MustParseAddrPort(l.Addr().String())
	b := newBench(t, false, func(_ *bench, o *outlet.Options) {
		o.Hosts = []string{fmt.Sprintf("allowed.test:%d", at.Port())}
		o.Private = []guard.Network{{CIDR: "127.0.0.1/32", Ports: []int{int(at.Port())}}}
	})
	var d net.Dialer
	c, err := d.DialContext(t.Context(), "tcp", b.proxy)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	// What is sent before the answer to CONNECT goes through the tunnel too.
	if _, err := fmt.Fprintf(c, "CONNECT allowed.test:%d HTTP/1.1\r\n\r\nhello", at.Port()); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(c)
	var head []string
	for line := "?"; strings.TrimSpace(line) != "" && err == nil; {
		line, err = r.ReadString('\n')
		head = append(head, strings.TrimSpace(line))
	}
	if err != nil || !slices.Equal(head, []string{"HTTP/1.1 200 Connection established", ""}) {
		t.Fatalf("%q, %v", head, err)
	}
	half, ok := c.(*net.TCPConn)
	if !ok {
		t.Fatal("no TCP")
	}
	if err := half.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(r)
	if got := <-heard; got != "hello<nil>" || string(rest) != "bye" || err != nil {
		t.Errorf("the host heard %q, and the program %q, %v", got, rest, err)
	}
}
