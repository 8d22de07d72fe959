package worker_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"parley/gateway/worker"
	"parley/sessions"
)

// brittle is a store under which the process dies when a turn of these words is
// opened.
type brittle struct {
	worker.Store
	r *fixture
}

func (b brittle) Open(ctx context.Context, f sessions.Fence, o sessions.OpenTurn) (sessions.Turn, bool, error) {
	if strings.Contains(o.Message.Text(), "poison") {
		b.r.count("poisoned")
		panic("the store cannot take it")
	}
	return b.Store.Open(ctx, f, o)
}

func onBrittle(r *fixture) func(*worker.Options) {
	return func(o *worker.Options) { o.Store = brittle{o.Store, r} }
}

func TestAnAlbumWhoseTurnCannotBeOpenedIsBuriedWholeAndToldOnce(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		m := photo(r.old(1, "poison"), "a")
		second, third := photo(r.old(1, ""), "a"), photo(r.old(1, ""), "a")
		r.bring(m, second, r.old(1, "fine"), third, r.old(1, "fine too"))
		r.start("w", onBrittle(r))
		r.done(m)
		if got := r.heard(m); !slices.Equal(got, []string{"fine", "fine too"}) {
			t.Errorf("the model was asked %q", got)
		}
		if told := r.answers(1); len(told) != 3 || !strings.Contains(told[0], "failed every time") {
			t.Errorf("told %q", told)
		}
		if r.counted("dead attempts") != 3 || r.counted("poisoned") != 3 {
			t.Errorf("counted %v", r.counts)
		}
		letters, err := r.log.DeadLetters(t.Context(), 0, 10)
		if err != nil || len(letters) != 3 {
			t.Errorf("%d dead letters, %v", len(letters), err)
		}
		// None of them is new when it comes again.
		r.publishMessage(1, third, second, m)
		r.done(m)
		if got := r.heard(m); len(got) != 2 {
			t.Errorf("later the model was asked %q", got)
		}
		if n := r.counted("dead attempts"); n != 3 {
			t.Errorf("%d were buried", n)
		}
	})
}

func TestAnAlbumForNobodyThatCannotBeReadTellsNobody(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		m := inKitchen(photo(r.old(1, "poison"), "a"))
		lonely := inKitchen(quiet(photo(r.old(1, ""), "b")))
		r.bring(m, lonely, inKitchen(r.old(1, "fine")))
		r.start("w", onBrittle(r))
		r.done(m)
		if got := r.heard(m); !slices.Equal(got, []string{"[1] fine"}) {
			t.Errorf("the model was asked %q", got)
		}
		ds, err := r.store.Pending(t.Context(), "tg", 0, 10)
		if err != nil || len(ds) != 2 || r.counted("dead attempts") != 1 || r.counted("ignored not_mentioned") != 1 {
			t.Errorf("%d answers, %v; counted %v", len(ds), err, r.counts)
		}
	})
}
