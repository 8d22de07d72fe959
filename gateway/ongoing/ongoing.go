// Package ongoing remembers what MCP servers have begun for a session, and go on with after the call
// that asked for it: tasks, in their protocol. (docs/decisions/0117)
package ongoing

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/gateway/records"
	"parley/sessionkeys"
	"parley/sessions"
)

// recordKind is the kind of a task; its key is the session's id, a point, and the hash of the call.
const recordKind = "mcp-task"

// keepFor is how long a task is remembered of which its server does not say for how long it is.
const keepFor = 30 * 24 * time.Hour

// Store keeps records.
type Store interface {
	records.Store
	records.Writer
	DropRecord(ctx context.Context, id sessions.RecordID, revision int64) error
}

// Book has the tasks of all sessions. Its methods may be called concurrently.
type Book struct {
	Store Store
	Now   func() time.Time
}

// Task is one that an MCP server works on for a call of a tool.
type Task struct {
	Server   string        `json:"server"`
	ID       string        `json:"task"`               // by which the server knows it
	Answered []string      `json:"answered,omitempty"` // which of the server's questions a person has answered
	TTL      time.Duration `json:"ttl,omitempty"`      // after it the server may forget the task; 0: it does not say
	By       string        `json:"by"`                 // the one call that began it
}

func recordID(id sessionkeys.SessionID, call string) sessions.RecordID {
	return sessions.RecordID{Kind: recordKind, Key: prefix(id) + call}
}

func prefix(id sessionkeys.SessionID) string { return string(id) + "." }

// Read returns the task of a session's call, by the name of all calls that are the same; the zero
// value where there is none. A task that a later version of parley has written is none.
func (b Book) Read(ctx context.Context, id sessionkeys.SessionID, call string) (Task, error) {
	t, _, err := b.read(ctx, recordID(id, call))
	return t, err
}

func (b Book) read(ctx context.Context, id sessions.RecordID) (Task, int64, error) {
	t, revision, err := records.Read[Task](ctx, b.Store, id, b.Now())
	if errors.Is(err, records.ErrUnreadable) {
		return Task{}, revision, nil
	}
	return t, revision, err // it says what was read
}

// Write keeps a task over the one of the same call. Who began it stays.
func (b Book) Write(ctx context.Context, id sessionkeys.SessionID, call string, t Task) error {
	rid := recordID(id, call)
	was, revision, err := b.read(ctx, rid)
	if err != nil {
		return err
	}
	if was.ID == t.ID {
		t.By = was.By
	}
	now := b.Now()
	r := sessions.Record{ID: rid, Revision: revision, At: now, Expires: now.Add(keepFor)}
	if t.TTL > 0 {
		r.Expires = now.Add(t.TTL)
	}
	if _, err := records.Write(ctx, b.Store, r, t); err != nil {
		return fmt.Errorf("keep the task of the MCP server %s: %w", t.Server, err)
	}
	return nil
}

// Drop forgets the task of a call, if there is one.
func (b Book) Drop(ctx context.Context, id sessionkeys.SessionID, call string) error {
	rid := recordID(id, call)
	t, revision, err := b.read(ctx, rid)
	if err != nil || revision == 0 {
		return err
	}
	if err := b.Store.DropRecord(ctx, rid, revision); err != nil {
		return fmt.Errorf("forget the task of the MCP server %s: %w", t.Server, err)
	}
	return nil
}

// Lister lists records.
type Lister interface {
	Records(ctx context.Context, kind, prefix string, now time.Time, yield func(sessions.Record) bool) error
}

// RecordsOf returns the ids of the records of a session.
func RecordsOf(ctx context.Context, s Lister, id sessionkeys.SessionID, now time.Time) (ids []sessions.RecordID, err error) {
	err = s.Records(ctx, recordKind, prefix(id), now, func(r sessions.Record) bool {
		ids = append(ids, r.ID)
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("list what MCP servers do for the session %s: %w", id, err)
	}
	return ids, nil
}
