package llmtest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley/llm"
	"parley/transcript"
)

const canary = "sk-canary-0123456789abcdef"

// provider is a server on loopback that answers as a test says.
type provider struct {
	URL    string
	client *http.Client

	mu     sync.Mutex // guards bodies
	bodies [][]byte
}

// serve starts a provider that answers every request with answer.
func serve(t *testing.T, answer http.HandlerFunc) *provider {
	t.Helper()
	p := &provider{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		p.mu.Lock()
		p.bodies = append(p.bodies, body)
		p.mu.Unlock()
		answer(w, r)
	}))
	transport := &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.CloseClientConnections()
		server.Close()
	})
	p.URL, p.client = server.URL, &http.Client{Transport: transport}
	return p
}

func (p *provider) requests() [][]byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.bodies)
}

func (p *provider) endpoint() Endpoint {
	return Endpoint{URL: p.URL, Key: canary, Client: p.client}
}

// serveEvents answers with these events.
func serveEvents(events ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		begin(w)
		for _, e := range events {
			send(w, e)
		}
	}
}

func begin(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	flush(w)
}

func send(w http.ResponseWriter, text string) {
	_, _ = io.WriteString(w, text) // the client may have gone, which is its right
	flush(w)
}

func flush(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }

// hangUp cuts the connection without any farewell.
func hangUp(t *testing.T, w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Errorf("hijack: %v", err)
		return
	}
	_ = conn.Close()
}

// awaitHangUp waits until the client has gone.
func awaitHangUp(r *http.Request) { <-r.Context().Done() }

// outcome is everything that a stream yielded.
type outcome struct {
	events   []llm.Event
	response *llm.Response
	err      *llm.Error
}

func (o outcome) types() (types []llm.EventType) {
	for _, e := range o.events {
		types = append(types, e.Type)
	}
	return types
}

func (o outcome) text(kind llm.EventType) string {
	var b strings.Builder
	for _, e := range o.events {
		if e.Type == kind {
			b.WriteString(e.Text)
		}
	}
	return b.String()
}

// ask streams r to its end, and checks what holds for every stream: one end,
// at the end, and an error that names its model.
func ask(ctx context.Context, t testing.TB, m llm.Model, r llm.Request) outcome {
	t.Helper()
	var o outcome
	for e, err := range m.Stream(ctx, r) {
		if o.err != nil || o.response != nil {
			t.Errorf("after its end the stream yields %+v, %v", e, err)
		}
		if err != nil {
			fault, ok := errors.AsType[*llm.Error](err)
			if !ok {
				t.Fatalf("the stream yields a %T: %v", err, err)
			}
			o.err = fault
			continue
		}
		o.events = append(o.events, e)
		if e.Type == llm.Complete {
			o.response = e.Response
		}
	}
	if o.err == nil && o.response == nil {
		t.Fatal("the stream ends with neither an answer nor an error")
	}
	if e := o.err; e != nil && (e.Provider != m.Provider() || e.Model != m.Name()) {
		t.Errorf("the error is of %q %q, not of %q %q", e.Provider, e.Model, m.Provider(), m.Name())
	}
	return o
}

func helloRequest() llm.Request {
	return llm.Request{
		System:   []llm.SystemBlock{{Text: "Be kind.", Cache: true}},
		Messages: []transcript.Message{{Role: transcript.User, Parts: []transcript.Part{transcript.Text{Text: "hello"}}}},
	}
}

// memoryTransport is a transport without a network, whose answers are written by a
// function, so that a test can run on a fake clock.
type memoryTransport func(req *http.Request, w *io.PipeWriter)

// RoundTrip answers at once with a stream, which the function writes.
func (m memoryTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, req.Body); err != nil {
		return nil, err
	}
	r, w := io.Pipe()
	stop := context.AfterFunc(req.Context(), func() { w.CloseWithError(context.Cause(req.Context())) })
	go func() {
		defer stop()
		m(req, w)
		_ = w.Close()
	}()
	return &http.Response{
		StatusCode: http.StatusOK, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: r, Request: req, ContentLength: -1,
	}, nil
}

// silentTransport is a transport that never answers; left: to a request that it says it has written.
type silentTransport struct{ left bool }

func (s silentTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if trace := httptrace.ContextClientTrace(req.Context()); s.left && trace != nil && trace.WroteRequest != nil {
		trace.WroteRequest(httptrace.WroteRequestInfo{})
	}
	<-req.Context().Done()
	return nil, req.Context().Err()
}
