package admin_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"parley/costs"
	"parley/gateway/admin"
	"parley/gateway/gatewaytest"
	"parley/simulators/model"
	"parley/simulators/telegram"
)

// newEnv is a gateway that runs, and its operator.
func newEnv(t *testing.T, o gatewaytest.Options) (*gatewaytest.Running, *admin.Client) {
	t.Helper()
	gw := gatewaytest.Open(t, o).Start()
	return gw, admin.NewClient(gw.AdminSocket())
}

func TestTheStatusOfAHouseThatAnswered(t *testing.T) {
	t.Parallel()
	gw, ask := newEnv(t, gatewaytest.Options{Brain: model.Demo(0)})
	gw.Env.Say(telegram.PrivateChat(gatewaytest.Ann), gatewaytest.Ann, "what is 12*7")
	answer := gw.NextDelivered()
	st, err := ask.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case !st.Fine || !st.Ready || len(st.Problems) > 0:
		t.Errorf("it is not fine: %q", st.Problems)
	case st.Version != "test" || st.PID == 0 || st.StateDir != gw.Env.Config().StateDir || !st.Since.Before(st.Now) || st.Now.Location() != time.UTC:
		t.Errorf("who it is: %+v", st)
	case len(st.Channels) != 1 || !st.Channels[0].Up || st.Channels[0].LastEvent.IsZero():
		t.Errorf("channels: %+v", st.Channels)
	case costs.Amount(st.Spend.Settled) != answer.Cost || st.Spend.Settled == 0 || len(st.Spend.Budgets) != 1 || st.Spend.Budgets[0].Limit != admin.USD(50*costs.USD) || st.Spend.Budgets[0].Spent != st.Spend.Settled || st.Spend.Day != st.Now.Format(time.DateOnly):
		t.Errorf("it cost %s, spent is %+v", answer.Cost, st.Spend)
	case st.Work != admin.Work{} || st.DeadLetters != 0:
		t.Errorf("work: %+v", st)
	case st.Log.Messages == 0 || st.Log.Bytes == 0 || st.Log.MaxBytes != 1<<30 || st.StoreBytes < 4096:
		t.Errorf("sizes: %+v, %d", st.Log, st.StoreBytes)
	}
}

// requirements A04
func TestATurnThatRunsIsInTheStatus(t *testing.T) {
	t.Parallel()
	asked, goOn := make(chan struct{}), make(chan struct{})
	gw, ask := newEnv(t, gatewaytest.Options{Brain: func(ctx context.Context, p *model.Prompt) model.Answer {
		close(asked)
		<-goOn
		return model.Echo(ctx, p)
	}})
	gw.Env.Say(gatewaytest.Kitchen, gatewaytest.Ann, "@"+gatewaytest.Username+" hello")
	<-asked
	st, err := ask.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if st.Work.Running != 1 || st.Work.Waiting != 0 || st.Spend.Held <= 0 || !st.Fine {
		t.Errorf("while it works: %+v %+v %q", st.Work, st.Spend, st.Problems)
	}
	close(goOn)
	gw.NextDelivered()
}

func TestTheStatusSaysThatAModelFailsAndWhatToDo(t *testing.T) {
	t.Parallel()
	gw, ask := newEnv(t, gatewaytest.Options{})
	if err := gw.Env.Model.Plan(model.Fault{Kind: model.FaultStatus, Status: 401, Next: 1}); err != nil {
		t.Fatal(err)
	}
	gw.Ask(gatewaytest.Ann, "hello")
	st := awaitTurns(t, ask, 1)
	if !st.Ready {
		t.Error("a provider that fails makes the gateway unready")
	}
	if st.Fine || len(st.Problems) != 2 || !strings.Contains(st.Problems[0], " fails: 1 of 1 call in the last 10 minutes, the last with auth ") ||
		!strings.Contains(st.Problems[0], "look at the key of the provider (providers.") || !strings.HasPrefix(st.Problems[1], "1 of 1 turn in the last 10 minutes failed") {
		t.Errorf("it says %q", st.Problems)
	}
	for _, note := range []string{`"models":"`, ` fails: 1 of 1 call in the last 10 minutes, the last with auth `, `"turns":"1 of 1 turn in the last 10 minutes failed`, `"configuration":"ok"`, `"given up":"ok"`, `"room and prices":"ok"`} {
		if ready := gw.Get("/readyz", 200); !strings.Contains(ready, note) {
			t.Errorf("readiness does not say %s: %s", note, ready)
		}
	}
	gw.Ask(gatewaytest.Ann, "hello again")
	if st = awaitTurns(t, ask, 2); st.Recent.FailedTurns != 1 || len(st.Recent.Models) != 1 || st.Recent.Models[0].Calls != 2 {
		t.Errorf("after another turn: %+v", st.Recent)
	}
}

// awaitTurns returns the status in which n turns have ended: an answer is in the chat before its
// turn is counted.
func awaitTurns(t *testing.T, ask *admin.Client, n int) admin.Status {
	t.Helper()
	limit := time.After(gatewaytest.Patience)
	for {
		st, err := ask.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if st.Recent.Turns >= n {
			return st
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-limit:
			t.Fatalf("%d turns have ended, and not %d", st.Recent.Turns, n)
		}
	}
}
