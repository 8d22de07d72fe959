package rules

import (
	"errors"
	"fmt"
	"time"

	"parley/sessionkeys"
	"parley/sessions"
)

// mainRole is the role of a session that people talk to.
const mainRole = "main"

// ownedMailbox returns the mailbox that f holds, or ErrFenced.
func ownedMailbox(tx *Tx, f sessions.Fence) (Mailbox, error) {
	m, found, err := get[Mailbox](tx, MailboxKey(f.Token))
	if err != nil {
		return Mailbox{}, err
	}
	if !found || !m.isHeldBy(f) {
		return Mailbox{}, sessions.ErrFenced
	}
	return m, nil
}

// ownedOrGivenUp is like owned, but also reports whether f gave the mailbox up and no other took
// it since: the answer to that was lost.
func ownedOrGivenUp(tx *Tx, f sessions.Fence) (m Mailbox, givenUp bool, err error) {
	m, found, err := get[Mailbox](tx, MailboxKey(f.Token))
	if err != nil || found && m.wasReleasedBy(f) {
		return m, err == nil, err
	}
	m, err = ownedMailbox(tx, f)
	return m, false, err
}

// checkFence returns ErrFenced unless f holds. Its callers want nothing else of the
// mailbox.
func checkFence(tx *Tx, f sessions.Fence) error {
	_, err := ownedMailbox(tx, f)
	tx.Set.OnlyFence = true
	return err
}

// isHeldBy reports whether f is the present owner's fence.
func (m Mailbox) isHeldBy(f sessions.Fence) bool {
	return f.Nonce != "" && m.Owner.Nonce == f.Nonce && m.Epoch == f.Epoch
}

// wasReleasedBy reports whether f was the last fence of a mailbox that has had no owner
// since.
func (m Mailbox) wasReleasedBy(f sessions.Fence) bool {
	return f.Nonce != "" && m.Owner.Nonce == "" && m.LastNonce == f.Nonce && m.Epoch == f.Epoch
}

// publicMailbox returns the mailbox with its open turn, as callers of the store see it.
func publicMailbox(tx *Tx, m Mailbox) (sessions.Mailbox, error) {
	out := m.Mailbox
	out.Turn = nil
	if m.OpenTurn == "" {
		return out, nil
	}
	t, err := turnOf(tx, m.OpenTurn)
	if err != nil {
		return sessions.Mailbox{}, err
	}
	out.Turn = &t.Turn
	return out, nil
}

// mailboxFor returns the mailbox, made with a new session when there is none. The
// mailbox of a child feeds the session that was spawned for it.
func mailboxFor(tx *Tx, token string, key sessionkeys.Key, now time.Time) (Mailbox, error) {
	m, found, err := get[Mailbox](tx, MailboxKey(token))
	if err != nil || found {
		return m, err
	}
	if token == "" || key.IsZero() {
		return Mailbox{}, errors.New("a new mailbox needs a token and a key")
	}
	tx.Set.Forgettable = false // it is made once
	m = Mailbox{Mailbox: sessions.Mailbox{Token: token, Key: key}}
	if _, child := key.Parent(); child {
		c, found, err := get[Child](tx, ChildKey(token))
		if err != nil {
			return Mailbox{}, err
		}
		if !found {
			return Mailbox{}, fmt.Errorf("a child's mailbox before the child was spawned: %w", sessions.ErrNotFound)
		}
		m.Session = c.Session
	} else {
		m.Session = sessionkeys.NewSessionID(now)
		tx.put(rootSession(m.Session, key, now))
	}
	tx.put(m)
	return m, nil
}

// rootSession returns a new session that people talk to.
func rootSession(id sessionkeys.SessionID, key sessionkeys.Key, now time.Time) Session {
	return Session{sessions.Session{ID: id, Key: key, Root: id, Role: mainRole, CreatedAt: normaliseTime(now)}}
}

