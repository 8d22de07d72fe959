package sqlite

import (
	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/rules"
)

// How many rows of a kind are known at most, about.
const (
	maxChats  = 2048
	maxCalls  = 8192
	maxScopes = 4096
	maxPrices = 256
)

// rowCache is what the writer knows of the database.
type rowCache struct {
	mailboxes table[string, rules.Mailbox]
	turns     table[string, turnRow]
	facts     table[sessionkeys.SessionID, rules.Session]
	sessions  table[sessionkeys.SessionID, account]
	calls     table[string, rules.Call] // open ones
	scopes    table[rules.SpendingKey, spending]
	totals    table[costs.Labels, total]
	prices    table[string, int64] // their numbers
	frames    table[string, int64] // likewise, by name
	workers   table[sessions.Worker, rules.Worker]
	outbox    table[string, rules.Answer] // those that are not done

	// Turns of which calls are open that began before the turn was known.
	early map[string]bool
}

func newKnown() rowCache {
	return rowCache{
		mailboxes: newTable[string, rules.Mailbox](maxChats),
		turns:     newTable[string, turnRow](maxChats),
		facts:     newTable[sessionkeys.SessionID, rules.Session](maxChats),
		sessions:  newTable[sessionkeys.SessionID, account](maxChats),
		calls:     newTable[string, rules.Call](maxCalls),
		scopes:    newTable[rules.SpendingKey, spending](maxScopes),
		totals:    newTable[costs.Labels, total](maxScopes),
		prices:    newTable[string, int64](maxPrices),
		frames:    newTable[string, int64](maxPrices),
		workers:   newTable[sessions.Worker, rules.Worker](maxChats),
		outbox:    newTable[string, rules.Answer](maxCalls),
		early:     map[string]bool{},
	}
}

// get returns a row that is known.
func (k *rowCache) get(key rules.Key) (row rules.Row, ok bool) {
	switch key := key.(type) {
	case rules.MailboxKey:
		return knownRow(&k.mailboxes, string(key))
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
func (k *rowCache) learn(row rules.Row) {
	switch r := row.(type) {
	case rules.Mailbox:
		k.mailboxes.learn(r.Token, r)
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
	for _, flush := range []func() error{
		func() error { return t.mailboxes.flush(oneByOne(t.storeMailbox)) },
		func() error { return t.turns.flush(oneByOne(t.storeTurn)) },
		func() error { return t.sessions.flush(oneByOne(t.storeAccount)) },
		func() error { return t.scopes.flush(t.storeSpendings) },
		func() error {
			return t.workers.flush(oneByOne(func(w rules.Worker, _ *rules.Worker) error { return t.exec(workerShape.upsert, w.Places()...) }))
		},
		func() error { return t.totals.flush(oneByOne(t.storeTotal)) },
	} {
		if err := flush(); err != nil {
			return err
		}
	}
	return nil
}

// forgetful is a table of any kind.
type forgetful interface {
	age()
	forget()
}

func (k *rowCache) tables() []forgetful {
	return []forgetful{
		&k.mailboxes, &k.turns, &k.facts, &k.sessions, &k.calls, &k.scopes, &k.totals, &k.prices, &k.frames, &k.workers, &k.outbox,
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
