package sqlite

import (
	"context"
	"fmt"

	"parley/sessions"
)

// word notes what messages say now.
func word(x *tx, ws []sessions.Wording) error {
	for _, w := range ws {
		err := x.do(`INSERT INTO wordings (channel, account, chat, message, sum) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET sum = excluded.sum`, w.Channel, w.Account, w.Chat, w.Message, w.Sum)
		if err != nil {
			return fmt.Errorf("note what a message says: %w", err)
		}
	}
	return nil
}

// Said implements [sessions.Turns].
func (s *Store) Said(ctx context.Context, w sessions.Wording) (sum string, found bool, err error) {
	found, err = s.one(ctx, "SELECT sum FROM wordings WHERE channel = ? AND account = ? AND chat = ? AND message = ?",
		args(w.Channel, w.Account, w.Chat, w.Message), &sum)
	if err != nil {
		return "", false, fmt.Errorf("look up what a message said: %w", err)
	}
	return sum, found, nil
}
