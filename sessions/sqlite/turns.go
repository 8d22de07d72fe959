package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math"

	"parley/costs"
	"parley/sessions"
	"parley/transcript"
)

// turnRow is a turn with what only this driver needs of it.
type turnRow struct {
	sessions.Turn
	nested   bool
	ended    sessions.Fence // that ended it
	released bool           // what it was told
	calls    int            // how many of its calls are open; far below 0: nobody knows
}

const turnColumns = `t.id, t.token, t.session, t.nested, t.seq, t.state, t.attempts, t.channel, t.origin, t.reply_to, t.sender,
	t.received_at, t.opened_at, t.ended_at, t.outcome, t.steps, t.tries, t.end_epoch, t.end_nonce, t.released, t.refused`

// turnRead is a turn as its columns say it.
type turnRead struct {
	turnRow
	from, refused           string
	received, opened, ended int64
}

func (t *turnRead) columns() []any {
	return args(&t.ID, &t.Token, &t.Session, &t.nested, &t.Seq, &t.State, &t.Attempts, &t.Channel, &t.from, &t.ReplyTo, &t.Sender,
		&t.received, &t.opened, &t.ended, &t.Outcome, &t.Steps, &t.Tries, &t.turnRow.ended.Epoch, &t.turnRow.ended.Nonce, &t.released, &t.refused)
}

func (t *turnRead) turn() (turnRow, error) {
	row := t.turnRow
	row.ReceivedAt, row.OpenedAt, row.EndedAt = instant(t.received), instant(t.opened), instant(t.ended)
	row.ended.Token, row.calls = row.Token, unknownCalls
	if t.refused != "" {
		row.Refused = new(costs.BudgetError)
		if err := parse(t.refused, row.Refused); err != nil {
			return row, err
		}
	}
	return row, parse(t.from, &row.From)
}

// unknownCalls is of turns that were not opened while they were known: they
// may have open calls.
const unknownCalls = math.MinInt / 2

// loadTurn returns ErrNotFound when there is none.
func loadTurn(s source, id string) (turnRow, error) {
	var t turnRead
	found, err := s.one("SELECT "+turnColumns+" FROM turns AS t WHERE id = ?", args(id), t.columns()...)
	if err == nil && !found {
		err = sessions.ErrNotFound
	}
	var row turnRow
	if err == nil {
		row, err = t.turn()
	}
	if err != nil {
		return turnRow{}, fmt.Errorf("read turn %s: %w", id, err)
	}
	return row, nil
}

// turn is loadTurn of what is known.
func (t *tx) turn(id string) (turnRow, error) {
	if row, ok := t.turns.get(id); ok {
		return row, nil
	}
	row, err := loadTurn(t, id)
	if err == nil {
		t.turns.learn(id, row)
	}
	return row, err
}

func (r turnRow) save(t *tx) {
	t.changed = true
	t.turns.put(r.ID, r)
}

func (t *tx) storeTurns(rows []*kept[turnRow]) error {
	for _, e := range rows {
		r := e.now
		refused := ""
		if r.Refused != nil {
			var err error
			if refused, err = text(r.Refused); err != nil {
				return err
			}
		}
		err := t.do(`UPDATE turns SET state = ?, attempts = ?, ended_at = ?, outcome = ?, steps = ?, tries = ?, end_epoch = ?, end_nonce = ?, released = ?, refused = ? WHERE id = ?`,
			r.State, r.Attempts, micros(r.EndedAt), r.Outcome, r.Steps, r.Tries, r.ended.Epoch, r.ended.Nonce, r.released, refused, r.ID)
		if err != nil {
			return fmt.Errorf("write turn %s: %w", r.ID, err)
		}
	}
	return nil
}

// Turn implements [sessions.Turns].
func (s *Store) Turn(ctx context.Context, id string) (sessions.Turn, error) {
	t, err := loadTurn(direct{ctx, s}, id)
	return t.Turn, err
}

// Open implements [sessions.Turns].
func (s *Store) Open(ctx context.Context, f sessions.Fence, o sessions.Opening) (sessions.Turn, bool, error) {
	type result struct {
		t      sessions.Turn
		opened bool
	}
	r, err := write(ctx, s, func(x *tx) (r result, err error) {
		r.t, r.opened, err = openTurn(x, f, o)
		return r, err
	})
	if err != nil {
		return sessions.Turn{}, false, fmt.Errorf("open turn %s: %w", o.Turn.ID, err)
	}
	return r.t, r.opened, nil
}

