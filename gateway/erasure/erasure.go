// Package erasure deletes what was said: in one session, in those that nobody went on with for long,
// and by one person. What it has cost stays, to the last entry of the ledger.
//
//	parley sessions delete ──┐
//	retention, by the clock ─┼──► Desk.Delete ──► sessions.Eraser, in one commit ──► files
//	parley forget ───────────┘
//
// See docs/decisions/0108.
package erasure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"parley/agent/prompt"
	"parley/gateway/approvals"
	"parley/gateway/conversations"
	"parley/gateway/goals"
	"parley/gateway/ongoing"
	"parley/gateway/plans"
	"parley/gateway/records"
	"parley/sessionkeys"
	"parley/sessions"
)

// Why the content of a session was deleted.
const (
	ByOperator = "operator"  // somebody named the session
	ByAge      = "retention" // nobody went on with it for long
	ByPerson   = "forget"    // a person is forgotten
)

// Mark is what is kept of content that was deleted.
type Mark struct {
	By       string    `json:"by"`  // who: "uid 1000" by a command, an operator's name on the page; "retention"
	Why      string    `json:"why"` // one of the reasons above
	At       time.Time `json:"at"`
	Messages int       `json:"messages"` // how many there were, with those of sub-agents
}

// String says when, by whom and why.
func (m Mark) String() string {
	at := m.At.UTC().Format("2006-01-02 15:04:05 UTC")
	switch m.Why {
	case ByAge:
		return at + ", by the retention of the configuration"
	case ByPerson:
		return at + " by " + m.By + ", because a person was forgotten"
	}
	return at + " by " + m.By
}

// Read returns the mark of a root session; false: its content was not deleted.
func Read(ctx context.Context, s records.Store, root sessionkeys.SessionID, now time.Time) (Mark, bool, error) {
	m, revision, err := records.Read[Mark](ctx, s, sessions.ErasedRecord(root), now)
	return m, revision > 0, err // it says of which session
}

// Store is what is deleted from.
type Store interface {
	sessions.Eraser
	sessions.Records
	Tree(ctx context.Context, id sessionkeys.SessionID) ([]sessions.Session, error)
	TurnsOf(ctx context.Context, id sessionkeys.SessionID) ([]sessions.Turn, error)
	Mailbox(ctx context.Context, token string) (sessions.Mailbox, error)
	Sessions(ctx context.Context, q sessions.SessionQuery) ([]sessions.Session, error)
	Stale(ctx context.Context, before time.Time, limit int) ([]sessionkeys.SessionID, error)
	Requests(ctx context.Context, id sessionkeys.SessionID, yield func(sessions.Recording) bool) error
	RequestTemplate(ctx context.Context, name string) ([]byte, error)
}

// Desk deletes. Its methods may be called concurrently, by several processes. It is not copied. All
// fields are required.
type Desk struct {
	Store Store
	// Remove takes away the files that this process keeps for sessions.
	Remove func(ids ...sessionkeys.SessionID) error
	// Count counts a session whose content was deleted, by why.
	Count  func(why string)
	Logger *slog.Logger
	Now    func() time.Time

	Errands   Errands
	People    People
	Inquiries Inquiries
	Passed    Passed
	Letters   Letters

	expired atomic.Int64 // sessions that retention has deleted, since the start
	roots   int          // how many sessions the store is asked for at first; 0: manyRoots
}

// Deleted is what became of the content of a session.
type Deleted struct {
	Session sessionkeys.SessionID `json:"session"`
	// Agents is how many sub-agents it had, whose content went with it.
	Agents int  `json:"agents"`
	Mark   Mark `json:"mark"`
	// Again: it was deleted before, as Mark says, and nothing was done.
	Again bool `json:"again,omitempty"`
}

// Delete deletes the content of the tree that a session stands in, and the files that are kept for it:
// by whom and why m says. It is sessions.ErrBusy while something of it is under way or waits. A session
// whose content was deleted already is not deleted again, but files that were left are.
func (d *Desk) Delete(ctx context.Context, id sessionkeys.SessionID, m Mark) (Deleted, error) {
	return d.deleteUnused(ctx, id, m, time.Time{})
}

// deleteUnused is Delete, and sessions.ErrBusy of a session that somebody went on with at a time or later;
// zero: at any time.
func (d *Desk) deleteUnused(ctx context.Context, id sessionkeys.SessionID, m Mark, since time.Time) (Deleted, error) {
	tree, err := d.treeOf(ctx, id)
	if err != nil {
		return Deleted{}, err
	}
	root := tree[0]
	out := Deleted{Session: root.ID, Agents: len(tree) - 1}
	ids := make([]sessionkeys.SessionID, len(tree))
	m.Messages = 0
	for i, s := range tree {
		ids[i], m.Messages = s.ID, m.Messages+s.Messages
	}
	m.At = d.Now().UTC()
	done, err := d.erase(ctx, root, ids, m, since)
	if err != nil {
		return out, err
	}
	out.Mark = m
	if !done {
		out.Again = true
		if out.Mark, _, err = Read(ctx, d.Store, root.ID, d.Now()); err != nil {
			return out, err
		}
	} else {
		d.Count(m.Why)
		d.Logger.Info("content of a session deleted", "session", root.ID, "by", m.By, "why", m.Why, "messages", m.Messages, "agents", out.Agents)
	}
	return out, d.removeFiles(tree)
}

