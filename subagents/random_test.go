package subagents_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"parley/costs"
	"parley/llm"
	"parley/llm/llmtest"
	"parley/sessionkeys"
	"parley/transcript"
)

// plan is what a turn does; it is the turn's own text.
type plan struct {
	Name  string `json:"name"`
	Does  string `json:"does"`           // ok, fail, look, poor
	Kids  []plan `json:"kids,omitempty"` // that it spawns, all at once
	depth int
}

func drawPlan(rng *rand.Rand, name string, depth int) plan {
	p := plan{Name: name, Does: []string{"ok", "ok", "look", "fail", "poor"}[rng.IntN(5)], depth: depth}
	if depth == 0 {
		p.Does = "ok"
	}
	if depth <= 2 && (depth == 0 || rng.IntN(2) == 0) {
		for i := range 1 + rng.IntN(3) {
			p.Kids = append(p.Kids, drawPlan(rng, fmt.Sprint(name, ".", i), depth+1))
		}
	}
	return p
}

// made is how many sessions the plan leads to: what stands too deep is none, and
// a child that may spend next to nothing gets nothing done.
func (p plan) made(maxDepth int) int {
	n := 1
	if p.Does == "poor" || p.depth == maxDepth {
		return n
	}
	for _, k := range p.Kids {
		n += k.made(maxDepth)
	}
	return n
}

// does answers a request by the plan in it.
func does(q llm.Request) llmtest.Turn {
	task, answered := lastUser(q)
	var p plan
	if json.Unmarshal([]byte(task), &p) != nil {
		return text("I do not understand.")
	}
	switch {
	case answered:
		return text(p.Name + " done")
	case len(p.Kids) > 0:
		var t llmtest.Turn
		for i, k := range p.Kids {
			b, _ := json.Marshal(k)
			in := map[string]string{"task": string(b)}
			if k.Does == "poor" {
				in["max_cost_usd"] = "0.000001"
			}
			args, _ := json.Marshal(in)
			t = append(t, llmtest.Call{ID: fmt.Sprint("c", i), Name: "sessions_spawn", Input: string(args)})
		}
		return t
	case p.Does == "look":
		return llmtest.Turn{llmtest.Call{ID: "c0", Name: "read_file"}, llmtest.Call{ID: "c1", Name: "read_file"}}
	case p.Does == "fail":
		return llmtest.Turn{llmtest.Text("half"), llmtest.Cut{}}
	}
	return text(p.Name + " done")
}

// Random trees, whose process dies at random operations, again and again: the
// money of every subtree is that of its rows after every operation, each child
// is made once, and every answer paid once. (I4, I6, TX13)
func TestATreeThatDiesAnywhereIsGoneOnWithAndNothingIsMadeOrPaidTwice(t *testing.T) {
	t.Parallel()
	trees := 32
	if os.Getenv("PARLEY_LONG") != "" {
		trees = 300
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for n := range trees {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			open := newRig
			if n%16 == 0 { // seldom, because it takes fifty times as long
				open = realStore
			}
			randomTree(t, open(t, does), rand.New(rand.NewPCG(seed, uint64(n))))
		})
	}
}

func randomTree(t *testing.T, r *fixture, rng *rand.Rand) {
	t.Helper()
	p := drawPlan(rng, "root", 0)
	r.cfg.MaxDepth, r.cfg.MaxConcurrent = 2, 1+rng.IntN(3)
	r.set = r.tools("read_file", "write_file")
	b, _ := json.Marshal(p)
	r.say(string(b))
	limit := r.turn.Session
	deaths := 0
	for {
		m := (&mortal{check: func() {
			if err := balanced(r.store, limit); err != nil {
				t.Error(err)
			}
		}}).over(r.store)
		if deaths < 15 {
			m.left, m.applied = 1+rng.IntN(40), rng.IntN(2) == 0
		}
		o, err := r.run(t.Context(), m)
		if err == nil {
			if o.Finish != transcript.EndTurn || o.Text != "root done" {
				t.Errorf("%+v", o)
			}
			break
		}
		if !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		deaths++
		if turn, err := r.store.Turn(t.Context(), r.turn.ID); err != nil || turn.State == "done" {
			break // only the answer to its end was lost
		}
		r.takeOver()
	}
	r.sound()
	if got, want := len(r.tree()), p.made(2); got != want {
		t.Errorf("%d sessions, the plan has %d", got, want)
	}
	paid := map[string]int{}
	err := r.store.Ledger(t.Context(), "", func(_ sessionkeys.SessionID, e costs.Entry) bool {
		if e.Outcome == "ok" {
			paid[fmt.Sprint(e.Call.Turn, "/", e.Call.Step)]++
		}
		return true
	})
	for call, times := range paid {
		if times != 1 {
			t.Errorf("%s was paid %d times", call, times)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	r.inOrder(p)
}

// inOrder holds the results of the person's turn to the order of its calls.
func (r *fixture) inOrder(p plan) {
	r.t.Helper()
	rs := r.results(r.turn.Session)
	if len(rs) != len(p.Kids) {
		r.t.Fatalf("%d results for %d children", len(rs), len(p.Kids))
	}
	want := map[string]string{"ok": "ok", "look": "ok", "fail": "error", "poor": "budget"}
	for i, k := range p.Kids {
		f, words := told(r.t, rs[i].Content)
		expect := want[k.Does]
		if len(k.Kids) > 0 && k.Does == "fail" {
			expect = "ok" // it fails only where it has nothing else to do
		}
		if rs[i].ToolCallID != fmt.Sprint("c", i) || f.Status != expect || expect == "ok" && words != k.Name+" done" {
			r.t.Errorf("result %d of %s: %+v %q", i, k.Name, f, words)
		}
	}
}
