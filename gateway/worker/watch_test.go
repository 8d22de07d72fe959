package worker_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/agent"
	"parley/costs"
	"parley/gateway/worker"
)

// watchers note what they see.
type watchers struct {
	mu    sync.Mutex
	lines []string
}

func (w *watchers) note(format string, a ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, fmt.Sprintf(format, a...))
}

func (w *watchers) taken() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.lines
	w.lines = nil
	return all
}

func (w *watchers) Begin(k worker.Work) worker.TurnWatcher {
	w.note("begin %d with %v by %s on %s", k.Turn.Seq, k.With, k.Agent, k.Model)
	return oneTurn{w, k.Turn.ID}
}

func (*watchers) Titled(string, agent.CallReport) {}

// oneTurn is a watcher of one turn.
type oneTurn struct {
	*watchers

	id string
}

func (o oneTurn) Observe(e agent.Event) {
	if e.Turn != o.id {
		o.note("an event of %s", e.Turn)
	}
	if e.Type == agent.ModelCalled || e.Type == agent.FinalResponse {
		o.note("%s", e.Type)
	}
}

func (o oneTurn) End(out agent.Outcome, _ costs.Amount, err error) {
	o.note("end %s, error %t", out.Finish, err != nil)
}

// Who watches is told of each piece of work on a turn once, from its beginning to its end; and not
// of the end of what was none, because its message was answered before.
func TestWatcher(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, w := newRig(t), &watchers{}
		p := r.start("w", func(o *worker.Options) { o.Watcher, o.Config.Grace = w, time.Nanosecond })
		m := r.message(1, "hello")
		r.publishIn(m)
		r.wantAnswers(1, "re: hello")
		first := w.taken()
		seq := r.mailbox(1).LastRead
		want := []string{fmt.Sprintf("begin %d with [] by main on scripted-1", seq), "model_call", "final", "end end_turn, error false"}
		if !slices.Equal(first, want) {
			t.Errorf("%q, want %q", first, want)
		}
		r.publishIn(m) // the network brings it again
		r.idle()
		if again := w.taken(); len(again) != 1 {
			t.Errorf("of what is answered already: %q", again)
		}
		r.say(1, "wait for ever")
		synctest.Wait()
		p.end(t)
		if over := w.taken(); len(over) != 3 || over[2] != "end , error true" {
			t.Errorf("of what is handed over: %q", over)
		}
	})
}
