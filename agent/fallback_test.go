package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"parley/agent"
	"parley/costs"
	"parley/llm"
	"parley/llm/llmtest"
	"parley/tools"
	"parley/transcript"
)

// spare returns another model than the rig's.
func spare(name string, turns ...llmtest.Turn) *llmtest.Script {
	m := llmtest.NewScript(turns...)
	m.ProviderName, m.ModelName = "other", name
	return m
}

func fail(k llm.Kind, status int) llmtest.Turn {
	return llmtest.Turn{llmtest.Fail{Kind: k, Status: status, Message: "down"}}
}

// fallbacks lets the rig's turn go on with these models.
func (r *fixture) fallbacks(ms ...llm.Model) {
	for _, m := range ms {
		r.turn.Fallbacks = append(r.turn.Fallbacks, agent.Fallback{Model: m, Window: 1_000_000, MaxTokens: 500})
	}
}

// called are the models of the ledger's rows, in order.
func (j *journal) called() string {
	var ms []string
	for _, e := range j.ledger() {
		ms = append(ms, e.Labels.Provider+"/"+e.Labels.Model+" "+e.Outcome)
	}
	return strings.Join(ms, ", ")
}

func TestFallbackIsAskedForWhatAnotherModelMayAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fails llmtest.Turn
		want  bool
	}{
		"rate limit":      {fail(llm.RateLimited, 429), true},
		"overloaded":      {fail(llm.Overloaded, 529), true},
		"network":         {fail(llm.Network, 0), true},
		"server":          {fail(llm.Server, 500), true},
		"key":             {fail(llm.Auth, 401), true},
		"quota":           {fail(llm.Quota, 402), true},
		"model gone":      {fail(llm.InvalidRequest, 404), true},
		"our request":     {fail(llm.InvalidRequest, 400), false},
		"content filter":  {fail(llm.ContentFilter, 200), false},
		"words were seen": {llmtest.Turn{llmtest.Text("I thi"), llmtest.Cut{}}, false},
		"refusal":         {llmtest.Turn{llmtest.Text("no"), llmtest.Finish(transcript.Refusal)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, nil, c.fails)
			b := spare("b", text("from b"))
			r.fallbacks(b)
			o := r.run(t, t.Context())
			if asked := len(b.Requests()) == 1; asked != c.want || c.want && o.Text != "from b" {
				t.Errorf("the next model was asked %v, and the person told %q", asked, o.Text)
			}
		})
	}
	t.Run("budget", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, nil, text("never"))
		r.journal.limit = 1
		b := spare("b", text("from b"))
		r.fallbacks(b)
		if o := r.run(t, t.Context()); o.Finish != transcript.Budget || len(b.Requests()) > 0 {
			t.Errorf("%+v, asked %d times", o, len(b.Requests()))
		}
	})
	t.Run("stop", func(t *testing.T) {
		t.Parallel()
		ctx, stop := context.WithCancelCause(t.Context())
		r := newRig(t, nil)
		r.model.Reply = func(int, llm.Request) llmtest.Turn {
			stop(agent.ErrStopped)
			return fail(llm.Server, 500)
		}
		b := spare("b", text("from b"))
		r.fallbacks(b)
		if o := r.run(t, ctx); o.Finish != transcript.Canceled || len(b.Requests()) > 0 {
			t.Errorf("%+v, asked %d times", o, len(b.Requests()))
		}
	})
}

