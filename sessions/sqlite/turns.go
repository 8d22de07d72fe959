package sqlite

import (
	"fmt"
	"math"

	"parley/costs"
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

const turnColumns = `t.id, t.token, t.session, t.nested, t.seq, t.state, t.attempts, t.channel, t.origin, t.reply_to, t.sender,
	t.received_at, t.opened_at, t.ended_at, t.outcome, t.steps, t.tries, t.end_epoch, t.end_nonce, t.released, t.refused, t.preview_state, t.preview, t.joined`

// turnRead is a turn as its columns say it.
type turnRead struct {
	rules.Turn
	from, refused, joined   string
	received, opened, ended int64
}

func (t *turnRead) columns() []any {
	return args(&t.ID, &t.Token, &t.Session, &t.Nested, &t.Seq, &t.State, &t.Attempts, &t.Channel, &t.from, &t.ReplyTo, &t.Sender,
		&t.received, &t.opened, &t.ended, &t.Outcome, &t.Steps, &t.Tries, &t.EndedBy.Epoch, &t.EndedBy.Nonce, &t.Released, &t.refused, &t.Preview.State, &t.Preview.ID, &t.joined)
}

func (t *turnRead) turn() (rules.Turn, error) {
	row := t.Turn
	row.ReceivedAt, row.OpenedAt, row.EndedAt = instant(t.received), instant(t.opened), instant(t.ended)
	row.EndedBy.Token = row.Token
	if t.refused != "" {
		row.Refused = new(costs.BudgetError)
		if err := parse(t.refused, row.Refused); err != nil {
			return row, err
		}
	}
	if t.joined != "" {
		if err := parse(t.joined, &row.Joined); err != nil {
			return row, err
		}
	}
	return row, parse(t.from, &row.From)
}

func loadTurn(s source, id string) (row rules.Turn, found bool, err error) {
	var t turnRead
	found, err = s.one("SELECT "+turnColumns+" FROM turns AS t WHERE id = ?", args(id), t.columns()...)
	if err != nil || !found {
		return row, found, err
	}
	row, err = t.turn()
	return row, true, err
}

// putTurn inserts a turn that is new; one that is known is stored with all that
// changes.
func (t *tx) putTurn(r rules.Turn) error {
	if row, ok := t.turns.get(r.ID); ok {
		t.turns.put(r.ID, turnRow{r, row.calls})
		return nil
	}
	from, err := text(r.From)
	if err != nil {
		return err
	}
	err = t.do(`INSERT INTO turns (id, token, session, nested, seq, state, attempts, channel, origin, reply_to, sender, received_at, opened_at, ended_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.ID, r.Token, r.Session, r.Nested, r.Seq, r.State, r.Attempts, r.Channel, from, r.ReplyTo, r.Sender,
		micros(r.ReceivedAt), micros(r.OpenedAt), micros(r.EndedAt))
	if err != nil {
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

func (t *tx) storeTurns(rows []*kept[turnRow]) error {
	for _, e := range rows {
		r := e.now
		refused, joined := "", ""
		var err error
		if r.Refused != nil {
			if refused, err = text(r.Refused); err != nil {
				return err
			}
		}
		if len(r.Joined) > 0 {
			if joined, err = text(r.Joined); err != nil {
				return err
			}
		}
		err = t.do(`UPDATE turns SET state = ?, attempts = ?, ended_at = ?, outcome = ?, steps = ?, tries = ?, end_epoch = ?, end_nonce = ?, released = ?,
				refused = ?, preview_state = ?, preview = ?, joined = ? WHERE id = ?`,
			r.State, r.Attempts, micros(r.EndedAt), r.Outcome, r.Steps, r.Tries, r.EndedBy.Epoch, r.EndedBy.Nonce, r.Released,
			refused, r.Preview.State, r.Preview.ID, joined, r.ID)
		if err != nil {
			return fmt.Errorf("write turn %s: %w", r.ID, err)
		}
	}
	return nil
}

func loadBegun(s source, k rules.BegunKey) (b rules.Begun, found bool, err error) {
	b.ID = k
	found, err = s.one("SELECT epoch, nonce FROM begun WHERE turn = ? AND step = ? AND call = ?", args(k.Turn, k.Step, k.Call), &b.Epoch, &b.Nonce)
	return b, found, err
}

func (t *tx) insertBegun(b rules.Begun) error {
	err := t.do("INSERT INTO begun (turn, step, call, epoch, nonce) VALUES (?, ?, ?, ?, ?)", b.ID.Turn, b.ID.Step, b.ID.Call, b.Epoch, b.Nonce)
	if err != nil {
		return fmt.Errorf("note that call %s began: %w", b.ID.Call, err)
	}
	return nil
}
