package gateway_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"parley/gateway/admin"
	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
	"parley/simulators/model"
	"parley/simulators/telegram"
	"parley/tools"
	"parley/tools/mcp"
	"parley/tools/mcp/mcptest"
	"parley/tools/web/guard"
)

// silent is a world to which nothing is done.
type silent struct{}

func (silent) Note(string) error { return nil }
func (silent) Die()              {}

// obliging has the tool test__ask called when a person wants it, and again when they have answered.
func obliging(_ context.Context, p *model.Prompt) model.Answer {
	if rs := p.Answering(); len(rs) > 0 {
		return model.Reply(model.Say("result: " + rs[0].Text))
	}
	if text := p.LastText(); strings.Contains(text, "please") || strings.Contains(text, "Make the same call of test__ask again now") {
		return model.Reply(model.Use("test__ask", json.RawMessage(`{}`)))
	}
	return model.Reply(model.Say("hello"))
}

// withAsker gives the agents an MCP server whose tool asks a person.
func withAsker(t *testing.T) func(*settings.Config) {
	t.Helper()
	site := httptest.NewServer(mcptest.Handler(silent{}))
	t.Cleanup(site.Close)
	return func(c *settings.Config) {
		c.MCP.Servers = []mcp.Server{{
			Name: "test", URL: site.URL, AllowPrivate: []guard.Network{{CIDR: "127.0.0.1/32", Ports: []int{site.Listener.Addr().(*net.TCPAddr).Port}}},
			Tools: []mcp.ToolConfig{{Name: "ask", Category: tools.Write}},
		}}
	}
}

// On every network the answer of whom a server asked reaches the conversation that waits for it, from
// whichever thread it comes: in Slack a chat has another id than its person, and each message that
// stands by itself begins another conversation. (docs/decisions/0100)
func TestAPersonAnswersAnMCPServerOnEveryNetwork(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: obliging, Networks: gatewaytest.AllNetworks(), Change: withAsker(t)})
	gw := env.Start()
	consentToAll(t, admin.NewClient(gw.AdminSocket()), "test", 1)
	for _, n := range gatewaytest.AllNetworks() {
		p := env.Direct(n, askedPerson)
		p.Say("please")
		shown := p.AwaitWords("asked by the MCP server test", "asks the person something before it does ask")
		i := slices.IndexFunc(shown, func(s string) bool { return strings.Contains(s, "asked by the MCP server test") })
		_, rest, _ := strings.Cut(shown[i], "as in ")
		typed, _, _ := strings.Cut(rest, " 1.")
		other := env.Direct(n, askedPerson+1)
		other.Say(typed + " 2")
		other.AwaitWords("Under that code")
		env.Direct(n, askedPerson).Say(typed + " 2") // in Slack in a thread of its own
		p.AwaitWords("somebody answered: accept false in state 7")
	}
}

// A question of an MCP server is asked of whose turn it is, over the end of the gateway, and the call
// that is made again gets the answer, once. Where nobody can be asked in private the model reads
// so. (docs/decisions/0100)
func TestAPersonAnswersWhatAnMCPServerAsks(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: obliging, Change: withAsker(t)})
	gw := env.Start()
	consentToAll(t, admin.NewClient(gw.AdminSocket()), "test", 1)
	says := func(got, want string) {
		t.Helper()
		if !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
	chat := telegram.PrivateChat(gatewaytest.Ann)
	// next returns what the bot says next in the chat; the question may come before the answer that
	// says that it is asked.
	next := func() string { return env.DeliveredText(chat, gw.NextDelivered()) }
	env.Say(chat, gatewaytest.Ann, "please")
	question, answer := next(), next()
	if !strings.Contains(question, "asked by the MCP server test") {
		question, answer = answer, question
	}
	says(answer, "asks the person something before it does ask")
	says(question, "Are you sure?\nyes:")
	says(gw.Ask(gatewaytest.Ann, "please"), "has not answered yet")
	gw.Stop()
	gw = env.Start()
	code, _, _ := strings.Cut(strings.TrimPrefix(question, "❓ Question "), ",")
	says(gw.Ask(gatewaytest.Ben, "/answer "+code+" 1"), "Under that code")
	says(gw.Ask(gatewaytest.Ann, "/answer "+code+" perhaps"), "with one of the choices")
	says(gw.Ask(gatewaytest.Ann, "/answer "+code+" 2"), "somebody answered: accept false in state 7")
	group := telegram.Chat{ID: -5, Kind: telegram.Group, Title: "group"}
	if got := gw.AskIn(group, gatewaytest.Ann, mention+"please"); !strings.Contains(got, "cannot be passed on to anybody here") {
		t.Fatalf("in a group: %q", got)
	}
	env.Say(chat, gatewaytest.Ann, "please")
	for range 2 { // it is asked anew: the answer served once
		if text := next(); strings.Contains(text, "asked by the MCP server test") && strings.Contains(text, code) {
			t.Errorf("the same question: %q", text)
		}
	}
}
