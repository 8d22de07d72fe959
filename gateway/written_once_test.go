package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
	"parley/simulators/model"
)

// callID is a call's, which no two runs share.
var callID = regexp.MustCompile(`(toolu|call)_[0-9A-Za-z]+`)

// A gateway that goes on asks word for word what one asks that has just been started and has
// only what is stored: over tools, a summary, its end, another conversation and the way back.
func TestAGatewayThatGoesOnAsksWhatAFreshOneAsks(t *testing.T) {
	t.Parallel()
	const restart = "restart "
	script := []string{
		"list files", "at length", "at length", "what is 1*1", restart + "list files", "/compact", restart + "what is 2*2", "list files",
		"/compact undo", restart + "what is 3*3", "/new", "what is 4*4", "/resume 1", restart + "what is 5*5",
	}
	demo := model.Demo(0)
	brain := func(ctx context.Context, p *model.Prompt) model.Answer {
		switch text := p.LastText(); {
		case strings.Contains(text, "summary"):
			return model.Reply(model.Say("They listed files."))
		case text == "at length":
			return model.Reply(model.Say(strings.Repeat("and on ", 3000)))
		default:
			return demo(ctx, p)
		}
	}
	asked := func(openAI, restarts bool) (all [][]byte) {
		env := gatewaytest.Open(t, gatewaytest.Options{Brain: brain, OpenAI: openAI, Change: func(c *settings.Config) {
			a := c.Agents["main"]
			a.Window, a.MaxTokens = 20_000, 8000
			c.Agents["main"] = a
		}})
		gw := env.Start()
		for _, say := range script {
			say, again := strings.CutPrefix(say, restart)
			if again && restarts {
				gw.Stop()
				gw = env.Start()
			}
			got := gw.Ask(gatewaytest.Ann, say)
			if say == "/compact" && !strings.HasPrefix(got, "I have summarised") {
				t.Fatalf("/compact is answered with %q", got)
			}
		}
		for _, r := range env.Model.Requests() {
			var body struct{ Messages json.RawMessage }
			if err := json.Unmarshal(r.Body, &body); err != nil {
				t.Fatal(err)
			}
			all = append(all, callID.ReplaceAll(body.Messages, []byte("call")))
		}
		return all
	}
	wires := []bool{false} // make test-long has the other one, too
	if size(1) == 1 {
		wires = []bool{false, true}
	}
	for _, openAI := range wires {
		on, fresh := asked(openAI, false), asked(openAI, true)
		if len(on) < len(script)-4 || len(on) != len(fresh) {
			t.Fatalf("%d requests, and %d of gateways that were just started", len(on), len(fresh))
		}
		for i := range on {
			if bytes.Equal(on[i], fresh[i]) {
				continue
			}
			at := 0
			for at < min(len(on[i]), len(fresh[i])) && on[i][at] == fresh[i][at] {
				at++
			}
			at = max(at-60, 0)
			t.Errorf("request %d differs from that of a gateway that was just started, from byte %d on:\n%.300s\n%.300s", i, at, on[i][at:], fresh[i][at:])
		}
	}
}
