package rules

import (
	"context"
	"fmt"
	"slices"
	"time"

	"parley/sessionkeys"
	"parley/sessions"
)

// Erase implements [sessions.Eraser].
func (s Eraser) Erase(ctx context.Context, e sessions.Erasure) (bool, error) {
	done, err := update(ctx, s.db, sessions.Fence{}, func(tx *Tx) (bool, error) { return erase(tx, e) })
	return done, While(err, "delete the content of session %s", e.Session)
}

func erase(tx *Tx, e sessions.Erasure) (bool, error) {
	root, err := sessionOf(tx, e.Session)
	if err != nil {
		return false, err
	}
	if root.Parent != "" {
		return false, fmt.Errorf("it is a sub-agent's: its content goes with that of session %s", root.Root)
	}
	erased, err := isErased(tx, root.ID)
	if err != nil || erased {
		return false, err
	}
	if err := checkUnchanged(tx, root.ID, e.Before); err != nil {
		return false, err
	}
	tree, err := treeOf(tx, root.ID)
	if err != nil {
		return false, err
	}
	m, found, err := get[Mailbox](tx, MailboxKey(root.Session.Key.Token()))
	if err != nil {
		return false, err
	}
	if err := checkIdle(tx, m, tree, e.At); err != nil {
		return false, err
	}
	if found && m.Session == root.ID {
		if m.Owner.Nonce != "" { // it does not live, and is not to go on with what it knows
			m.release()
		}
		m.Session = sessionkeys.NewSessionID(e.At)
		tx.put(rootSession(m.Session, root.Session.Key, e.At))
		tx.put(m)
	}
	if err := dropAll(tx, e.Drop); err != nil {
		return false, err
	}
	mark := sessions.Record{ID: sessions.ErasedRecord(root.ID), Owner: e.Owner, Body: e.Mark, At: e.At}
	if err := writeRecords(tx, append(slices.Clone(e.Records), mark)); err != nil {
		return false, err
	}
	tx.Set.Erased = append(tx.Set.Erased, Erased{Sessions: tree, Templates: e.Templates, At: normaliseTime(e.At)})
	return true, nil
}

// checkUnchanged returns ErrBusy of a session that changed at a time or later; zero: whenever it did.
func checkUnchanged(tx *Tx, id sessionkeys.SessionID, before time.Time) error {
	if before.IsZero() {
		return nil
	}
	at, err := tx.Reader.ChangedAt(id)
	if err != nil {
		return fmt.Errorf("read when it changed: %w", err)
	}
	if !at.Before(normaliseTime(before)) {
		return fmt.Errorf("somebody went on with it at %s: %w", at.UTC().Format(time.RFC3339), sessions.ErrBusy)
	}
	return nil
}

// isErased reports whether the content of a root session was deleted.
func isErased(tx *Tx, id sessionkeys.SessionID) (bool, error) {
	r, found, err := get[Record](tx, RecordKey(sessions.ErasedRecord(id)))
	return found && r.existsAt(time.Time{}), err
}

// checkNotErased returns ErrNotFound of a session whose content was deleted.
func checkNotErased(tx *Tx, id sessionkeys.SessionID) error {
	erased, err := isErased(tx, id)
	if err == nil && erased {
		err = fmt.Errorf("the content of session %s was deleted: %w", id, sessions.ErrNotFound)
	}
	return err
}

// treeOf returns a session and all below it, parents before children.
func treeOf(tx *Tx, root sessionkeys.SessionID) ([]sessionkeys.SessionID, error) {
	tree := []sessionkeys.SessionID{root}
	for i := 0; i < len(tree); i++ {
		children, err := list[SessionKey](tx, ChildrenOf{tree[i]}, 0)
		if err != nil {
			return nil, err
		}
		for _, c := range children {
			tree = append(tree, sessionkeys.SessionID(c))
		}
	}
	return tree, nil
}

// checkIdle returns ErrBusy while something may still be added to the sessions of a tree. The
// first of them is the root, m its mailbox, which is the zero one when there is none.
func checkIdle(tx *Tx, m Mailbox, tree []sessionkeys.SessionID, now time.Time) error {
	busy := m.HasWork()
	if m.Owner.Nonce != "" && !busy {
		owner, _, err := get[Worker](tx, WorkerKey(m.Owner))
		if err != nil {
			return err
		}
		busy = owner.isLiveAt(now)
	}
	if m.Session == tree[0] && busy {
		return fmt.Errorf("a turn runs or a message waits: %w", sessions.ErrBusy)
	}
	open := []TurnKey{}
	if m.OpenTurn != "" {
		open = append(open, TurnKey(m.OpenTurn))
	}
	if m.Token != "" {
		nested, err := list[TurnKey](tx, NestedTurns{m.Token}, 0)
		if err != nil {
			return err
		}
		open = append(open, nested...)
	}
	for _, k := range open {
		t, err := turnOf(tx, string(k))
		if err != nil {
			return err
		}
		if t.State != sessions.Done && slices.Contains(tree, t.Session) {
			return fmt.Errorf("turn %s is open: %w", t.ID, sessions.ErrBusy)
		}
	}
	for i, id := range tree {
		if i > 0 {
			own, found, err := get[Mailbox](tx, MailboxKey(id.MailboxToken()))
			if err != nil {
				return err
			}
			if found && own.HasWork() {
				return fmt.Errorf("sub-agent %s is at work: %w", id, sessions.ErrBusy)
			}
		}
		unsent, err := list[AnswerKey](tx, UnsentAnswers{id}, 1)
		if err != nil {
			return err
		}
		if len(unsent) > 0 {
			return fmt.Errorf("answer %s is still to be sent: %w", string(unsent[0]), sessions.ErrBusy)
		}
	}
	return nil
}

// dropAll takes records away that are there.
func dropAll(tx *Tx, ids []sessions.RecordID) error {
	for _, id := range ids {
		r, found, err := get[Record](tx, RecordKey(id))
		if err != nil {
			return err
		}
		if found {
			r.Dropped = true
			tx.put(r)
		}
	}
	return nil
}
