package redis

import (
	"encoding/json"
	"errors"
	"fmt"

	"parley/sessions"
)

func controlOf(stored row) (sessions.Control, error) {
	r := reader{row: stored}
	c := sessions.Control{
		ID: r.row["id"], Token: r.row["token"], Kind: r.row["kind"], Through: uint64(r.int("through")), Channel: r.row["channel"],
		ReplyTo: r.row["reply_to"], Sender: r.row["sender"], At: r.time("at"),
	}
	err := errors.Join(r.err, c.Key.UnmarshalText([]byte(r.row["key"])),
		json.Unmarshal([]byte(r.row["event"]), &c.Event), json.Unmarshal([]byte(r.row["origin"]), &c.From))
	if err != nil {
		return sessions.Control{}, fmt.Errorf("control request %s: %w", c.ID, err)
	}
	return c, nil
}
