//go:build amd64 || arm64

package sandbox

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"parley/tools/outlet"
	"parley/tools/web/guard"
	"parley/tools/web/guard/guardtest"
)

// clientArg makes this binary a program that does what its further arguments say, one after
// the other, and writes a line for each; see client.
const clientArg = "sandbox-test-client"

// client is what curl and its like do: it asks for a URL by the proxy of its environment, or
// tries another way. Each argument is a word and what it is about.
func client(args []string) {
	for i := 0; i+1 < len(args); i += 2 {
		fmt.Printf("%s %s: %s\n", args[i], args[i+1], attempt(args[i], args[i+1]))
	}
	os.Exit(0)
}

func attempt(way, about string) string {
	var err error
	switch way {
	case "get":
		transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
		res, got := (&http.Client{Transport: transport, Timeout: bound}).Get(about) //nolint:noctx // it has a time
		if got != nil {
			return got.Error()
		}
		body, got := io.ReadAll(res.Body)
		_ = res.Body.Close()
		return fmt.Sprintf("%d %q %v", res.StatusCode, body, got)
	case "tunnel": // to somewhere, and a line through it
		c, got := net.Dial("tcp", strings.TrimPrefix(os.Getenv("https_proxy"), "http://")) //nolint:noctx // of this machine
		if got != nil {
			return got.Error()
		}
		_, err = fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\n\r\n", about)
		line, got := bufio.NewReader(c).ReadString('\n')
		return fmt.Sprintf("%q %v", line, errors.Join(err, got))
	case "dial":
		network, address, _ := strings.Cut(about, "/")
		err = dial(network, address)
	case "listen":
		err = listen(about)
	case "variable":
		return os.Getenv(about)
	case "socket":
		var family, kind, protocol int
		_, err = fmt.Sscanf(about, "%d/%d/%d", &family, &kind, &protocol)
		if err == nil {
			var fd int
			if fd, err = unix.Socket(family, kind|unix.SOCK_CLOEXEC, protocol); err == nil {
				err = unix.Close(fd)
			}
		}
	}
	if err != nil {
		return err.Error()
	}
	return "done"
}

// site is a web server of this machine.
func site(t *testing.T) (*httptest.Server, netip.AddrPort) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "hello to %s", r.Host)
		if r.URL.Path == "/hang" {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	}))
	t.Cleanup(s.Close)
	return s, netip.MustParseAddrPort(s.Listener.Addr().String())
}

