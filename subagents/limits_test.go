package subagents_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/costs"
	"parley/llm"
	"parley/llm/llmtest"
	"parley/sessions"
	"parley/subagents"
	"parley/tools"
)

// call runs the spawn tool by itself, as call number n of the open turn.
func (r *fixture) call(f *subagents.TurnTree, n int, input string) (tools.Result, error) {
	r.t.Helper()
	tl, ok := f.Tools().Lookup(subagents.SpawnName)
	if !ok {
		r.t.Fatal("there is no such tool")
	}
	return tl.Run(r.t.Context(), tools.Call{
		ID: fmt.Sprint("c", n), Name: subagents.SpawnName, Arguments: json.RawMessage(input),
		Session: r.turn.Session, Key: r.mailbox.Key, Turn: r.turn.ID, Step: 1, Workspace: r.space, Progress: func(string) {},
	})
}

// 6.3: a refusal is a tool's error and leaves nothing behind.
func TestEachLimitRefusesAndStoresNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cfg    subagents.Config
		before int // children that are there
		input  string
		want   error
		reason string
	}{
		"none at all":       {subagents.Config{MaxDepth: -1}, 0, `{"task":"a"}`, subagents.ErrDepth, "depth"},
		"another agent":     {subagents.Config{}, 0, `{"task":"a","agent":"helper"}`, subagents.ErrDenied, "policy"},
		"children":          {subagents.Config{MaxChildren: 2}, 2, `{"task":"a"}`, subagents.ErrChildren, "fanout"},
		"spawns":            {subagents.Config{MaxSpawns: 3}, 3, `{"task":"a"}`, subagents.ErrSpawns, "fanout"},
		"spawns first":      {subagents.Config{MaxSpawns: 2, MaxChildren: 2}, 2, `{"task":"a"}`, subagents.ErrSpawns, "fanout"},
		"no money at all":   {subagents.Config{}, 0, `{"task":"a","max_cost_usd":"0"}`, subagents.ErrBudget, "budget"},
		"depth goes before": {subagents.Config{MaxDepth: -1}, 0, `{"task":"a","agent":"helper","max_cost_usd":"0"}`, subagents.ErrDepth, "depth"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(llm.Request) llmtest.Turn { return text("ok") })
			r.cfg = c.cfg
			r.say("root")
			f := r.family(r.store)
			for n := range c.before {
				if _, err := r.call(f, n, `{"task":"a"}`); err != nil {
					t.Fatal(err)
				}
			}
			// What an earlier take has spawned counts, and the same call is no
			// further one.
			f = r.family(r.store)
			if c.before > 0 {
				if _, err := r.call(f, 0, `{"task":"a"}`); err != nil {
					t.Errorf("found again: %v", err)
				}
			}
			_, err := r.call(f, 100, c.input)
			if !errors.Is(err, c.want) || r.counted("denied "+c.reason) != 1 || errors.Is(err, tools.ErrUnfinished) {
				t.Errorf("%v, %v", err, r.counts)
			}
			if n := len(r.tree()); n != 1+c.before {
				t.Errorf("%d sessions", n)
			}
		})
	}
}

// The model cannot know which of its calls are quick.
func TestOfTooManyCallsTheFirstAreMade(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]subagents.Config{
		"children":          {MaxChildren: 3},
		"spawns":            {MaxSpawns: 3},
		"one after another": {MaxChildren: 3, MaxConcurrent: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(q llm.Request) llmtest.Turn {
				task, answered := lastUser(q)
				if task != "root" || answered {
					return text("did " + task)
				}
				var all llmtest.Turn
				for i := range 8 {
					all = append(all, spawnCall(fmt.Sprint("c", i), fmt.Sprint("task ", i)))
				}
				return all
			})
			r.cfg = cfg
			r.ask("root")
			results := r.results(r.turn.Session)
			if len(results) != 8 {
				t.Fatalf("%d results", len(results))
			}
			for i, res := range results {
				if res.IsError != (i >= 3) {
					t.Errorf("call %d: %q", i, res.Content)
				}
			}
			if n := len(r.tree()); n != 4 {
				t.Errorf("%d sessions", n)
			}
		})
	}
}

func TestAnotherAgentThatTheOperatorAllowsMayAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(llm.Request) llmtest.Turn { return text("ok") })
	r.cfg.Agents = []string{"helper"}
	r.say("root")
	if _, err := r.call(r.family(r.store), 1, `{"task":"a","agent":"helper"}`); err != nil {
		t.Fatal(err)
	}
	if k := r.tree()[1].Key; k.Agent() != "helper" || k.Depth() != 1 {
		t.Errorf("%s", k)
	}
}

