package subagents

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
)

// childCounts counts the children of one person's turn: from the store, where an
// earlier take may have left some, and then as they are made.
type childCounts struct {
	mu        sync.Mutex // guards what follows
	loaded    bool
	spawnedBy map[sessionkeys.SessionID]string // by which turn each was spawned
	children  map[string]int                   // of a turn
	cost      costs.Amount
}

// admit counts a child that is about to be made, or refuses it. forget takes it
// out again.
func (f *TurnTree) admit(ctx context.Context, id sessionkeys.SessionID, turn string) (forget func(), err error) {
	t, c := &f.counts, f.Config
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := f.load(ctx); err != nil {
		return nil, err
	}
	switch {
	case len(t.spawnedBy) >= c.MaxSpawns:
		return nil, fmt.Errorf("%w: %d", ErrSpawns, c.MaxSpawns)
	case t.children[turn] >= c.MaxChildren:
		return nil, fmt.Errorf("%w: %d", ErrChildren, c.MaxChildren)
	}
	t.spawnedBy[id] = turn
	t.children[turn]++
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.spawnedBy, id)
		t.children[turn]--
	}, nil
}

// load reads, once, what earlier takes of the turn have spawned. The caller
// holds the lock.
func (f *TurnTree) load(ctx context.Context) error {
	t := &f.counts
	if t.loaded {
		return nil
	}
	ss, err := f.runner.o.Store.Tree(ctx, f.root.Turn.Session)
	if err != nil && !errors.Is(err, sessions.ErrNotFound) {
		return unfinishedError("count the sub-agents", err)
	}
	t.spawnedBy, t.children = map[sessionkeys.SessionID]string{}, map[string]int{}
	for _, s := range ss {
		if s.Depth == 0 {
			continue
		}
		if r, err := parseRights(s); err == nil && r.Root == f.root.Turn.ID {
			t.spawnedBy[s.ID] = r.Parent
			t.children[r.Parent]++
		}
	}
	t.loaded = true
	return nil
}

func (t *childCounts) charge(a costs.Amount) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cost += a
}

func (t *childCounts) totalCost() costs.Amount {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cost
}

func (t *childCounts) hasChildren() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.spawnedBy) > 0
}
