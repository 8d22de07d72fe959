package worker_test

import (
	"slices"
	"testing"

	"parley/gateway/worker"
	"parley/sessions"
)

// What a plain turn writes before its answer is queued: it is taken, opened with the call that
// it makes, and finished. The first of them does not wait for its commit where the store can go
// on before it.
func TestAPlainTurnIsThreeWrites(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		p := r.start("w")
		r.say(1, "hello")
		r.wantAnswers(1, "re: hello")
		r.idle()
		p.store.set(func(f *faults) { f.writes = nil })
		r.say(1, "again")
		r.wantAnswers(1, "re: hello", "re: again")
		r.idle()
		p.store.set(func(f *faults) {
			if want := []string{"Touch", "Open", "Finish"}; !slices.Equal(f.writes, want) {
				t.Errorf("a plain turn wrote %q, want %q", f.writes, want)
			}
		})
	})
}

// A turn that a budget refuses is opened all the same, and says so.
func TestARefusedFirstCallStillOpensItsTurn(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		p := r.start("w", func(o *worker.Options) { o.Settings.Limits.Turn = 1 })
		r.say(1, "hello")
		r.await("the refusal", func() bool { return len(r.answers(1)) == 1 })
		r.idle()
		p.store.set(func(f *faults) {
			if i := slices.Index(f.writes, "Finish"); i < 0 || slices.Index(f.writes, "Open") < 0 {
				t.Errorf("wrote %q", f.writes)
			}
		})
		if ts := r.turnsOf(1); len(ts) != 1 || ts[0].State != sessions.Done || ts[0].Refused == nil {
			t.Errorf("turns: %+v", ts)
		}
	})
}
