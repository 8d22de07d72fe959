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
