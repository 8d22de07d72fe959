package gateway_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

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

// workshop is a server with tasks, and what it was asked for.
type workshop struct {
	chores *mcptest.Chores
	noted  chan string
	seen   <-chan string // ids that the gateway has asked for
}

func (w *workshop) Note(line string) error {
	w.noted <- line
	return nil
}

func (*workshop) Die() {}

// openWorkshop gives the agents an MCP server whose tool is done as a task.
func openWorkshop(t *testing.T) (*workshop, func(*settings.Config)) {
	t.Helper()
	seen := make(chan string, 100)
	w := &workshop{mcptest.NewChores(), make(chan string, 100), seen}
	w.chores.Poll, w.chores.Seen = 1, seen
	s, err := mcptest.NewWithTasks(w, w.chores)
	if err != nil {
		t.Fatal(err)
	}
	site := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(site.Close)
	return w, func(c *settings.Config) {
		c.Worker.Grace = time.Millisecond // a gateway that ends does not wait for its turns
		c.MCP.Servers = []mcp.Server{{
			Name: "test", URL: site.URL, AllowPrivate: []guard.Network{{CIDR: "127.0.0.1/32", Ports: []int{site.Listener.Addr().(*net.TCPAddr).Port}}},
			Tools: []mcp.ToolConfig{{Name: "work", Category: tools.Write, Price: "0.01"}},
		}}
	}
}

// hiring has the tool test__work do what a person says.
func hiring(_ context.Context, p *model.Prompt) model.Answer {
	if rs := p.Answering(); len(rs) > 0 {
		return model.Reply(model.Say("result: " + rs[0].Text))
	}
	_, words, ok := strings.Cut(p.LastText(), "please ")
	if !ok {
		return model.Reply(model.Say("hello"))
	}
	args, err := json.Marshal(map[string]string{"text": words})
	if err != nil {
		return model.Reply(model.Say(err.Error()))
	}
	return model.Reply(model.Use("test__work", json.RawMessage(args)))
}

// next returns what a server says next.
func next(t *testing.T, said <-chan string) string {
	t.Helper()
	select {
	case text := <-said:
		return text
	case <-time.After(gatewaytest.Patience):
		t.Fatal("the server says nothing")
		return ""
	}
}

// A gateway that ends while a call waits for a task of an MCP server goes on waiting for it when it is
// there again: the task is begun once, and paid once. (docs/decisions/0117)
func TestATaskOfAServerOutlivesTheGateway(t *testing.T) {
	t.Parallel()
	w, change := openWorkshop(t)
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: hiring, Change: change})
	gw := env.Start()
	consentToAll(t, admin.NewClient(gw.AdminSocket()), "test", 1)
	env.Say(telegram.PrivateChat(gatewaytest.Ann), gatewaytest.Ann, "please hold done")
	if got := next(t, w.noted); got != "began hold done" {
		t.Fatalf("the server noted %q", got)
	}
	next(t, w.seen)
	gw.Stop()
	w.chores.Release()
	gw = env.Start()
	chat := telegram.PrivateChat(gatewaytest.Ann)
	if got := env.DeliveredText(chat, gw.NextDelivered()); !strings.Contains(got, `result:`) || !strings.Contains(got, `done for ""`) {
		t.Errorf("the answer is %q", got)
	}
	select {
	case again := <-w.noted:
		t.Errorf("the server noted %q as well", again)
	default:
	}
	gw.AwaitMetrics(`parley_tool_cost_usd_total{channel="tg",tool="test__work"} 0.01`)
}
