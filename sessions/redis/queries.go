package redis

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"parley/sessionkeys"
	"parley/sessions"
)

// Sessions implements [sessions.Queries]. A question for an instance, or for the
// dearest of those that changed lately, may look at all root sessions to find few.
func (s *Store) Sessions(ctx context.Context, q sessions.SessionQuery) ([]sessions.Session, error) {
	if q.Limit <= 0 {
		return nil, nil
	}
	request := struct {
		Since   *int64 `json:"since,omitempty"`
		Channel string `json:"channel"`
		ByCost  bool   `json:"by_cost"`
		Limit   int    `json:"limit"`
	}{nil, q.Channel, q.ByCost, q.Limit}
	if !q.Since.IsZero() {
		at := micros(q.Since)
		request.Since = &at
	}
	a, err := s.look(ctx, "sessions", request)
	var found []sessions.Session
	if err == nil {
		found, err = sessionsOf(a)
	}
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	return found, nil
}

// Find implements [sessions.Queries].
func (s *Store) Find(ctx context.Context, prefix string, limit int) (ids []sessionkeys.SessionID, err error) {
	if prefix == "" || limit <= 0 {
		return nil, nil
	}
	a, err := s.look(ctx, "find", struct {
		Prefix string `json:"prefix"`
		Limit  int    `json:"limit"`
	}{prefix, limit})
	if err != nil {
		return nil, fmt.Errorf("find sessions: %w", err)
	}
	for _, id := range a.texts(0) {
		if !strings.HasPrefix(id, prefix) {
			break
		}
		ids = append(ids, sessionkeys.SessionID(id))
	}
	return ids, nil
}

// TurnsOf implements [sessions.Queries].
func (s *Store) TurnsOf(ctx context.Context, id sessionkeys.SessionID) ([]sessions.Turn, error) {
	a, err := s.look(ctx, "turnsof", struct {
		Session sessionkeys.SessionID `json:"session"`
	}{id})
	if err != nil {
		return nil, fmt.Errorf("list the turns of session %s: %w", id, err)
	}
	var ts []sessions.Turn
	for i := range a {
		t, err := turnOf(a.row(i))
		if err != nil {
			return nil, fmt.Errorf("list the turns of session %s: %w", id, err)
		}
		ts = append(ts, t)
	}
	slices.SortFunc(ts, func(a, b sessions.Turn) int {
		return cmp.Or(a.OpenedAt.Compare(b.OpenedAt), cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.ID, b.ID))
	})
	return ts, nil
}