// changeSession makes the mailbox feed the session that a command names: a new one, or an
// earlier one of the same key.
func changeSession(tx *Tx, m *Mailbox, c sessions.Command) error {
	switch {
	case c.Fresh != "" && c.Resume != "":
		return errors.New("a command that begins a session and resumes another")
	case c.Resume != "":
		s, err := sessionOf(tx, c.Resume)
		if err != nil {
			return err
		}
		if s.Parent != "" || s.Session.Key != m.Mailbox.Key {
			return fmt.Errorf("session %s is none of mailbox %s: %w", c.Resume, m.Token, sessions.ErrNotFound)
		}
		if err := checkNotErased(tx, c.Resume); err != nil {
			return err
		}
		m.Session = c.Resume
	case c.Fresh != "" && c.Fresh != m.Session:
		if _, there, err := get[Session](tx, SessionKey(c.Fresh)); err != nil {
			return err
		} else if there {
			return fmt.Errorf("session %s is there already", c.Fresh)
		}
		tx.put(rootSession(c.Fresh, m.Mailbox.Key, c.At))
		m.Session = c.Fresh
	}
	return nil
}

// note makes seq the highest known sequence, if it is higher.
func (m *Mailbox) note(seq uint64, now time.Time) {
	if seq <= m.LastSeen {
		return
	}
	if !m.HasWork() {
		m.WaitingSince = normaliseTime(now)
	}
	m.LastSeen = seq
}

// advanceRead moves Read up to seq.
func (m *Mailbox) advanceRead(seq uint64) {
	if seq > m.LastRead {
		m.LastRead, m.LastSeen = seq, max(m.LastSeen, seq)
	}
}

// skip passes a message over: what is at the head then is taken up for the first
// time.
func skip(tx *Tx, m Mailbox, seq uint64) {
	if seq <= m.LastRead {
		return
	}
	m.advanceRead(seq)
	m.resetAttempts()
	tx.put(m)
}

// resetAttempts counts the attempts of another head.
func (m *Mailbox) resetAttempts() {
	if m.OpenTurn == "" {
		m.Attempts = 1
	}
}

// take makes w the owner under a higher epoch.
func take(tx *Tx, m *Mailbox, w sessions.Worker) error {
	m.Owner, m.PriorEpoch = w, 0
	return nextAttempt(tx, m)
}

// nextAttempt gives the mailbox another epoch and counts another attempt.
func nextAttempt(tx *Tx, m *Mailbox) error {
	m.Epoch++
	return countAttempts(tx, m, 1)
}

// countAttempts counts attempts of the work at the head, and of the open turn.
func countAttempts(tx *Tx, m *Mailbox, n int) error {
	m.Attempts = max(0, m.Attempts+n)
	if m.OpenTurn == "" {
		return nil
	}
	t, err := turnOf(tx, m.OpenTurn)
	if err != nil {
		return err
	}
	t.Attempts = max(0, t.Attempts+n)
	tx.put(t)
	return nil
}

// release leaves the mailbox without an owner.
func (m *Mailbox) release() { m.LastNonce, m.Owner, m.PriorEpoch = m.Owner.Nonce, sessions.Worker{}, 0 }

// handOver gives the mailbox up with its attempt.
func handOver(tx *Tx, m Mailbox) error {
	if err := countAttempts(tx, &m, -1); err != nil {
		return err
	}
	m.release()
	tx.put(m)
	return nil
}

// Evict hands up to limit mailboxes that w owns over, whatever its lease says, and
// returns how many. It is for a driver whose database may have forgotten which fences
// were given: none of them holds then.
func Evict(tx *Tx, w sessions.Worker, limit int) (int, error) {
	tx.Set.Forgettable = true
	owned, err := rowsOf[Mailbox](tx, OwnedMailboxes{Owner: w}, limit)
	if err != nil {
		return 0, err
	}
	for _, m := range owned {
		if err := handOver(tx, m); err != nil {
			return 0, err
		}
	}
	return len(owned), nil
}
