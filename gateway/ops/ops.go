// Package ops is what an operator's machines look at: health, readiness and
// metrics, on a listener of their own.
package ops

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"parley/gateway/listeners"
	"parley/problems"
)

// Config sets where the operator's listener is.
type Config struct {
	// Listen is host:port. Default 127.0.0.1:9464; "off" for none. What is
	// served names nobody and costs nothing, but it has no password.
	Listen string `yaml:"listen"`
	// Public says that whoever reaches Listen may read what is served there. An
	// address that is not this machine's own loopback is refused without it.
	Public bool `yaml:"public"`
}

var errPublic = problems.At("listen", "/metrics and /readyz have no password, and others than this machine reach that address: "+
	"use 127.0.0.1, or write public: true beside it if only those who may read them reach it")

// Validate reports what cannot work. It is asked after Listen was filled in.
func (c Config) Validate() error {
	if c.Listen == listeners.Off {
		return nil
	}
	if err := listeners.CheckAddress(c.Listen); err != nil {
		return problems.At("listen", "%w, or off", err)
	}
	if !c.Public && !listeners.IsLoopback(c.Listen) {
		return errPublic
	}
	return nil
}

// DefaultListen is where the operator's listener is when nothing is said.
const DefaultListen = "127.0.0.1:9464"

// Check is one thing readiness depends on; it returns what is wrong.
type Check struct {
	Name   string // as readiness says it
	Metric string // as parley_dependency_up names it
	Test   func(ctx context.Context) error
}

// Server is the operator's listener. Make one with New, run it once.
type Server struct {
	listeners.HTTP

	Metrics *Metrics
	Checks  []Check
	// Notes says of each part of the work "ok" or what people notice, for readiness to show
	// beside the checks, as it does not depend on them; nil: nothing. Set it before Run.
	Notes  func(ctx context.Context) map[string]string
	Logger *slog.Logger
	Redact func(string) string // takes secrets out of what checks say; nil: nothing is
}

// New binds the address, so that a wrong or taken one is said before anything
// else starts; nothing is served before Run.
func New(ctx context.Context, c Config, m *Metrics, log *slog.Logger, checks ...Check) (*Server, error) {
	s := &Server{Metrics: m, Checks: checks, Logger: log}
	if c.Listen == "" {
		c.Listen = DefaultListen
	}
	if c.Listen == listeners.Off {
		return s, nil
	}
	if err := s.Listen(ctx, "operator's listener", "ops.listen", c.Listen); err != nil {
		return nil, err
	}
	return s, nil
}

// Run serves until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	srv := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
	}
	return s.Serve(ctx, srv, s.Logger)
}

// Handler serves /livez, /readyz and /metrics.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { writePlain(w, http.StatusOK, "ok\n") })
	mux.HandleFunc("GET /readyz", s.readyz)
	mux.Handle("GET /metrics", s.Metrics.Handler())
	return mux
}

// Report reports whether this process takes part in the work and what it depends
// on answers; and of each thing "ok", or what is wrong. A network being down
// does not make it unready: the others go on. It takes two seconds at most.
func (s *Server) Report(ctx context.Context) (ready bool, report map[string]string) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	ready, report = true, map[string]string{"gateway": "ok"}
	if !s.IsReady() {
		ready, report["gateway"] = false, "starting or ending"
	}
	for _, c := range s.Checks {
		report[c.Name] = "ok"
		if err := c.Test(ctx); err != nil {
			ready, report[c.Name] = false, s.redact(err.Error())
		}
	}
	return ready, report
}

func (s *Server) redact(text string) string {
	if s.Redact == nil {
		return text
	}
	return s.Redact(text)
}

// readyz is 200 when this process is ready. Its body also has the notes, which do not make the
// process unready.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second) // for both together
	defer cancel()
	ready, report := s.Report(ctx)
	if s.Notes != nil {
		for part, note := range s.Notes(ctx) {
			report[part] = s.redact(note)
		}
	}
	status := http.StatusOK
	if !ready {
		status = http.StatusServiceUnavailable
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(report)
}

func writePlain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text))
}
