package guard

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"sync/atomic"
	"testing"

	"parley/tools/web/guard/guardtest"
)

// site is a web server on an address of loopback, which counts who asked.
type site struct {
	*httptest.Server
	addr netip.AddrPort
	hits atomic.Int64
}

func newSite(t *testing.T, address string, h http.HandlerFunc) *site {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s := &site{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.hits.Add(1)
		h(w, r)
	}))
	_ = s.Listener.Close()
	s.Listener = l
	s.Start()
	t.Cleanup(s.Close)
	s.addr = netip.MustParseAddrPort(l.Addr().String())
	return s
}

func (s *site) network() Network {
	return Network{CIDR: s.addr.Addr().String() + "/32", Ports: []int{int(s.addr.Port())}}
}

// get asks a URL by g, as it is.
func get(t *testing.T, c *http.Client, to string, header http.Header) (string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, to, nil)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		r.Header[k] = v
	}
	res, err := c.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	return string(body), err
}

func hello(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }

// The guard is in place where nothing is opened: a server on loopback is not reached, and
// cannot be told from a port at which nothing listens.
func TestDialRefusesLoopback(t *testing.T) {
	t.Parallel()
	s := newSite(t, "127.0.0.1:0", hello)
	g := mustNew(t, Options{})
	var said []string
	for _, address := range []string{s.addr.String(), "127.0.0.1:80", "127.0.0.1:1", "[::1]:80", "localhost:80", "10.255.255.1:80"} {
		c, err := g.Dial(t.Context(), "tcp", address)
		if err == nil {
			_ = c.Close()
		}
		if !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", address, err)
		}
		_, err = get(t, g.Client(nil), "http://"+address, nil)
		if !errors.Is(err, ErrRefused) {
			t.Fatalf("http://%s: %v", address, err)
		}
		said = append(said, errors.Unwrap(errors.Unwrap(err)).Error())
	}
	for _, s := range said {
		if s != said[0] {
			t.Errorf("answers differ: %q", said)
		}
	}
	if n := s.hits.Load(); n != 0 {
		t.Errorf("the server was asked %d times", n)
	}
}

// A name that resolves to something else the second time leads nowhere else: the address
// is checked that is connected to.
func TestDialAfterRebinding(t *testing.T) {
	t.Parallel()
	open := newSite(t, "127.0.0.1:0", hello)
	inside := newSite(t, fmt.Sprintf("127.0.0.2:%d", open.addr.Port()), hello)
	g := mustNew(t, Options{
		Private:  []Network{open.network()},
		Resolver: guardtest.Resolver(map[string][]string{"rebind.test.": {"127.0.0.1", "127.0.0.2"}}),
	})
	to := fmt.Sprintf("http://rebind.test:%d/", open.addr.Port())
	c := g.Client(nil)
	if text, err := get(t, c, to, nil); text != "hello" || err != nil {
		t.Errorf("at first: %q, %v", text, err)
	}
	if _, err := get(t, c, to, nil); !errors.Is(err, ErrRefused) {
		t.Errorf("then: %v", err)
	}
	if open.hits.Load() != 1 || inside.hits.Load() != 0 {
		t.Errorf("asked %d and %d times, want 1 and 0", open.hits.Load(), inside.hits.Load())
	}
	if _, err := get(t, c, "http://unknown.test/", nil); err == nil || errors.Is(err, ErrRefused) {
		t.Errorf("a name that there is not: %v", err)
	}
}

// A proxy would connect in place of the guard.
func TestClientUsesNoProxy(t *testing.T) {
	proxy := newSite(t, "127.0.0.1:0", hello)
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY"} {
		t.Setenv(name, proxy.URL)
	}
	g := mustNew(t, Options{Private: []Network{proxy.network()}})
	if _, err := get(t, g.Client(nil), "http://10.0.0.1/", nil); !errors.Is(err, ErrRefused) || proxy.hits.Load() != 0 {
		t.Errorf("%v, and the proxy was asked %d times", err, proxy.hits.Load())
	}
	if g.Client(nil).Transport.(*http.Transport).Proxy != nil {
		t.Error("the client has a proxy")
	}
}

