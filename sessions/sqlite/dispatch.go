package sqlite

import (
	"context"
	"errors"
	"fmt"

	"parley/sessions/rules"
)

const page = 200 // rows read at a time for a caller's function

// Generation implements [sessions.Dispatch].
func (s *Store) Generation(ctx context.Context) (name string, highest uint64, err error) {
	var h int64
	if _, err := s.readers.queryRow(ctx, "SELECT name, highest FROM generation", nil, &name, &h); err != nil {
		return "", 0, fmt.Errorf("read the generation: %w", err)
	}
	return name, uint64(h), nil
}

// StartGeneration implements [sessions.Dispatch].
func (s *Store) StartGeneration(ctx context.Context, name string) (int, error) {
	if name == "" {
		return 0, errors.New("start a generation: it has no name")
	}
	lost, err := write(ctx, s, func(x *tx) (int, error) { return startGeneration(x, name) })
	return lost, rules.While(err, "start generation %s", name)
}

func startGeneration(x *tx, name string) (lost int, err error) {
	var present string
	if _, err := x.queryRow("SELECT name, lost FROM generation", nil, &present, &lost); err != nil || present == name {
		return lost, err
	}
	if err := x.flush(); err != nil {
		return 0, err
	}
	x.rows.forget()
	if _, err := x.queryRow("SELECT count(*) FROM mailboxes WHERE touched > read", nil, &lost); err != nil {
		return 0, err
	}
	for _, q := range []string{
		"UPDATE mailboxes SET attempts = 0 WHERE touched > read AND turn = ''",
		"UPDATE mailboxes SET touched = 0, read = 0, hot = (owner_nonce <> '' OR turn <> '' OR controls > 0) WHERE touched > 0",
		"UPDATE controls SET through = 0 WHERE done = 0",
	} {
		if err := x.exec(q); err != nil {
			return 0, err
		}
	}
	x.highest = 0
	return lost, x.exec("UPDATE generation SET name = ?, lost = ?, highest = 0, doubt = 0", name, lost)
}