func TestFallback(t *testing.T) {
	t.Parallel()
	t.Run("comes after the retries, and each try is booked under the model that was called", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, nil, fail(llm.Server, 500), fail(llm.Server, 500), fail(llm.Server, 500))
		r.loop.Retry = llm.Retry{Max: 2}
		r.fallbacks(spare("b", fail(llm.Overloaded, 529), text("from b")))
		o := r.run(t, t.Context())
		if want := "script/scripted-1 server, script/scripted-1 server, script/scripted-1 server, other/b overloaded, other/b ok"; r.journal.called() != want {
			t.Errorf("called %s, want %s", r.journal.called(), want)
		}
		if got := strings.Join(r.types(), ","); o.Text != "from b" || got != "llm_retry,llm_retry,llm_fallback,llm_retry,final" {
			t.Errorf("%q: %s", o.Text, got)
		}
	})
	t.Run("is kept for the rest of the turn, with its own request", func(t *testing.T) {
		t.Parallel()
		look := tool(t, "look", tools.Read, echo)
		r := newRig(t, setOf(t, look), calls(llmtest.Call{ID: "c1", Name: "look", Input: `{"text":"1"}`}), fail(llm.Quota, 402))
		b := spare("b", calls(llmtest.Call{ID: "c2", Name: "look", Input: `{"text":"2"}`}), text("from b"))
		warm := 0.5
		r.turn.Parameters = llm.Parameters{Effort: "high"}
		r.turn.Fallbacks = []agent.Fallback{{Model: b, MaxTokens: 300, Window: 500_000, Parameters: llm.Parameters{Temperature: &warm}}}
		o := r.run(t, t.Context())
		if o.Text != "from b" || o.Steps != 3 || len(r.model.Requests()) != 2 || len(b.Requests()) != 2 {
			t.Fatalf("%+v: asked %d and %d times", o, len(r.model.Requests()), len(b.Requests()))
		}
		for _, q := range b.Requests() {
			if q.MaxTokens != 300 || q.Effort != "" || q.Temperature == nil {
				t.Errorf("asked with %d tokens, effort %q, temperature %v", q.MaxTokens, q.Effort, q.Temperature)
			}
			if err := transcript.Check(q.Messages); err != nil {
				t.Error(err)
			}
		}
		for _, a := range r.journal.asked[2:] {
			if body, err := a.Body(); err != nil || !strings.Contains(string(body), `"model":"b"`) {
				t.Errorf("the record of the request: %s, %v", body, err)
			}
		}
	})
	t.Run("of a smaller window gets a conversation that fits", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, nil, fail(llm.Network, 0))
		r.journal.messages = talk(10, 1000)
		b := spare("b")
		b.Reply = func(_ int, q llm.Request) llmtest.Turn {
			if llm.Estimate(q) > 10_000 {
				return fail(llm.ContextLength, 400)
			}
			if asksForSummary(q) {
				return text("<summary>Ann wants 42.</summary>")
			}
			return text("short")
		}
		r.turn.Fallbacks = []agent.Fallback{{Model: b, Window: 10_000, MaxTokens: 500}}
		if o := r.run(t, t.Context()); o.Text != "short" || len(r.model.Requests()) != 1 || len(b.Requests()) != 2 {
			t.Errorf("%+v: asked %d and %d times", o, len(r.model.Requests()), len(b.Requests()))
		}
	})
	t.Run("also gives the last words of a turn", func(t *testing.T) {
		t.Parallel()
		look := tool(t, "look", tools.Read, echo)
		r := newRig(t, setOf(t, look), calls(llmtest.Call{ID: "c1", Name: "look"}), fail(llm.Server, 500))
		r.turn.MaxSteps = 1
		b := spare("b", text("so far"))
		r.fallbacks(b)
		if o := r.run(t, t.Context()); o.Text != "so far" || b.Requests()[0].Choice != llm.None {
			t.Errorf("%+v", o)
		}
	})
	t.Run("the last one's failure is what the person reads", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, nil, fail(llm.Server, 500))
		r.fallbacks(spare("b", fail(llm.Network, 0)), spare("c", fail(llm.Overloaded, 529)))
		if o := r.run(t, t.Context()); o.Finish != transcript.Failed || !strings.Contains(o.Text, "too busy") {
			t.Errorf("%+v", o)
		}
		if want := "script/scripted-1 server, other/b network, other/c overloaded"; r.journal.called() != want {
			t.Errorf("called %s", r.journal.called())
		}
	})
	t.Run("comes early where patience is short", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, nil)
		now := at()
		r.loop.Now = func() time.Time { return now }
		r.loop.Wait = func(_ context.Context, d time.Duration) error { now = now.Add(d); return nil }
		r.loop.Retry, r.loop.Patience = llm.Retry{}, 10*time.Second
		r.model.Reply = func(int, llm.Request) llmtest.Turn { return fail(llm.Overloaded, 529) }
		b := spare("b")
		b.Reply = r.model.Reply
		r.fallbacks(b)
		r.run(t, t.Context())
		if n, last := len(r.model.Requests()), len(b.Requests()); n > 4 || last < 5 { // 2+4 s, and no 8 more
			t.Errorf("the first was tried %d times, the last one %d", n, last)
		}
	})
}

