package rules

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"parley/sessions"
)

// maxExpired limits how many invisible, expired records one write removes.
const maxExpired = 8

// Record implements [sessions.Records].
func (s Documents) Record(ctx context.Context, id sessions.RecordID, now time.Time) (sessions.Record, error) {
	r, err := view(ctx, s.db, func(tx *Tx) (sessions.Record, error) {
		r, found, err := get[Record](tx, RecordKey(id))
		if err == nil && (!found || !r.existsAt(now)) {
			err = sessions.ErrNotFound
		}
		return r.Record, err
	})
	return r, While(err, "record %s %q", id.Kind, id.Key)
}

// ReadAhead implements [sessions.Records].
func (s Documents) ReadAhead(ctx context.Context, chat sessions.ChatID, records ...sessions.RecordID) sessions.Ahead {
	db, ok := s.db.(AheadDriver)
	if !ok {
		return sessions.Ahead{}
	}
	var keys []Key
	if chat != (sessions.ChatID{}) {
		keys = append(keys, ChatKey(chat))
	}
	for _, id := range records {
		keys = append(keys, RecordKey(id))
	}
	return db.ReadAhead(ctx, keys)
}

// existsAt reports whether a record is there at now.
func (r Record) existsAt(now time.Time) bool {
	return !r.Dropped && (r.Expires.IsZero() || r.Expires.After(normaliseTime(now)))
}

// WriteRecord implements [sessions.Records].
func (s Documents) WriteRecord(ctx context.Context, r sessions.Record) (int64, error) {
	revision, err := update(ctx, s.db, sessions.Fence{}, func(tx *Tx) (int64, error) {
		revision, err := writeRecord(tx, r)
		if err != nil {
			return 0, err
		}
		return revision, dropExpired(tx, r)
	})
	return revision, While(err, "write record %s %q", r.ID.Kind, r.ID.Key)
}

// isName reports whether every database can find and sort by a text.
func isName(s string) bool {
	return s != "" && utf8.ValidString(s) && !strings.ContainsAny(s, "\x00\U0010ffff")
}

// writeRecords writes records in the commit of something else.
func writeRecords(tx *Tx, rs []sessions.Record) error {
	for _, r := range rs {
		if _, err := writeRecord(tx, r); err != nil {
			return fmt.Errorf("record %s %q: %w", r.ID.Kind, r.ID.Key, err)
		}
	}
	return nil
}

func writeRecord(tx *Tx, r sessions.Record) (revision int64, err error) {
	switch {
	case !isName(r.ID.Kind) || !isName(r.ID.Key):
		return 0, errors.New("record with an empty or invalid kind or key")
	case len(r.Body) > sessions.MaxRecord:
		return 0, fmt.Errorf("%d bytes, of at most %d", len(r.Body), sessions.MaxRecord)
	case r.At.IsZero():
		return 0, errors.New("the time of the write is missing")
	}
	was, _, err := get[Record](tx, RecordKey(r.ID))
	if err != nil {
		return 0, err
	}
	r.At, r.Expires, r.Body = normaliseTime(r.At), normaliseTime(r.Expires), bytes.Clone(r.Body)
	if was.existsAt(r.At) && was.Owner == r.Owner && was.At.Equal(r.At) && was.Expires.Equal(r.Expires) && bytes.Equal(was.Body, r.Body) {
		return was.Revision, nil // its answer was lost
	}
	seen := was.Revision
	if !was.existsAt(r.At) {
		seen = 0
	}
	if r.Revision != sessions.AnyRevision && r.Revision != seen {
		return 0, sessions.ErrChanged
	}
	// A record that was dropped, and forgotten, does not begin again where somebody
	// may still remember it.
	r.Revision = max(was.Revision+1, r.At.UnixMicro())
	tx.put(Record{Record: r})
	return r.Revision, nil
}

// dropExpired takes some records of r's kind away that are not there any more.
func dropExpired(tx *Tx, r sessions.Record) error {
	expired, err := rowsOf[Record](tx, ExpiredRecords{Kind: r.ID.Kind, At: normaliseTime(r.At)}, maxExpired)
	for _, old := range expired {
		if old.ID != r.ID && !old.existsAt(r.At) {
			old.Dropped = true
			tx.put(old)
		}
	}
	return err
}

// DropRecord implements [sessions.Records].
func (s Documents) DropRecord(ctx context.Context, id sessions.RecordID, revision int64) error {
	err := s.db.Update(ctx, sessions.Fence{}, func(tx *Tx) error {
		was, found, err := get[Record](tx, RecordKey(id))
		switch {
		case err != nil || !found:
			return err
		case revision != sessions.AnyRevision && revision != was.Revision:
			return sessions.ErrChanged
		}
		was.Dropped = true
		tx.put(was)
		return nil
	})
	return While(err, "drop record %s %q", id.Kind, id.Key)
}

// Records implements [sessions.Records].
func (s Documents) Records(ctx context.Context, kind, prefix string, now time.Time, yield func(sessions.Record) bool) error {
	after := ""
	err := Pages(page, func() ([]Record, error) {
		return view(ctx, s.db, func(tx *Tx) ([]Record, error) {
			return rowsOf[Record](tx, RecordsOf{Kind: kind, Prefix: prefix, After: after}, page)
		})
	}, func(r Record) bool {
		after = r.ID.Key
		return !r.existsAt(now) || yield(r.Record)
	})
	return While(err, "list records of kind %s", kind)
}
