package listeners

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
)

// HTTP is a listener for HTTP that is bound before anything else starts, so that a wrong
// or taken address is said then; nothing is served before Run. Its methods may be called
// concurrently, Run once. The zero HTTP listens nowhere.
type HTTP struct {
	name     string // in errors
	listener net.Listener
	ready    atomic.Bool
}

// Listen binds an address, host:port. key is where it stands in the configuration.
func (h *HTTP) Listen(ctx context.Context, name, key, address string) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	h.name, h.listener = name, l
	return nil
}

// Addr is host:port as bound, or "" when there is no listener.
func (h *HTTP) Addr() string {
	if h.listener == nil {
		return ""
	}
	return h.listener.Addr().String()
}

// SetReady says whether this process takes part in the work.
func (h *HTTP) SetReady(ready bool) { h.ready.Store(ready) }

// IsReady returns what SetReady said last; false before.
func (h *HTTP) IsReady() bool { return h.ready.Load() }

// Serve serves with srv until ctx ends; without a listener it only waits for that.
func (h *HTTP) Serve(ctx context.Context, srv *http.Server, log *slog.Logger) error {
	if h.listener == nil {
		<-ctx.Done()
		return nil
	}
	srv.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelDebug)
	if err := Serve(ctx, srv, h.listener); err != nil {
		return fmt.Errorf("%s: %w", h.name, err)
	}
	return nil
}

// Close gives the address back when Serve was never called.
func (h *HTTP) Close() error {
	if h.listener == nil {
		return nil
	}
	if err := h.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("%s: %w", h.name, err)
	}
	return nil
}
