// Package records keeps values in records of the store, each as JSON in a record of its own.
package records

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"parley/sessions"
)

// ErrUnreadable means that a record is there, but that it holds no value of the type that was
// asked for. The store itself works: a caller may go on as if there were none, and write
// another one over it.
var ErrUnreadable = errors.New("unreadable record")

// Writer is what records are written to.
type Writer interface {
	WriteRecord(ctx context.Context, r sessions.Record) (revision int64, err error)
}

// Store is what records are read from.
type Store interface {
	Record(ctx context.Context, id sessions.RecordID, now time.Time) (sessions.Record, error)
}

// Read returns the value in a record as it is at now, with its revision; the zero value at
// revision 0 when there is no record. With ErrUnreadable it returns the zero value, and the
// revision of what is there.
func Read[T any](ctx context.Context, s Store, id sessions.RecordID, now time.Time) (v T, revision int64, err error) {
	r, err := s.Record(ctx, id, now)
	if errors.Is(err, sessions.ErrNotFound) {
		return v, 0, nil
	}
	if err != nil {
		return v, 0, fmt.Errorf("read the record %s of %s: %w", id.Kind, id.Key, err)
	}
	if err := json.Unmarshal(r.Body, &v); err != nil {
		var none T
		return none, r.Revision, fmt.Errorf("read the record %s of %s: %w: %w", id.Kind, id.Key, ErrUnreadable, err)
	}
	return v, r.Revision, nil
}

// New returns v as the record that is written over the one at that revision; see
// [sessions.Record]. Whoever writes in a commit of the mailbox's owner, and is the only one who
// writes that record, gives sessions.AnyRevision.
func New(id sessions.RecordID, revision int64, v any, at time.Time) (sessions.Record, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return sessions.Record{}, fmt.Errorf("encode the record %s of %s: %w", id.Kind, id.Key, err)
	}
	return sessions.Record{ID: id, Revision: revision, Owner: "worker", Body: body, At: at}, nil
}

// Write writes v as the record r, which has all but the body, and returns its revision from now
// on; see New. The error is the store's: sessions.ErrChanged when somebody was faster.
func Write(ctx context.Context, s Writer, r sessions.Record, v any) (revision int64, err error) {
	encoded, err := New(r.ID, r.Revision, v, r.At)
	if err != nil {
		return 0, err
	}
	r.Owner, r.Body = cmp.Or(r.Owner, encoded.Owner), encoded.Body
	return s.WriteRecord(ctx, r)
}
