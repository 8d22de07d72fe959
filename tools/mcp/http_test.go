package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/tools"
	"parley/tools/mcp"
	"parley/tools/mcp/mcptest"
	"parley/tools/programs"
	"parley/tools/web/guard"
)

// site is an MCP server over HTTP on loopback.
type site struct {
	*httptest.Server
	world
	token atomic.Value // the last Authorization
	calls atomic.Int64 // requests in all
	abort atomic.Bool  // break off calls of tools, unanswered
}

func newSite(t *testing.T, handler http.Handler) *site {
	t.Helper()
	s := &site{}
	if handler == nil {
		handler = mcptest.Handler(s)
	}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.calls.Add(1)
		s.token.Store(r.Header.Get("Authorization"))
		if s.abort.Load() && r.Header.Get("Mcp-Method") == "tools/call" {
			_ = s.Note("called")
			panic(http.ErrAbortHandler)
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *site) server(all ...mcp.ToolConfig) mcp.Server {
	port := s.Listener.Addr().(*net.TCPAddr).Port
	return mcp.Server{Name: "test", URL: s.URL + "/mcp", AllowPrivate: []guard.Network{{CIDR: "127.0.0.1/32", Ports: []int{port}}}, Tools: all}
}

// S7.3: a server that is asked over HTTP gets the operator's headers, and nobody else does; only
// networks are reached that the operator named.
func TestServerOverHTTP(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	c := s.server(mcp.ToolConfig{Name: "echo", Category: tools.Read})
	c.Headers = []programs.Variable{{Name: "Authorization", Value: "Bearer canary-token"}}
	r := open(t, nil, c)
	r.awaitTool("echo", mcp.New)
	r.consent("echo")
	if got, err := r.call(t.Context(), "test__echo", "hello"); err != nil || !strings.Contains(got, "\nhello\n") {
		t.Errorf("%q, %v", got, err)
	}
	if got := s.token.Load(); got != "Bearer canary-token" {
		t.Errorf("the server was asked with %q", got)
	}
	if st := r.Status()[0]; st.Protocol != "2026-07-28" || strings.Contains(r.log.String(), "canary") {
		t.Errorf("protocol %s, and the log\n%s", st.Protocol, r.log)
	}

	t.Run("not in a network that nobody opened", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, nil)
		c := s.server(mcp.ToolConfig{Name: "echo"})
		c.AllowPrivate[0].CIDR = "127.0.0.2/32"
		r := open(t, nil, c)
		r.await("address out of reach")
		if n := s.calls.Load(); n != 0 {
			t.Errorf("it was asked %d times", n)
		}
	})
	t.Run("not where it redirects to", func(t *testing.T) {
		t.Parallel()
		other := newSite(t, nil)
		s := newSite(t, http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
		c := s.server(mcp.ToolConfig{Name: "echo"})
		c.AllowPrivate = append(c.AllowPrivate, other.server().AllowPrivate...)
		c.Headers = []programs.Variable{{Name: "Authorization", Value: "Bearer canary-token"}}
		r := open(t, nil, c)
		r.await("the server redirects, which is not followed")
		if n := other.calls.Load(); n != 0 {
			t.Errorf("the other one was asked %d times", n)
		}
	})
	t.Run("and is told of without what its URL may hold", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, nil)
		c := s.server(mcp.ToolConfig{Name: "echo"})
		c.URL += "/canary-of-path?sig=canary-of-url"
		s.Close()
		r := open(t, nil, c)
		r.await("connection refused")
		st := r.Status()[0]
		r.stop()
		if strings.Contains(fmt.Sprint(st)+r.log.String(), "canary") || !strings.Contains(r.log.String(), s.URL) {
			t.Errorf("%+v\n%s", st, r.log)
		}
	})
	t.Run("and is told of in bounds", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var asked struct{ ID any }
			if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
				t.Error(err)
			}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": asked.ID, "error": map[string]any{"code": -32000, "message": "no\x1b[2J " + strings.Repeat("x", 100_000)}})
		}))
		r := open(t, nil, s.server(mcp.ToolConfig{Name: "echo"}))
		r.await("no[2J xxx")
		if st := r.Status()[0]; len(st.Problem) > 4000 {
			t.Errorf("a problem of %d bytes", len(st.Problem))
		}
	})
	t.Run("not for more than a message may have", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for range 100 {
				_, _ = w.Write(make([]byte, 1<<20))
			}
		}))
		r := open(t, nil, s.server(mcp.ToolConfig{Name: "echo"}))
		r.await("the server's answer is longer than")
	})
	t.Run("nor for more with an error that is said to be a stream", func(t *testing.T) {
		t.Parallel()
		const sent = 64 << 20
		var taken atomic.Int64
		s := newSite(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(http.StatusBadRequest)
			for n := 0; n < sent; {
				m, err := w.Write(make([]byte, 1<<20))
				taken.Add(int64(m))
				if n += m; err != nil {
					return
				}
			}
		}))
		r := open(t, nil, s.server(mcp.ToolConfig{Name: "echo"}))
		r.await("Bad Request")
		r.stop()
		s.Close() // when it returns nothing is sent any more
		if n := taken.Load(); n >= sent {
			t.Errorf("%d bytes of an error were read", n)
		}
	})
}

