package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"parley/agent"
	"parley/costs"
	"parley/llm"
	"parley/llm/llmtest"
	"parley/tools"
	"parley/transcript"
)

// plan is what a random turn does: what the model asks for at each step. The
// model answers by the history it is shown, as a real one does, so an answer
// whose booking was lost is given again.
type plan struct {
	steps  [][]llmtest.Call
	mu     sync.Mutex     // guards the runs, some of which go side by side
	reads  map[string]int // runs by what the call says
	writes map[string]int
	sides  map[string]int
	asked  int // requests
}

func (p *plan) model() *llmtest.Script {
	s := llmtest.NewScript()
	s.Reply = func(_ int, r llm.Request) llmtest.Turn {
		p.asked++
		answered := 0
		for _, m := range r.Messages {
			if m.Role == transcript.Assistant {
				answered++
			}
		}
		if answered >= len(p.steps) || r.Choice == llm.None {
			return text("the end")
		}
		return append(llmtest.Turn{llmtest.Thinking("hm")}, calls(p.steps[answered]...)...)
	}
	return s
}

func (p *plan) tools(t testing.TB) *tools.Set {
	count := func(m map[string]int) runFunc {
		return func(_ context.Context, in input, _ tools.Call) (tools.Result, error) {
			p.mu.Lock()
			m[in.Text]++
			p.mu.Unlock()
			if strings.Contains(in.Text, "bad") {
				return tools.Result{}, errors.New("bad")
			}
			return tools.Result{Content: in.Text, Done: strings.Contains(in.Text, "done")}, nil
		}
	}
	return setOf(t, tool(t, "look", tools.Read, count(p.reads)), tool(t, "write", tools.Write, count(p.writes)),
		beside{tool(t, "side", tools.Write, count(p.sides))}).WithPrices(map[string]costs.Amount{"look": price, "write": price, "side": price})
}

// price is what a call of any tool costs here.
const price = costs.USD / 100

// checkPrices holds the ledger's rows of tools to their runs, and returns how many there are.
// What ran once at most has one row at most, and what gave a result is paid.
func (p *plan) checkPrices(rt *rapid.T, j *journal) (rows int) {
	tries, ok, failed, runs := map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}
	for _, e := range j.ledger() {
		if e.Call.Purpose != costs.Tool {
			continue
		}
		rows++
		tries[e.Labels.Model]++
		switch {
		case e.Outcome == "ok" && e.State == costs.Settled && e.Amount == price && e.Upper == 0:
			ok[e.Labels.Model]++
		case e.Outcome != "ok" && e.State == costs.Interrupted && e.Amount == 0 && e.Upper == price:
			failed[e.Labels.Model]++
		default:
			rt.Fatalf("row %+v", e)
		}
	}
	for name, count := range map[string]map[string]int{"look": p.reads, "write": p.writes, "side": p.sides} {
		for _, n := range count {
			runs[name] += n
		}
		if tries[name] < runs[name] {
			rt.Fatalf("%s ran %d times, and has %d rows", name, runs[name], tries[name])
		}
	}
	results := map[string]int{}
	for _, r := range j.results() {
		if !r.IsError && !strings.HasPrefix(r.Content, "skipped") {
			results[r.Name]++
		}
	}
	for name, n := range results {
		if ok[name] < n {
			rt.Fatalf("%d results of %s, and %d paid rows", n, name, ok[name])
		}
	}
	seen := map[string]bool{}
	for _, e := range j.ledger() {
		call := fmt.Sprint(e.Call.Step, " ", e.Call.ToolIndex())
		if e.Labels.Model == "write" && seen[call] {
			rt.Fatalf("a call that is not made again has two rows: %+v", e)
		}
		seen[call] = seen[call] || e.Labels.Model == "write"
	}
	return rows
}

