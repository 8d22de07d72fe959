package llmtest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"

	"parley/llm"
)

func testBrokenAnswers(t *testing.T, a Adapter) {
	whole := a.Wire.Text("Hel", "lo")
	calling := a.Wire.Tool("toolu_1", "look", `{"a":`, `[]}`)
	t.Run("cut anywhere is an error and never an answer", func(t *testing.T) {
		t.Parallel() // F11
		for _, answer := range [][]string{whole, calling} {
			for n := range len(answer) - a.Wire.Final {
				for _, hard := range []bool{false, true} {
					t.Run(fmt.Sprintf("after %d of %d, hard %v", n, len(answer), hard), func(t *testing.T) {
						t.Parallel()
						serveCut(t, a, answer[:n], hard)
					})
				}
			}
		}
	})
	t.Run("cut inside an event is an error", func(t *testing.T) {
		t.Parallel()
		half := slices.Clone(whole[:2])
		half[1] = half[1][:len(half[1])/2]
		serveCut(t, a, half, false)
	})
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		want   llm.Kind
	}{
		{name: "garbage instead of JSON", answer: serveEvents(append(slices.Clone(whole[:a.Wire.Visible+1]), "event: content_block_delta\ndata: {garbage\n\n")...), want: llm.Malformed},
		{name: "JSON of the wrong shape", answer: serveEvents("event: message_start\ndata: [1,2,3]\n\n"), want: llm.Malformed},
		{name: "a page in HTML with status 200", answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			send(w, "<html><body>Please log in</body></html>")
		}, want: llm.Malformed},
		{name: "a page in HTML that calls itself a stream", answer: serveEvents("<html>\n<body>\n\n</body>\n\n"), want: llm.Malformed},
		{name: "a JSON document instead of a stream", answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			send(w, `{"hello":"world"}`)
		}, want: llm.Malformed},
		{name: "nothing at all", answer: serveEvents(), want: llm.Network},
		{name: "text without an end", answer: func(w http.ResponseWriter, _ *http.Request) {
			begin(w)
			piece := strings.Repeat("x", 1<<20)
			for _, e := range a.Wire.Text(piece, piece, piece, piece, piece) {
				send(w, e)
			}
		}, want: llm.Malformed},
		{name: "arguments without an end", answer: func(w http.ResponseWriter, _ *http.Request) {
			begin(w)
			piece := strings.Repeat("x", 1<<19)
			for _, e := range a.Wire.Tool("toolu_1", "look", piece, piece, piece) {
				send(w, e)
			}
		}, want: llm.Malformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := ask(t.Context(), t, a.Open(t, serve(t, c.answer).endpoint()), toolRequest())
			if o.err == nil || o.err.Kind != c.want || !o.err.Sent {
				t.Errorf("%+v, not %s", o.err, c.want)
			}
		})
	}
	// abuse M1: whatever a server sends, little of it is kept.
	for name, hoard := range a.Wire.Hoards {
		t.Run("without an end: "+name, func(t *testing.T) {
			t.Parallel()
			const most = 64 << 20
			sent := 0
			p := serve(t, func(w http.ResponseWriter, r *http.Request) {
				begin(w)
				for _, e := range whole[:a.Wire.Visible] {
					send(w, e)
				}
				for i := 0; sent < most && r.Context().Err() == nil; i++ {
					e := hoard(i)
					sent += len(e)
					send(w, e)
				}
			})
			o := ask(t.Context(), t, a.Open(t, p.endpoint()), toolRequest())
			if o.err == nil || o.err.Kind != llm.Malformed || !o.err.Sent {
				t.Errorf("%+v after %d bytes", o.err, sent)
			}
		})
	}
	t.Run("more than was asked for", func(t *testing.T) { // abuse M3
		t.Parallel()
		r := toolRequest()
		r.MaxTokens = 1000
		piece := strings.Repeat("word ", 100)
		for pieces, want := range map[int]llm.Kind{16: "", 100: llm.Malformed} { // two tokens for each that was asked for, and twelve
			answer := a.Wire.Text(slices.Repeat([]string{piece}, pieces)...)
			o := ask(t.Context(), t, a.Open(t, serve(t, serveEvents(answer...)).endpoint()), r)
			switch {
			case want == "" && o.err != nil:
				t.Errorf("%d bytes: %v", pieces*len(piece), o.err)
			case want != "" && (o.err == nil || o.err.Kind != want || !strings.Contains(o.err.Error(), "1000 tokens")):
				t.Errorf("%d bytes: %+v", pieces*len(piece), o.err)
			case want != "" && (o.err.Received <= 8*r.MaxTokens || o.err.Received > 16*r.MaxTokens):
				t.Errorf("%d bytes were read", o.err.Received)
			}
		}
	})
	for _, kind := range []llm.Kind{llm.Overloaded, llm.RateLimited, llm.Server, llm.Quota, llm.ContextLength} {
		t.Run("an error event inside status 200: "+string(kind), func(t *testing.T) {
			t.Parallel()
			for n, seen := range map[int]bool{0: false, a.Wire.Visible + 1: true} {
				events := append(slices.Clone(whole[:n]), a.Wire.Error(kind, "no luck"))
				o := ask(t.Context(), t, a.Open(t, serve(t, serveEvents(events...)).endpoint()), helloRequest())
				if o.err == nil || o.err.Kind != kind || !o.err.Sent || o.err.Visible != seen || o.err.Status != 200 {
					t.Fatalf("after %d events: %+v", n, o.err)
				}
				if !strings.Contains(o.err.Error(), "no luck") {
					t.Errorf("the provider's words are lost: %v", o.err)
				}
			}
		})
	}
}