// A request that broke off may have been heard; one that could not be sent was not.
func TestCallOverHTTPThatBreaksOff(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	r := open(t, nil, s.server(mcp.ToolConfig{Name: "note", Category: tools.Write}))
	r.awaitTool("note", mcp.New)
	r.consent("note")
	s.abort.Store(true)
	_, err := r.call(t.Context(), "test__note", "x")
	if notes := s.String(); err == nil || !strings.HasPrefix(err.Error(), "interrupted; outcome unknown: ") || notes != "called" {
		t.Errorf("called for %q: %v", notes, err)
	}
	s.abort.Store(false)
	if got, err := r.call(t.Context(), "test__note", "y"); err != nil || s.String() != "called y" {
		t.Errorf("then: %q, %v, called for %q", got, err, s.String())
	}
	s.CloseClientConnections()
	s.Close()
	_, err = r.call(t.Context(), "test__note", "z")
	if err == nil || tools.KindOf(err) != tools.Transient || strings.Contains(err.Error(), "unknown") {
		t.Errorf("of a server that is gone: %v", err)
	}
}

// A call whose time ends before it is sent was not made, also at a server that is there.
func TestCallOverHTTPThatIsNotSentInTime(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	r := open(t, nil, s.server(mcp.ToolConfig{Name: "note", Category: tools.Write}))
	r.awaitTool("note", mcp.New)
	r.consent("note")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(tools.ErrTimeout)
	if got, err := r.call(ctx, "test__note", "x"); got != "" || !errors.Is(err, tools.ErrTimeout) || !errors.Is(err, tools.ErrUnpaid) || s.String() != "" {
		t.Errorf("%q, %v; called for %q", got, err, s.String())
	}
}

// Servers of the protocol before 2026-07-28 are understood, also those that lose their session.
func TestOlderServerOverHTTP(t *testing.T) {
	t.Parallel()
	var current atomic.Pointer[http.Handler]
	restart := func() {
		h := http.Handler(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return mcptest.NewOlder(&world{}) }, nil))
		current.Store(&h)
	}
	restart()
	s := newSite(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*current.Load()).ServeHTTP(w, r) }))
	r := open(t, nil, s.server(mcp.ToolConfig{Name: "echo", Category: tools.Write}, mcp.ToolConfig{Name: "ask"}))
	r.awaitTool("echo", mcp.New)
	r.consent("echo", "ask")
	if st := r.Status()[0]; st.Protocol != "2025-11-25" {
		t.Errorf("protocol %s", st.Protocol)
	}
	if got, err := r.call(t.Context(), "test__ask", ""); err == nil || strings.Contains(got, "somebody answered") {
		t.Errorf("a server that asks for a person: %q, %v", got, err)
	}
	restart() // it knows the session no more
	if got, err := r.call(t.Context(), "test__echo", "hello"); err != nil || !strings.Contains(got, "\nhello\n") {
		t.Errorf("after a restart of the server: %q, %v\n%s", got, err, r.log)
	}
}

// Servers from 2026-07-28 on are told that people can be asked; older ones, which would have to be
// answered while the call runs, are not.
func TestOlderServersAreNotToldThatPeopleCanBeAsked(t *testing.T) {
	t.Parallel()
	for name, versions := range map[string][]string{"told": nil, "not told": {"2025-11-25"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := sdk.NewServer(&sdk.Implementation{Name: "asker", Version: "1"}, &sdk.ServerOptions{SupportedProtocolVersions: versions})
			sdk.AddTool(srv, &sdk.Tool{Name: "told"}, func(_ context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
				said := "not told"
				if p := r.Session.InitializeParams(); p != nil && p.Capabilities != nil && p.Capabilities.Elicitation != nil {
					said = "told"
				}
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: said}}}, nil, nil
			})
			s := newSite(t, sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return srv }, &sdk.StreamableHTTPOptions{Stateless: versions == nil}))
			r := open(t, nil, s.server(mcp.ToolConfig{Name: "told", Category: tools.Read}))
			r.consent("told")
			res, err := r.offered("test__told").Run(t.Context(), tools.Call{Name: "test__told", Arguments: json.RawMessage("{}")})
			if err != nil || !strings.Contains(res.Content, "\n"+name+"\n") {
				t.Errorf("got %q, %v", res.Content, err)
			}
		})
	}
}

// A server that answers in a way that is not known here has not answered.
func TestAnAnswerOfAnotherKindIsNone(t *testing.T) {
	t.Parallel()
	rest := mcptest.Handler(&world{})
	s := newSite(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") != "tools/call" {
			rest.ServeHTTP(w, r)
			return
		}
		var asked struct{ ID any }
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": asked.ID, "result": map[string]any{"resultType": "riddle"}})
	}))
	r := open(t, nil, s.server(mcp.ToolConfig{Name: "echo", Category: tools.Write}))
	r.awaitTool("echo", mcp.New)
	r.consent("echo")
	if got, err := r.call(t.Context(), "test__echo", "x"); err == nil || !strings.HasPrefix(err.Error(), "interrupted; outcome unknown: ") || !strings.Contains(err.Error(), "(riddle)") {
		t.Errorf("got %q, %v", got, err)
	}
}
