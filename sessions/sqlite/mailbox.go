package sqlite

import (
	"errors"
	"fmt"

	"parley/sessionkeys"
	"parley/sessions/rules"
)

// source reads rows: inside the writer's transaction or of one state. What the
// writer has put and not stored yet is not among them.
type source interface {
	one(query string, args []any, dest ...any) (found bool, err error)
	each(query string, args []any, f func(scanner) error) error
}

const boxColumns = `token, key, session, touched, read, owner_name, owner_nonce, epoch, attempts, controls, turn, last_nonce, prior, waiting`

func loadMailbox(s source, token string) (m rules.Mailbox, found bool, err error) {
	var key string
	var waiting int64
	found, err = s.one("SELECT "+boxColumns+" FROM mailboxes WHERE token = ?", args(token),
		&m.Token, &key, &m.Session, &m.Touched, &m.Read, &m.Owner.Name, &m.Owner.Nonce,
		&m.Epoch, &m.Attempts, &m.Controls, &m.OpenTurn, &m.LastNonce, &m.PriorEpoch, &waiting)
	if err != nil || !found {
		return m, found, err
	}
	m.WaitingSince = instant(waiting)
	m.Mailbox.Key, err = sessionkeys.Parse(key)
	return m, true, err
}

// single makes one row available to what scans rows.
func single(s source, query string, args ...any) rowFunc {
	return func(dest ...any) error {
		found, err := s.one(query, args, dest...)
		if err == nil && !found {
			return errNone
		}
		return err
	}
}

// rowFunc makes a Scan of one row available.
type rowFunc func(dest ...any) error

func (f rowFunc) Scan(dest ...any) error { return f(dest...) }

// errNone says inside of a rowFunc that there is no row.
var errNone = errors.New("no row")

func (t *tx) storeBoxes(rows []*kept[rules.Mailbox]) error {
	for _, e := range rows {
		if err := t.storeBox(e.now, e.before); err != nil {
			return fmt.Errorf("write mailbox: %w", err)
		}
	}
	return nil
}

// hot says whether the mailbox has an owner or needs one.
func hot(m rules.Mailbox) bool { return m.Owner.Nonce != "" || m.Owed() }

// storeBox leaves the columns alone that the index is made of when they did not
// change.
func (t *tx) storeBox(m rules.Mailbox, before *rules.Mailbox) error {
	waiting := int64(0)
	if !m.WaitingSince.IsZero() {
		waiting = micros(m.WaitingSince)
	}
	switch {
	case before == nil:
		return t.do("INSERT INTO mailboxes ("+boxColumns+", hot) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			m.Token, m.Mailbox.Key.String(), m.Session, m.Touched, m.Read, m.Owner.Name, m.Owner.Nonce,
			m.Epoch, m.Attempts, m.Controls, m.OpenTurn, m.LastNonce, m.PriorEpoch, waiting, hot(m))
	case before.Owner == m.Owner && before.WaitingSince.Equal(m.WaitingSince) && hot(*before) == hot(m):
		return t.do(`UPDATE mailboxes SET session = ?, touched = ?, read = ?, epoch = ?, attempts = ?, controls = ?, turn = ?, last_nonce = ?, prior = ? WHERE token = ?`,
			m.Session, m.Touched, m.Read, m.Epoch, m.Attempts, m.Controls, m.OpenTurn, m.LastNonce, m.PriorEpoch, m.Token)
	}
	return t.do(`UPDATE mailboxes SET session = ?, touched = ?, read = ?, owner_name = ?, owner_nonce = ?, epoch = ?,
		attempts = ?, controls = ?, turn = ?, last_nonce = ?, prior = ?, waiting = ?, hot = ? WHERE token = ?`,
		m.Session, m.Touched, m.Read, m.Owner.Name, m.Owner.Nonce, m.Epoch,
		m.Attempts, m.Controls, m.OpenTurn, m.LastNonce, m.PriorEpoch, waiting, hot(m), m.Token)
}
