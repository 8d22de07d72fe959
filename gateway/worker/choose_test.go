package worker_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/agent"
	"parley/gateway/preferences"
	"parley/gateway/worker"
	"parley/llm"
	"parley/llm/llmtest"
	"parley/sessions"
)

// otherModel is a model that people may choose; it answers as the fixture's, with its name.
func otherModel(r *fixture, name string) *llmtest.Script {
	m := &llmtest.Script{ProviderName: "other", ModelName: name}
	m.Reply = func(n int, q llm.Request) llmtest.Turn {
		return append(r.reply(n, q), llmtest.Text("by "+name))
	}
	return m
}

// choices lets people choose the fixture's model and these.
func choices(r *fixture, ms ...*llmtest.Script) func(*worker.Options) {
	return func(o *worker.Options) {
		ag := o.Settings.Agents["main"]
		ag.Choices = []agent.Fallback{{Model: r.model}}
		for _, m := range ms {
			ag.Choices = append(ag.Choices, agent.Fallback{Model: m, Window: 100_000, MaxTokens: 500})
		}
		o.Settings.Agents["main"] = ag
	}
}

func ownModel(r *fixture) string { return r.model.Provider() + "/" + r.model.Name() }

// requirements AB01, AB02, AB05, AI06: a choice keeps its place in the queue, holds from the next
// turn on and in this conversation alone, outlives /new and the process, and is asked as a
// fall-back is; nothing but what the operator lists is ever chosen.
func TestAChosenModelAnswersFromTheNextTurnOn(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		a, b := otherModel(r, "aa"), otherModel(r, "bb")
		p := r.start("w", choices(r, a, b))
		r.say(1, "wait x")
		r.atGate("x")
		for _, text := range []string{"queued before", "/model aa", "behind"} {
			r.say(1, text)
		}
		r.open("x")
		r.idle()
		took := "From your next message on `other/aa` answers here. /model default takes that back."
		r.wantAnswers(1, "re: wait x", "re: queued before", took, "re: behind\nby aa")
		if q := a.Requests()[0]; q.MaxTokens != 500 {
			t.Errorf("it was asked for %d tokens", q.MaxTokens)
		}
		r.say(2, "another chat")
		p.end(t)
		r.start("w2", choices(r, a, b))
		for _, c := range [][2]string{
			{"after a restart", "re: after a restart\nby aa"},
			{"/new", worker.FreshText},
			{"fresh", "re: fresh\nby aa"},
			{"/model gpt-900", "There is no such model to choose here: /model lists them."},
			{"/model other/", "Which of them? `other/aa`, `other/bb` fit: /model lists all."},
			{"/model 3", "From your next message on `other/bb` answers here. /model default takes that back."},
			{"third", "re: third\nby bb"},
			{"/provider other", took},
			{"/provider nobody", "There is no such provider to choose here: /provider lists them."},
			{"first of it", "re: first of it\nby aa"},
			{"/model Reset", "From your next message on `" + ownModel(r) + "` answers here, as by default."},
			{"own", "re: own"},
		} {
			r.say(1, c[0])
			r.idle()
			if got := lastAnswer(r, 1); got != strings.Replace(c[1], "/model default takes that back", typedFor(c[0])+" default takes that back", 1) {
				t.Errorf("%s: %q, want %q", c[0], got, c[1])
			}
		}
		if got := r.answers(2); !slices.Equal(got, []string{"re: another chat"}) {
			t.Errorf("the other chat: %q", got)
		}
	})
}

// typedFor is the command that an answer to text names.
func typedFor(text string) string {
	if strings.HasPrefix(text, "/provider") {
		return "/provider"
	}
	return "/model"
}

// requirements AB03: with provider_persistence false a choice holds in its session, also after
// a restart.
func TestAChoicePerSessionEndsWithIt(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		a := otherModel(r, "aa")
		perSession := func(o *worker.Options) { o.Settings.ChoicePerSession = true }
		p := r.start("w", choices(r, a), perSession)
		r.say(1, "/model aa")
		r.idle()
		p.end(t)
		r.start("w2", choices(r, a), perSession)
		for _, text := range []string{"one", "/new", "two"} {
			r.say(1, text)
			r.idle()
		}
		r.wantAnswers(1, "From your next message on `other/aa` answers here, until this conversation ends. /model default takes that back.", "re: one\nby aa", worker.FreshText, "re: two")
	})
}

// noChoices is a store that does not answer for what was chosen.
type noChoices struct{ worker.Store }

func (n noChoices) Record(ctx context.Context, id sessions.RecordID, now time.Time) (sessions.Record, error) {
	if id.Kind == "model_choice" {
		return sessions.Record{}, errBroken
	}
	return n.Store.Record(ctx, id, now) // it stands for the store
}

