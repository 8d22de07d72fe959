// Package webhooks is the listener to which networks bring their events.
//
// It is the one that faces the world, so it has an address of its own, apart
// from the operator's, and serves nothing but the paths of the channels that
// have a webhook. Who may come and what is taken is decided by each channel's
// handler.
package webhooks

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"parley/gateway/listeners"
	"parley/problems"
)

// Config sets where networks bring their events.
type Config struct {
	// Listen is host:port. Networks come by https, so either a proxy in front
	// speaks it and passes requests on with their path unchanged, or CertFile
	// and KeyFile let this listener speak it.
	Listen string `yaml:"listen"`
	// CertFile and KeyFile hold a certificate chain and its key, in PEM. They
	// are read again when they change.
	CertFile string `yaml:"cert_file"`
	KeyFile  string `yaml:"key_file"`
}

var (
	errNoKey    = problems.At("key_file", "%w beside cert_file", problems.ErrRequired)
	errNoCert   = problems.At("cert_file", "%w beside key_file", problems.ErrRequired)
	errNoListen = problems.At("listen", "%w: where the certificate is for, host:port", problems.ErrRequired)
)

// Validate says everything that cannot work, joined.
func (c Config) Validate() error {
	var ps problems.List
	if c.Listen != "" {
		ps.Check("listen", listeners.CheckAddress(c.Listen))
	}
	switch {
	case c.CertFile != "" && c.KeyFile == "":
		ps.Check("", errNoKey)
	case c.CertFile == "" && c.KeyFile != "":
		ps.Check("", errNoCert)
	case c.CertFile != "" && c.Listen == "":
		ps.Check("", errNoListen)
	}
	return ps.Err()
}

// Server is the listener. Make one with New, run it once.
type Server struct {
	listeners.HTTP

	hooks map[string]http.Handler
	tls   *tls.Config // nil: plain HTTP
	log   *slog.Logger
}

// New reads the certificate and binds the address, so that what is wrong is
// said before anything else starts; nothing is served before Run. hooks are the
// handlers by their paths; without any there is no listener.
func New(ctx context.Context, c Config, hooks map[string]http.Handler, log *slog.Logger) (*Server, error) {
	s := &Server{hooks: hooks, log: log}
	if len(hooks) == 0 {
		return s, nil
	}
	if c.CertFile != "" {
		kept, err := loadCertificate(c.CertFile, c.KeyFile, log)
		if err != nil {
			return nil, fmt.Errorf("webhooks.cert_file: %w", err)
		}
		s.tls = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: kept.get}
	}
	if err := s.Listen(ctx, "listener of the webhooks", "webhooks.listen", c.Listen); err != nil {
		return nil, err
	}
	return s, nil
}

// Run serves until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	srv := &http.Server{
		Handler: s.Handler(), TLSConfig: s.tls, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second,
		WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
	}
	return s.Serve(ctx, srv, s.log)
}

// Handler serves the hooks while the server is ready.
func (s *Server) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, ok := s.hooks[r.URL.Path]
		switch {
		case !s.IsReady():
			w.WriteHeader(http.StatusServiceUnavailable)
		case !ok:
			w.WriteHeader(http.StatusNotFound)
		default:
			h.ServeHTTP(w, r)
		}
	})
}
