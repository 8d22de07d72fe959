package signal

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"parley/channels"
	"parley/channels/internal/route"
)

// watchedConn notes that it was closed.
type watchedConn struct {
	net.Conn
	closed *atomic.Bool
}

func (c watchedConn) Close() error {
	c.closed.Store(true)
	return c.Conn.Close()
}

// Receive ends while others still send, who keep the connection to signal-cli. A connection of
// HTTP on which nobody waits for an answer stays with none of them: it is made anew by whoever
// needs one.
func TestReceiveLeavesNoIdleConnection(t *testing.T) {
	t.Parallel()
	listening := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if !strings.HasSuffix(q.URL.Path, "/events") {
			_, _ = io.WriteString(w, `{"result":{"version":"0.14.6"}}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		close(listening)
		<-q.Context().Done()
	}))
	t.Cleanup(s.Close)
	c, err := New(Options{Common: channels.Common{Name: "sig"}, Account: "+4915550000001", ACI: "00000000-0000-4000-8000-000000000001", URL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	var last atomic.Pointer[watchedConn] // that was made
	r, _ := c.rpc.(*httpCaller).client.Transport.(*route.Route)
	dial := r.DialContext
	r.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		w := &watchedConn{conn, new(atomic.Bool)}
		last.Store(w)
		return w, nil
	}
	leave := c.holdConnection() // as Run does, for who sends
	t.Cleanup(leave)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- c.Receive(ctx, func(context.Context, channels.Message) error { return nil })
	}()
	<-listening
	events := last.Load()
	if _, err := c.queryVersion(t.Context()); err != nil { // beside the events, on a connection of its own
		t.Fatal(err)
	}
	idle := last.Load()
	if idle == events {
		t.Fatal("no connection was made beside that of the events")
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if !idle.closed.Load() {
		t.Error("a connection stays on which nobody waits for an answer")
	}
	if _, err := c.queryVersion(t.Context()); err != nil {
		t.Errorf("nobody can send any more: %v", err)
	}
}