func TestClientChecksRedirects(t *testing.T) {
	t.Parallel()
	inside := newSite(t, "127.0.0.3:0", hello)
	s := newSite(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
		if to := r.FormValue("to"); to != "" {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
			return
		}
		hello(w, r)
	})
	g := mustNew(t, Options{Private: []Network{s.network()}})
	notFile := errors.New("not there")
	c := g.Client(func(u *url.URL) error {
		if u.Path == "/forbidden" {
			return notFile
		}
		return nil
	})
	for location, want := range map[string]error{
		"/end":                                nil,
		s.URL + "/end":                        nil,
		inside.URL:                            ErrRedirect, // a port that nobody opened
		"http://127.0.0.3/":                   ErrRefused,
		"http://169.254.169.254/":             ErrRefused,
		"http://[::ffff:169.254.169.254]/":    ErrRefused,
		"file:///etc/passwd":                  errScheme,
		"ftp://127.0.0.1/":                    errScheme,
		"http://user:pass@127.0.0.1/end":      errUserinfo,
		"http://127.0.0.1:22/":                errPort,
		"/forbidden":                          notFile,
		"http://①②⑦.0.0.3/":                   ErrRefused,
		"//127.0.0.3/":                        ErrRefused,
		"http://localhost.:80/":               ErrRefused,
		"https://127.0.0.1:" + s.port() + "/": errAny,
	} {
		text, err := get(t, c, s.URL+"/?to="+url.QueryEscape(location), nil)
		switch {
		case want == nil && (err != nil || text != "hello"):
			t.Errorf("to %s: %q, %v", location, text, err)
		case want != nil && (err == nil || want.Error() != errAny.Error() && !errors.Is(err, want)):
			t.Errorf("to %s: %v, want %v", location, err, want)
		}
	}
	if inside.hits.Load() != 0 {
		t.Error("the inside was asked")
	}
	post, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/?to=/end", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if res, err := c.Do(post); err != nil { // 302 turns it into a GET
		t.Error(err)
	} else {
		_ = res.Body.Close()
	}
}

// errAny is any error.
var errAny = errors.New("any")

func (s *site) port() string { return fmt.Sprint(s.addr.Port()) }

func TestClientFollowsFiveRedirects(t *testing.T) {
	t.Parallel()
	s := newSite(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
		var left int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &left); err != nil || left == 0 {
			hello(w, r)
			return
		}
		http.Redirect(w, r, fmt.Sprintf("/%d", left-1), http.StatusTemporaryRedirect)
	})
	c := mustNew(t, Options{Private: []Network{s.network()}}).Client(nil)
	if text, err := get(t, c, s.URL+"/5", nil); err != nil || text != "hello" {
		t.Errorf("five: %q, %v", text, err)
	}
	if _, err := get(t, c, s.URL+"/6", nil); !errors.Is(err, ErrRedirects) {
		t.Errorf("six: %v", err)
	}
	post, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/1", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if res, err := c.Do(post); err == nil {
		_ = res.Body.Close()
		t.Error("a body is sent again elsewhere")
	} else if !errors.Is(err, errMethod) {
		t.Error(err)
	}
}

// security.md measured that X-Api-Key goes to another host with a 307.
func TestClientTellsNobodyElseWhoAsks(t *testing.T) {
	t.Parallel()
	got := make(chan http.Header, 10)
	note := func(w http.ResponseWriter, r *http.Request) { got <- r.Header.Clone(); hello(w, r) }
	other := newSite(t, "127.0.0.2:0", note)
	s := newSite(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "secret"})
		switch r.URL.Path {
		case "/same":
			http.Redirect(w, r, "/end", http.StatusTemporaryRedirect)
		case "/other":
			http.Redirect(w, r, other.URL+"/end", http.StatusTemporaryRedirect)
		default:
			note(w, r)
		}
	})
	back := newSite(t, "127.0.0.4:0", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, s.URL+"/same", http.StatusTemporaryRedirect)
	})
	c := mustNew(t, Options{Private: []Network{s.network(), other.network(), back.network()}}).Client(nil)
	secrets := http.Header{"X-Api-Key": {"k"}, "Authorization": {"Bearer k"}, "Cookie": {"a=b"}, "User-Agent": {"parley/1"}, "Accept": {"text/html"}}
	for path, keeps := range map[string]bool{s.URL + "/same": true, s.URL + "/other": false, back.URL: false} {
		if text, err := get(t, c, path, secrets); err != nil || text != "hello" {
			t.Fatalf("%s: %q, %v", path, text, err)
		}
		h := <-got
		for _, name := range []string{"X-Api-Key", "Authorization", "Cookie"} {
			if (h.Get(name) != "") != keeps {
				t.Errorf("%s: %s is %q", path, name, h.Get(name))
			}
		}
		if h.Get("User-Agent") != "parley/1" || h.Get("Accept") != "text/html" || h.Get("Referer") != "" {
			t.Errorf("%s: %v", path, h)
		}
	}
}

func TestClientBoundsHeaders(t *testing.T) {
	t.Parallel()
	s := newSite(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
		for i := range 200 {
			w.Header().Set(fmt.Sprintf("X-%d", i), fmt.Sprintf("%01000d", i))
		}
		hello(w, r)
	})
	c := mustNew(t, Options{Private: []Network{s.network()}}).Client(nil)
	if _, err := get(t, c, s.URL, nil); err == nil {
		t.Error("200 kB of headers are taken")
	}
}
