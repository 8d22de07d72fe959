package sqlite

import (
	"slices"

	"parley/sessions/rules"
)

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

// openCalls are the calls of a turn that are open. They are not known of turns that were not
// opened while they were known: those may have open calls.
type openCalls struct {
	known bool
	ids   []string
}

func (o *openCalls) add(id string) {
	if o.known {
		o.ids = append(slices.Clip(o.ids), id)
	}
}

func (o *openCalls) remove(id string) {
	o.ids = slices.DeleteFunc(slices.Clone(o.ids), func(other string) bool { return other == id })
}

// keys are those of at most limit calls; 0: of all.
func (o openCalls) keys(limit int) (ks []rules.Key) {
	for _, id := range o.ids {
		if limit > 0 && len(ks) == limit {
			break
		}
		ks = append(ks, rules.CallKey(id))
	}
	return ks
}

// Columns of a turn: those that never change, and those that say something of a new one.
const (
	fixedOfTurn = 11
	newOfTurn   = 15
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
		t.open.learn(r.ID, openCalls{known: true})
	}
	return nil
}
