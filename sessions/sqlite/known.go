package sqlite

import (
	"fmt"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions/rules"
)

// How many rows of a kind are known at most, about.
const (
	maxRows   = 16384
	maxChats  = 2048
	maxScopes = 4096
	maxPrices = 256
)

// rowCache is what the writer knows of the database.
type rowCache struct {
	// rows are mailboxes, turns, what of sessions never changes, open calls, leases, and
	// answers that are not done.
	rows     table[rules.Key, rules.Row]
	open     table[string, int] // how many calls of a turn are open; far below 0: nobody knows
	sessions table[sessionkeys.SessionID, account]
	scopes   table[rules.SpendingKey, spending]
	totals   table[costs.Labels, total]
	prices   table[string, int64] // their numbers
	frames   table[string, int64] // likewise, by name

	// Turns of which calls are open that began before the turn was known.
	early map[string]bool
}

func newKnown() rowCache {
	return rowCache{
		rows:     newTable[rules.Key, rules.Row](maxRows),
		open:     newTable[string, int](maxChats),
		sessions: newTable[sessionkeys.SessionID, account](maxChats),
		scopes:   newTable[rules.SpendingKey, spending](maxScopes),
		totals:   newTable[costs.Labels, total](maxScopes),
		prices:   newTable[string, int64](maxPrices),
		frames:   newTable[string, int64](maxPrices),
		early:    map[string]bool{},
	}
}

// learn notes a row as the database has it, if it is likely to be used again.
func (k *rowCache) learn(row rules.Row) {
	switch r := row.(type) {
	case rules.Mailbox, rules.Session, rules.Worker:
	case rules.Turn:
		k.open.learn(r.ID, unknownCalls)
	case rules.Call:
		if r.State != rules.CallOpen {
			return
		}
	case rules.Answer:
		if r.Done {
			return
		}
	default:
		return
	}
	k.rows.learn(row.Key(), row)
}

// flush stores all that was put since the last time.
func (t *tx) flush() error {
	for _, flush := range []func() error{
		func() error { return t.rows.flush(oneByOne(t.store)) },
		func() error { return t.sessions.flush(oneByOne(t.storeAccount)) },
		func() error { return t.scopes.flush(t.storeSpendings) },
		func() error { return t.totals.flush(oneByOne(t.storeTotal)) },
	} {
		if err := flush(); err != nil {
			return err
		}
	}
	return nil
}

// store writes a row that was put.
func (t *tx) store(row rules.Row, before *rules.Row) error {
	switch r := row.(type) {
	case rules.Mailbox:
		return t.storeMailbox(r, before)
	case rules.Turn:
		return t.exec(updateTurn, append(r.Places()[fixedOfTurn:], r.ID)...)
	case rules.Worker:
		return t.exec(workerShape.upsert, r.Places()...)
	}
	return fmt.Errorf("a %T is not stored later", row)
}

// forgetful is a table of any kind.
type forgetful interface {
	age()
	forget()
}

func (k *rowCache) tables() []forgetful {
	return []forgetful{
		&k.rows, &k.open, &k.sessions, &k.scopes, &k.totals, &k.prices, &k.frames,
	}
}

func (k *rowCache) age() {
	for _, t := range k.tables() {
		t.age()
	}
}

func (k *rowCache) forget() {
	for _, t := range k.tables() {
		t.forget()
	}
}