// serveCut serves events and then ends the connection.
func serveCut(t *testing.T, a Adapter, events []string, hard bool) {
	t.Helper()
	p := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		begin(w)
		for _, e := range events {
			send(w, e)
		}
		if hard {
			hangUp(t, w)
		}
	})
	o := ask(t.Context(), t, a.Open(t, p.endpoint()), toolRequest())
	switch {
	case o.err == nil:
		t.Fatalf("a cut stream became an answer: %+v", o.response)
	case o.err.Kind != llm.Network && o.err.Kind != llm.Malformed, !o.err.Sent:
		t.Errorf("%+v", o.err)
	case slices.Contains(o.types(), llm.ToolUseStop) && len(events) < 3:
		t.Error("a half-received call was finished")
	}
	if o.err.Received != len(o.text(llm.ContentDelta))+len(o.text(llm.ToolUseDelta)) {
		t.Errorf("received %d bytes, says the error; events: %+v", o.err.Received, o.events)
	}
}

func testRefusals(t *testing.T, a Adapter) {
	for _, c := range []struct {
		status int
		kind   llm.Kind // as the body says; empty: a page in HTML
		want   llm.Kind
	}{
		{400, llm.InvalidRequest, llm.InvalidRequest},
		{400, llm.ContextLength, llm.ContextLength},
		{400, "", llm.InvalidRequest},
		{401, llm.Auth, llm.Auth},
		{402, "", llm.Quota},
		{403, "", llm.Auth},
		{404, "", llm.InvalidRequest},
		{408, "", llm.Timeout},
		{413, "", llm.InvalidRequest},
		{429, llm.RateLimited, llm.RateLimited},
		{429, llm.Quota, llm.Quota},
		{429, "", llm.RateLimited},
		{500, llm.Server, llm.Server},
		{502, "", llm.Server},
		{503, "", llm.Overloaded},
		{504, "", llm.Server},
		{529, llm.Overloaded, llm.Overloaded},
	} {
		t.Run(fmt.Sprintf("%d %s", c.status, c.kind), func(t *testing.T) {
			t.Parallel()
			p := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "7")
				body, media := "<html>no</html>", "text/html"
				if c.kind != "" {
					body, media = a.Wire.Refusal(c.kind, "go away"), "application/json"
				}
				w.Header().Set("Content-Type", media)
				w.WriteHeader(c.status)
				send(w, body)
			})
			o := ask(t.Context(), t, a.Open(t, p.endpoint()), helloRequest())
			if o.err == nil || o.err.Kind != c.want || o.err.Status != c.status || !o.err.Sent || o.err.Visible {
				t.Fatalf("%+v, not %s", o.err, c.want)
			}
			if o.err.RetryAfter.Seconds() != 7 {
				t.Errorf("retry after %v", o.err.RetryAfter)
			}
			if len(p.requests()) != 1 {
				t.Errorf("sent %d times", len(p.requests()))
			}
		})
	}
	t.Run("that gives a date to come back is understood by the provider's clock", func(t *testing.T) {
		t.Parallel()
		p := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Date", "Wed, 21 Oct 2015 07:28:00 GMT")
			w.Header().Set("Retry-After", "Wed, 21 Oct 2015 07:28:42 GMT")
			w.WriteHeader(http.StatusTooManyRequests)
		})
		if o := ask(t.Context(), t, a.Open(t, p.endpoint()), helloRequest()); o.err == nil || o.err.RetryAfter.Seconds() != 42 {
			t.Errorf("%+v", o.err)
		}
	})
	t.Run("with a body that never ends is read only so far", func(t *testing.T) {
		t.Parallel()
		p := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			for r.Context().Err() == nil {
				send(w, strings.Repeat("x", 1<<14))
			}
		})
		if o := ask(t.Context(), t, a.Open(t, p.endpoint()), helloRequest()); o.err == nil || o.err.Kind != llm.Server {
			t.Errorf("%+v", o.err)
		}
	})
	t.Run("of the connection is a network error that cost nothing", func(t *testing.T) {
		t.Parallel()
		p := serve(t, serveEvents())
		client := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			return nil, syscall.ECONNREFUSED
		}}}
		o := ask(t.Context(), t, a.Open(t, Endpoint{URL: p.URL, Key: canary, Client: client}), helloRequest())
		if o.err == nil || o.err.Kind != llm.Network || o.err.Sent || o.err.Status != 0 || !o.err.Retryable() {
			t.Errorf("%+v", o.err)
		}
	})
	t.Run("to answer what was read whole is a network error that may be billed", func(t *testing.T) {
		t.Parallel()
		p := serve(t, func(w http.ResponseWriter, _ *http.Request) { hangUp(t, w) })
		o := ask(t.Context(), t, a.Open(t, p.endpoint()), helloRequest())
		if o.err == nil || o.err.Kind != llm.Network || !o.err.Sent || o.err.Status != 0 || !o.err.Retryable() {
			t.Errorf("%+v", o.err)
		}
	})
}
