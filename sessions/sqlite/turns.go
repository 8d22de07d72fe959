package sqlite

import (
	"fmt"
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
	found, err = s.queryRow("SELECT "+turnColumns+" FROM turns AS t WHERE id = ?", args(id), t.Places()...)
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
		return fmt.Errorf("write turn %s: %w", r.ID, err)
	}
	r.EndedBy.Token = r.Token
	row := turnRow{Turn: r}
	if t.early[r.ID] {
		row.calls = unknownCalls
	}
	t.turns.learn(r.ID, row)
	return nil
}

func (t *tx) storeTurns(rows []*cachedRow[turnRow]) error {
	for _, e := range rows {
		r := e.now
		if err := t.exec(updateTurn, append(r.Places()[fixedOfTurn:], r.ID)...); err != nil {
			return fmt.Errorf("write turn %s: %w", r.ID, err)
		}
	}
	return nil
}

func loadBegun(s source, k rules.BegunKey) (b rules.Begun, found bool, err error) {
	b.ID = k
	found, err = s.queryRow("SELECT epoch, nonce FROM begun WHERE turn = ? AND step = ? AND call = ?", args(k.Turn, k.Step, k.Call), &b.Epoch, &b.Nonce)
	return b, found, err
}

func (t *tx) insertBegun(b rules.Begun) error {
	err := t.exec("INSERT INTO begun (turn, step, call, epoch, nonce) VALUES (?, ?, ?, ?, ?)", b.ID.Turn, b.ID.Step, b.ID.Call, b.Epoch, b.Nonce)
	return rules.While(err, "note that call %s began", b.ID.Call)
}
