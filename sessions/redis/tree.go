package redis

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/rules"
)

// Tree implements [sessions.Turns]: level by level, oldest first in each.
func (dir directory) Tree(ctx context.Context, id sessionkeys.SessionID) ([]sessions.Session, error) {
	tree, err := dir.tree(ctx, id)
	return tree, rules.While(err, "read the tree of session %s", id)
}

func (dir directory) tree(ctx context.Context, id sessionkeys.SessionID) ([]sessions.Session, error) {
	rows := func(id string) []read { return []read{newRead("HGETALL", dir.key("sess:"+id)).at(2)} }
	a, err := dir.query(ctx, dir.below(string(id), sessionkeys.MaxDepth, rows)...)
	if err != nil {
		return nil, err
	}
	var tree []sessions.Session
	err = eachBelow(string(id), a, func(_ string, found answer) error {
		one, err := sessionOf(found.row(0))
		tree = append(tree, one)
		return err
	})
	slices.SortStableFunc(tree, func(a, b sessions.Session) int {
		return cmp.Or(cmp.Compare(a.Depth, b.Depth), a.CreatedAt.Compare(b.CreatedAt))
	})
	return tree, err
}

// below reads a session, or without an id each name, and all below it to so many
// levels: what reads says of each, and its children.
func (ks keyspace) below(id string, levels int, reads func(id string) []read) []read {
	kids := newRead("LRANGE", ks.key("kids:"+id), "0", "-1").at(2)
	if levels > 0 {
		kids = kids.each(ks.below("", levels-1, reads)...)
	}
	return append(reads(id), kids)
}

// eachBelow calls f for each session that below has read, parents first.
func eachBelow(id string, a answer, f func(id string, found answer) error) error {
	if err := f(id, a); err != nil || len(a) == 0 {
		return err
	}
	return a.list(len(a) - 1).eachName(func(kid string, found answer) error { return eachBelow(kid, found, f) })
}

// sessionOf is a session as it is stored; no row is ErrNotFound.
func sessionOf(stored row) (s sessions.Session, err error) {
	if len(stored) == 0 {
		return s, sessions.ErrNotFound
	}
	if err := stored.read(sessionFields, rules.SessionPlaces(&s)); err != nil {
		return sessions.Session{}, fmt.Errorf("session %s: %w", stored["id"], err)
	}
	return s, nil
}
