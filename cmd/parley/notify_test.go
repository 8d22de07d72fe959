package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"parley/simulators/model"
)

func TestServiceManager(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env     string
		want    serviceManager
		problem string
	}{
		{"WATCHDOG_USEC=1000000", serviceManager{}, ""},
		{"NOTIFY_SOCKET=", serviceManager{}, ""},
		{"NOTIFY_SOCKET=/run/notify", serviceManager{"/run/notify", 0}, ""},
		{"NOTIFY_SOCKET=@notify WATCHDOG_USEC=30000000", serviceManager{"@notify", 30 * time.Second}, ""},
		{"NOTIFY_SOCKET=/run/notify WATCHDOG_USEC=30000000 WATCHDOG_PID=7", serviceManager{"/run/notify", 30 * time.Second}, ""},
		{"NOTIFY_SOCKET=/run/notify WATCHDOG_USEC=30000000 WATCHDOG_PID=8", serviceManager{"/run/notify", 0}, ""},
		{"NOTIFY_SOCKET=vsock:2:1", serviceManager{}, "NOTIFY_SOCKET is neither"},
		{"NOTIFY_SOCKET=/run/notify WATCHDOG_USEC=0", serviceManager{}, `WATCHDOG_USEC is "0"`},
		{"NOTIFY_SOCKET=/run/notify WATCHDOG_USEC=99999999999999999", serviceManager{}, `WATCHDOG_USEC is "9`},
	} {
		vars := map[string]string{}
		for pair := range strings.FieldsSeq(c.env) {
			name, value, _ := strings.Cut(pair, "=")
			vars[name] = value
		}
		got, err := newServiceManager(func(name string) (string, bool) { v, ok := vars[name]; return v, ok }, 7)
		if got != c.want || (err == nil) != (c.problem == "") || err != nil && !strings.HasPrefix(err.Error(), c.problem) {
			t.Errorf("%s: %+v, %v", c.env, got, err)
		}
	}

	t.Run("is told what happens, when it does", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			started, stopping, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
			var told []string
			followed := make(chan struct{})
			go func() {
				defer close(followed)
				serviceManager{"/run/notify", 10 * time.Second}.follow(stopping, started, ended, func(state string) {
					told = append(told, fmt.Sprintf("%s %s", time.Since(began), state))
				})
			}()
			time.Sleep(30 * time.Second)
			close(started)
			time.Sleep(12 * time.Second)
			close(stopping)
			time.Sleep(4 * time.Second)
			close(ended)
			<-followed
			want := []string{"30s READY=1\nWATCHDOG=1", "35s WATCHDOG=1", "40s WATCHDOG=1", "42s STOPPING=1", "45s WATCHDOG=1"}
			if !slices.Equal(told, want) {
				t.Errorf("%q\nwant %q", told, want)
			}
		})
	})
	t.Run("is told that a gateway which fails is stopping, and never that it was ready", func(t *testing.T) {
		t.Parallel()
		ended := make(chan struct{})
		close(ended)
		var told []string
		serviceManager{socket: "/run/notify"}.follow(nil, nil, ended, func(state string) { told = append(told, state) })
		if !slices.Equal(told, []string{"STOPPING=1"}) {
			t.Errorf("%q", told)
		}
	})
}

// notifications listens as a service manager does. The folder is a short one: the path of a
// Unix socket has at most 103 bytes.
func notifications(t *testing.T) (path string, next func() string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "notify-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path = filepath.Join(dir, "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { discard(l) })
	return path, func() string {
		t.Helper()
		if err := l.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 4096)
		n, err := l.Read(b)
		if err != nil {
			t.Fatalf("nothing came: %v", err)
		}
		return string(b[:n])
	}
}

func TestAServiceManagerThatDoesNotReadKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	path, _ := notifications(t)
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer discard(c)
	for err == nil { // until there is no room for more
		if err = c.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)); err == nil {
			_, err = c.Write([]byte("WATCHDOG=1"))
		}
	}
	if err := (serviceManager{socket: path}).send(notifyStopping); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("it is told: %v", err)
	}
}

// requirements B18: a service manager knows when the gateway takes messages, that it lives,
// and when it ends.
func TestRunTellsTheServiceManager(t *testing.T) {
	t.Parallel()
	tg, m := sims(t, model.Echo)
	path, next := notifications(t)
	config := written(t, tg.URL(), m.URL(), "127.0.0.1:0")
	p := start(t, slices.Concat(environment, []string{"NOTIFY_SOCKET=" + path, "WATCHDOG_USEC=2000000"}), "run", "--config", config)
	if got := next(); got != "READY=1\nWATCHDOG=1" {
		t.Errorf("first it tells %q", got)
	}
	p.err.awaitLines(t, 1, `"msg":"connected"`) // else its status is no success
	if !strings.Contains(saidOf(t, "status", "-c", config), "ready          yes\n") {
		t.Error("it is not ready")
	}
	if got := next(); got != "WATCHDOG=1" {
		t.Errorf("then it tells %q", got)
	}
	if status := p.end(syscall.SIGTERM); status != exitOK {
		t.Errorf("it ended with %d", status)
	}
	got := next()
	for got == "WATCHDOG=1" {
		got = next()
	}
	if got != "STOPPING=1" {
		t.Errorf("at last it tells %q", got)
	}
}

func TestRunGoesOnWithoutTheServiceManagerThatItIsToTell(t *testing.T) {
	t.Parallel()
	tg, m := sims(t, model.Echo)
	config := written(t, tg.URL(), m.URL(), "127.0.0.1:0")
	p := start(t, append(slices.Clone(environment), "NOTIFY_SOCKET="+filepath.Join(t.TempDir(), "gone")), "run", "--config", config)
	p.err.awaitLines(t, 1, `"level":"WARN","msg":"service manager not notified"`)
	say(t, tg, "hello")
	await(t, tg, "an answer", answer("hello"))
}
