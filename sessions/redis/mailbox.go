package redis

import (
	"encoding/json"
	"fmt"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
)

// mailboxes are what box.answer makes of several.
func (s *Store) mailboxes(a answer) (ms []sessions.Mailbox, err error) {
	for i := range a {
		m, err := s.mailbox(a.list(i))
		if err != nil {
			return nil, err
		}
		ms = append(ms, m)
	}
	return ms, nil
}

// mailbox is a mailbox and its open turn, as box.answer makes them.
func (s *Store) mailbox(a answer) (sessions.Mailbox, error) {
	r := reader{row: a.row(0)}
	m := sessions.Mailbox{
		Token: r.row["token"], Session: sessionkeys.SessionID(r.row["session"]),
		Touched: uint64(r.int("touched")), Read: uint64(r.int("read")),
		Owner: sessions.Worker{Name: r.row["owner_name"], Nonce: r.row["owner_nonce"]},
		Epoch: r.int("epoch"), Attempts: int(r.int("attempts")), Controls: int(r.int("controls")),
	}
	var err error
	if m.Key, err = sessionkeys.Parse(r.row["key"]); err != nil {
		return sessions.Mailbox{}, fmt.Errorf("mailbox %s: %w", m.Token, err)
	}
	if r.row["turn"] != "" {
		t, err := turnOf(a.row(1))
		if err != nil {
			return sessions.Mailbox{}, err
		}
		m.Turn = &t
	}
	if s.facts != nil {
		s.lanes.learn(boxIn(r))
	}
	if r.err != nil {
		return sessions.Mailbox{}, fmt.Errorf("mailbox %s: %w", m.Token, r.err)
	}
	return m, nil
}

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
