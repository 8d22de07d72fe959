package sqlite

import (
	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/rules"
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
	boxes    table[string, rules.Mailbox]
	turns    table[string, turnRow]
	facts    table[sessionkeys.SessionID, rules.Session]
	sessions table[sessionkeys.SessionID, account]
	calls    table[string, rules.Call] // open ones
	scopes   table[rules.SpendingKey, spending]
	totals   table[costs.Labels, total]
	prices   table[string, int64] // their numbers
	frames   table[string, int64] // likewise, by name
	workers  table[sessions.Worker, rules.Worker]
	outbox   table[string, rules.Answer] // those that are not done

	// Turns of which calls are open that began before the turn was known.
	early map[string]bool
}

func newKnown() known {
	return known{
		boxes:    newTable[string, rules.Mailbox](mostChats),
		turns:    newTable[string, turnRow](mostChats),
		facts:    newTable[sessionkeys.SessionID, rules.Session](mostChats),
		sessions: newTable[sessionkeys.SessionID, account](mostChats),
		calls:    newTable[string, rules.Call](mostCalls),
		scopes:   newTable[rules.SpendingKey, spending](mostScopes),
		totals:   newTable[costs.Labels, total](mostScopes),
		prices:   newTable[string, int64](mostPrices),
		frames:   newTable[string, int64](mostPrices),
		workers:  newTable[sessions.Worker, rules.Worker](mostChats),
		outbox:   newTable[string, rules.Answer](mostCalls),
		early:    map[string]bool{},
	}
}

// get returns a row that is known.
func (k *known) get(key rules.Key) (row rules.Row, ok bool) {
	switch key := key.(type) {
	case rules.MailboxKey:
		return knownRow(&k.boxes, string(key))
	case rules.TurnKey:
		t, ok := k.turns.get(string(key))
		return t.Turn, ok
	case rules.SessionKey:
		return knownRow(&k.facts, sessionkeys.SessionID(key))
	case rules.CallKey:
		return knownRow(&k.calls, string(key))
	case rules.WorkerKey:
		return knownRow(&k.workers, sessions.Worker(key))
	case rules.AnswerKey:
		return knownRow(&k.outbox, string(key))
	}
	return nil, false
}

func knownRow[K comparable, R rules.Row](t *table[K, R], key K) (rules.Row, bool) {
	r, ok := t.get(key)
	return r, ok
}

// learn notes a row as the database has it.
func (k *known) learn(row rules.Row) {
	switch r := row.(type) {
	case rules.Mailbox:
		k.boxes.learn(r.Token, r)
	case rules.Turn:
		k.turns.learn(r.ID, turnRow{r, unknownCalls})
	case rules.Session:
		k.facts.learn(r.ID, r)
	case rules.Call:
		if r.State == rules.CallOpen {
			k.calls.learn(r.ID, r)
		}
	case rules.Worker:
		k.workers.learn(r.ID, r)
	case rules.Answer:
		if !r.Done {
			k.outbox.learn(r.ID, r)
		}
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
	if err := t.workers.flush(t.storeWorkers); err != nil {
		return err
	}
	return t.totals.flush(t.storeTotals)
}

// forgetful is a table of any kind.
type forgetful interface {
	age()
	forget()
}

func (k *known) tables() []forgetful {
	return []forgetful{
		&k.boxes, &k.turns, &k.facts, &k.sessions, &k.calls, &k.scopes, &k.totals, &k.prices, &k.frames, &k.workers, &k.outbox,
	}
}

func (k *known) age() {
	for _, t := range k.tables() {
		t.age()
	}
}

func (k *known) forget() {
	for _, t := range k.tables() {
		t.forget()
	}
}
