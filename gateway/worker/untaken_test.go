package worker_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"parley/gateway/policy"
	"parley/gateway/worker"
	"parley/sessions"
)

// unsynced is a store whose next takings of a mailbox are told, and fail to become durable. It can
// refuse to give mailboxes back, as one does that cannot be reached.
type unsynced struct {
	worker.Store
	fails   atomic.Int64
	keeps   atomic.Bool
	refused chan struct{} // a mailbox was not given back
}

func (u *unsynced) Handover(ctx context.Context, f sessions.Fence) error {
	if !u.keeps.Load() {
		return u.Store.Handover(ctx, f)
	}
	select {
	case u.refused <- struct{}{}:
	default:
	}
	return errBroken
}

func (u *unsynced) Touch(ctx context.Context, t sessions.Touch) (sessions.Mailbox, bool, error) {
	if !t.Take || t.Taken == nil || u.fails.Add(-1) < 0 {
		return u.Store.Touch(ctx, t)
	}
	m, err := u.Mailbox(ctx, t.Token)
	if err != nil {
		return m, false, err
	}
	m.Owner, m.LastSeen = t.By, t.Seq
	m.Epoch++
	m.Attempts++
	t.Taken(m)
	return sessions.Mailbox{}, false, errBroken
}

// An actor that goes on with a mailbox whose taking then fails to be written, as on a full disk, ends
// before the mailbox is taken again. The next actor may have the same fence, and what the first one
// gives back is then the next one's.
func TestWhoHasNotTakenAMailboxAfterAllEndsBeforeItIsTakenAgain(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		var u *unsynced
		p := r.start("w", turns(1), waits(policy.Waiting{Debounce: 5 * time.Second, DebounceMax: 5 * time.Second}), func(o *worker.Options) {
			u = &unsynced{Store: o.Store}
			o.Store = u
		})
		r.say(1, "hello")
		r.wantAnswers(1, "re: hello")
		r.idle()
		u.fails.Store(3)
		r.say(1, "again")
		r.wantAnswers(1, "re: hello", "re: again")
		r.idle()
		if m := r.mailbox(1); m.Attempts != 0 || m.Epoch != 2 {
			t.Errorf("%d attempts, taken %d times, want 0 and 2", m.Attempts, m.Epoch)
		}
		if n := len(r.model.Requests()); n != 2 {
			t.Errorf("%d model calls", n)
		}
		if busy, _ := p.Slots(); busy != 0 {
			t.Errorf("%d slots are taken", busy)
		}
	})
}

// Nobody waits, when the process ends, for a store that can neither take a mailbox nor give it back:
// the delivery is not confirmed, and comes again.
func TestAWorkerEndsWhileAMailboxCanNeitherBeTakenNorGivenBack(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		var u *unsynced
		p := r.start("w", func(o *worker.Options) {
			u = &unsynced{Store: o.Store, refused: make(chan struct{}, 1)}
			o.Store = u
		})
		r.say(1, "hello")
		r.wantAnswers(1, "re: hello")
		r.idle()
		u.keeps.Store(true)
		u.fails.Store(1)
		r.say(1, "again")
		<-u.refused
		p.stop()
		select {
		case err := <-p.ended:
			p.ended <- err
		case <-time.After(time.Minute):
			t.Error("it still runs after a minute")
		}
		u.keeps.Store(false)
		p.end(t)
		r.start("v")
		r.wantAnswers(1, "re: hello", "re: again")
	})
}