func TestACountIsOfOneMessageNotOfTheConversation(t *testing.T) {
	t.Parallel()
	r := newRig(t, parent([]llmtest.Call{spawnCall("c1", "a"), spawnCall("c2", "b")}, says))
	r.cfg.MaxChildren, r.cfg.MaxSpawns = 2, 2
	for n := 1; n <= 3; n++ {
		r.ask("root")
		if len(r.tree()) != 1+2*n {
			t.Errorf("%d sessions after message %d", len(r.tree()), n)
		}
	}
}

// With one slot each a tree of depth 2 comes to its end: who waits holds none.
func TestOneSlotIsEnoughForATreeOfAnyDepth(t *testing.T) {
	t.Parallel()
	r := newRig(t, parent([]llmtest.Call{spawnCall("c1", "middle 1"), spawnCall("c2", "middle 2"), spawnCall("c3", "leaf")}, func(task string, answered bool, q llm.Request) llmtest.Turn {
		if strings.HasPrefix(task, "middle") && !answered {
			return llmtest.Turn{spawnCall("g1", "leaf"), spawnCall("g2", "leaf")}
		}
		return says(task, answered, q)
	}))
	r.cfg.MaxConcurrent = 1
	r.ask("root")
	if n := len(r.tree()); n != 8 {
		t.Errorf("%d sessions", n)
	}
	for _, res := range r.results(r.turn.Session) {
		if f, _ := told(t, res.Content); f.Status != "ok" {
			t.Errorf("%+v", f)
		}
	}
	if !r.seat.held {
		t.Error("the turn went on without its seat")
	}
}

// A spawn waits for a slot for as long as the child might take, and no longer.
func TestASpawnThatNeverGetsASlotIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reached, open := make(chan struct{}), make(chan struct{})
		r := newRig(t, func(q llm.Request) llmtest.Turn {
			if task, _ := lastUser(q); task == "long" {
				return llmtest.Turn{llmtest.Notify(reached), llmtest.Wait(open), llmtest.Text("ok")}
			}
			return text("ok")
		})
		r.cfg.MaxConcurrent = 1
		r.say("root")
		f := r.family(r.store)
		ended := make(chan error, 1)
		go func() {
			_, err := r.call(f, 1, `{"task":"long"}`)
			ended <- err
		}()
		<-reached
		_, err := r.call(f, 2, `{"task":"short","timeout_seconds":1}`)
		if !errors.Is(err, subagents.ErrConcurrency) || r.counted("denied concurrency") != 1 || len(r.tree()) != 2 {
			t.Errorf("%v, %d sessions", err, len(r.tree()))
		}
		close(open)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		// The place that it had among the children is free again.
		if _, err := r.call(f, 2, `{"task":"short"}`); err != nil {
			t.Error(err)
		}
	})
}

// 6.5: a cap counts all below it, and a child counts against all caps above.
func TestACapHoldsForAllBelowIt(t *testing.T) {
	t.Parallel()
	r := newRig(t, parent([]llmtest.Call{{ID: "c1", Name: "sessions_spawn", Input: `{"task":"middle","max_cost_usd":"0.03"}`}}, func(task string, answered bool, q llm.Request) llmtest.Turn {
		n := 0
		for _, m := range q.Messages {
			n += len(m.Calls())
		}
		if task == "middle" && n < 20 {
			return llmtest.Turn{llmtest.Call{ID: "g", Name: "sessions_spawn", Input: `{"task":"leaf","max_cost_usd":"5"}`}}
		}
		return says(task, answered, q)
	}))
	r.cfg.MaxChildren = 20
	r.ask("root")
	f, _ := told(t, r.results(r.turn.Session)[0].Content)
	tree := r.tree()
	limit := costs.USD * 3 / 100
	if f.Status != "budget" || tree[1].Subtree > limit || len(tree) < 3 {
		t.Errorf("%+v, spent %s with %d sessions", f, tree[1].Subtree, len(tree))
	}
	settled, held, err := r.store.Spent(t.Context(), sessions.Scope{Kind: "task", ID: string(tree[1].ID), Window: costs.Always}, time.Now())
	if err != nil || settled != tree[1].Subtree || settled+held > limit {
		t.Errorf("the cap counts %s and %s, %v", settled, held, err)
	}
}

