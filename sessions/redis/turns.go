package redis

import (
	"context"
	"fmt"

	"parley/sessionkeys"
	"parley/sessions"
)

// Session implements [sessions.Turns].
func (s *Store) Session(ctx context.Context, id sessionkeys.SessionID) (found sessions.Session, err error) {
	a, err := s.look(ctx, get("HGETALL", s.key("sess:"+string(id))))
	if err == nil {
		found, err = sessionOf(a.row(0))
	}
	if err != nil {
		return sessions.Session{}, fmt.Errorf("read session %s: %w", id, err)
	}
	return found, nil
}
