package redis

import (
	"encoding/json"
	"fmt"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
)

// turnOf is a turn as it is stored; no row is ErrNotFound.
func turnOf(stored row) (sessions.Turn, error) {
	if len(stored) == 0 {
		return sessions.Turn{}, sessions.ErrNotFound
	}
	r := reader{row: stored}
	t := sessions.Turn{
		ID: r.row["id"], Token: r.row["token"], Session: sessionkeys.SessionID(r.row["session"]),
		Seq: uint64(r.int("seq")), State: sessions.TurnState(r.row["state"]), Attempts: int(r.int("attempts")),
		Channel: r.row["channel"], ReplyTo: r.row["reply_to"], Sender: r.row["sender"],
		ReceivedAt: r.time("received_at"), OpenedAt: r.time("opened_at"), EndedAt: r.time("ended_at"),
		Outcome: transcript.FinishReason(r.row["outcome"]), Steps: int(r.int("steps")), Tries: int(r.int("tries")),
	}
	err := r.err
	if err == nil {
		err = json.Unmarshal([]byte(r.row["origin"]), &t.From)
	}
	if refused := r.row["refused"]; err == nil && refused != "" {
		t.Refused = new(costs.BudgetError)
		err = json.Unmarshal([]byte(refused), t.Refused)
	}
	if err != nil {
		return sessions.Turn{}, fmt.Errorf("turn %s: %w", t.ID, err)
	}
	return t, nil
}
