package gateway_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"parley/gateway/admin"
	"parley/gateway/gatewaytest"
	"parley/gateway/recording"
	"parley/gateway/settings"
	"parley/simulators/model"
)

// requirements B21, TX20: a provider that does not answer the request for a summary holds a
// turn up for context_prep_timeout only; the answer comes without it, and the call is booked.
func TestATurnDoesNotWaitForASummaryThatDoesNotCome(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 9)
	env := gatewaytest.Open(t, gatewaytest.Options{
		Change: func(c *settings.Config) {
			c.Context.MaxTokens = 5000
			c.Worker.ContextPrepTimeout = time.Second
		},
		Brain: func(ctx context.Context, p *model.Prompt) model.Answer {
			if strings.HasPrefix(p.LastText(), "Provide a detailed but concise summary") {
				asked <- struct{}{}
				<-ctx.Done()
			}
			return model.Reply(model.Say("Go on."))
		},
	})
	gw := env.Start()
	for len(asked) == 0 {
		if got := gw.Ask(gatewaytest.Ann, strings.Repeat("We talk about this and that. ", 100)); got != "Go on." && !strings.Contains(got, "ompacting") {
			t.Fatalf("answered %q", got)
		}
	}
	if n := len(asked); n != 1 {
		t.Errorf("%d summaries were asked for", n)
	}
	gw.AwaitMetrics(`parley_llm_errors_total{error_type="timeout",model="demo",provider="sim"} 1`)
	list, err := admin.NewClient(gw.AdminSocket()).Sessions(t.Context(), admin.SessionQuery{})
	noError(t, err)
	r, err := recording.Read(bytes.NewReader(recordingOf(t, gw, string(list.Sessions[0].ID))))
	noError(t, err)
	last := r.Messages[r.Header.Session]
	if got := last[len(last)-1].Text(); got != "Go on." {
		t.Errorf("the turn ended with %q", got)
	}
	if len(r.Costs) != len(r.Requests) {
		t.Errorf("%d requests, %d rows in the ledger", len(r.Requests), len(r.Costs))
	}
}
