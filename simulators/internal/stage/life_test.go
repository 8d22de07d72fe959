package stage_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/simulators/internal/stage"
)

func same[T comparable](t *testing.T, got []T, want ...T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// run serves p until the function that it returns is called.
func run(t *testing.T, l *stage.Life, p stage.Play) (end func() error) {
	t.Helper()
	if err := l.Listen(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- stage.Serve(ctx, l, p) }()
	end = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() { _ = end() })
	return end
}

func get(t *testing.T, url string) (string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	return string(body), err
}

func TestLife(t *testing.T) {
	t.Parallel()
	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	t.Run("has an address from Listen on, and serves there while it runs", func(t *testing.T) {
		t.Parallel()
		l, stop := stage.NewLife("the test", "127.0.0.1:0")
		if l.URL() != "" {
			t.Errorf("before Listen the URL is %s", l.URL())
		}
		end := run(t, l, stage.Play{Handler: hello})
		url := l.URL()
		if body, err := get(t, url+"/"); err != nil || body != "hello" {
			t.Errorf("%q, %v", body, err)
		}
		if err := errors.Join(l.Listen(), l.Close()); err != nil || stop.Err() != nil {
			t.Errorf("while it runs: %v, %v", err, stop.Err())
		}
		if err := end(); err != nil || stop.Err() == nil {
			t.Errorf("at its end: %v, %v", err, stop.Err())
		}
		if _, err := get(t, url+"/"); err == nil {
			t.Error("it serves after its end")
		}
		if err := stage.Serve(t.Context(), l, stage.Play{Handler: hello}); err == nil || !strings.HasPrefix(err.Error(), "the test: ") {
			t.Errorf("it ran twice: %v", err)
		}
	})
	t.Run("gives its address back when it never runs", func(t *testing.T) {
		t.Parallel()
		l, stop := stage.NewLife("the test", "127.0.0.1:0")
		if err := l.Listen(); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(l.Close(), l.Close()); err != nil || stop.Err() == nil {
			t.Errorf("%v, %v", err, stop.Err())
		}
		other, _ := stage.NewLife("the test", strings.TrimPrefix(l.URL(), "http://"))
		if err := other.Listen(); err != nil {
			t.Error(err)
		}
		_ = other.Close()
	})
	t.Run("names itself when its address is taken", func(t *testing.T) {
		t.Parallel()
		l, _ := stage.NewLife("one", "127.0.0.1:0")
		if err := l.Listen(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		other, _ := stage.NewLife("the other", strings.TrimPrefix(l.URL(), "http://"))
		if err := stage.Serve(t.Context(), other, stage.Play{}); err == nil || !strings.HasPrefix(err.Error(), "the other: listen: ") {
			t.Errorf("%v", err)
		}
	})
	t.Run("cuts off what is under way, and ends its parts in their order", func(t *testing.T) {
		t.Parallel()
		l, _ := stage.NewLife("the test", "127.0.0.1:0")
		var mu sync.Mutex
		var ends []string
		note := func(what string) {
			mu.Lock()
			defer mu.Unlock()
			ends = append(ends, what)
		}
		asked, stay := make(chan struct{}), make(chan struct{})
		end := run(t, l, stage.Play{
			Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				close(asked)
				<-r.Context().Done()
				<-stay // until Ending
				note("handler")
			}),
			Beside: func(ctx context.Context) {
				<-ctx.Done()
				note("beside")
			},
			Ending: func() {
				note("ending")
				close(stay)
			},
			Ended: func() { note("ended") },
		})
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			_, _ = get(t, l.URL())
		}()
		<-asked
		if err := end(); err != nil {
			t.Error(err)
		}
		<-answered
		same(t, ends, "beside", "ending", "handler", "ended")
	})
	t.Run("closes connections on which nothing was ever asked", func(t *testing.T) {
		t.Parallel()
		l, _ := stage.NewLife("the test", "127.0.0.1:0")
		connected := make(chan struct{}, 1)
		end := run(t, l, stage.Play{Handler: hello, Tune: func(h *http.Server) {
			state := h.ConnState
			h.ConnState = func(c net.Conn, is http.ConnState) {
				state(c, is)
				if is == http.StateNew {
					connected <- struct{}{}
				}
			}
		}})
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(l.URL(), "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		<-connected
		if err := end(); err != nil {
			t.Error(err)
		}
		if _, err := conn.Read(make([]byte, 1)); err == nil {
			t.Error("the connection is open")
		}
	})
}

func TestPause(t *testing.T) {
	t.Parallel()
	t.Run("ends with its time or with one of its contexts", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			short, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			began := time.Now()
			if !stage.Pause(59*time.Second, short, t.Context()) || stage.Pause(time.Hour, short, t.Context()) || stage.Pause(time.Hour, t.Context(), short) {
				t.Error("the wrong end")
			}
			if took := time.Since(began); took != time.Minute {
				t.Errorf("it took %s", took)
			}
		})
	})
}
