package intake

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"parley/broker"
	"parley/channels"
	"parley/gateway/messages"
	"parley/gateway/outcomes"
	"parley/sessionkeys"
)

// Bounds of what is kept of an event that is too large even for the dead
// letters, and of the words about it.
const (
	maxBuried  = 32 << 10
	maxProblem = 2 << 10
)

// deadLetter gives the event to the dead letters, in full, where it gives way to what was
// accepted and given up. One that is too large for them is cut, and one for which
// there is no room is counted and gone: an event that cannot be kept must not come
// again for ever and hold up all that follow it.
func (n *endings) deadLetter(ctx context.Context, m channels.Message, key sessionkeys.Key, reason, problem string) error {
	body := m.Raw
	if len(body) == 0 {
		var err error
		if body, err = json.Marshal(m); err != nil {
			body, _ = json.Marshal(fmt.Sprintf("%+v", m))
		}
	}
	id := messages.EventID(m)
	if m.Event == "" { // nothing tells it from others but what it says
		sum := sha256.Sum256(body)
		id += hex.EncodeToString(sum[:16])
	}
	d := broker.DeadLetter{
		ID: id, Reason: reason, Channel: m.Channel, Key: key.String(), Problem: truncate(problem, maxProblem), Body: body, At: n.now(), Event: true,
	}
	err := n.log.DeadLetter(ctx, d)
	if errors.Is(err, broker.ErrTooLarge) {
		d.Problem = fmt.Sprintf("%s; kept are the first %d of %d bytes", d.Problem, min(len(body), maxBuried), len(body))
		d.Body = body[:min(len(body), maxBuried)]
		err = n.log.DeadLetter(ctx, d)
	}
	if errors.Is(err, broker.ErrFull) {
		n.observer.CountIgnored(m.Channel, outcomes.NoRoom)
		n.logger.Error("event dropped: dead-letter storage full", "channel", m.Channel, "sender", truncate(m.Sender.ID, maxLogged), "event", truncate(m.Event, maxLogged), "reason", reason, "problem", d.Problem)
		return nil
	}
	if err != nil {
		return fmt.Errorf("keep a dead letter: %w", err)
	}
	n.observer.CountDeadLetter(m.Channel, reason)
	n.logger.Warn("message moved to the dead letters", "channel", m.Channel, "sender", truncate(m.Sender.ID, maxLogged), "name", truncate(m.Sender.Name, maxLogged),
		"event", truncate(m.Event, maxLogged), "letter", truncate(id, maxLogged), "reason", reason, "problem", d.Problem)
	return nil
}

// maxLogged bounds a stranger's words in the log.
const maxLogged = 128

func truncate(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
