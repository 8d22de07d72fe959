package sqlite

import (
	"math"

	"parley/sessions/rules"
)

// unknownCalls is of turns that were not opened while they were known: they
// may have open calls.
const unknownCalls = math.MinInt / 2

// Columns of a turn: those that never change, and those that say something of a new one.
const (
	fixedOfTurn = 11
	newOfTurn   = 14
)

var (
	turnColumns = behind("t.", rules.TurnColumns)
	insertTurn  = insertOf("turns", between(rules.TurnColumns, 0, newOfTurn))
	updateTurn  = updateOf("turns", from(rules.TurnColumns, fixedOfTurn), "id")
)

func loadTurn(s source, id string) (t rules.Turn, found bool, err error) {
	at := t.Places()
	t.ID = id
	found, err = s.queryRow(turnShape.read, at[:turnShape.key], at[turnShape.key:]...)
	t.EndedBy.Token = t.Token
	return t, found, err
}

// putTurn inserts a turn that is new; one that is known is stored with all that
// changes.
func (t *tx) putTurn(r rules.Turn) error {
	if _, ok := t.rows.get(r.Key()); ok {
		t.rows.put(r.Key(), r)
		return nil
	}
	if err := t.exec(insertTurn, r.Places()[:newOfTurn]...); err != nil {
		return err
	}
	r.EndedBy.Token = r.Token
	t.learn(r)
	if !t.early[r.ID] {
		t.open.learn(r.ID, 0)
	}
	return nil
}
