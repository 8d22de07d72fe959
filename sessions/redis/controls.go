package redis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"parley/sessionkeys"
	"parley/sessions"
)

// control is a sessions.Control in a request.
type control struct {
	ID      string          `json:"id"`
	Event   string          `json:"event"` // JSON
	Token   string          `json:"token"`
	Key     sessionkeys.Key `json:"key"`
	Kind    string          `json:"kind"`
	Through uint64          `json:"through"`
	Channel string          `json:"channel"`
	Origin  string          `json:"origin"` // JSON
	ReplyTo string          `json:"reply_to"`
	Sender  string          `json:"sender"`
	At      int64           `json:"at"`
}

// Request implements [sessions.Dispatch].
func (s *Store) Request(ctx context.Context, c sessions.Control) (bool, error) {
	added, err := s.request(ctx, c)
	if err != nil {
		return false, fmt.Errorf("store control request %s: %w", c.ID, err)
	}
	return added, nil
}

func (s *Store) request(ctx context.Context, c sessions.Control) (bool, error) {
	if c.ID == "" || c.Token == "" {
		return false, errors.New("it has no id or no mailbox")
	}
	if err := checkSeq(c.Through); err != nil {
		return false, err
	}
	made, err := mailboxFor(c.Key, c.At)
	if err != nil {
		return false, err
	}
	known, err := text(c.Event)
	if err != nil {
		return false, err
	}
	from, err := text(c.From)
	if err != nil {
		return false, err
	}
	a, err := s.record(ctx, "request", nil, struct {
		newMailbox
		Event   event   `json:"event"`
		Control control `json:"control"`
	}{made, event(c.Event), control{
		ID: c.ID, Event: known, Token: c.Token, Key: c.Key, Kind: c.Kind, Through: c.Through, Channel: c.Channel, Origin: from,
		ReplyTo: c.ReplyTo, Sender: c.Sender, At: micros(c.At),
	}})
	return a.yes(0), err
}

// Controls implements [sessions.Dispatch].
func (s *Store) Controls(ctx context.Context, token string) (cs []sessions.Control, err error) {
	a, err := s.look(ctx, "controls", struct {
		Token string `json:"token"`
	}{token})
	for i := range a {
		c, bad := controlOf(a.row(i))
		cs, err = append(cs, c), errors.Join(err, bad)
	}
	if err != nil {
		return nil, fmt.Errorf("list control requests of %s: %w", token, err)
	}
	return cs, nil
}

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

// Comply implements [sessions.Dispatch].
func (s *Store) Comply(ctx context.Context, f sessions.Fence, ids []string, read uint64, replies []sessions.Outgoing) error {
	rs, err := repliesOf(replies)
	if err == nil {
		err = checkSeq(read)
	}
	if err == nil {
		_, err = s.record(ctx, "comply", &f, struct {
			Fence   fence    `json:"fence"`
			IDs     []string `json:"ids"`
			Read    uint64   `json:"read"`
			Replies []reply  `json:"replies"`
		}{of(f), list(ids), read, rs})
	}
	if err != nil {
		return fmt.Errorf("end control requests of %s: %w", f.Token, err)
	}
	return nil
}
