package slack_test

import (
	"slices"
	"testing"

	sim "parley/simulators/slack"
)

// agent makes the app an agent.
func agent(o *sim.Options) { o.Apps[0].AgentView = true }

func (w *workspace) sessionOf(thread string) sim.SessionEntry {
	w.t.Helper()
	for _, e := range w.Books().Sessions {
		if e.ThreadTS == thread {
			return e
		}
	}
	w.t.Fatalf("the thread %s has no session", thread)
	return sim.SessionEntry{}
}

func TestASessionIsProcessingUntilTheAppSaysOtherwise(t *testing.T) {
	t.Parallel()
	w := start(t, agent)
	dm := sim.DM(ann)
	root := w.say(dm, ann, "hello")
	set := func(status string, more ...string) answer {
		args := map[string]any{"channel_id": dm.ID, "thread_ts": root.TS, "status": status}
		for i := 0; i+1 < len(more); i += 2 {
			args[more[i]] = more[i+1]
		}
		return w.call("agents.sessions.setStatus", args)
	}
	if a := set("busy"); a.Error != "invalid_arguments" {
		t.Errorf("an unknown status: %s", a.raw)
	}
	if a := set("processing", "title", "Hello"); !a.OK {
		t.Fatalf("set: %s", a.raw)
	}
	// Neither what the app posts, nor the button ends it.
	if a := w.call("chat.postMessage", map[string]any{"channel": dm.ID, "thread_ts": root.TS, "text": "done"}); !a.OK {
		t.Fatal(string(a.raw))
	}
	if _, err := w.StopStreams(ann, dm.ID, root.TS); err != nil {
		t.Fatal(err)
	}
	if e := w.sessionOf(root.TS); e.Status != "processing" || e.Title != "Hello" {
		t.Errorf("%+v", e)
	}
	if a := set("active", "title", "Later"); !a.OK {
		t.Fatalf("set: %s", a.raw)
	}
	if e := w.sessionOf(root.TS); e.Status != "active" || e.Title != "Hello" {
		t.Errorf("%+v", e)
	}
}

func TestAStreamOpensASessionAndItsEndLeavesOne(t *testing.T) {
	t.Parallel()
	for status, want := range map[string][]string{"": {"processing", "active"}, "suspended": {"processing", "suspended"}, "processing": {"processing"}} {
		w := start(t, agent)
		root := w.say(general, ann, "hello")
		a := w.streaming(root.TS)
		if x := w.call("chat.stopStream", map[string]any{"channel": general.ID, "ts": a.TS, "session_status": "over"}); x.Error != "invalid_arguments" {
			t.Errorf("an unknown status: %s", x.raw)
		}
		if x := w.call("chat.stopStream", map[string]any{"channel": general.ID, "ts": a.TS, "session_status": status}); !x.OK {
			t.Errorf("stop: %s", x.raw)
		}
		if e := w.sessionOf(root.TS); !slices.Equal(e.Statuses, want) {
			t.Errorf("%q: %v", status, e.Statuses)
		}
	}
}

func TestWhatIsNoAgentHasNoSessions(t *testing.T) {
	t.Parallel()
	w := start(t)
	root := w.say(general, ann, "hello")
	w.streaming(root.TS)
	args := map[string]any{"channel_id": general.ID, "thread_ts": root.TS, "status": "active"}
	if a := w.call("agents.sessions.setStatus", args); a.Error != "not_authorized" {
		t.Errorf("set: %s", a.raw)
	}
	if n := len(w.Books().Sessions); n != 0 {
		t.Errorf("%d sessions", n)
	}
}

func TestAStreamInAChannelIsSeenByItsRecipientOnly(t *testing.T) {
	t.Parallel()
	w := start(t)
	root := w.say(general, ann, "hello")
	args := map[string]any{"channel": general.ID, "thread_ts": root.TS, "recipient_user_id": ann.ID, "recipient_team_id": "T0ELSEWHERE", "markdown_text": "one "}
	if a := w.call("chat.startStream", args); a.Error != "user_not_found" {
		t.Errorf("somebody of another team: %s", a.raw)
	}
	args["recipient_team_id"] = "T0PARLEY01"
	a := w.call("chat.startStream", args)
	if x := w.call("chat.appendStream", map[string]any{"channel": general.ID, "ts": a.TS, "markdown_text": "two"}); !x.OK {
		t.Fatal(string(x.raw))
	}
	m := w.Books().Messages[0]
	if m.TextFor(ann) != "one two" || m.TextFor(bob) != "one " {
		t.Errorf("Ann sees %q, Bob %q", m.TextFor(ann), m.TextFor(bob))
	}
	if x := w.call("chat.stopStream", map[string]any{"channel": general.ID, "ts": a.TS}); !x.OK {
		t.Fatal(string(x.raw))
	}
	if m := w.Books().Messages[0]; m.TextFor(bob) != "one two" {
		t.Errorf("at its end Bob sees %q", m.TextFor(bob))
	}
}

func TestTheAgentSurface(t *testing.T) {
	t.Parallel()
	w := start(t, agent)
	said, err := w.OpenAssistant("", ann, sim.Context{})
	if err != nil || said.ThreadTS != "" || len(said.Events) != 1 || said.Events[0].Kind != "app_home_opened" {
		t.Fatalf("%+v, %v", said, err)
	}
	prompts := map[string]any{"channel_id": said.Channel, "prompts": []any{map[string]any{"title": "a", "message": "b"}}}
	if a := w.call("assistant.threads.setSuggestedPrompts", prompts); !a.OK || len(w.Books().Signals) != 1 {
		t.Errorf("prompts: %s", a.raw)
	}
	prompts["thread_ts"] = w.say(sim.DM(ann), ann, "hello").TS
	if a := w.call("assistant.threads.setSuggestedPrompts", prompts); !a.OK || len(w.Books().Signals) != 1 {
		t.Errorf("prompts with a thread do something: %s", a.raw)
	}
}
