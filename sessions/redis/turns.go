package redis

import (
	"context"

	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/rules"
)

// Session implements [sessions.Turns].
func (dir directory) Session(ctx context.Context, id sessionkeys.SessionID) (found sessions.Session, err error) {
	a, err := dir.query(ctx, newRead("HGETALL", dir.key("sess:"+string(id))))
	if err == nil {
		found, err = sessionOf(a.row(0))
	}
	return found, rules.While(err, "read session %s", id)
}