func TestWhatAChildSpendsCountsForWhomItsRootIsCounted(t *testing.T) {
	t.Parallel()
	r := newRig(t, parent([]llmtest.Call{spawnCall("c1", "a")}, says))
	r.scope = []sessions.Scope{{Kind: "person", ID: "7"}}
	r.ask("root")
	settled, _, err := r.store.Spent(t.Context(), r.scope[0], time.Now())
	if err != nil || settled != r.tree()[0].Subtree || r.tree()[1].Subtree == 0 {
		t.Errorf("counted %s of %s, %v", settled, r.tree()[0].Subtree, err)
	}
}

// The least of what the operator and the call allow is the child's cap.
func TestTheOperatorsCapIsTheMostThatACallCanAskFor(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string]string{"": "0.5", "0.2": "0.2", "9": "0.5"} {
		r := newRig(t, func(llm.Request) llmtest.Turn { return text("ok") })
		r.cfg.MaxCostUSD = "0.5"
		r.say("root")
		input := `{"task":"a"}`
		if asked != "" {
			input = `{"task":"a","max_cost_usd":"` + asked + `"}`
		}
		if _, err := r.call(r.family(r.store), 1, input); err != nil {
			t.Fatal(err)
		}
		amount, _ := costs.ParseAmount(want)
		if p := string(r.tree()[1].Policy); !strings.Contains(p, fmt.Sprintf(`"amount":%d`, amount)) {
			t.Errorf("asked for %q: %s", asked, p)
		}
	}
}

func TestOutsideOfATurnTheToolsDoNothing(t *testing.T) {
	t.Parallel()
	for i, input := range []string{`{"task":"a"}`, `{"session":"a","message":"b"}`} {
		tl := subagents.Tools(subagents.Config{})[i]
		if _, err := tl.Run(context.Background(), tools.Call{Arguments: json.RawMessage(input)}); err == nil {
			t.Errorf("%s ran", tl.Definition().Name)
		}
	}
}

func TestAConfigurationWithoutSenseIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cfg  subagents.Config
		want string
	}{
		{subagents.Config{}, ""},
		{subagents.Config{MaxDepth: -1}, ""},
		{subagents.Config{MaxDepth: 6}, "max_depth"},
		{subagents.Config{MaxDepth: -2}, "max_depth"},
		{subagents.Config{MaxChildren: 21}, "max_children"},
		{subagents.Config{MaxSpawns: -1}, "max_spawns"},
		{subagents.Config{MaxConcurrent: -1}, "max_concurrent"},
		{subagents.Config{MaxIterations: 201}, "max_iterations"},
		{subagents.Config{Timeout: 2 * time.Hour}, "timeout"},
		{subagents.Config{MaxCostUSD: "a lot"}, "max_cost_usd"},
		{subagents.Config{MaxCostUSD: "0"}, "max_cost_usd"},
		{subagents.Config{AlsoAllow: []string{"message"}}, "also_allow[0]: no sub-agent ever"},
		{subagents.Config{AlsoAllow: []string{"read_file"}}, "is not denied"},
		{subagents.Config{AlsoAllow: []string{"sessions_spawn"}}, "is not denied"},
		{subagents.Config{AlsoAllow: []string{"session_status"}}, ""},
		{subagents.Config{Agents: []string{"No Name"}}, "agents[0]"},
	} {
		err := c.cfg.Defaults().Validate()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.cfg, err)
		}
	}
}

// What the tools of children cost is a part of what children cost.
func TestTheCostOfChildrenHasThePricesOfTheirTools(t *testing.T) {
	t.Parallel()
	r := newRig(t, parent([]llmtest.Call{spawnCall("c1", "a"), spawnCall("c2", "b")}, func(task string, answered bool, _ llm.Request) llmtest.Turn {
		if !answered {
			return llmtest.Turn{llmtest.Call{ID: "x", Name: "read_file"}}
		}
		return text("did " + task)
	}))
	const price = costs.USD / 100
	r.set = r.set.WithPrices(map[string]costs.Amount{"read_file": price})
	r.ask("root")
	var sum costs.Amount
	for _, s := range r.tree()[1:] {
		sum += s.Own
	}
	if got := r.last.ChildrenCost(); got != sum || got <= 2*price {
		t.Errorf("children cost %s, their ledgers say %s", got, sum)
	}
}