// requirements AB04, TX26: a choice that cannot be read or may not be made any more refuses no
// turn: the agent's own model answers, and the log says why.
func TestAChoiceThatCountsNoMoreRefusesNoTurn(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		var said bytes.Buffer
		logged := func(o *worker.Options) { o.Logger = slog.New(slog.NewTextHandler(&said, nil)) }
		a, b := otherModel(r, "aa"), otherModel(r, "bb")
		p := r.start("w", choices(r, a, b))
		r.say(1, "/model aa")
		r.idle()
		for i, c := range []struct {
			change func(*worker.Options)
			log    string
		}{
			{choices(r, b), "chosen model not allowed any more"}, // taken out of the list
			{choices(r), ""}, // nothing may be chosen at all
			{func(o *worker.Options) { choices(r, a, b)(o); o.Store = noChoices{o.Store} }, "model choice unreadable"},
		} {
			p.end(t)
			said.Reset()
			p = r.start(fmt.Sprint("w", i), c.change, logged)
			r.say(1, fmt.Sprint("turn ", i))
			r.idle()
			if got := lastAnswer(r, 1); got != fmt.Sprint("re: turn ", i) {
				t.Errorf("%d: %q", i, got)
			}
			if !strings.Contains(said.String(), c.log) {
				t.Errorf("%d: the log has no %q:\n%s", i, c.log, said.String())
			}
		}
		p.end(t)
		r.start("last", choices(r, a, b))
		r.say(1, "back")
		r.idle()
		if got := lastAnswer(r, 1); got != "re: back\nby aa" { // what was chosen was not forgotten
			t.Errorf("%q", got)
		}
	})
}

// Where an operator lets nobody choose, nobody does, and a sentence says so.
func TestNothingIsChosenWhereNothingIsOffered(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(_ *testing.T, r *fixture) {
		r.start("w")
		for _, text := range []string{"/model aa", "/provider other", "hello"} {
			r.say(1, text)
			r.idle()
		}
		none := preferences.NothingOffered(preferences.Menu{Own: ownModel(r)})
		r.wantAnswers(1, none, none, "re: hello")
	})
}

// Each operation of a worker's store fails once, before or after it was performed.
func TestAChoiceIsMadeOnceWhicheverOperationFails(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprintf("lost=%v", lost), func(t *testing.T) {
			t.Parallel()
			inFakeTime(t, func(t *testing.T, r *fixture) {
				p := r.start("w", choices(r, otherModel(r, "aa")))
				for n := 1; n <= 12; n++ {
					r.say(n, "one")
					r.idle()
					p.store.arm(n, lost)
					r.say(n, "/model aa")
					r.say(n, "second")
					r.await(fmt.Sprint("answers with operation ", n, " failing"), func() bool { return len(r.answers(n)) >= 3 })
					r.idle()
					got := r.answers(n)
					unread := got[2] == "re: second" // the read of the choice itself failed
					if len(got) != 3 || got[0] != "re: one" || !strings.HasPrefix(got[1], "From your next message on") || got[2] != "re: second\nby aa" && !unread {
						t.Errorf("operation %d: told %q", n, got)
					}
				}
			})
		})
	}
}

// The chosen model is asked first, and when it does not work, the agent's own ones without it.
func TestAgentWithAChosenModelFallsBackToItsOwn(t *testing.T) {
	t.Parallel()
	model := func(name string) agent.Fallback {
		return agent.Fallback{Model: &llmtest.Script{ProviderName: "p", ModelName: name}, Window: 1000 + len(name), Vision: name == "b"}
	}
	own := worker.Agent{
		Model: model("own").Model, Window: 77, MaxTokens: 7, SeesPictures: true,
		Fallbacks: []agent.Fallback{model("a"), model("b")}, Choices: []agent.Fallback{model("own"), model("b"), model("c")},
	}
	for chosen, want := range map[string]string{
		"p/own": "own 77 true: a b", "p/b": "b 1001 true: own a", "p/c": "c 1001 false: own a b",
		"p/a": "own 77 true: a b", // a fall-back that may not be chosen
	} {
		a := own.With(chosen)
		got := fmt.Sprintf("%s %d %v:", a.Model.Name(), a.Window, a.SeesPictures)
		for _, f := range a.Fallbacks {
			got += " " + f.Model.Name()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", chosen, got, want)
		}
	}
	if own.Fallbacks[0].Model.Name() != "a" || own.Model.Name() != "own" {
		t.Error("the agent itself was changed")
	}
}
