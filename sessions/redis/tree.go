package redis

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"parley/sessionkeys"
	"parley/sessions"
)

// Tree implements [sessions.Turns]: level by level, oldest first in each.
func (s *Store) Tree(ctx context.Context, id sessionkeys.SessionID) ([]sessions.Session, error) {
	tree, err := s.tree(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("read the tree of session %s: %w", id, err)
	}
	return tree, nil
}

func (s *Store) tree(ctx context.Context, id sessionkeys.SessionID) ([]sessions.Session, error) {
	a, err := s.look(ctx, "tree", struct {
		Session sessionkeys.SessionID `json:"session"`
	}{id})
	if err != nil {
		return nil, err
	}
	tree, err := sessionsOf(a)
	slices.SortStableFunc(tree, func(a, b sessions.Session) int {
		return cmp.Or(cmp.Compare(a.Depth, b.Depth), a.CreatedAt.Compare(b.CreatedAt))
	})
	return tree, err
}

// sessionsOf are all elements of an answer.
func sessionsOf(a answer) ([]sessions.Session, error) {
	var ss []sessions.Session
	for i := range a {
		row, err := sessionOf(a.row(i))
		if err != nil {
			return nil, err
		}
		ss = append(ss, row)
	}
	return ss, nil
}

// sessionOf is a session as it is stored; no row is ErrNotFound.
func sessionOf(stored row) (sessions.Session, error) {
	if len(stored) == 0 {
		return sessions.Session{}, sessions.ErrNotFound
	}
	r := reader{row: stored}
	s := sessions.Session{
		ID: sessionkeys.SessionID(r.row["id"]), Parent: sessionkeys.SessionID(r.row["parent"]), Root: sessionkeys.SessionID(r.row["root"]),
		Depth: int(r.int("depth")), ToolCallID: r.row["tool_call"], Role: r.row["role"], Title: r.row["title"],
		Messages: int(r.int("messages")), Own: r.amount("own"), Subtree: r.amount("subtree"), Held: r.amount("held"),
		Unpriced: int(r.int("unpriced")), CreatedAt: r.time("created"), UpdatedAt: r.time("updated"),
	}
	if p := r.row["policy"]; p != "" {
		s.Policy = []byte(p)
	}
	err := r.err
	if err == nil {
		err = s.Key.UnmarshalText([]byte(r.row["key"]))
	}
	if err != nil {
		return sessions.Session{}, fmt.Errorf("session %s: %w", s.ID, err)
	}
	return s, nil
}