func openTurn(x *tx, f sessions.Fence, o sessions.Opening) (sessions.Turn, bool, error) {
	b, err := owned(x, f)
	if err != nil {
		return sessions.Turn{}, false, err
	}
	if o.Turn.ID == "" {
		return sessions.Turn{}, false, errors.New("it has no id")
	}
	seq, err := number(o.Turn.Seq)
	if err != nil {
		return sessions.Turn{}, false, err
	}
	through, err := number(max(o.Through, o.Turn.Seq))
	if err != nil {
		return sessions.Turn{}, false, err
	}
	base := b.Session
	if b.Turn != nil {
		base = b.Turn.Session
	}
	nested := o.Turn.Session != "" && o.Turn.Session != base
	known, err := receivedOf(x, o.Events)
	if err != nil {
		return sessions.Turn{}, false, err
	}
	fresh := len(known) == 0
	if nested || b.turn != "" || !fresh {
		t, err := x.turn(o.Turn.ID)
		switch {
		case !errors.Is(err, sessions.ErrNotFound):
			return reopen(x, b, t, through, err)
		case !fresh && !allOf(o.Events, known):
			return sessions.Turn{}, false, &sessions.KnownError{Events: known}
		case !fresh:
			if !nested {
				b.skip(x, through)
			}
			return sessions.Turn{}, false, nil
		case nested:
			err = descends(x, o.Turn.Session, base)
		default:
			err = fmt.Errorf("turn %s is open in this mailbox", b.turn)
		}
		if err != nil {
			return sessions.Turn{}, false, err
		}
	}

	t := clean(o.Turn)
	t.Token, t.State = f.Token, sessions.Open
	t.Attempts, t.Steps, t.Tries = 1, 0, 0
	t.Outcome, t.Refused = "", nil
	if !nested {
		t.Session, t.Attempts = b.Session, max(1, b.Attempts)
	}
	made, err := insertTurn(x, t, nested, seq)
	if err != nil {
		return sessions.Turn{}, false, err
	}
	if !made { // it was opened for another event
		t, err := x.turn(o.Turn.ID)
		return reopen(x, b, t, through, err)
	}
	for _, e := range o.Events {
		if _, err := received(x, e, inboxRow{token: f.Token, turn: t.ID, seq: seq, fence: f}); err != nil {
			return sessions.Turn{}, false, err
		}
	}
	if err := word(x, o.Words); err != nil {
		return sessions.Turn{}, false, err
	}
	if !nested {
		b.pass(x, through)
		b.turn = t.ID
		b.save(x)
	}
	if err := appendMessages(x, t.Session, []transcript.Message{o.Message}, t.OpenedAt); err != nil {
		return sessions.Turn{}, false, err
	}
	return t, true, nil
}

// reopen answers an opening whose turn is there already.
func reopen(x *tx, b box, t turnRow, seq int64, err error) (sessions.Turn, bool, error) {
	if err != nil {
		return sessions.Turn{}, false, err
	}
	if t.Token != b.Token {
		return sessions.Turn{}, false, errors.New("another mailbox has a turn of this id")
	}
	if t.State != sessions.Done {
		return t.Turn, true, nil
	}
	if t.nested {
		return sessions.Turn{}, false, nil
	}
	b.skip(x, seq)
	return sessions.Turn{}, false, nil
}

// skip passes a message over: what is at the head now is taken up for the first
// time.
func (b *box) skip(x *tx, seq int64) {
	if uint64(seq) <= b.Read {
		return
	}
	b.pass(x, seq)
	b.restart()
	b.save(x)
}

// restart counts the attempts of another head.
func (b *box) restart() {
	if b.turn == "" {
		b.Attempts = 1
	}
}

