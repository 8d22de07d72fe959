package sqlite

import (
	"errors"
	"fmt"
	"time"

	"parley/sessionkeys"
	"parley/sessions"
)

// source reads rows: inside the writer's transaction or of one state. What the
// writer has put and not stored yet is not among them.
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

const boxWidth = 14

const boxColumns = `m.token, m.key, m.session, m.touched, m.read, m.owner_name, m.owner_nonce, m.epoch, m.attempts, m.controls, m.turn, m.last_nonce, m.prior, m.waiting`

func (b *box) columns(key *string) []any {
	return args(&b.Token, key, &b.Session, &b.Touched, &b.Read, &b.Owner.Name, &b.Owner.Nonce,
		&b.Epoch, &b.Attempts, &b.Controls, &b.turn, &b.last, &b.prior, &b.waiting)
}

func scanBox(r scanner) (b box, err error) {
	var key string
	if err := r.Scan(b.columns(&key)...); err != nil {
		return box{}, err
	}
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

// box is the mailbox with its open turn.
func (t *tx) box(token string) (b box, found bool, err error) {
	b, found = t.boxes.get(token)
	if !found {
		b, err = scanBox(single(t, "SELECT "+boxColumns+" FROM mailboxes AS m WHERE token = ?", token))
		if errors.Is(err, errNone) {
			return box{}, false, nil
		}
		if err != nil {
			return box{}, false, fmt.Errorf("read mailbox: %w", err)
		}
		t.boxes.learn(token, b)
	}
	return b, true, b.addTurn(t)
}

func (b *box) addTurn(t *tx) error {
	b.Turn = nil
	if b.turn == "" {
		return nil
	}
	row, err := t.turn(b.turn)
	if err != nil {
		return err
	}
	b.Turn = &row.Turn
	return nil
}

// save notes the mailbox, but not its turn.
func (b box) save(t *tx) {
	t.changed = true
	b.Turn = nil
	t.boxes.put(b.Token, b)
}

func (t *tx) storeBoxes(rows []*kept[box]) error {
	for _, e := range rows {
		if err := t.storeBox(e.now, e.before); err != nil {
			return fmt.Errorf("write mailbox: %w", err)
		}
	}
	return nil
}

// storeBox leaves the columns alone that the index is made of when they did not
// change.
func (t *tx) storeBox(b box, before *box) error {
	if before != nil && before.Owner == b.Owner && before.waiting == b.waiting && before.hot() == b.hot() {
		return t.do(`UPDATE mailboxes SET session = ?, touched = ?, read = ?, epoch = ?, attempts = ?, controls = ?, turn = ?, last_nonce = ?, prior = ? WHERE token = ?`,
			b.Session, b.Touched, b.Read, b.Epoch, b.Attempts, b.Controls, b.turn, b.last, b.prior, b.Token)
	}
	return t.do(`UPDATE mailboxes SET session = ?, touched = ?, read = ?, owner_name = ?, owner_nonce = ?, epoch = ?,
		attempts = ?, controls = ?, turn = ?, last_nonce = ?, prior = ?, waiting = ?, hot = ? WHERE token = ?`,
		b.Session, b.Touched, b.Read, b.Owner.Name, b.Owner.Nonce, b.Epoch,
		b.Attempts, b.Controls, b.turn, b.last, b.prior, b.waiting, b.hot(), b.Token)
}

// hot says whether the mailbox has an owner or needs one.
func (b *box) hot() bool { return b.Owner.Nonce != "" || b.owed() }

// owned is the mailbox of f if f holds, else ErrFenced.
func owned(t *tx, f sessions.Fence) (box, error) {
	b, found, err := t.box(f.Token)
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
	row, err := t.turn(b.turn)
	if err != nil {
		return err
	}
	b.Turn.Attempts = max(0, b.Turn.Attempts+n)
	row.Attempts = b.Turn.Attempts
	row.save(t)
	return nil
}

// giveUp leaves the mailbox to nobody.
func (b *box) giveUp() {
	b.last = b.Owner.Nonce
	b.Owner, b.prior = sessions.Worker{}, 0
}
