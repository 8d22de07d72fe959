package listeners_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"

	"parley/gateway/listeners"
	"parley/runtest"
)

// abuse L1: connections on which nothing is asked do not use up the descriptors.
func TestServe(t *testing.T) {
	t.Parallel()
	t.Run("has no more connections than its limit", func(t *testing.T) {
		t.Parallel()
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		accepted := make(chan struct{}, 2*listeners.MaxConnections)
		srv := &http.Server{ // half-open connections are what this is about
			Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "well") }),
			ConnState: func(_ net.Conn, s http.ConnState) {
				if s == http.StateNew {
					accepted <- struct{}{}
				}
			},
		}
		defer runtest.Start(t, "Serve", func(ctx context.Context) error { return listeners.Serve(ctx, srv, l) })()
		open := func() net.Conn {
			c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
			return c
		}
		first := open()
		for range listeners.MaxConnections - 1 {
			open()
		}
		for range listeners.MaxConnections {
			<-accepted
		}
		late := open()
		if _, err := io.WriteString(late, "GET / HTTP/1.0\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if n := len(accepted); n != 0 {
			t.Errorf("%d more were accepted", n)
		}
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(late); err != nil && !errors.Is(err, net.ErrClosed) || len(b) == 0 {
			t.Errorf("who waited got %q, %v", b, err)
		}
	})
}