// newOutlet is one to a port of loopback, by the name allowed.test, and to names that lead
// elsewhere.
func newOutlet(t *testing.T, port uint16) *outlet.Outlet {
	t.Helper()
	o, err := outlet.New(outlet.Options{
		Hosts:    []string{fmt.Sprintf("allowed.test:%d", port), "inside.test"},
		Private:  []guard.Network{{CIDR: "127.0.0.1/32", Ports: []int{int(port)}}},
		Resolver: guardtest.Resolver(map[string][]string{"allowed.test.": {"127.0.0.1"}, "other.test.": {"127.0.0.1"}, "inside.test.": {"10.0.0.1"}}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// runClient runs the client of this binary with an outlet.
func runClient(t *testing.T, s *Sandbox, o Outlet, args ...string) (string, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	res, out, err := sh(t, s, "", func(c *Command) {
		c.Args, c.ReadOnly, c.Outlet = append([]string{self, clientArg}, args...), []string{self}, o
		c.Env = []string{"HTTPS_PROXY=http://example.org"}
	})
	if err == nil && res.Code != 0 {
		t.Errorf("the client ended with %+v", res)
	}
	return out, err
}

// A program with an outlet reaches what that lets it reach, by HTTP and by a tunnel, and
// nothing else in any way. That no other way out is open its self-test sees, which comes first.
func TestOutlet(t *testing.T) {
	s := walled(t)
	_, at := site(t)
	port := itoa(int(at.Port()))
	if s.Level() == LevelB {
		_, err := runClient(t, s, newOutlet(t, at.Port()).Serve, "get", "http://allowed.test:"+port)
		if !errors.Is(err, ErrNoOutlet) || !strings.Contains(err.Error(), "it takes namespaces, and the sandbox is of level B") {
			t.Errorf("at level B it answers %v", err)
		}
		return
	}
	const refused = "" // in whatever words
	attempts := [][3]string{
		{"variable", "HTTP_PROXY", "http://127.0.0.1:3128"},
		{"variable", "HTTPS_PROXY", "http://127.0.0.1:3128"}, // whatever the command says
		{"variable", "ALL_PROXY", "http://127.0.0.1:3128"},
		{"variable", "http_proxy", "http://127.0.0.1:3128"},
		{"variable", "https_proxy", "http://127.0.0.1:3128"},
		{"variable", "all_proxy", "http://127.0.0.1:3128"},
		{"variable", "NODE_USE_ENV_PROXY", "1"},
		{"get", "http://allowed.test:" + port + "/", `200 "hello to allowed.test:` + port + `" <nil>`},
		{"tunnel", "allowed.test:" + port, `"HTTP/1.1 200 Connection established\r\n" <nil>`},
		{"get", "http://other.test:" + port + "/", `403 "other.test:` + port + ` is out of reach: this program may connect to allowed.test:` + port + `, inside.test only.`},
		{"get", "http://inside.test/", `403 "inside.test:80 is out of reach: its address is not one of the public internet.`},
		{"get", "https://inside.test/", `inside.test:443 is out of reach: its address is not one of the public internet.`},
		{"tunnel", "other.test:" + port, `"HTTP/1.1 403 other.test:` + port + ` is out of reach`},
		{"tunnel", "127.0.0.1:" + port, `"HTTP/1.1 403 127.0.0.1:` + port + ` is out of reach`},
		{"tunnel", "allowed.test:22", `"HTTP/1.1 403 allowed.test:22 is out of reach`},
		{"dial", "tcp/127.0.0.1:" + port, refused},
		{"dial", "tcp/127.0.0.2:3128", refused},
		{"dial", "tcp/[::1]:3128", refused},
		{"dial", "tcp/1.1.1.1:443", refused},
		{"dial", "udp/127.0.0.1:3128", refused},
		{"dial", "udp/1.1.1.1:53", refused},
		{"listen", "127.0.0.1:0", refused},
		{"socket", fmt.Sprintf("%d/%d/0", unix.AF_INET, unix.SOCK_DGRAM), "operation not permitted"},
		{"socket", fmt.Sprintf("%d/%d/%d", unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_TCP), "operation not permitted"},
		{"socket", fmt.Sprintf("%d/%d/%d", unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP), "protocol not supported"},
		{"socket", fmt.Sprintf("%d/%d/0", unix.AF_INET6, unix.SOCK_STREAM), "address family not supported"},
		{"socket", fmt.Sprintf("%d/%d/0", unix.AF_UNIX, unix.SOCK_STREAM), "address family not supported"},
		{"socket", fmt.Sprintf("%d/%d/0", unix.AF_NETLINK, unix.SOCK_RAW), "address family not supported"},
	}
	var args []string
	for _, a := range attempts {
		args = append(args, a[0], a[1])
	}
	o := newOutlet(t, at.Port())
	out, err := runClient(t, s, o.Serve, args...)
	lines := slices.DeleteFunc(strings.Split(out, "\n"), func(line string) bool {
		return strings.HasPrefix(line, "==") // the race detector misses its /proc
	})
	if err != nil || len(lines) != len(attempts)+1 {
		t.Fatalf("%q, %v", out, err)
	}
	for i, a := range attempts {
		got, ok := strings.CutPrefix(lines[i], a[0]+" "+a[1]+": ")
		if !ok || a[2] == refused && got == "done" || !strings.Contains(got, a[2]) {
			t.Errorf("%s, want %q", lines[i], a[2])
		}
	}
	if text := o.Report(); strings.Count(text, "\n") != 5 {
		t.Errorf("the report is %q", text)
	}
	t.Run("is refused where the walls around it do not hold", func(t *testing.T) {
		if os.Getenv(worldEnv) != "" {
			t.Skip("tried outside of the worlds")
		}
		other := *s
		other.outlet, other.system.walls = &trial{}, walls{}
		other.system.uid, other.system.gid = os.Geteuid(), os.Getegid()
		_, out, err := sh(t, &other, "echo ran", func(c *Command) { c.Outlet = newOutlet(t, at.Port()).Serve })
		if !errors.Is(err, ErrEscaped) || out != "" {
			t.Errorf("it answers %v, and %q ran", err, out)
		}
	})
	t.Run("ends with its program", func(t *testing.T) { testOutletEnds(t, s) })
}

// testOutletEnds kills a program in the midst of an answer.
func testOutletEnds(t *testing.T, s *Sandbox) {
	web, at := site(t)
	asked, left := make(chan struct{}), make(chan struct{})
	h := web.Config.Handler
	web.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(asked)
		h.ServeHTTP(w, r)
		close(left)
	})
	before := descriptors(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	go func() {
		<-asked
		cancel(errEnough)
	}()
	hang := time.AfterFunc(bound, func() { cancel(errors.New("the program hangs")) })
	defer hang.Stop()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Run(ctx, Command{
		Args: []string{self, clientArg, "get", fmt.Sprintf("http://allowed.test:%d/hang", at.Port())}, ReadOnly: []string{self},
		Workspace: t.TempDir(), Outlet: newOutlet(t, at.Port()).Serve,
	})
	if !errors.Is(err, errEnough) {
		t.Errorf("it ended with %v", err)
	}
	<-left // the site has seen its connection end
	web.Close()
	if n := descriptors(t); n > before || helpers(t) > 0 {
		t.Errorf("%d descriptors and %d helpers are left, and %d descriptors were there before", n, helpers(t), before)
	}
}

// A command has the machine's network or an outlet.
func TestOutletAndNetworkExcludeEachOther(t *testing.T) {
	s := walled(t)
	_, _, err := sh(t, s, "true", func(c *Command) {
		c.Network, c.Outlet = true, func(context.Context, net.Listener) {}
	})
	if err == nil || !strings.Contains(err.Error(), "of which it can have one") {
		t.Error(err)
	}
}

// Without walls nothing keeps a program to its hosts, so it does not run.
func TestOutletNeedsWalls(t *testing.T) {
	s, err := Open(t.Context(), Config{Mode: ModeUnsafeHost, Getenv: os.LookupEnv})
	if err != nil {
		t.Fatal(err)
	}
	_, out, err := sh(t, s, "echo ran", func(c *Command) { c.Outlet = func(context.Context, net.Listener) {} })
	if !errors.Is(err, ErrNoOutlet) || out != "" {
		t.Errorf("%q, %v", out, err)
	}
}
