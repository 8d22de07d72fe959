package worker_test

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/gateway/worker"
	"parley/llm"
	"parley/sessions"
	"parley/tools"
)

// sly is a tool that says only of a call with arguments that it changes something.
type sly struct{ noted }

func (sly) Definition() llm.Definition {
	d := noted{}.Definition()
	d.Name = "noted"
	return d
}

func (sly) Category(c tools.Call) tools.Category {
	if strings.Contains(string(c.Arguments), "text") {
		return tools.Write
	}
	return tools.Read
}

func (s sly) Run(context.Context, tools.Call) (tools.Result, error) {
	s.r.count("tool")
	return tools.Result{Content: "ran"}, nil
}

// toolResults returns what tools have answered, as the last request has it.
func (r *fixture) toolResults() (all []string) {
	rs := r.model.Requests()
	for _, m := range rs[len(rs)-1].Messages {
		for _, res := range m.Results() {
			all = append(all, res.Content)
		}
	}
	return all
}

// AI04: plan mode begins behind the turn that runs, and behind what waits before it; a call that
// would change something does not run, although its tool is there; where the mode cannot be
// read, it is on.
func TestPlanModeHoldsFromTheNextTurnOn(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		set, err := tools.NewSet(sly{noted{r}})
		if err != nil {
			t.Fatal(err)
		}
		var logged bytes.Buffer
		armed := func(o *worker.Options) {
			ag := o.Settings.Agents["main"]
			ag.Tools = set
			o.Settings.Agents["main"] = ag
			o.Logger = slog.New(slog.NewTextHandler(&logged, nil))
		}
		r.start("w", armed)
		ran := func(text string, want bool) {
			t.Helper()
			before := r.counted("tool")
			r.say(1, text)
			r.idle()
			if got := r.counted("tool") > before; got != want {
				t.Errorf("%q: the tool ran: %v, its results %q", text, got, r.toolResults())
			}
		}
		r.say(1, "wait x")
		r.atGate("x")
		for _, text := range []string{"tool first", "/plan", "tool second"} {
			r.say(1, text)
		}
		r.open("x")
		r.idle()
		if got := r.answers(1); len(got) != 4 || !strings.HasPrefix(got[2], "Plan mode is on") || r.counted("tool") != 1 {
			t.Errorf("answered %q, the tool ran %d times", got, r.counted("tool"))
		}
		if got := r.toolResults(); len(got) != 2 || got[0] != "ran" || !strings.HasPrefix(got[1], "Error: Permission denied: noted would change something") {
			t.Errorf("results %q", got)
		}
		ran("tool third", false)
		r.say(1, "/plan off")
		ran("tool fourth", true)

		m := r.mailbox(1)
		if _, err := r.store.WriteRecord(t.Context(), sessions.Record{
			ID: sessions.RecordID{Kind: "plan", Key: string(m.Session)}, Revision: sessions.AnyRevision, Owner: "worker", Body: []byte("?"), At: time.Now(),
		}); err != nil {
			t.Fatal(err)
		}
		ran("tool fifth", false)
		if !strings.Contains(logged.String(), "plan mode unreadable, taken as on") {
			t.Errorf("the log says %s", logged.String())
		}
		ran("/plan", false) // ends it
		ran("tool sixth", true)
		if got := r.toolResults(); slices.Index(got, "ran") != 0 {
			t.Errorf("results %q", got)
		}
	})
}
