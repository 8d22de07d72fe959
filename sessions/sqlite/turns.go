package sqlite

import (
	"context"
	"errors"
	"fmt"

	"parley/sessions"
	"parley/transcript"
)

// turnRow is a turn with what only this driver needs of it.
type turnRow struct {
	sessions.Turn
	nested   bool
	ended    sessions.Fence // that ended it
	released bool           // what it was told
}

const turnColumns = `id, token, session, nested, seq, state, attempts, channel, origin, reply_to, sender,
	received_at, opened_at, ended_at, outcome, steps, tries, end_epoch, end_nonce, released`

func scanTurn(r scanner) (t turnRow, err error) {
	var seq, received, opened, ended int64
	var from string
	err = r.Scan(&t.ID, &t.Token, &t.Session, &t.nested, &seq, &t.State, &t.Attempts, &t.Channel, &from, &t.ReplyTo, &t.Sender,
		&received, &opened, &ended, &t.Outcome, &t.Steps, &t.Tries, &t.ended.Epoch, &t.ended.Nonce, &t.released)
	if err != nil {
		return turnRow{}, err
	}
	t.Seq, t.ReceivedAt, t.OpenedAt, t.EndedAt = uint64(seq), instant(received), instant(opened), instant(ended)
	t.ended.Token = t.Token
	return t, parse(from, &t.From)
}

// loadTurn returns ErrNotFound when there is none.
func loadTurn(s source, id string) (turnRow, error) {
	t, err := scanTurn(single(s, "SELECT "+turnColumns+" FROM turns WHERE id = ?", id))
	if errors.Is(err, errNone) {
		err = sessions.ErrNotFound
	}
	if err != nil {
		return turnRow{}, fmt.Errorf("read turn %s: %w", id, err)
	}
	return t, nil
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
	base := b.Session
	if b.Turn != nil {
		base = b.Turn.Session
	}
	nested := o.Turn.Session != "" && o.Turn.Session != base
	if t, err := loadTurn(x, o.Turn.ID); err == nil {
		return reopen(x, b, t, seq)
	} else if !errors.Is(err, sessions.ErrNotFound) {
		return sessions.Turn{}, false, err
	}
	fresh, err := received(x, o.Event, inboxRow{token: f.Token, turn: o.Turn.ID, seq: seq, fence: f})
	switch {
	case err != nil:
		return sessions.Turn{}, false, err
	case !fresh && nested:
		return sessions.Turn{}, false, nil
	case !fresh:
		return sessions.Turn{}, false, b.skip(x, seq)
	case nested:
		if err := descends(x, o.Turn.Session, base); err != nil {
			return sessions.Turn{}, false, err
		}
	case b.turn != "":
		return sessions.Turn{}, false, fmt.Errorf("turn %s is open in this mailbox", b.turn)
	}

	t := o.Turn
	t.Token, t.State = f.Token, sessions.Open
	t.Attempts, t.Steps, t.Tries = 1, 0, 0
	t.EndedAt, t.Outcome = instant(micros(t.EndedAt)), ""
	if !nested {
		t.Session, t.Attempts = b.Session, max(1, b.Attempts)
		b.pass(x, seq)
		b.turn = t.ID
		if err := b.save(x); err != nil {
			return sessions.Turn{}, false, err
		}
	}
	if err := insertTurn(x, t, nested, seq); err != nil {
		return sessions.Turn{}, false, err
	}
	if err := appendMessages(x, t.Session, []transcript.Message{o.Message}, t.OpenedAt); err != nil {
		return sessions.Turn{}, false, err
	}
	return clean(t), true, nil
}

// reopen answers an opening whose turn is there already.
func reopen(x *tx, b box, t turnRow, seq int64) (sessions.Turn, bool, error) {
	if t.Token != b.Token {
		return sessions.Turn{}, false, errors.New("another mailbox has a turn of this id")
	}
	if t.State != sessions.Done {
		return t.Turn, true, nil
	}
	if t.nested {
		return sessions.Turn{}, false, nil
	}
	return sessions.Turn{}, false, b.skip(x, seq)
}

// skip passes a message over: what is at the head now is taken up for the first
// time.
func (b *box) skip(x *tx, seq int64) error {
	if uint64(seq) <= b.Read {
		return nil
	}
	b.pass(x, seq)
	b.restart()
	return b.save(x)
}

// restart counts the attempts of another head.
func (b *box) restart() {
	if b.turn == "" {
		b.Attempts = 1
	}
}

func insertTurn(x *tx, t sessions.Turn, nested bool, seq int64) error {
	from, err := text(t.From)
	if err != nil {
		return err
	}
	err = x.do(`INSERT INTO turns (id, token, session, nested, seq, state, attempts, channel, origin, reply_to, sender, received_at, opened_at, ended_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		t.ID, t.Token, t.Session, nested, seq, t.State, t.Attempts, t.Channel, from, t.ReplyTo, t.Sender,
		micros(t.ReceivedAt), micros(t.OpenedAt), micros(t.EndedAt))
	if err != nil {
		return fmt.Errorf("write turn: %w", err)
	}
	return nil
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
		return struct{}{}, b.skip(x, n)
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
		return false, b.skip(x, seq)
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
	if err := b.save(x); err != nil {
		return false, err
	}
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
	t, err := loadTurn(x, id)
	if err != nil {
		return turnRow{}, err
	}
	if t.Token != f.Token || t.State == sessions.Done {
		return turnRow{}, sessions.ErrFenced
	}
	return t, nil
}
