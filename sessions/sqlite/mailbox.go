package sqlite

import "parley/sessions/rules"

// source reads rows: inside the writer's transaction or of one state. What the
// writer has put and not stored yet is not among them.
type source interface {
	queryRow(query string, args []any, dest ...any) (found bool, err error)
	queryRows(query string, args []any, f func(scanner) error) error
}

// Columns of a mailbox: those that never change, and behind those that do those of its
// index.
const (
	fixedOfBox   = 2
	indexesOfBox = 11
)

var (
	insertBox = insertOf("mailboxes", rules.MailboxColumns+", hot")
	updateBox = updateOf("mailboxes", from(rules.MailboxColumns, fixedOfBox)+", hot", "token")
	changeBox = updateOf("mailboxes", between(rules.MailboxColumns, fixedOfBox, indexesOfBox), "token")
)

// isHot says whether the mailbox has an owner or needs one.
func isHot(m rules.Mailbox) bool { return m.Owner.Nonce != "" || m.HasWork() }

// storeMailbox leaves the columns alone that the index is made of when they did not
// change.
func (t *tx) storeMailbox(m rules.Mailbox, before *rules.Row) error {
	var was rules.Mailbox
	if before != nil {
		was, _ = (*before).(rules.Mailbox)
	}
	at := m.Places()
	switch {
	case before == nil:
		return t.exec(insertBox, append(at, isHot(m))...)
	case was.Owner == m.Owner && was.WaitingSince.Equal(m.WaitingSince) && isHot(was) == isHot(m):
		return t.exec(changeBox, append(at[fixedOfBox:indexesOfBox:indexesOfBox], m.Token)...)
	}
	return t.exec(updateBox, append(at[fixedOfBox:], isHot(m), m.Token)...)
}
