package mcp_test

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley/tools"
	"parley/tools/mcp"
	"parley/tools/mcp/mcptest"
	"parley/tools/programs"
	"parley/tools/web/guard"
)

// gated is an MCP server that wants a login, and the configuration of it.
func gated(t *testing.T) (*mcptest.Authority, mcp.Server) {
	t.Helper()
	a := mcptest.NewAuthority(t, &world{})
	return a, mcp.Server{
		Name: "test", URL: a.URL(), AllowPrivate: []guard.Network{{CIDR: "127.0.0.1/32", Ports: []int{portOf(a.Site), portOf(a.Auth)}}},
		Tools: []mcp.ToolConfig{{Name: "echo", Category: tools.Write}, {Name: "note", Category: tools.Write}},
	}
}

func portOf(s *httptest.Server) int { return s.Listener.Addr().(*net.TCPAddr).Port }

// logIn logs in at the only server as an operator with a browser.
func (r *fixture) logIn(a *mcptest.Authority) {
	r.t.Helper()
	started, err := r.BeginLogin(r.t.Context(), "test", "http://127.0.0.1:3000/callback")
	if err != nil {
		r.t.Fatal(err)
	}
	if err := r.FinishLogin(r.t.Context(), "test", a.Browse(r.t, started.URL)); err != nil {
		r.t.Fatal(err)
	}
}

// awaitState returns when the only server is in a state.
func (r *fixture) awaitState(want mcp.State) mcp.Status {
	r.t.Helper()
	for end := time.After(hang); ; {
		if st := r.Status()[0]; st.State == want {
			return st
		}
		select {
		case <-r.changed:
		case <-end:
			r.t.Fatalf("the server does not become %s: %+v\n%s", want, r.Status()[0], r.log)
		}
	}
}

func TestAServerThatWantsALogin(t *testing.T) {
	t.Parallel()
	a, c := gated(t)
	c.Headers = []programs.Variable{{Name: "X-Team", Value: "canary-team"}}
	r := open(t, nil, c)
	var said strings.Builder
	call := func(name, want string) {
		t.Helper()
		got, err := r.call(t.Context(), name, "hello")
		if err != nil {
			got += err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q in it", name, got, want)
		}
		said.WriteString(got)
	}
	if st := r.awaitState(mcp.NeedsLogin); st.Problem != "nobody has logged in at it: parley mcp login test" || st.Login != nil {
		t.Errorf("at first: %+v", st)
	}
	r.logIn(a)
	r.awaitTool("note", mcp.New)
	r.consent("echo", "note")
	if st := r.Status()[0]; st.Login == nil || st.Login.Issuer != a.Auth.URL || st.Protocol != "2026-07-28" {
		t.Errorf("logged in: %+v", st)
	}
	call("test__echo", "hello")

	call("test__note", "the MCP server test has not done note. Its operator has to log in: it wants a login with more rights (note): parley mcp login test")
	if st := r.Status()[0]; st.State != mcp.Up || !strings.Contains(st.Problem, "more rights (note)") {
		t.Errorf("with too few rights: %+v", st)
	}
	call("test__echo", "hello")
	r.logIn(a)
	call("test__note", "noted")
	if st := r.Status()[0]; st.State != mcp.Up || st.Problem != "" {
		t.Errorf("with more rights: %+v", st)
	}

	a.Expire() // which the server says, and the client mends
	call("test__echo", "hello")

	a.Forget()
	call("test__note", "has not done note. Its operator has to log in: its login is over")
	r.awaitState(mcp.NeedsLogin)
	call("test__echo", "the MCP server test was not asked, so nothing was done. Its operator has to log in: its login is over")
	r.logIn(a)
	r.awaitState(mcp.Up)
	call("test__echo", "hello")

	if was, err := r.Logout(t.Context(), "test"); !was || err != nil {
		t.Errorf("logged out: %v, %v", was, err)
	}
	r.awaitState(mcp.NeedsLogin)
	r.stop()

	if v := a.Violations(); len(v) > 0 {
		t.Errorf("the authorization server was asked wrongly: %q", v)
	}
	for _, h := range a.Headers() {
		if h.Get("X-Team") != "" || strings.HasPrefix(h.Get("Authorization"), "Bearer") || !strings.HasPrefix(h.Get("User-Agent"), "parley/") && h.Get("User-Agent") != "Go-http-client/1.1" {
			t.Errorf("the authorization server gets what is for the MCP server: %v", h)
		}
	}
	for _, secret := range a.Tokens() {
		if strings.Contains(r.log.String()+said.String(), secret) {
			t.Error("a secret stands in the log, or in what models read")
		}
	}
}

