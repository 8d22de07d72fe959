package sqlite

import (
	"math"

	"parley/sessions/rules"
)

// turnRow is a turn with how many of its calls are open; far below 0: nobody knows.
type turnRow struct {
	rules.Turn
	calls int
}

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
	if row, ok := t.turns.get(r.ID); ok {
		t.turns.put(r.ID, turnRow{r, row.calls})
		return nil
	}
	if err := t.exec(insertTurn, r.Places()[:newOfTurn]...); err != nil {
		return err
	}
	r.EndedBy.Token = r.Token
	row := turnRow{Turn: r}
	if t.early[r.ID] {
		row.calls = unknownCalls
	}
	t.turns.learn(r.ID, row)
	return nil
}

func (t *tx) storeTurn(r turnRow, _ *turnRow) error {
	return t.exec(updateTurn, append(r.Places()[fixedOfTurn:], r.ID)...)
}
