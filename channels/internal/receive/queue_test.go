package receive_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"parley/channels/internal/receive"
)

// taker takes an event when the test says so.
type taker struct {
	mu      sync.Mutex
	taking  []string // not taken yet
	settled []string // with a ! if it was not taken
	release map[string]chan struct{}
}

func newTaker() *taker { return &taker{release: map[string]chan struct{}{}} }

// take waits for let.
func (k *taker) take(ctx context.Context, event string) bool {
	k.mu.Lock()
	k.taking = append(k.taking, event)
	release := make(chan struct{})
	k.release[event] = release
	k.mu.Unlock()
	defer func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.taking = slices.DeleteFunc(k.taking, func(e string) bool { return e == event })
	}()
	select {
	case <-release:
		return true
	case <-ctx.Done():
		return false
	}
}

func (k *taker) let(event string) {
	k.mu.Lock()
	close(k.release[event])
	k.mu.Unlock()
	synctest.Wait()
}

func (k *taker) done(event string) func(bool) {
	return func(taken bool) {
		k.mu.Lock()
		defer k.mu.Unlock()
		if !taken {
			event += "!"
		}
		k.settled = append(k.settled, event)
	}
}

// state returns what is being taken and what is settled, sorted.
func (k *taker) state() (taking, settled []string) {
	synctest.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Sorted(slices.Values(k.taking)), slices.Sorted(slices.Values(k.settled))
}

func (k *taker) expect(t *testing.T, taking []string, settled ...string) {
	t.Helper()
	gotTaking, gotSettled := k.state()
	same(t, gotTaking, taking...)
	same(t, gotSettled, settled...)
}

func TestQueue(t *testing.T) {
	t.Parallel()
	bubble := func(name string, room int, test func(t *testing.T, q *receive.Queue[string], k *taker, end func())) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, end := context.WithCancel(t.Context())
				defer end()
				k := newTaker()
				q := receive.NewQueue(ctx, room, k.take)
				test(t, q, k, end)
				end()
				q.Wait()
			})
		})
	}
	push := func(q *receive.Queue[string], k *taker, events ...string) {
		for _, e := range events { // the chat is the first letter
			q.Push(e[:1], e, k.done(e))
		}
	}
	bubble("takes a chat's events one after another, and chats side by side", 0, func(t *testing.T, q *receive.Queue[string], k *taker, _ func()) {
		push(q, k, "a1", "a2", "b1", "a3")
		k.expect(t, []string{"a1", "b1"})
		k.let("a1")
		k.expect(t, []string{"a2", "b1"}, "a1")
		k.let("b1")
		k.let("a2")
		k.expect(t, []string{"a3"}, "a1", "a2", "b1")
		k.let("a3")
		push(q, k, "a4")
		k.expect(t, []string{"a4"}, "a1", "a2", "a3", "b1")
	})
	bubble("does not take what is too many, until there is room", 2, func(t *testing.T, q *receive.Queue[string], k *taker, _ func()) {
		push(q, k, "a1", "a2", "a3", "b1")
		k.expect(t, []string{"a1"}, "a3!", "b1!")
		k.let("a1")
		push(q, k, "b2")
		k.expect(t, []string{"a2", "b2"}, "a1", "a3!", "b1!")
	})
	bubble("settles what is left, and what comes later, when its context ends", 0, func(t *testing.T, q *receive.Queue[string], k *taker, end func()) {
		push(q, k, "a1", "a2", "b1")
		k.expect(t, []string{"a1", "b1"})
		end()
		push(q, k, "c1")
		q.Wait()
		k.expect(t, nil, "a1!", "a2!", "b1!", "c1!")
	})
	bubble("waits for the work beside its events", 0, func(t *testing.T, q *receive.Queue[string], _ *taker, end func()) {
		over := false
		q.Go(func(ctx context.Context) {
			<-ctx.Done()
			over = true
		})
		end()
		q.Wait()
		if !over {
			t.Error("Wait has returned too early")
		}
	})
}
