package sqlite

import (
	"context"
	"fmt"
	"slices"
	"time"

	"parley/sessions"
)

// inboxRow says what an event became.
type inboxRow struct {
	token, turn string
	seq         int64
	fence       sessions.Fence
}

// received notes the event; fresh is false when it was known. The zero event is
// none and always fresh.
func received(x *tx, e sessions.InboxID, r inboxRow) (fresh bool, err error) {
	if e == (sessions.InboxID{}) {
		return true, nil
	}
	n, err := x.change(`INSERT INTO inbox (channel, account, chat, event, token, turn, seq, epoch, nonce)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		e.Channel, e.Account, e.Chat, e.Event, r.token, r.turn, r.seq, r.fence.Epoch, r.fence.Nonce)
	if err != nil {
		return false, fmt.Errorf("note the event: %w", err)
	}
	return n == 1, nil
}

// receivedOf are those of the events that are known, each once.
func receivedOf(x source, events []sessions.InboxID) (known []sessions.InboxID, err error) {
	for _, e := range events {
		if slices.Contains(known, e) {
			continue
		}
		yes, err := isReceived(x, e)
		if err != nil {
			return nil, err
		}
		if yes {
			known = append(known, e)
		}
	}
	return known, nil
}

// allOf says whether each of the events is among known.
func allOf(events, known []sessions.InboxID) bool {
	return !slices.ContainsFunc(events, func(e sessions.InboxID) bool { return !slices.Contains(known, e) })
}

// isReceived says whether the event is known.
func isReceived(s source, e sessions.InboxID) (bool, error) {
	var one int
	known, err := s.one(`SELECT 1 FROM inbox WHERE channel = ? AND account = ? AND chat = ? AND event = ?`,
		args(e.Channel, e.Account, e.Chat, e.Event), &one)
	if err != nil {
		return false, fmt.Errorf("look the event up: %w", err)
	}
	return known, nil
}

// Known implements [sessions.Turns].
func (s *Store) Known(ctx context.Context, events ...sessions.InboxID) ([]bool, error) {
	known := make([]bool, len(events))
	err := s.read(ctx, func(v *view) (err error) {
		for i, e := range events {
			if known[i], err = isReceived(v, e); err != nil {
				return err
			}
		}
		return nil
	})
	return known, err
}

// receivedBy says whether exactly r noted the event.
func receivedBy(x *tx, e sessions.InboxID, r inboxRow) (bool, error) {
	var was inboxRow
	_, err := x.one(`SELECT token, turn, seq, epoch, nonce FROM inbox WHERE channel = ? AND account = ? AND chat = ? AND event = ?`,
		args(e.Channel, e.Account, e.Chat, e.Event), &was.token, &was.turn, &was.seq, &was.fence.Epoch, &was.fence.Nonce)
	if err != nil {
		return false, fmt.Errorf("look the event up: %w", err)
	}
	was.fence.Token = was.token
	return was == r, nil
}

// Notice implements [sessions.Turns].
func (s *Store) Notice(ctx context.Context, e sessions.InboxID, replies []sessions.Outgoing, _ time.Time) (bool, error) {
	added, err := write(ctx, s, func(x *tx) (bool, error) {
		fresh, err := received(x, e, inboxRow{})
		if err != nil || !fresh {
			return false, err
		}
		return true, queue(x, replies)
	})
	if err != nil {
		return false, fmt.Errorf("queue a notice: %w", err)
	}
	return added, nil
}
