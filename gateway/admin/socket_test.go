package admin

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/gateway/listeners"
	"parley/runtest"
)

// serving is a server on path without anything behind it, until stop or the end
// of the test.
func serving(t *testing.T, path string, change func(*Server)) (stop func()) {
	t.Helper()
	s, err := New(t.Context(), Options{
		Socket: path, Version: "test", Now: time.Now, Channels: NewChannels(nil, nil, time.Now), Recent: func() Recent { return Recent{} }, Circuits: func() []Circuit { return nil },
		Ready: func(context.Context) (bool, map[string]string) { return true, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(s)
	}
	return runtest.Start(t, "the server", func(ctx context.Context) error { return errors.Join(s.Run(ctx), s.Close()) })
}

// reached says whether a gateway answers at path, with an error of its own.
func reached(t *testing.T, path string) bool {
	t.Helper()
	err := NewClient(path).request(t.Context(), http.MethodGet, "/v1/nothing", nil, nil)
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind == NotFound
	}
	return false
}

func TestOnlyItsOwnerMayUseTheSocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "admin.sock")
	stop := serving(t, path, nil)
	for name, want := range map[string]fs.FileMode{path: fs.ModeSocket | 0o600, filepath.Dir(path): fs.ModeDir | 0o700} {
		info, err := os.Lstat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != want {
			t.Errorf("%s has the mode %s, not %s", name, info.Mode(), want)
		}
	}
	if !reached(t, path) {
		t.Error("its owner is not answered")
	}
	stop()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
}

func TestSomebodyElseIsRefusedEvenWhenTheModeLetsThemIn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		uid     int
		err     error
		allowed bool
	}{
		{os.Geteuid(), nil, true},
		{0, nil, true},
		{os.Geteuid() + 1, nil, false},
		{65534, nil, false},
		{-1, errors.New("nobody knows"), false},
		{0, errors.New("nobody knows"), false},
	} {
		var log bytes.Buffer
		path := filepath.Join(t.TempDir(), "admin.sock")
		stop := serving(t, path, func(s *Server) {
			s.socket.Log = slog.New(slog.NewTextHandler(&log, nil))
			s.socket.Peer = func(*net.UnixConn) (int, error) { return c.uid, c.err }
		})
		if got := reached(t, path); got != c.allowed {
			t.Errorf("uid %d, %v: answered is %v", c.uid, c.err, got)
		}
		if _, err := NewClient(path).Status(t.Context()); !c.allowed && !errors.Is(err, ErrNotYours) {
			t.Errorf("uid %d was told %v", c.uid, err)
		}
		stop()
		if refused := strings.Contains(log.String(), "refused"); refused == c.allowed {
			t.Errorf("uid %d: the log says %q", c.uid, log.String())
		}
	}
}

// hungUp is a connection whose other end hung up at once. A write waits until
// the reader has seen that and closed it.
type hungUp struct {
	net.Conn
	closed chan struct{}
	once   sync.Once
}

func (c *hungUp) Read([]byte) (int, error) { return 0, io.EOF }

func (c *hungUp) Write([]byte) (int, error) {
	<-c.closed
	return 0, net.ErrClosed
}

func (c *hungUp) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

func TestWhoIsHungUpOnBeforeAskingIsToldSo(t *testing.T) {
	t.Parallel()
	c := NewClient("admin.sock")
	c.http.Transport = &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			return &clientConn{Conn: &hungUp{closed: make(chan struct{})}}, nil
		},
	}
	if _, err := c.Status(t.Context()); !errors.Is(err, ErrNotYours) {
		t.Errorf("the client says: %v", err)
	}
}

