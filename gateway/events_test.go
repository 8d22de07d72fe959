package gateway_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/agent"
	"parley/gateway/activity"
	"parley/gateway/admin"
	"parley/gateway/gatewaytest"
	"parley/gateway/policy"
	"parley/gateway/settings"
	"parley/simulators/model"
	"parley/simulators/telegram"
)

// watch listens to what happens in turns until stop, which returns it.
func watch(t *testing.T, gw *gatewaytest.Running, session string, until agent.EventType) (stop func() []activity.Event) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), gatewaytest.Patience)
	enough := errors.New("enough")
	var heard []activity.Event
	begun, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- admin.NewClient(gw.AdminSocket()).Events(ctx, session, func() { close(begun) }, func(e activity.Event, line []byte) error {
			if strings.Contains(string(line), gatewaytest.Token) {
				t.Errorf("a secret is in %s", line)
			}
			heard = append(heard, e)
			if e.Type == until && e.Depth == 0 {
				return enough
			}
			return nil
		})
	}()
	select {
	case <-begun:
	case err := <-ended:
		t.Fatal(err)
	}
	return func() []activity.Event {
		t.Helper()
		defer cancel()
		if err := <-ended; !errors.Is(err, enough) {
			t.Fatalf("after %d events: %v", len(heard), err)
		}
		return heard
	}
}

// TX32, W01-W04, V04, D08, E02, E05: who listens on the operator's socket hears what happens in a
// turn and in its sub-agent's, each in the order of the seeds, in envelopes that say whose it
// is; of one session only if that was asked for.
func TestAnOperatorWatchesTurnsAsTheyRun(t *testing.T) {
	t.Parallel()
	brain := func(_ context.Context, q *model.Prompt) model.Answer {
		switch {
		case q.LastText() == "small task" && len(q.Answering()) == 0:
			return model.Reply(model.Use("read_file", map[string]string{"path": "missing " + gatewaytest.Token}))
		case strings.Contains(q.LastText(), "task") && len(q.Answering()) > 0 && len(q.Tools) < 10:
			return model.Reply(model.Say("small words"))
		case q.LastText() == "ask" && len(q.Answering()) == 0:
			return model.Reply(model.Think("hm"), model.Say("I ask."), model.Use("sessions_spawn", map[string]string{"task": "small task", "label": "the files"}))
		}
		return model.Reply(model.Think("aha"), model.Say("done"))
	}
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: brain})
	gw := env.Start()
	stop := watch(t, gw, "", agent.FinalResponse)
	env.Say(telegram.PrivateChat(gatewaytest.Ann), gatewaytest.Ann, "ask")
	var got []string
	var root activity.Event
	for i, e := range stop() {
		if i == 0 {
			root = e
		}
		p := e.Payload
		got = append(got, strings.Join(slices.DeleteFunc([]string{strings.Repeat(">", e.Depth), string(e.Family), string(e.Type), p.Tool, p.Status, p.Text}, func(s string) bool { return s == "" }), " "))
		if e.Correlation != root.Run || e.Depth == 0 && e.Run != root.Run || e.Depth == 1 && (e.Parent != root.Run || e.Run == root.Run || e.Session == root.Session) || e.Key == "" || e.At.IsZero() || e.Seq == 0 {
			t.Errorf("whose is %+v?", e)
		}
	}
	want := []string{
		"model reasoning hm", "model text I ask.", "metrics model_call",
		"tool step_start sessions_spawn", "tool tool_call sessions_spawn",
		"> task subagent_spawned the files",
		"> metrics model_call",
		"> tool step_start read_file", "> tool tool_call read_file", "> tool tool_result read_file error", "> tool step_complete read_file error",
		"> metrics model_call", "> task final small words", "> task subagent_ended ok",
		"tool tool_result sessions_spawn ok", "tool step_complete sessions_spawn ok",
		"model reasoning aha", "metrics model_call", "task final done",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	gw.NextDelivered()

	stop = watch(t, gw, root.Session[:20], agent.FinalResponse)
	gw.Ask(gatewaytest.Ben, "hello")
	gw.Ask(gatewaytest.Ann, "hello")
	for _, e := range stop() {
		if e.Session != root.Session {
			t.Errorf("of another session: %+v", e)
		}
	}
	gw.AwaitMetrics("parley_signals_dropped_total 0")
}