// The next turn begins with the first model again; and a take that goes on after an answer of
// a fall-back keeps that.
func TestFallbackOfAnotherTake(t *testing.T) {
	t.Parallel()
	look := tool(t, "look", tools.Read, echo)
	r := newRig(t, setOf(t, look), fail(llm.Server, 500), text("from a"))
	b := spare("b", calls(llmtest.Call{ID: "c1", Name: "look"}), text("from b"))
	r.fallbacks(b)
	r.journal.onOp = func(op string) {
		if op == "append" { // of the tool's result
			r.journal.killAt = r.journal.ops + 1
		}
	}
	if _, err := r.loop.Run(t.Context(), r.turn, r.emit); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	r.journal.onOp = nil
	r.turn = r.journal.resume(r.turn)
	if o := r.run(t, t.Context()); o.Text != "from b" {
		t.Errorf("the take that went on: %+v", o)
	}
	next := r.turn
	next.ID, next.Steps, next.Tries = "t2", 0, 0
	j := newJournal("again")
	loop := r.loop
	loop.Journal = j
	if o, err := loop.Run(t.Context(), next, nil); err != nil || o.Text != "from a" {
		t.Errorf("the next turn: %+v, %v", o, err)
	}
}

// requirements B22, TX20: while no model is available a turn ends at once, prepares nothing and
// waits for nothing.
func TestNoModelIsAvailable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		circuits := &llm.Circuits{Failures: 1, Cooldown: time.Second, NoneBackoff: 5 * time.Second}
		look := tool(t, "look", tools.Read, echo)
		r := newRig(t, setOf(t, look))
		r.loop.Now, r.loop.Wait, r.loop.Circuit = nil, nil, circuits
		down := true
		reply := func(int, llm.Request) llmtest.Turn {
			if down {
				return fail(llm.Server, 500)
			}
			return text("back")
		}
		b := spare("b")
		r.model.Reply, b.Reply = reply, reply
		r.fallbacks(b)
		turn := func() (agent.Outcome, *journal) {
			j := newJournal("hello")
			loop := r.loop
			loop.Journal = j
			o, err := loop.Run(t.Context(), r.turn, r.emit)
			if err != nil {
				t.Fatal(err)
			}
			return o, j
		}
		if o, j := turn(); o.Finish != transcript.Failed || len(j.ledger()) != 2 {
			t.Fatalf("%+v after %s", o, j.called())
		}
		began := time.Now()
		for range 3 {
			time.Sleep(1500 * time.Millisecond) // the cool-downs are over, the back-off is not
			o, j := turn()
			if !strings.Contains(o.Text, "No model answers") || len(j.ledger()) != 0 || j.ops != 2 {
				t.Errorf("%+v after %d operations: %s", o, j.ops, j.called())
			}
		}
		if n := len(r.model.Requests()) + len(b.Requests()); n != 2 {
			t.Errorf("%d requests", n)
		}
		if took := time.Since(began); took != 4500*time.Millisecond {
			t.Errorf("turns waited: %s", took)
		}
		time.Sleep(500 * time.Millisecond)
		down = false
		if o, _ := turn(); o.Text != "back" {
			t.Errorf("%+v", o)
		}
	})
}

func TestOpenCircuitIsPassedOver(t *testing.T) {
	t.Parallel()
	circuits := &llm.Circuits{Failures: 1, Now: at}
	r := newRig(t, nil, fail(llm.Server, 500))
	r.loop.Circuit = circuits
	b := spare("b", text("one"), text("two"), fail(llm.InvalidRequest, 400))
	r.fallbacks(b)
	r.run(t, t.Context())
	for _, want := range []string{"two", "did not accept"} { // and our own mistake opens nothing
		r.journal = newJournal("again")
		r.loop.Journal, r.events = r.journal, nil
		if o := r.run(t, t.Context()); !strings.Contains(o.Text, want) || len(r.model.Requests()) != 1 || len(r.journal.ledger()) != 1 {
			t.Errorf("%+v, called %s", o, r.journal.called())
		}
	}
	for _, e := range r.events {
		if e.Type == agent.FellBack && (e.Fallback.Reason != "" || e.Fallback.From.Model != "scripted-1" || e.Fallback.To.Model != "b") {
			t.Errorf("told as %+v", e.Fallback)
		}
	}
	if open := circuits.Open(); len(open) != 1 || open[0].Model != "scripted-1" {
		t.Errorf("open: %+v", open)
	}
}

