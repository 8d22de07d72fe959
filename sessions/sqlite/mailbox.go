package sqlite

import (
	"errors"
	"fmt"
	"time"

	"parley/sessionkeys"
	"parley/sessions"
)

// source reads rows: inside the writer's transaction or of one state.
type source interface {
	one(query string, args []any, dest ...any) (found bool, err error)
	each(query string, args []any, f func(scanner) error) error
}

// box is a mailbox with what only this driver needs of it.
type box struct {
	sessions.Mailbox
	turn    string // id of the open turn
	last    string // nonce of who owned it last
	prior   int64  // the epoch it was reacquired from, else 0
	waiting int64  // since when work is owed
}

const boxColumns = `token, key, session, touched, read, owner_name, owner_nonce, epoch, attempts, controls, turn, last_nonce, prior, waiting`

func scanBox(r scanner) (b box, err error) {
	var key string
	var touched, read int64
	err = r.Scan(&b.Token, &key, &b.Session, &touched, &read, &b.Owner.Name, &b.Owner.Nonce,
		&b.Epoch, &b.Attempts, &b.Controls, &b.turn, &b.last, &b.prior, &b.waiting)
	if err != nil {
		return box{}, err
	}
	b.Touched, b.Read = uint64(touched), uint64(read)
	if b.Key, err = sessionkeys.Parse(key); err != nil {
		return box{}, fmt.Errorf("mailbox %s: %w", b.Token, err)
	}
	return b, nil
}

// rowFunc makes a Scan of one row available to scanBox and its like.
type rowFunc func(dest ...any) error

func (f rowFunc) Scan(dest ...any) error { return f(dest...) }

// errNone says inside of a rowFunc that there is no row.
var errNone = errors.New("no row")

func single(s source, query string, args ...any) rowFunc {
	return func(dest ...any) error {
		found, err := s.one(query, args, dest...)
		if err == nil && !found {
			return errNone
		}
		return err
	}
}

func loadBox(s source, token string) (b box, found bool, err error) {
	b, err = scanBox(single(s, "SELECT "+boxColumns+" FROM mailboxes WHERE token = ?", token))
	if errors.Is(err, errNone) {
		return box{}, false, nil
	}
	if err != nil {
		return box{}, false, fmt.Errorf("read mailbox: %w", err)
	}
	return b, true, b.addTurn(s)
}

func (b *box) addTurn(s source) error {
	b.Turn = nil
	if b.turn == "" {
		return nil
	}
	t, err := loadTurn(s, b.turn)
	if err != nil {
		return err
	}
	b.Turn = &t.Turn
	return nil
}

func (b *box) save(t *tx) error {
	err := t.do(`UPDATE mailboxes SET session = ?, touched = ?, read = ?, owner_name = ?, owner_nonce = ?, epoch = ?,
		attempts = ?, controls = ?, turn = ?, last_nonce = ?, prior = ?, waiting = ? WHERE token = ?`,
		b.Session, int64(b.Touched), int64(b.Read), b.Owner.Name, b.Owner.Nonce, b.Epoch,
		b.Attempts, b.Controls, b.turn, b.last, b.prior, b.waiting, b.Token)
	if err != nil {
		return fmt.Errorf("write mailbox: %w", err)
	}
	return nil
}

// owned is the mailbox of f if f holds, else ErrFenced.
func owned(s source, f sessions.Fence) (box, error) {
	b, found, err := loadBox(s, f.Token)
	if err != nil {
		return box{}, err
	}
	if !found || !b.heldBy(f) {
		return box{}, sessions.ErrFenced
	}
	return b, nil
}

func (b *box) heldBy(f sessions.Fence) bool {
	return f.Nonce != "" && b.Owner.Nonce == f.Nonce && b.Epoch == f.Epoch
}

// givenUpBy says whether f was the last fence of a mailbox that nobody has
// taken since.
func (b *box) givenUpBy(f sessions.Fence) bool {
	return f.Nonce != "" && b.Owner.Nonce == "" && b.last == f.Nonce && b.Epoch == f.Epoch
}

// note makes seq the highest one, if it is.
func (b *box) note(t *tx, seq int64, now time.Time) {
	if uint64(seq) <= b.Touched {
		return
	}
	if !b.owed() {
		b.waiting = micros(now)
	}
	b.Touched = uint64(seq)
	t.highest = max(t.highest, seq)
}

// pass moves Read up to seq. The message behind it is another head, whose
// first attempt this owner makes.
func (b *box) pass(t *tx, seq int64) {
	if uint64(seq) <= b.Read {
		return
	}
	b.Read = uint64(seq)
	if b.Touched < b.Read {
		b.Touched = b.Read
		t.highest = max(t.highest, seq)
	}
}

func (b *box) owed() bool { return b.Touched > b.Read || b.turn != "" || b.Controls > 0 }

// take makes w the owner under a higher epoch.
func (b *box) take(t *tx, w sessions.Worker) error {
	b.Owner, b.prior = w, 0
	return b.again(t)
}

// again is another epoch and another attempt.
func (b *box) again(t *tx) error {
	b.Epoch++
	return b.attempt(t, 1)
}

// attempt counts attempts of the work at the head, and of the open turn.
func (b *box) attempt(t *tx, n int) error {
	b.Attempts = max(0, b.Attempts+n)
	if b.Turn == nil {
		return nil
	}
	b.Turn.Attempts = max(0, b.Turn.Attempts+n)
	if err := t.do("UPDATE turns SET attempts = ? WHERE id = ?", b.Turn.Attempts, b.turn); err != nil {
		return fmt.Errorf("count an attempt: %w", err)
	}
	return nil
}

// giveUp leaves the mailbox to nobody.
func (b *box) giveUp() {
	b.last = b.Owner.Nonce
	b.Owner, b.prior = sessions.Worker{}, 0
}
