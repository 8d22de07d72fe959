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

// tree counts the children of one person's turn: from the store, where an
// earlier take may have left some, and then as they are made.
type tree struct {
	mu       sync.Mutex // guards what follows
	read     bool
	all      map[sessionkeys.SessionID]string // by which turn each was spawned
	children map[string]int                   // of a turn
	cost     costs.Amount
}

// admit counts a child that is about to be made, or refuses it. forget takes it
// out again.
func (f *Family) admit(ctx context.Context, id sessionkeys.SessionID, turn string) (forget func(), err error) {
	t, c := &f.tree, f.r.o.Config
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := f.load(ctx); err != nil {
		return nil, err
	}
	switch {
	case len(t.all) >= c.MaxSpawns:
		return nil, fmt.Errorf("%w: %d", ErrSpawns, c.MaxSpawns)
	case t.children[turn] >= c.MaxChildren:
		return nil, fmt.Errorf("%w: %d", ErrChildren, c.MaxChildren)
	}
	t.all[id] = turn
	t.children[turn]++
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.all, id)
		t.children[turn]--
	}, nil
}

// load reads, once, what earlier takes of the turn have spawned. The caller
// holds the lock.
func (f *Family) load(ctx context.Context) error {
	t := &f.tree
	if t.read {
		return nil
	}
	ss, err := f.r.o.Store.Tree(ctx, f.root.Turn.Session)
	if err != nil && !errors.Is(err, sessions.ErrNotFound) {
		return unfinished("count the sub-agents", err)
	}
	t.all, t.children = map[sessionkeys.SessionID]string{}, map[string]int{}
	for _, s := range ss {
		if s.Depth == 0 {
			continue
		}
		if r, err := parseRights(s); err == nil && r.Root == f.root.Turn.ID {
			t.all[s.ID] = r.Parent
			t.children[r.Parent]++
		}
	}
	t.read = true
	return nil
}

func (t *tree) charge(a costs.Amount) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cost += a
}

func (t *tree) spent() costs.Amount {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cost
}

func (t *tree) any() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.all) > 0
}
