package replay_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"parley/costs"
	"parley/gateway/gatewaytest"
	"parley/gateway/prices"
	"parley/gateway/recording"
	"parley/gateway/settings"
	"parley/replay"
	"parley/simulators/model"
)

// docs/decisions/0068: a title was found beside the recorded turn; a replay does neither miss it
// nor take its call for one of the turn's.
func TestARecordingWithATitleReplaysWithoutDifferences(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.Open(t, gatewaytest.Options{
		Brain: func(_ context.Context, p *model.Prompt) model.Answer {
			if strings.HasPrefix(p.System, "You name conversations.") {
				return model.Reply(model.Say("Apples"))
			}
			return model.Reply(model.Say("re: " + p.LastText()))
		},
		Change: func(c *settings.Config) {
			quick(c)
			c.Titles.Model = "sim/demo"
		},
	}).Start()
	gw.Ask(gatewaytest.Ann, "apples?")
	gw.AwaitMetrics(`parley_llm_requests_total{agent_kind="title",model="demo",outcome="ok",provider="sim"} 1`)
	gw.Ask(gatewaytest.Ann, "/title Pears")
	gw.Ask(gatewaytest.Ann, "pears?")
	r, err := recording.Read(bytes.NewReader(oldest(t, gw)))
	if err != nil {
		t.Fatal(err)
	}
	titles := 0
	for _, e := range r.Costs {
		if e.Call.Purpose == costs.Title {
			titles++
		}
	}
	if titles != 1 || r.Sessions[0].Title != "Pears" {
		t.Fatalf("the recording has %d titles, and the session is called %q", titles, r.Sessions[0].Title)
	}
	report, err := replay.Run(t.Context(), r, replay.Options{})
	if err != nil || len(report.Differences) != 0 || report.Turns != 2 {
		t.Errorf("replayed %+v, %v", report, err)
	}
}

// requirements A06: through the whole gateway, another model is asked for summaries, its call has
// the purpose of one, and a recording of it replays without differences.
func TestASummariserIsAskedAndReplayed(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.Open(t, gatewaytest.Options{
		Brain: func(_ context.Context, p *model.Prompt) model.Answer {
			if p.Model == "other" {
				return model.Reply(model.Say("They spoke of fruit."))
			}
			return model.Reply(model.Say(strings.Repeat("apples and pears ", 400)))
		},
		Change: func(c *settings.Config) {
			quick(c)
			c.Prices.Ceiling = prices.Ceiling{Input: "5", Output: "25"}
			p := c.Providers["sim"]
			p.Models = append(p.Models, settings.ModelConfig{Name: "other", Window: 100_000})
			c.Providers["sim"] = p
			c.Context.Model = "sim/other"
		},
	}).Start()
	for _, text := range []string{"one", "two", "three"} {
		gw.Ask(gatewaytest.Ann, text)
	}
	if got := gw.Ask(gatewaytest.Ann, "/compact"); !strings.HasPrefix(got, "I have summarised") {
		t.Fatalf("/compact: %q", got)
	}
	gw.AwaitMetrics(`parley_llm_requests_total{agent_kind="summary",model="other",outcome="ok",provider="sim"} 1`)
	r, err := recording.Read(bytes.NewReader(oldest(t, gw)))
	if err != nil {
		t.Fatal(err)
	}
	report, err := replay.Run(t.Context(), r, replay.Options{})
	if err != nil || len(report.Differences) != 0 || report.Turns != 4 {
		t.Errorf("replayed %+v, %v", report, err)
	}
}
