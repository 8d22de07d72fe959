package gateway_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
	"parley/simulators/model"
	"parley/simulators/telegram"
	"parley/tools"
)

// offersDone has an agent's tools end with done.
func offersDone(c *settings.Config) {
	a := c.Agents["main"]
	a.DoneTool, a.Tools = true, []string{"list_directory", "write_file", "sessions_spawn"}
	c.Agents["main"] = a
	c.Subagents.Tools = []string{"list_directory"}
}

// F25, F26, TX34: the tool is offered where the configuration says so, its message is the
// answer, what is behind it does not run, and the conversation goes on.
func TestADoneToolEndsTheTurn(t *testing.T) {
	t.Parallel()
	write := model.Use("write_file", map[string]string{"path": "late.txt", "content": "late"})
	for said, want := range map[string]string{"It is empty.": "It is empty.", "": "I look."} {
		seen := make(chan []string, 1)
		env := gatewaytest.Open(t, gatewaytest.Options{Change: offersDone, Brain: func(ctx context.Context, p *model.Prompt) model.Answer {
			if strings.HasSuffix(p.LastText(), "go on") {
				var results []string
				for _, m := range p.Messages {
					for _, r := range m.Results {
						results = append(results, r.Text)
					}
				}
				seen <- results
				return model.Echo(ctx, p)
			}
			look := model.Use("list_directory", map[string]string{"path": "."})
			return model.Reply(model.Say("I look."), look, model.Use(tools.DoneName, map[string]string{"message": said}), write)
		}})
		gw := env.Start()
		if got := gw.Ask(gatewaytest.Ann, "what is there?"); got != want {
			t.Errorf("the answer is %q, want %q", got, want)
		}
		gw.Ask(gatewaytest.Ann, "go on")
		if n := len(env.Model.Requests()); n != 2 {
			t.Errorf("%d requests", n)
		}
		if results := <-seen; len(results) != 3 || results[2] != "skipped: task already complete" {
			t.Errorf("the results are %q", results)
		}
		if got := env.SentTexts(telegram.PrivateChat(gatewaytest.Ann)); len(got) != 2 {
			t.Errorf("the chat shows %q", got)
		}
	}
}

// F25: sub-agents have it too, and nobody has it who was not given it.
func TestSubagentsHaveTheDoneToolOfWhoStartsThem(t *testing.T) {
	t.Parallel()
	for _, offered := range []bool{true, false} {
		seen := make(chan []string, 64) // more than a child has steps
		env := gatewaytest.Open(t, gatewaytest.Options{
			Change: func(c *settings.Config) {
				offersDone(c)
				a := c.Agents["main"]
				a.DoneTool = offered
				c.Agents["main"] = a
			},
			Brain: func(_ context.Context, p *model.Prompt) model.Answer {
				var names []string
				for _, tool := range p.Tools {
					names = append(names, tool.Name)
				}
				seen <- names
				switch {
				case strings.HasPrefix(p.LastText(), "count") && offered:
					return model.Reply(model.Use(tools.DoneName, map[string]string{"message": "There are three."}))
				case strings.HasPrefix(p.LastText(), "count"):
					return model.Reply(model.Say("There are three."))
				case len(p.Answering()) == 0:
					return model.Reply(model.Use("sessions_spawn", map[string]string{"task": "count them"}))
				}
				return model.Reply(model.Say(p.Messages[len(p.Messages)-1].Results[0].Text))
			},
		})
		if got := env.Start().Ask(gatewaytest.Ann, "how many?"); !strings.Contains(got, "There are three.") || !strings.Contains(got, `"status":"ok"`) {
			t.Errorf("the parent reads %q", got)
		}
		want := [][]string{{"list_directory", "write_file", "sessions_spawn"}, {"list_directory"}}
		for i := range want {
			if offered {
				want[i] = append(want[i], tools.DoneName)
			}
			if d := cmp.Diff(want[i], <-seen); d != "" {
				t.Errorf("offered: %v, depth %d (-want +got):\n%s", offered, i, d)
			}
		}
	}
	if slices.Contains(settings.ToolNames(), tools.DoneName) {
		t.Error("done is a tool that lists name")
	}
}
