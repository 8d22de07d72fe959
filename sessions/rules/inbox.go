package rules

import (
	"context"
	"slices"
	"time"

	"parley/sessions"
)

// isKnown reports whether an event was noted. The zero event is none.
func isKnown(tx *Tx, e sessions.InboxID) (bool, error) {
	if e == (sessions.InboxID{}) {
		return false, nil
	}
	_, known, err := get[Event](tx, EventKey(e))
	return known, err
}

// receive notes what an event became. It is not known yet.
func receive(tx *Tx, e sessions.InboxID, became Event) {
	if e == (sessions.InboxID{}) {
		return
	}
	became.ID = e
	tx.put(became)
}

// receiveAll notes the events that are not known yet.
func receiveAll(tx *Tx, events []sessions.InboxID, became Event) error {
	for _, e := range events {
		known, err := isKnown(tx, e)
		if err != nil {
			return err
		}
		if !known {
			receive(tx, e, became)
		}
	}
	return nil
}

// areKnown reports whether there are events and all are known. When only some are, the
// error is a *KnownError that names these, each once.
func areKnown(tx *Tx, events []sessions.InboxID) (bool, error) {
	var known []sessions.InboxID
	all := true
	for _, e := range events {
		if slices.Contains(known, e) {
			continue
		}
		yes, err := isKnown(tx, e)
		if err != nil {
			return false, err
		}
		if yes {
			known = append(known, e)
		}
		all = all && yes
	}
	if len(known) > 0 && !all {
		return false, &sessions.KnownError{Events: known}
	}
	return len(known) > 0, nil
}

// repeatOrSkip passes over a message whose event e is known, and reports whether it was
// this very operation that noted it: then its answer was lost, and nothing changes.
func repeatOrSkip(tx *Tx, m Mailbox, e sessions.InboxID, became Event, through uint64) (mine bool, err error) {
	became.ID = e
	was, _, err := get[Event](tx, EventKey(e))
	if err != nil || was == became {
		return err == nil, err
	}
	skip(tx, m, through)
	return false, nil
}

// Known implements [sessions.Turns].
func (s Turns) Known(ctx context.Context, events ...sessions.InboxID) ([]bool, error) {
	known, err := view(ctx, s.db, func(tx *Tx) ([]bool, error) {
		known := make([]bool, len(events))
		for i, e := range events {
			var err error
			if known[i], err = isKnown(tx, e); err != nil {
				return nil, err
			}
		}
		return known, nil
	})
	return known, While(err, "look events up")
}

// Notice implements [sessions.Turns].
func (s Turns) Notice(ctx context.Context, e sessions.InboxID, replies []sessions.Outgoing, _ time.Time) (bool, error) {
	added, err := update(ctx, s.db, sessions.Fence{}, func(tx *Tx) (bool, error) {
		known, err := isKnown(tx, e)
		if err != nil || known {
			return false, err
		}
		receive(tx, e, Event{})
		return true, queueAnswers(tx, replies)
	})
	return added, While(err, "queue a notice")
}

// LastTextHash implements [sessions.Turns].
func (s Turns) LastTextHash(ctx context.Context, w sessions.TextHash) (sum string, found bool, err error) {
	err = s.db.View(ctx, func(tx *Tx) error {
		var was TextHash
		was, found, err = get[TextHash](tx, TextHash{w}.Key())
		sum = was.Sum
		return err
	})
	return sum, found, While(err, "look up what message %s said", w.Message)
}