// AD03, F18, V04, W04 (2.4: GoalCompleted, budget.exceeded, queue.dropped): who listens hears of a
// goal that was reached, behind the end of its turn or, by a command, of no turn; of a call that
// does not fit into a budget; and of messages that will not be read.
func TestAnOperatorHearsOfGoalsBudgetsAndDroppedMessages(t *testing.T) {
	t.Parallel()
	held, open := make(chan struct{}, 8), make(chan struct{})
	env := gatewaytest.Open(t, gatewaytest.Options{
		Brain: func(ctx context.Context, p *model.Prompt) model.Answer {
			if strings.HasSuffix(p.LastText(), "wait") {
				held <- struct{}{}
				select {
				case <-open:
				case <-ctx.Done():
				}
			}
			return obedient(ctx, p)
		},
		Change: func(c *settings.Config) {
			c.Budgets.Session = "0.08"
			tg := c.Channels.Telegram["tg"]
			tg.WhileBusy = policy.Queue
			c.Channels.Telegram["tg"] = tg
		},
	})
	gw := env.Start()
	hear := func(until agent.EventType, do func()) (heard activity.Event, before []activity.Event) {
		t.Helper()
		stop := watch(t, gw, "", until)
		do()
		all := stop()
		return all[len(all)-1], all[:len(all)-1]
	}
	gw.Ask(gatewaytest.Ann, "/goal paint the gate")
	goal, before := hear(agent.GoalCompleted, func() { gw.Ask(gatewaytest.Ann, "say Done.") })
	gw.NextDelivered() // what people read of it
	final := before[len(before)-1]
	if final.Type != agent.FinalResponse || goal.Run != final.Run || goal.Session != final.Session || goal.Seq != final.Seq+1 || goal.Correlation != final.Run {
		t.Errorf("%+v behind %+v", goal, final)
	}
	if p := goal.Payload; goal.Family != agent.TaskFamily || p.Text != "paint the gate" || p.Status != "phrase" {
		t.Errorf("%+v", goal)
	}
	gw.Ask(gatewaytest.Ann, "/goal paint the door")
	goal, _ = hear(agent.GoalCompleted, func() { gw.Ask(gatewaytest.Ann, "/done") })
	if p := goal.Payload; goal.Run != "" || goal.Seq != 0 || goal.Session != final.Session || goal.Key != final.Key || p.Text != "paint the door" || p.Status != "command" {
		t.Errorf("%+v", goal)
	}

	dropped, _ := hear(agent.QueueDropped, func() {
		chat := telegram.PrivateChat(gatewaytest.Ann)
		env.Say(chat, gatewaytest.Ann, "say hm and wait")
		<-held
		for range 2 {
			env.Say(chat, gatewaytest.Ann, "say more")
		}
		env.Say(chat, gatewaytest.Ann, "/stop")
	})
	gw.NextDelivered() // that it stopped
	if p := dropped.Payload; dropped.Family != agent.WarningFamily || dropped.Session != final.Session || p.Status != "stop" || p.Count != 2 {
		t.Errorf("%+v", dropped)
	}
	close(open)

	exceeded, _ := hear(agent.BudgetExceeded, func() {
		for n := 0; said(gw, telegram.PrivateChat(gatewaytest.Ben), "I cannot answer") == 0; n++ {
			if n > 200 {
				t.Fatal("nothing was refused")
			}
			gw.Ask(gatewaytest.Ben, "say "+strings.Repeat("word ", 200))
		}
	})
	if p := exceeded.Payload; exceeded.Family != agent.WarningFamily || exceeded.Run == "" || p.Budget != "session" || !strings.Contains(p.Error, "the session budget is used up") {
		t.Errorf("%+v", exceeded)
	}
}

// 2.4: queue.dropped, of messages that are refused before they are stored.
func TestAnOperatorHearsOfMessagesThatAreTooMany(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{Change: func(c *settings.Config) {
		c.Limits.PersonPerMinute, c.Limits.PersonBurst = 1, 1
	}})
	gw := env.Start()
	stop := watch(t, gw, "", agent.QueueDropped)
	for range 3 {
		env.Say(telegram.PrivateChat(gatewaytest.Ann), gatewaytest.Ann, "/help")
	}
	heard := stop()
	if e := heard[0]; len(heard) != 1 || e.Family != agent.WarningFamily || e.Run != "" || e.Seq != 0 || e.Key == "" || e.Payload.Status != "person" || e.Payload.Count != 1 {
		t.Errorf("%+v", heard)
	}
}