func drawPlan(rt *rapid.T) *plan {
	p := &plan{reads: map[string]int{}, writes: map[string]int{}, sides: map[string]int{}}
	for s := range rapid.IntRange(0, 4).Draw(rt, "steps") {
		var batch []llmtest.Call
		for i := range rapid.IntRange(1, 4).Draw(rt, "calls") {
			name := rapid.SampledFrom([]string{"look", "write", "write", "side", "side", "side", "unknown"}).Draw(rt, "tool")
			how := rapid.SampledFrom([]string{"good", "good", "good", "bad", "done"}).Draw(rt, "how")
			batch = append(batch, llmtest.Call{ID: fmt.Sprint("c", i), Name: name, Input: fmt.Sprintf(`{"text":"%d.%d %s"}`, s, i, how)})
		}
		p.steps = append(p.steps, batch)
	}
	return p
}

// Every operation of the journal is a place to die, before or after its change
// is made, again and again until the turn ends.
func TestATurnThatDiesAnywhereIsTakenOverWithoutPayingOrActingTwice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		p := drawPlan(rt)
		j := newJournal("go")
		j.closes = true // of calls that had begun beside one that ended the turn, and whose reservation's answer was lost
		turn := agent.Turn{ID: "t1", Session: "s1", Tools: p.tools(t), Model: p.model(), MaxTokens: 100, MaxSteps: rapid.SampledFrom([]int{0, 1, 3}).Draw(rt, "max steps")}
		loop := agent.Loop{Journal: j, Prices: prices{}, Now: at}
		var took costs.Amount
		var o agent.Outcome
		for deaths := 0; ; deaths++ {
			if deaths < 40 {
				j.killAt = rapid.IntRange(1, 12).Draw(rt, "dies at operation")
				j.applied = rapid.Bool().Draw(rt, "after the change")
			}
			var err error
			o, err = loop.Run(t.Context(), turn, nil)
			took += o.Cost
			if err == nil {
				break
			}
			if !errors.Is(err, errKilled) {
				rt.Fatalf("%v", err)
			}
			if len(j.finished) > 0 {
				return // the end was committed and only its answer lost: nobody takes it over
			}
			turn = j.resume(turn)
			if err := transcript.Check(transcript.Repair(transcript.Merge(j.messages), "lost")); err != nil {
				rt.Fatalf("history after a death: %v", err)
			}
		}
		if len(j.finished) != 1 || len(j.held) != 0 {
			rt.Fatalf("finished %d times, held %v", len(j.finished), j.held)
		}
		if err := transcript.Check(transcript.Merge(j.messages)); err != nil {
			rt.Fatalf("history: %v", err)
		}
		for what, n := range p.writes {
			if n != 1 {
				rt.Fatalf("write %q ran %d times", what, n)
			}
		}
		paid := map[int]int{}
		var sum costs.Amount
		for _, e := range j.ledger() {
			sum += e.Amount
			if e.Outcome == "ok" && e.Call.Purpose != costs.Tool {
				paid[e.Call.Step]++
			}
		}
		toolRows := p.checkPrices(rt, j)
		for step, n := range paid {
			if n != 1 {
				rt.Fatalf("the answer of step %d was booked %d times", step, n)
			}
		}
		if len(paid) != j.steps || len(j.entries)-toolRows < p.asked {
			rt.Fatalf("%d answers booked, %d steps, %d rows for %d requests", len(paid), j.steps, len(j.entries), p.asked)
		}
		if len(j.order) != len(j.entries) || sum != j.spent() {
			rt.Fatalf("rows were booked twice: %v", j.order)
		}
	})
}

// Where nothing dies, everything is done and paid exactly once.
func TestATurnThatNobodyInterruptsDoesEverythingOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		p := drawPlan(rt)
		j := newJournal("go")
		o, err := (&agent.Loop{Journal: j, Prices: prices{}, Now: at}).Run(t.Context(), agent.Turn{
			ID: "t1", Session: "s1", Tools: p.tools(t), Model: p.model(), MaxTokens: 100,
		}, nil)
		if toolRows := p.checkPrices(rt, j); err != nil || o.Cost != j.spent() || len(j.entries)-toolRows != p.asked || len(j.held) != 0 {
			rt.Fatalf("%+v, %v: %d rows for %d requests", o, err, len(j.entries)-toolRows, p.asked)
		}
		for _, runs := range []map[string]int{p.reads, p.writes, p.sides} {
			for what, n := range runs {
				if n != 1 {
					rt.Fatalf("%q ran %d times", what, n)
				}
			}
		}
	})
}