// S7.3: a server says where its authorization server is, and that leads nowhere that it does not
// lead itself.
func TestLoginsLeadToNoPrivateNetwork(t *testing.T) {
	t.Parallel()
	var hits atomic.Int64
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	t.Cleanup(inside.Close)
	for name, spoil := range map[string]func(what string, doc map[string]any){
		"the authorization server": func(what string, doc map[string]any) {
			if what == "resource" {
				doc["authorization_servers"] = []string{inside.URL}
			}
		},
		"where clients are registered": func(what string, doc map[string]any) {
			if what == "metadata" {
				doc["registration_endpoint"] = inside.URL + "/register"
			}
		},
	} {
		a, c := gated(t)
		a.Spoil = spoil
		r := open(t, nil, c)
		r.awaitState(mcp.NeedsLogin)
		if _, err := r.BeginLogin(t.Context(), "test", "http://127.0.0.1:3000/callback"); err == nil || !strings.Contains(err.Error(), "address out of reach") {
			t.Errorf("%s: %v", name, err)
		}
		r.stop()
	}
	if n := hits.Load(); n != 0 {
		t.Errorf("what nobody opened was asked %d times", n)
	}
}

func TestWhereNobodyCanLogIn(t *testing.T) {
	t.Parallel()
	a, c := gated(t)
	c.Headers = []programs.Variable{{Name: "Authorization", Value: "Bearer wrong"}}
	r := open(t, nil, c)
	r.await("the server does not take the token of the header authorization: Unauthorized")
	for server, want := range map[string]string{"test": "gives a token to the MCP server test", "other": `no MCP server "other"`} {
		if _, err := r.BeginLogin(t.Context(), server, "http://127.0.0.1:3000/callback"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", server, err)
		}
	}
	if n := a.Asked("metadata"); n != 0 {
		t.Errorf("the authorization server was asked %d times", n)
	}
}

// A call that the server has refused twice, also with the token that the authorization server has just
// given, was not done, and nobody says that it may have been.
func TestAServerThatTakesNoToken(t *testing.T) {
	t.Parallel()
	a, c := gated(t)
	var wrong atomic.Bool
	a.Spoil = func(what string, doc map[string]any) {
		if what == "token" && wrong.Load() {
			doc["access_token"] = "wrong-token"
		}
	}
	r := open(t, nil, c)
	r.awaitState(mcp.NeedsLogin)
	r.logIn(a)
	r.awaitTool("echo", mcp.New)
	r.consent("echo")
	wrong.Store(true)
	a.Expire()
	if _, err := r.call(t.Context(), "test__echo", "x"); err == nil || tools.KindOf(err) != tools.Transient || strings.Contains(err.Error(), "unknown") {
		t.Errorf("got %v", err)
	}
}

// A call that its server has refused, and for which there is no other token now, was not done, and nobody
// charges for it: what was sent then was for the authorization server.
func TestACallForWhichNoTokenIsHad(t *testing.T) {
	t.Parallel()
	a, c := gated(t)
	var away atomic.Bool
	a.Spoil = func(what string, doc map[string]any) {
		if what == "token" && away.Load() {
			doc["error"] = "temporarily_unavailable"
		}
	}
	r := open(t, nil, c)
	r.awaitState(mcp.NeedsLogin)
	r.logIn(a)
	r.awaitTool("echo", mcp.New)
	r.consent("echo")
	away.Store(true)
	a.Expire()
	if _, err := r.call(t.Context(), "test__echo", "x"); err == nil || !errors.Is(err, tools.ErrUnpaid) || strings.Contains(err.Error(), "unknown") {
		t.Errorf("got %v", err)
	}
}

// Another process with the same folder has logged in: this one finds the login.
func TestALoginOfAnotherProcess(t *testing.T) {
	t.Parallel()
	a, c := gated(t)
	first := open(t, nil, c)
	first.awaitState(mcp.NeedsLogin)
	first.logIn(a)
	first.awaitState(mcp.Up)
	second, err := mcp.NewHost(mcp.Options{Servers: []mcp.Server{c}, Logins: filepath.Join(first.folder, "logins"), Changed: func() {}})
	if err != nil {
		t.Fatal(err)
	}
	if st := second.Status()[0]; st.Login == nil {
		t.Errorf("the login is not found: %+v", st)
	}
	if all, err := os.ReadDir(filepath.Join(first.folder, "logins")); err != nil || len(all) != 2 {
		t.Errorf("the folder of logins has %v, %v", all, err)
	}
}