// removeFiles takes away the files that are kept for the sessions of a tree whose content was deleted.
func (d *Desk) removeFiles(tree []sessions.Session) error {
	ids := make([]sessionkeys.SessionID, len(tree))
	for i, s := range tree {
		ids[i] = s.ID
	}
	if err := d.Remove(ids...); err != nil {
		return fmt.Errorf("what was said in session %s is deleted, but its files are not: %w", tree[0].ID, err)
	}
	return nil
}

// treeOf returns all sessions of the tree that one stands in, the root first.
func (d *Desk) treeOf(ctx context.Context, id sessionkeys.SessionID) ([]sessions.Session, error) {
	tree, err := d.Store.Tree(ctx, id)
	if err == nil && tree[0].Root != tree[0].ID {
		tree, err = d.Store.Tree(ctx, tree[0].Root)
	}
	return tree, err // it names the session
}

// tries is how often records are read again that somebody changed meanwhile.
const tries = 3

// erase has the store delete, together with the records that hold words of the sessions.
func (d *Desk) erase(ctx context.Context, root sessions.Session, ids []sessionkeys.SessionID, m Mark, since time.Time) (done bool, err error) {
	for range tries {
		e := sessions.Erasure{Session: root.ID, Owner: m.By, Before: since, At: m.At}
		if e.Mark, err = json.Marshal(m); err != nil {
			return false, fmt.Errorf("encode what is kept of session %s: %w", root.ID, err)
		}
		if e.Templates, err = d.templatesOf(ctx, ids); err != nil {
			return false, err
		}
		if err := d.collectRecords(ctx, root, ids, &e); err != nil {
			return false, err
		}
		if done, err = d.Store.Erase(ctx, e); !errors.Is(err, sessions.ErrChanged) {
			return done, err // it names the session
		}
	}
	return false, err // it names the session
}

// templatesOf returns the templates of requests that quote people: those with a goal.
func (d *Desk) templatesOf(ctx context.Context, ids []sessionkeys.SessionID) (names []string, err error) {
	seen := map[string]bool{}
	for _, id := range ids {
		err := d.Store.Requests(ctx, id, func(r sessions.Recording) bool {
			seen[r.Template] = true
			return true
		})
		if err != nil {
			return nil, err // it names the session
		}
	}
	for name := range seen {
		body, err := d.Store.RequestTemplate(ctx, name)
		if errors.Is(err, sessions.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err // it names the template
		}
		if prompt.HoldsGoal(body) {
			names = append(names, name)
		}
	}
	return names, nil
}

// collectRecords adds to e which records go with the sessions, and what is left of others.
func (d *Desk) collectRecords(ctx context.Context, root sessions.Session, ids []sessionkeys.SessionID, e *sessions.Erasure) error {
	now := d.Now()
	of := map[sessionkeys.SessionID]bool{}
	for _, id := range ids {
		of[id] = true
		begun, err := ongoing.RecordsOf(ctx, d.Store, id, now)
		if err != nil {
			return err // it says of which session
		}
		e.Drop = append(append(e.Drop, goals.RecordID(id), plans.RecordID(id)), begun...)
	}
	asked, err := approvals.List(ctx, d.Store, root.Key.Token(), now)
	if err != nil && !errors.Is(err, records.ErrUnreadable) {
		return err // it says what was read
	}
	for _, r := range asked {
		switch {
		case !of[r.Session] || r.Raise != nil: // a raise is about money, and expires
		case r.Waits(now):
			return fmt.Errorf("session %s: a call waits for somebody's permission (parley approvals ls): %w", root.ID, sessions.ErrBusy)
		default:
			e.Drop = append(e.Drop, r.RecordID())
		}
	}
	inquired, err := d.Inquiries.RecordsOfSession(ctx, root.ID) // sub-agents can ask nobody
	if err != nil && !errors.Is(err, records.ErrUnreadable) {
		return err // it says what was read
	}
	e.Drop = append(e.Drop, inquired...)
	title, err := conversations.ReadTitle(ctx, d.Store, root.ID, now)
	if err != nil && !errors.Is(err, records.ErrUnreadable) {
		return err // it says of which session
	}
	left, err := title.Erased().Record(root.ID, e.At)
	e.Records = []sessions.Record{left}
	return err // it says of which session
}
