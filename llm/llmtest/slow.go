package llmtest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/llm"
)

// testSlowAnswers run on a fake clock, with the defaults of the adapter.
func testSlowAnswers(t *testing.T, a Adapter) {
	whole := a.Wire.Text("Hel", "lo")
	begun := strings.Join(whole[:a.Wire.Visible+1], "")
	for _, c := range []struct {
		name      string
		transport http.RoundTripper
		after     time.Duration
		sent      bool
		visible   bool
	}{
		{"silent before the head", silentTransport{}, 60 * time.Second, false, false},
		{"silent before the head, with the request sent", silentTransport{left: true}, 60 * time.Second, true, false},
		{"silent after the head", memoryTransport(func(req *http.Request, _ *io.PipeWriter) { <-req.Context().Done() }), 60 * time.Second, true, false},
		{"silent in the middle", memoryTransport(func(req *http.Request, w *io.PipeWriter) {
			time.Sleep(59 * time.Second) // not silent yet
			_, _ = io.WriteString(w, begun)
			<-req.Context().Done()
		}), 119 * time.Second, true, true},
		{"one byte a second, without an end", memoryTransport(func(_ *http.Request, w *io.PipeWriter) {
			drip(w, strings.Repeat(": still here\n", 1000))
		}), 10 * time.Minute, true, false},
	} {
		t.Run(c.name+" gives up in time", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := a.Open(t, Endpoint{URL: "https://model.invalid", Key: canary, Client: &http.Client{Transport: c.transport}})
				begin := time.Now()
				o := ask(t.Context(), t, m, helloRequest())
				if o.err == nil || o.err.Kind != llm.Timeout || o.err.Sent != c.sent || o.err.Visible != c.visible {
					t.Fatalf("%+v", o.err)
				}
				if took := time.Since(begin); took != c.after {
					t.Errorf("gave up after %v, not %v", took, c.after)
				}
				time.Sleep(2 * time.Second) // for the dripping writer to see that nobody reads
			})
		})
	}
	t.Run("one byte a second is waited for", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			text := strings.Join(whole, "")
			m := a.Open(t, Endpoint{
				URL: "https://model.invalid", Key: canary, Total: time.Hour,
				Client: &http.Client{Transport: memoryTransport(func(_ *http.Request, w *io.PipeWriter) { drip(w, text) })},
			})
			if o := ask(t.Context(), t, m, helloRequest()); o.err != nil || o.response.Message.Text() != "Hello" {
				t.Errorf("%+v", o)
			}
		})
	})
	t.Run("a slow reader is not taken for a silent provider", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := a.Open(t, Endpoint{URL: "https://model.invalid", Key: canary, Client: &http.Client{
				Transport: memoryTransport(func(_ *http.Request, w *io.PipeWriter) {
					for _, e := range whole {
						_, _ = io.WriteString(w, e)
					}
				}),
			}})
			complete := false
			for e, err := range m.Stream(t.Context(), helloRequest()) {
				if err != nil {
					t.Fatal(err)
				}
				complete = e.Type == llm.Complete
				time.Sleep(90 * time.Second)
			}
			if !complete {
				t.Error("incomplete")
			}
		})
	})
	t.Run("cancelled while silent ends at that very moment", func(t *testing.T) {
		for name, transport := range map[string]http.RoundTripper{
			"before the head": silentTransport{},
			"after the head":  memoryTransport(func(req *http.Request, _ *io.PipeWriter) { <-req.Context().Done() }),
		} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
					defer cancel()
					m := a.Open(t, Endpoint{URL: "https://model.invalid", Key: canary, Client: &http.Client{Transport: transport}})
					begin := time.Now()
					o := ask(ctx, t, m, helloRequest())
					if o.err == nil || o.err.Kind != llm.Canceled || !errors.Is(o.err, context.DeadlineExceeded) || o.err.Retryable() {
						t.Fatalf("%+v", o.err)
					}
					if took := time.Since(begin); took != 5*time.Second {
						t.Errorf("ended after %v", took)
					}
				})
			})
		}
	})
}

// drip writes one byte a second, until the reader is gone.
func drip(w io.Writer, text string) {
	for i := range len(text) {
		time.Sleep(time.Second)
		if _, err := io.WriteString(w, text[i:i+1]); err != nil {
			return
		}
	}
}

// testInterruptions run over real connections.
func testInterruptions(t *testing.T, a Adapter) {
	begun := a.Wire.Text("Hel", "lo")[:a.Wire.Visible+1]
	open := func(t *testing.T) (m llm.Model, gone chan struct{}) {
		gone = make(chan struct{})
		p := serve(t, func(w http.ResponseWriter, r *http.Request) {
			serveEvents(begun...)(w, r)
			awaitHangUp(r)
			close(gone)
		})
		return a.Open(t, p.endpoint()), gone
	}
	t.Run("by the context ends a stream that nothing else would end", func(t *testing.T) {
		t.Parallel()
		m, gone := open(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var fault *llm.Error
		for e, err := range m.Stream(ctx, helloRequest()) {
			if err != nil {
				fault, _ = errors.AsType[*llm.Error](err)
				break
			}
			if e.Type == llm.ContentDelta {
				cancel()
			}
		}
		if fault == nil || fault.Kind != llm.Canceled || !fault.Sent || !fault.Visible || fault.Received != len("Hel") || !errors.Is(fault, context.Canceled) {
			t.Errorf("%+v", fault)
		}
		<-gone
	})
	t.Run("by a consumer that breaks off frees the connection", func(t *testing.T) {
		t.Parallel()
		m, gone := open(t)
		for _, err := range m.Stream(t.Context(), helloRequest()) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		<-gone
	})
	t.Run("before the beginning sends nothing", func(t *testing.T) {
		t.Parallel()
		p := serve(t, serveEvents(begun...))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if o := ask(ctx, t, a.Open(t, p.endpoint()), helloRequest()); o.err == nil || o.err.Kind != llm.Canceled || o.err.Sent {
			t.Errorf("%+v", o.err)
		}
	})
}
