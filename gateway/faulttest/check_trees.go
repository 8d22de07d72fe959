package faulttest

import (
	"context"
	"fmt"
	"strconv"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
)

// checkTrees looks into the store: each sub-agent was started once, has ended, and
// what each session is said to have cost, with all below it, is the sum of the
// rows. (I6)
func (r *Report) checkTrees(ctx context.Context, l *Workload, store sessions.Store) error {
	questions := map[string]Conversation{}
	for _, c := range l.Conversations {
		questions[strconv.FormatInt(c.Chat.ID, 10)] = c
	}
	var boxes []sessions.Mailbox
	if err := store.Mailboxes(ctx, func(m sessions.Mailbox) bool {
		boxes = append(boxes, m)
		return true
	}); err != nil {
		return fmt.Errorf("list the mailboxes: %w", err)
	}
	for _, m := range boxes {
		c, ours := questions[m.Key.Address().Peer]
		if !ours {
			continue
		}
		tree, err := store.Tree(ctx, m.Session)
		if err != nil {
			return fmt.Errorf("read the tree of %s: %w", m.Session, err)
		}
		want := 0
		for _, q := range c.Questions {
			if q.Spawns {
				want += 2
			}
		}
		if got := len(tree) - 1; got != want {
			r.add(Effect, "the conversation in chat %d has %d sub-agents, not %d", c.Chat.ID, got, want)
		}
		if err := r.checkSums(ctx, store, tree); err != nil {
			return err
		}
	}
	return nil
}

// checkSums holds the sums of a tree, parents before their children, to the rows.
func (r *Report) checkSums(ctx context.Context, store sessions.Store, tree []sessions.Session) error {
	below := map[sessionkeys.SessionID]costs.Amount{}
	for i := len(tree) - 1; i >= 0; i-- {
		s := tree[i]
		if err := store.Ledger(ctx, s.ID, func(_ sessionkeys.SessionID, e costs.Entry) bool {
			below[s.ID] += e.Amount
			return true
		}); err != nil {
			return fmt.Errorf("read the ledger of %s: %w", s.ID, err)
		}
		if below[s.ID] != s.Subtree {
			r.add(Money, "session %s at depth %d is said to have cost %s, its rows %s", s.ID, s.Depth, s.Subtree, below[s.ID])
		}
		if s.Depth > 0 {
			below[s.Parent] += below[s.ID]
		}
	}
	return nil
}
