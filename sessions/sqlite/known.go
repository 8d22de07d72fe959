package sqlite

import (
	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
)

// How many rows of a kind are known at most, about.
const (
	mostChats  = 2048
	mostCalls  = 8192
	mostScopes = 4096
	mostPrices = 256
)

// known is what the writer knows of the database.
type known struct {
	boxes    table[string, box]
	turns    table[string, turnRow]
	sessions table[sessionkeys.SessionID, account]
	calls    table[string, reservation] // open reservations
	scopes   table[scopeKey, spending]
	totals   table[costs.Labels, total]
	prices   table[string, int64] // their numbers
	frames   table[string, int64] // likewise, by name
	workers  table[sessions.Worker, lease]
	outbox   table[string, sending] // answers that are not done

	// Turns of which calls are open that began before the turn was known.
	early map[string]bool
}

func newKnown() known {
	return known{
		boxes:    newTable[string, box](mostChats),
		turns:    newTable[string, turnRow](mostChats),
		sessions: newTable[sessionkeys.SessionID, account](mostChats),
		calls:    newTable[string, reservation](mostCalls),
		scopes:   newTable[scopeKey, spending](mostScopes),
		totals:   newTable[costs.Labels, total](mostScopes),
		prices:   newTable[string, int64](mostPrices),
		frames:   newTable[string, int64](mostPrices),
		workers:  newTable[sessions.Worker, lease](mostChats),
		outbox:   newTable[string, sending](mostCalls),
		early:    map[string]bool{},
	}
}

// flush stores all that was put since the last time.
func (t *tx) flush() error {
	if err := t.boxes.flush(t.storeBoxes); err != nil {
		return err
	}
	if err := t.turns.flush(t.storeTurns); err != nil {
		return err
	}
	if err := t.sessions.flush(t.storeAccounts); err != nil {
		return err
	}
	if err := t.scopes.flush(t.storeSpendings); err != nil {
		return err
	}
	return t.totals.flush(t.storeTotals)
}

func (k *known) age() {
	k.boxes.age()
	k.turns.age()
	k.sessions.age()
	k.calls.age()
	k.scopes.age()
	k.totals.age()
	k.prices.age()
	k.frames.age()
	k.workers.age()
	k.outbox.age()
}

func (k *known) forget() {
	k.boxes.forget()
	k.turns.forget()
	k.sessions.forget()
	k.calls.forget()
	k.scopes.forget()
	k.totals.forget()
	k.prices.forget()
	k.frames.forget()
	k.workers.forget()
	k.outbox.forget()
}
