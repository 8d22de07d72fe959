package tracing_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/google/go-cmp/cmp"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"

	"parley/channels"
	"parley/gateway/tracing"
	"parley/gateway/tracing/tracingtest"
	"parley/sessions"
)

// server is a collector that is called without a network, so that time can be a bubble's.
type server struct {
	tracingtest.Collector

	calls atomic.Int64
	gone  atomic.Bool   // nothing answers
	slow  time.Duration // before it answers
}

var errGone = errors.New("connection refused")

// RoundTrip implements [http.RoundTripper].
func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	s.calls.Add(1)
	if s.slow > 0 {
		select {
		case <-time.After(s.slow):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	if s.gone.Load() {
		return nil, errGone
	}
	if r.Body == nil { // as servers have it
		r.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Result(), nil
}

// counts is an observer.
type counts struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counts) CountSpans(outcome string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[outcome] += n
}

func (c *counts) get() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := map[string]int{}
	for k, v := range c.n {
		m[k] = v
	}
	return m
}

// logText is a log that is read while it is written.
type logText struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// rig is a tracer that runs in a bubble.
type rig struct {
	*tracing.Tracer

	*counts

	log  logText
	stop func() // ends it and waits
}

const turnID = "t-00112233445566778899aabbccddeeff"

func run(t *testing.T, s *server, change ...func(*tracing.Config)) *rig {
	t.Helper()
	r := &rig{counts: &counts{}}
	c := tracing.Config{Endpoint: "http://collector.example:4318"}
	for _, f := range change {
		f(&c)
	}
	tr, err := tracing.New(tracing.Options{
		Config: c, Version: "v1", Instance: "test", Transport: s, Observer: r.counts, Now: time.Now,
		Logger: slog.New(slog.NewTextHandler(&r.log, nil)),
		TurnID: func(string, uint64) string { return turnID }, ProviderKind: func(string) string { return "" },
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Tracer = tr
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := tr.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	r.stop = func() { cancel(); <-ended }
	return r
}

// add makes n spans.
func (r *rig) add(n int) {
	for range n {
		r.Delivered(sessions.Delivery{Outgoing: sessions.Outgoing{ID: turnID, Turn: turnID, Channel: "tg"}}, time.Now(), "ok", "")
	}
}

func (r *rig) want(t *testing.T, want map[string]int) {
	t.Helper()
	if d := cmp.Diff(want, r.get()); d != "" {
		t.Errorf("spans (-want +got):\n%s", d)
	}
}

func TestExport(t *testing.T) {
	t.Parallel()
	t.Run("sends what came within two seconds as one request", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := &server{}
			r := run(t, s)
			defer r.stop()
			r.add(3)
			time.Sleep(1900 * time.Millisecond)
			if n := s.calls.Load(); n != 0 {
				t.Errorf("%d requests at once", n)
			}
			r.add(2)
			time.Sleep(200 * time.Millisecond)
			synctest.Wait()
			if n := s.calls.Load(); n != 1 {
				t.Errorf("%d requests", n)
			}
			r.want(t, map[string]int{"exported": 5})
		})
	})
	t.Run("sends a full batch at once", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := &server{}
			r := run(t, s)
			defer r.stop()
			r.add(600)
			synctest.Wait()
			r.want(t, map[string]int{"exported": 600})
			if n := s.calls.Load(); n != 2 {
				t.Errorf("%d requests", n)
			}
		})
	})
	t.Run("sends again what was not taken, says it once, and says when it works again", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := &server{}
			s.gone.Store(true)
			r := run(t, s)
			defer r.stop()
			r.add(1)
			time.Sleep(5 * time.Second) // tried after 2, 3, and 5
			s.gone.Store(false)
			time.Sleep(time.Minute)
			r.want(t, map[string]int{"exported": 1})
			if got := r.log.String(); strings.Count(got, "traces not exported") != 1 || strings.Count(got, "traces are exported again") != 1 || strings.Contains(got, "secret") {
				t.Errorf("the log is\n%s", got)
			}
		})
	})
	t.Run("gives up in the end, and goes on with what comes later", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := &server{}
			s.gone.Store(true)
			r := run(t, s)
			defer r.stop()
			r.add(2)
			time.Sleep(time.Minute)
			r.want(t, map[string]int{"unreachable": 2})
			s.gone.Store(false)
			r.add(1)
			time.Sleep(time.Minute)
			r.want(t, map[string]int{"unreachable": 2, "exported": 1})
		})
	})
	t.Run("drops what comes while the queue is full, and blocks nobody", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := &server{}
			s.gone.Store(true)
			r := run(t, s)
			defer r.stop()
			r.add(1)
			time.Sleep(2500 * time.Millisecond) // that one is being tried again
			began := time.Now()
			r.add(3000)
			if took := time.Since(began); took != 0 {
				t.Errorf("it took %s", took)
			}
			r.want(t, map[string]int{"queue_full": 3000 - 2048})
			s.gone.Store(false)
			time.Sleep(time.Minute)
			r.want(t, map[string]int{"queue_full": 3000 - 2048, "exported": 2048 + 1})
		})
	})
	t.Run("waits as long as the server says, and no longer than half a minute", func(t *testing.T) {
		t.Parallel()
		for says, waits := range map[string]time.Duration{"7": 7 * time.Second, "86400": 30 * time.Second, "-1": time.Second, "soon": time.Second} {
			synctest.Test(t, func(t *testing.T) {
				s, refused := &server{}, false
				s.Answer = func(w http.ResponseWriter, _ []tracingtest.Span) bool {
					if refused {
						return false
					}
					refused = true
					w.Header().Set("Retry-After", says)
					w.WriteHeader(http.StatusTooManyRequests)
					return true
				}
				r := run(t, s)
				defer r.stop()
				r.add(1)
				time.Sleep(2*time.Second + waits - time.Millisecond)
				r.want(t, map[string]int{})
				time.Sleep(2 * time.Millisecond)
				r.want(t, map[string]int{"exported": 1})
			})
		}
	})
	t.Run("does not repeat what the server refuses", func(t *testing.T) {
		t.Parallel()
		for _, status := range []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusNotFound, http.StatusFound, http.StatusInternalServerError} {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				s.Answer = func(w http.ResponseWriter, _ []tracingtest.Span) bool {
					w.Header().Set("Location", "http://elsewhere.example/")
					w.WriteHeader(status)
					return true
				}
				r := run(t, s)
				defer r.stop()
				r.add(4)
				time.Sleep(time.Minute)
				r.want(t, map[string]int{"refused": 4})
				if n := s.calls.Load(); n != 1 {
					t.Errorf("%d: %d requests", status, n)
				}
			})
		}
	})
	t.Run("counts what is taken in part", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := &server{}
			s.Answer = func(w http.ResponseWriter, _ []tracingtest.Span) bool {
				reply, _ := proto.Marshal(&collector.ExportTraceServiceResponse{PartialSuccess: &collector.ExportTracePartialSuccess{RejectedSpans: 3, ErrorMessage: "too old"}})
				_, _ = w.Write(reply)
				return true
			}
			r := run(t, s)
			defer r.stop()
			r.add(5)
			time.Sleep(3 * time.Second)
			r.want(t, map[string]int{"exported": 2, "refused": 3})
		})
	})
	t.Run("sends what is left at the end", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			r := run(t, &server{})
			r.add(700)
			r.stop()
			r.want(t, map[string]int{"exported": 700})
			r.add(1) // nobody takes it any more
			r.want(t, map[string]int{"exported": 700, "ended": 1})
		})
	})
	t.Run("loses nothing of a batch that is being tried again", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := &server{}
			s.gone.Store(true)
			r := run(t, s)
			r.add(4)
			time.Sleep(2500 * time.Millisecond) // it waits for its second try
			s.gone.Store(false)
			r.stop()
			r.want(t, map[string]int{"exported": 4})
		})
	})
	t.Run("ends within seconds, whatever the server does", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			r := run(t, &server{slow: time.Hour})
			r.add(1500)
			time.Sleep(5 * time.Second) // the first request is under way
			began := time.Now()
			r.stop()
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("it took %s", took)
			}
			r.want(t, map[string]int{"ended": 1500})
			if n := strings.Count(r.log.String(), "last traces not exported"); n != 1 {
				t.Errorf("the log says %d times what was lost:\n%s", n, r.log.String())
			}
		})
	})
	t.Run("sends the headers, and says who it is", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := &server{}
			r := run(t, s, func(c *tracing.Config) {
				c.Headers = map[string]channels.Secret{"x-api-key": channels.NewSecret("secret")}
				c.Service = "kitchen bot"
			})
			r.add(1)
			r.stop()
			if h := s.Headers(); len(h) != 1 || h[0].Get("X-Api-Key") != "secret" || h[0].Get("User-Agent") != "parley/v1" {
				t.Errorf("the headers are %v", h)
			}
			want := map[string]any{"service.name": "kitchen bot", "service.version": "v1", "service.instance.id": "test"}
			if d := cmp.Diff(want, s.Spans()[0].Service); d != "" {
				t.Errorf("the service (-want +got):\n%s", d)
			}
		})
	})
}