// mood is a model that fails as a plan says.
func mood(rt *rapid.T, m *llmtest.Script, answer func(r llm.Request) llmtest.Turn) {
	m.Reply = func(n int, r llm.Request) llmtest.Turn {
		switch rapid.SampledFrom([]string{"works", "down", "busy", "breaks", "key", "ours"}).Draw(rt, fmt.Sprint(m.Name(), n)) {
		case "down":
			return fail(llm.Network, 0)
		case "busy":
			return fail(llm.RateLimited, 429)
		case "breaks":
			return llmtest.Turn{llmtest.Text("half of "), llmtest.Cut{}}
		case "key":
			return fail(llm.Auth, 401)
		case "ours":
			return fail(llm.InvalidRequest, 400)
		default:
			return answer(r)
		}
	}
}

// Whatever fails and wherever the process dies: of one step the words of one call at most are
// seen in each take, a step is paid once, and each row names the model that was called.
func TestATurnOfManyModelsShowsOneAnswer(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		p := drawPlan(rt)
		answer := p.model().Reply
		models := []*llmtest.Script{llmtest.NewScript(), spare("b"), spare("c")}
		for _, m := range models {
			mood(rt, m, func(r llm.Request) llmtest.Turn { return answer(0, r) })
		}
		j := newJournal("go")
		j.closes = true
		turn := agent.Turn{
			ID: "t1", Session: "s1", Tools: p.tools(t), Model: models[0], MaxTokens: 100,
			Fallbacks: []agent.Fallback{{Model: models[1], MaxTokens: 100}, {Model: models[2], MaxTokens: 100}},
		}
		loop := agent.Loop{
			Journal: j, Prices: prices{}, Now: at, Retry: llm.Retry{Max: 1}, Circuit: &llm.Circuits{Failures: 3, Now: at},
			Wait: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
		}
		for deaths := 0; ; deaths++ {
			if deaths < 20 {
				j.killAt = rapid.IntRange(1, 12).Draw(rt, "dies at operation")
				j.applied = rapid.Bool().Draw(rt, "after the change")
			}
			seen := map[int]int{} // calls of a step that showed words
			words := false
			_, err := loop.Run(t.Context(), turn, func(e agent.Event) {
				switch e.Type {
				case agent.TextDelta:
					words = true
				case agent.ModelCalled, agent.Retrying, agent.FellBack:
					if words {
						seen[e.Step]++
					}
					words = false
				}
			})
			for step, n := range seen {
				if n > 1 {
					rt.Fatalf("of step %d the words of %d calls were seen", step, n)
				}
			}
			if err == nil {
				break
			}
			if !errors.Is(err, errKilled) {
				rt.Fatal(err)
			}
			if len(j.finished) > 0 {
				return
			}
			turn = j.resume(turn)
		}
		j.sound(t)
		paid, asked := map[int]int{}, map[string]int{}
		for _, e := range j.ledger() {
			asked[e.Labels.Model]++
			if e.Outcome == "ok" && e.Call.Purpose != costs.Tool {
				paid[e.Call.Step]++
			}
		}
		for step, n := range paid {
			if n != 1 {
				rt.Fatalf("the answer of step %d was booked %d times", step, n)
			}
		}
		for _, m := range models {
			if n := len(m.Requests()); asked[m.Name()] < n { // a reserved call may have died before it was made
				rt.Fatalf("%s was asked %d times, and has %d rows", m.Name(), n, asked[m.Name()])
			}
		}
		for what, n := range p.writes {
			if n != 1 {
				rt.Fatalf("write %q ran %d times", what, n)
			}
		}
	})
}

// A kill between the booking of the failed call and the reservation of the next one.
func TestFallbackAfterAKillBetweenTheModels(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, fail(llm.Server, 500), fail(llm.Server, 500))
	b := spare("b", text("from b"))
	r.fallbacks(b)
	settled := false
	r.journal.onOp = func(op string) {
		if settled {
			r.journal.killAt = r.journal.ops + 1
		}
		settled = settled || op == "settle"
	}
	if _, err := r.loop.Run(t.Context(), r.turn, r.emit); !errors.Is(err, errKilled) || len(b.Requests()) > 0 {
		t.Fatal(err)
	}
	r.journal.onOp = nil
	r.turn = r.journal.resume(r.turn)
	if r.turn.Tries != 1 {
		t.Fatalf("tries %d", r.turn.Tries)
	}
	o := r.run(t, t.Context())
	if want := "script/scripted-1 server, script/scripted-1 server, other/b ok"; o.Text != "from b" || r.journal.called() != want {
		t.Errorf("%q after %s", o.Text, r.journal.called())
	}
	attempts := map[costs.CallID]bool{}
	for _, e := range r.journal.ledger() {
		if attempts[e.Call] {
			t.Errorf("attempt %+v has two rows", e.Call)
		}
		attempts[e.Call] = true
	}
}
