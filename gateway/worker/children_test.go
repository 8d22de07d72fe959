package worker_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"parley/costs"
	"parley/gateway/worker"
	"parley/llm"
	"parley/llm/llmtest"
	"parley/sessions"
	"parley/subagents"
	"parley/tools"
	"parley/transcript"
)

// children lets a worker's agents start some: "spawn x" starts one whose text is
// x, and one below that for "spawn spawn x".
func children(t testing.TB, r *fixture, cfg subagents.Config) func(*worker.Options) {
	t.Helper()
	set, err := tools.NewSet(subagents.Tools(cfg)...)
	if err != nil {
		t.Fatal(err)
	}
	reply := r.model.Reply
	r.model.Reply = func(n int, q llm.Request) llmtest.Turn {
		task, answered := "", false
		for _, m := range q.Messages {
			switch m.Role {
			case transcript.User:
				task, answered = m.Text(), false
			case transcript.Tool:
				answered = true
			}
		}
		if rest, ok := cutSpawn(task); ok && !answered {
			return llmtest.Turn{
				llmtest.Call{ID: "c1", Name: "sessions_spawn", Input: fmt.Sprintf(`{"task":%q}`, rest)},
				llmtest.Call{ID: "c2", Name: "sessions_spawn", Input: `{"task":"another"}`},
			}
		}
		return reply(n, q)
	}
	return func(o *worker.Options) {
		o.Settings.Agents = map[string]worker.Agent{"main": {Model: r.model, Tools: set}}
		runner, err := subagents.New(subagents.Options{
			Settings: subagents.Settings{
				Config: cfg, Loop: o.Settings.Loop,
				Agents: func(string) (subagents.Agent, bool) { return subagents.Agent{Model: r.model}, true },
			},
			Store: childStore{o.Store, r.store}, Busy: o.Busy, Observer: r.counter, Now: o.Now,
		})
		if err != nil {
			t.Fatal(err)
		}
		o.Subagents = runner
	}
}

type childStore struct {
	sessions.Turns
	sessions.Money
}

func cutSpawn(task string) (string, bool) {
	const verb = "spawn "
	if len(task) > len(verb) && task[:len(verb)] == verb {
		return task[len(verb):], true
	}
	return "", false
}

// With one turn at a time, one child at a time and children of children, every
// conversation is answered: who waits for a child holds up nobody.
func TestTurnsThatWaitForChildrenHoldNoSlot(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		r.start("w", children(t, r, subagents.Config{MaxConcurrent: 1}), turns(1))
		r.say(1, "spawn wait child")
		r.atGate("child")
		r.say(2, "hello") // while the only turn waits for its child
		r.wantAnswers(2, "re: hello")
		r.open("child")
		r.wantAnswers(1, "re: spawn wait child")
		for n := 3; n < 9; n++ {
			r.say(n, "spawn spawn leaf")
		}
		for n := 3; n < 9; n++ {
			r.wantAnswers(n, "re: spawn spawn leaf")
		}
		r.idle()
		if n := r.counted("spawned"); n != 2+6*4 {
			t.Errorf("%d children", n)
		}
		if r.counted("children 1") != r.counted("children -1") {
			t.Errorf("counted %v", r.counts)
		}
	})
}

// TX13: /stop reaches the children; their cost is the conversation's.
func TestAStopEndsTheChildrenToo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := realStore(t) // only it lists turns
		r.start("w", children(t, r, subagents.Config{}))
		r.say(1, "spawn spawn wait child")
		r.atGate("child")
		r.say(1, "/stop")
		r.wantAnswers(1, "Stopped.")
		r.idle()
		tree, err := r.store.Tree(t.Context(), r.mailbox(1).Session)
		if err != nil || len(tree) < 3 {
			t.Fatalf("%d sessions, %v", len(tree), err)
		}
		for _, s := range tree[1:] {
			ts, err := r.store.TurnsOf(t.Context(), s.ID)
			if err != nil || len(ts) != 1 || ts[0].State != sessions.Done {
				t.Errorf("%+v, %v", ts, err)
			}
		}
		var own costs.Amount
		for _, s := range tree {
			own += s.Own
		}
		if own != tree[0].Subtree {
			t.Errorf("%s of %s", own, tree[0].Subtree)
		}
		r.say(1, "hello")
		r.wantAnswers(1, "Stopped.", "re: hello")
	})
}

// A worker dies while children run; another goes on with them.
func TestTheChildrenOfADeadWorkerAreGoneOnWith(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		spawning := children(t, r, subagents.Config{})
		p := r.start("one", spawning)
		r.say(1, "spawn wait child")
		r.atGate("child")
		p.die()
		r.open("child")
		r.start("two", spawning)
		r.wantAnswers(1, "re: spawn wait child")
		r.idle()
		tree, err := r.store.Tree(t.Context(), r.mailbox(1).Session)
		if err != nil || len(tree) != 3 {
			t.Errorf("%d sessions, %v", len(tree), err)
		}
		ms, err := r.store.Messages(t.Context(), r.mailbox(1).Session)
		if err != nil || transcript.Check(transcript.Merge(ms)) != nil {
			t.Errorf("%v, %v", err, transcript.Check(transcript.Merge(ms)))
		}
		if slices.ContainsFunc(ms, func(m transcript.Message) bool {
			return slices.ContainsFunc(m.Parts, func(p transcript.Part) bool {
				res, ok := p.(transcript.ToolResult)
				return ok && res.IsError
			})
		}) {
			t.Error("a spawn was not found again")
		}
	})
}

// A child's store that fails leaves the whole turn open, which is taken up again.
func TestAChildWhoseStoreFailsCostsNoAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, lost := range []bool{false, true} {
			r := newRig(t)
			p := r.start("w", children(t, r, subagents.Config{}))
			r.say(0, "it has begun")
			r.wantAnswers(0, "re: it has begun")
			for n := 1; n <= 20; n++ {
				p.store.arm(n, lost)
				r.say(n, "spawn leaf")
				r.wantAnswers(n, "re: spawn leaf")
			}
			r.idle()
			for n := 1; n <= 20; n++ {
				if tree, err := r.store.Tree(t.Context(), r.mailbox(n).Session); err != nil || len(tree) != 3 {
					t.Errorf("operation %d: %d sessions, %v", n, len(tree), err)
				}
			}
		}
	})
}

// A turn that runs out of time while it waits for a child is told so, and the
// next message is answered.
func TestATurnThatRunsOutOfTimeEndsItsChildren(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		r.start("w", children(t, r, subagents.Config{}), turns(1), func(o *worker.Options) { o.Config.TurnTimeout = time.Second })
		r.say(1, "spawn wait for ever")
		r.say(1, "hello")
		r.await("two answers", func() bool { return len(r.answers(1)) == 2 })
		if got := r.answers(1); got[1] != "re: hello" {
			t.Errorf("told %q", got)
		}
		if r.counted("timed out") != 1 {
			t.Errorf("counted %v", r.counts)
		}
	})
}