// insertTurn returns false when there is one of this id.
func insertTurn(x *tx, t sessions.Turn, nested bool, seq int64) (bool, error) {
	from, err := text(t.From)
	if err != nil {
		return false, err
	}
	n, err := x.change(`INSERT INTO turns (id, token, session, nested, seq, state, attempts, channel, origin, reply_to, sender, received_at, opened_at, ended_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
		t.ID, t.Token, t.Session, nested, seq, t.State, t.Attempts, t.Channel, from, t.ReplyTo, t.Sender,
		micros(t.ReceivedAt), micros(t.OpenedAt), micros(t.EndedAt))
	if err != nil {
		return false, fmt.Errorf("write turn: %w", err)
	}
	if n == 0 {
		return false, nil
	}
	row := turnRow{Turn: t, nested: nested, ended: sessions.Fence{Token: t.Token}}
	if x.early[t.ID] {
		row.calls = unknownCalls
	}
	x.turns.learn(t.ID, row)
	return true, nil
}

// clean is t with its times as they will be read back.
func clean(t sessions.Turn) sessions.Turn {
	t.ReceivedAt, t.OpenedAt, t.EndedAt = instant(micros(t.ReceivedAt)), instant(micros(t.OpenedAt)), instant(micros(t.EndedAt))
	return t
}

// Skip implements [sessions.Turns].
func (s *Store) Skip(ctx context.Context, f sessions.Fence, seq uint64) error {
	_, err := write(ctx, s, func(x *tx) (struct{}, error) {
		n, err := number(seq)
		if err != nil {
			return struct{}{}, err
		}
		b, err := owned(x, f)
		if err != nil {
			return struct{}{}, err
		}
		b.skip(x, n)
		return struct{}{}, nil
	})
	if err != nil {
		return fmt.Errorf("skip message %d of %s: %w", seq, f.Token, err)
	}
	return nil
}

// Answer implements [sessions.Turns].
func (s *Store) Answer(ctx context.Context, f sessions.Fence, c sessions.Command) (bool, error) {
	done, err := write(ctx, s, func(x *tx) (bool, error) { return answer(x, f, c) })
	if err != nil {
		return false, fmt.Errorf("answer message %d of %s: %w", c.Seq, f.Token, err)
	}
	return done, nil
}

func answer(x *tx, f sessions.Fence, c sessions.Command) (bool, error) {
	b, err := owned(x, f)
	if err != nil {
		return false, err
	}
	seq, err := number(c.Seq)
	if err != nil {
		return false, err
	}
	row := inboxRow{token: f.Token, seq: seq, fence: f}
	fresh, err := received(x, c.Event, row)
	if err != nil {
		return false, err
	}
	if !fresh {
		mine, err := receivedBy(x, c.Event, row)
		if err != nil || mine {
			return mine, err // mine: its answer was lost
		}
		b.skip(x, seq)
		return false, nil
	}
	for _, e := range c.With {
		if _, err := received(x, e, row); err != nil {
			return false, err
		}
	}
	if c.Fresh != "" && c.Fresh != b.Session {
		err := insertSession(x, sessions.Session{ID: c.Fresh, Key: b.Key, Root: c.Fresh, Role: mainRole, CreatedAt: c.At}, "")
		if err != nil {
			return false, err
		}
		b.Session = c.Fresh
	}
	b.pass(x, seq)
	b.restart()
	b.save(x)
	return true, queue(x, c.Replies)
}

// Begin implements [sessions.Turns].
func (s *Store) Begin(ctx context.Context, f sessions.Fence, turn string, step int, callID string) (bool, error) {
	again, err := write(ctx, s, func(x *tx) (bool, error) {
		if _, err := openTurnOf(x, f, turn); err != nil {
			return false, err
		}
		n, err := x.change("INSERT INTO begun (turn, step, call, epoch, nonce) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
			turn, step, callID, f.Epoch, f.Nonce)
		if err != nil || n == 1 {
			return false, err
		}
		var epoch int64
		var nonce string
		_, err = x.one("SELECT epoch, nonce FROM begun WHERE turn = ? AND step = ? AND call = ?", args(turn, step, callID), &epoch, &nonce)
		return epoch != f.Epoch || nonce != f.Nonce, err
	})
	if err != nil {
		return false, fmt.Errorf("begin call %s of turn %s: %w", callID, turn, err)
	}
	return again, nil
}

// openTurnOf is an open turn of the mailbox that f holds.
func openTurnOf(x *tx, f sessions.Fence, id string) (turnRow, error) {
	if _, err := owned(x, f); err != nil {
		return turnRow{}, err
	}
	t, err := x.turn(id)
	if err != nil {
		return turnRow{}, err
	}
	if t.Token != f.Token || t.State == sessions.Done {
		return turnRow{}, sessions.ErrFenced
	}
	return t, nil
}
