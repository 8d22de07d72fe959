package redis

import (
	"encoding/json"
	"fmt"
	"slices"

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
	if joined := r.row["joined"]; err == nil && joined != "" {
		err = json.Unmarshal([]byte(joined), &t.Joined)
	}
	if err != nil {
		return sessions.Turn{}, fmt.Errorf("turn %s: %w", t.ID, err)
	}
	return t, nil
}

// joinedText is which messages joined a turn, as it is stored; empty: none.
func joinedText(seqs []uint64) (string, error) {
	if len(seqs) == 0 {
		return "", nil
	}
	return text(seqs)
}

// lacksJoined reports whether a turn's row is of the version before, which did not say
// what joined it.
func lacksJoined(f row) bool {
	_, says := f["joined"]
	return len(f) > 0 && !says
}

// messageIDs reads the ids of a session's messages.
func (s *Store) messageIDs(session string) read { return get("SMEMBERS", s.key("msgids:"+session)) }

// withJoined is a row of the version before with what joined the turn, by the ids of
// its session's messages. It stands there as if it had been read, so that nobody writes
// it before something else joins.
func withJoined(f row, ids []string) (row, error) {
	var seqs []uint64
	for _, text := range ids {
		if id, ok := transcript.ParseMessageID(text); ok && id.Kind == transcript.Joining && id.Turn == f["id"] {
			seqs = append(seqs, id.Seq)
		}
	}
	slices.Sort(seqs)
	joined, err := joinedText(seqs)
	return merged(f, row{"joined": joined}), err
}

// completed is withJoined of each row that needs it.
func completed(rows []row, ids []string) (err error) {
	for i, f := range rows {
		if !lacksJoined(f) {
			continue
		}
		if rows[i], err = withJoined(f, ids); err != nil {
			return err
		}
	}
	return nil
}

// begunPreview stands in place of an id where a preview was begun. What is stored is one
// text as in the version before, whose processes may share the database: one that did
// not know of a preview would send its answer a second time, unmarked.
const begunPreview = "?"

func previewText(p sessions.Preview) string {
	if p.State == sessions.PreviewBegun {
		return begunPreview
	}
	return p.ID
}

func previewOf(stored string) sessions.Preview {
	if stored == begunPreview {
		return sessions.Preview{State: sessions.PreviewBegun}
	}
	return sessions.ShownPreview(stored)
}
