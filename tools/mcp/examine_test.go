package mcp_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/tools"
	"parley/tools/mcp"
	"parley/tools/mcp/mcptest"
	"parley/tools/programs"
)

// examined examines a server, and fails unless it is in a state for a cause, with a problem.
func examined(t *testing.T, c mcp.Server, o mcp.Options, state mcp.State, cause mcp.Cause, problem string) mcp.Status {
	t.Helper()
	st, err := mcp.Examine(t.Context(), c, o)
	if err != nil || st.State != state || st.Cause != cause || !strings.Contains(st.Problem, problem) || (problem == "") != (st.Problem == "") {
		t.Errorf("it is %s for %q: %q, %v", st.State, st.Cause, st.Problem, err)
	}
	return st
}

func TestExamine(t *testing.T) {
	t.Parallel()
	there := newSite(t, nil)
	st := examined(t, there.server(mcp.ToolConfig{Name: "echo", Category: tools.Read}, mcp.ToolConfig{Name: "none"}), mcp.Options{}, mcp.Up, "", "")
	if st.Protocol != "2026-07-28" || len(st.Tools) < 3 || st.Tools[0].State != mcp.New || st.Tools[1].State != mcp.Missing {
		t.Errorf("of one that is there it says %+v", st)
	}
	gone := there.server()
	there.Close()
	examined(t, gone, mcp.Options{}, mcp.Down, "", "connection refused")

	a, c := gated(t)
	c.Headers = []programs.Variable{{Name: "Authorization", Value: "Bearer canary-token"}}
	examined(t, c, mcp.Options{}, mcp.Down, mcp.Refused, "does not take the token of the header authorization")
	if n := a.Asked("metadata"); n != 0 {
		t.Errorf("the authorization server was asked %d times", n)
	}
}

func TestExamineAProgram(t *testing.T) {
	t.Parallel()
	c := program(t, mcp.ToolConfig{Name: "echo"})
	examined(t, c, mcp.Options{}, mcp.Off, "", "no sandbox")
	o := mcp.Options{Folder: func(string) string { return filepath.Join(t.TempDir(), "room") }}
	ended := false
	for name, s := range map[string]func(mcptest.World) *sdk.Server{"of now": mcptest.New, "older": mcptest.NewOlder} {
		o.Runner = mcptest.InProcess{New: func() (*sdk.Server, <-chan struct{}, func()) { return s(&world{}), nil, func() { ended = true } }}
		if examined(t, c, o, mcp.Up, "", ""); !ended {
			t.Errorf("a program %s runs on", name)
		}
		ended = false
	}
	c.Program.Path += "-gone"
	examined(t, c, o, mcp.Off, "", "no such file")
}

// Of a login nothing is changed, whatever there is to say of it: what replaces a token serves once,
// and a gateway that runs beside would lose it.
func TestExamineLeavesALoginAlone(t *testing.T) {
	t.Parallel()
	a, c := gated(t)
	r := open(t, nil, c)
	r.awaitState(mcp.NeedsLogin)
	var said strings.Builder
	folder := filepath.Join(r.folder, "logins")
	kept := func() string {
		t.Helper()
		var all strings.Builder
		entries, err := os.ReadDir(folder)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		for _, e := range entries {
			text, err := os.ReadFile(filepath.Join(folder, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			all.WriteString(e.Name() + ": " + string(text) + "\n")
		}
		return all.String()
	}
	look := func(later time.Duration, state mcp.State, cause mcp.Cause, problem string) {
		t.Helper()
		before := kept()
		o := mcp.Options{Logins: folder, Now: func() time.Time { return time.Now().Add(later) }}
		said.WriteString(examined(t, c, o, state, cause, problem).Problem)
		if kept() != before {
			t.Errorf("%s: it has changed what stands in the folder of logins", cause)
		}
	}
	look(0, mcp.NeedsLogin, mcp.NoLogin, "nobody has logged in at it: parley mcp login test")
	r.logIn(a)
	r.awaitState(mcp.Up)
	r.stop()
	tokens := a.Asked("token")
	look(0, mcp.Up, "", "")

	// A minute before its end a gateway replaces the token, and an examination uses it.
	look(mcptest.Lifetime-30*time.Second, mcp.Up, "", "")
	look(2*mcptest.Lifetime, mcp.Down, mcp.TokenDue, "a gateway that runs replaces it")
	a.Expire()
	look(0, mcp.Down, mcp.TokenDue, "a gateway that runs replaces it")
	if n := a.Asked("token"); n != tokens {
		t.Errorf("a token was replaced %d times", n-tokens)
	}
	a.Auth.Close()
	look(0, mcp.Down, mcp.NoToken, "its token has to be replaced, and the authorization server does not answer")

	file := filepath.Join(folder, "test.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []struct {
		old, replacement string
		cause            mcp.Cause
		state            mcp.State
		problem          string
	}{
		{`"refresh_token"`, `"other"`, mcp.LoginOver, mcp.NeedsLogin, "its login is over (the server does not take its token any more): parley mcp login test"},
		{`"scopes"`, `"ended": "it was revoked", "scopes"`, mcp.LoginOver, mcp.NeedsLogin, "its login is over (it was revoked): parley mcp login test"},
		{c.URL, "https://example.org/mcp", mcp.NoLogin, mcp.NeedsLogin, "nobody has logged in at it"},
		{"{", "", mcp.NoToken, mcp.Down, "test.json holds no login: log in again"},
	} {
		spoiled := strings.ReplaceAll(string(text), l.old, l.replacement)
		if spoiled == string(text) {
			t.Fatalf("the login has no %s: its keys have changed", l.old)
		}
		if err := os.WriteFile(file, []byte(spoiled), 0o600); err != nil {
			t.Fatal(err)
		}
		look(0, l.state, l.cause, l.problem)
	}
	if v := a.Violations(); len(v) > 0 {
		t.Errorf("the authorization server was asked wrongly: %q", v)
	}
	for _, secret := range a.Tokens() {
		if strings.Contains(said.String(), secret) {
			t.Errorf("a secret stands in what is said: %s", said.String())
		}
	}
}