func TestAnAnswerThatBreaksOffIsNoRefusal(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "admin.sock")
	s, err := listeners.OpenSocket(t.Context(), path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	ended := make(chan error, 1)
	go func() {
		c, err := s.AcceptUnix()
		if err == nil {
			_, err = c.Read(make([]byte, 1))
			_, werr := c.Write([]byte("HTTP/1.1 200"))
			err = errors.Join(err, werr, c.Close())
		}
		ended <- err
	}()
	_, err = NewClient(path).Status(t.Context())
	if err == nil || errors.Is(err, ErrNotYours) || errors.Is(err, ErrNoGateway) {
		t.Errorf("the client says: %v", err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestADeadGatewaysSocketIsReplacedAndALivingOnesIsNot(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "admin.sock")
	dead, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	dead.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := dead.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := NewClient(path).Status(t.Context()); !errors.Is(err, ErrNoGateway) {
		t.Errorf("of the dead one the client says: %v", err)
	}
	serving(t, path, nil)
	if !reached(t, path) {
		t.Error("the dead one's socket was not replaced")
	}
	_, err = New(t.Context(), Options{Socket: path, Now: time.Now})
	if err == nil || err.Error() != "admin.socket: another gateway answers on "+path+": end it, or name another path" {
		t.Errorf("a second one: %v", err)
	}
	if !reached(t, path) {
		t.Error("the living one's socket is gone")
	}
}

func TestWhatIsNoSocketIsLeftAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "admin.sock")
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link.sock")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, link, dir} {
		if _, err := New(t.Context(), Options{Socket: p, Now: time.Now}); err == nil || !strings.Contains(err.Error(), p+" is there, and is no socket") {
			t.Errorf("%s: %v", p, err)
		}
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "mine" {
		t.Errorf("the file holds %q, %v", b, err)
	}
}

func TestASocketThatAnotherOneReplacedIsNotRemoved(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "admin.sock")
	stop := serving(t, path, nil)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	serving(t, path, nil)
	stop()
	if !reached(t, path) {
		t.Error("the other one's socket is gone")
	}
}

func TestALongPathIsServedAndALongNameIsExplained(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), strings.Repeat("long/", 40), "admin.sock")
	if len(path) < 200 {
		t.Fatal("this test's path is short")
	}
	serving(t, path, nil)
	if !reached(t, path) {
		t.Error("nobody is answered at a long path")
	}
	path = filepath.Join(t.TempDir(), strings.Repeat("n", 100))
	err := listeners.CheckSocket(path)
	if err == nil || !strings.Contains(err.Error(), "that of a Unix socket has at most 103: name a shorter one, or off: "+path) {
		t.Errorf("a long name: %v", err)
	}
}

func TestWhereNoGatewayIsTheClientSaysSo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(dir, "admin.sock"), filepath.Join(dir, "no", "admin.sock"), filepath.Join(file, "admin.sock"), filepath.Join(dir, strings.Repeat("long/", 40), "admin.sock")} {
		if _, err := NewClient(path).Status(t.Context()); !errors.Is(err, ErrNoGateway) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestWhatTheGatewayDoesNotKnowIsSaid(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "admin.sock")
	serving(t, path, nil)
	c := NewClient(path)
	for ask, want := range map[string]string{
		"GET /v2/status":       "not_found: gateway version test does not know GET /v2/status: is it as new as this program?",
		"POST /v1/status":      "not_found: gateway version test does not know POST /v1/status: is it as new as this program?",
		"GET /v1/status?all=1": `invalid: unknown parameter "all" for this gateway`,
	} {
		method, rest, _ := strings.Cut(ask, " ")
		at, query, _ := strings.Cut(rest, "?")
		values := map[string][]string{}
		if name, value, ok := strings.Cut(query, "="); ok {
			values[name] = []string{value}
		}
		err := c.request(t.Context(), method, at, values, nil)
		e, ok := errors.AsType[*Error](err)
		if !ok || string(e.Kind)+": "+e.Message != want {
			t.Errorf("%s: %v", ask, err)
		}
	}
}

// oldGateway answers as net/http does before any code of ours.
type oldGateway struct{ status int }

func (g oldGateway) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	http.Error(w, http.StatusText(g.status), g.status)
	resp := w.Result()
	resp.Request = r
	return resp, nil
}

func TestAGatewayThatIsOlderThanTheCommandIsNamedAsTheReason(t *testing.T) {
	t.Parallel()
	c := NewClient("admin.sock")
	for status, want := range map[int]string{
		http.StatusMethodNotAllowed:    "not_found: the gateway does not know POST /v1/sessions/import: is it as new as this program?",
		http.StatusNotFound:            "not_found: the gateway does not know POST /v1/sessions/import: is it as new as this program?",
		http.StatusInternalServerError: "failed: the gateway answered 500 Internal Server Error",
	} {
		c.http.Transport = oldGateway{status}
		_, err := c.Import(t.Context(), strings.NewReader("{}"), "")
		if e, ok := errors.AsType[*Error](err); !ok || string(e.Kind)+": "+e.Message != want {
			t.Errorf("%d: %v", status, err)
		}
	}
}
