package sqlite

import (
	"fmt"

	"parley/sessions"
	"parley/sessions/rules"
)

func loadRecord(s source, id sessions.RecordID) (r rules.Record, found bool, err error) {
	r.ID = id
	var expires, at int64
	found, err = s.one("SELECT revision, owner, body, expires, at FROM records WHERE kind = ? AND key = ?",
		args(id.Kind, id.Key), &r.Revision, &r.Owner, &r.Body, &expires, &at)
	if expires > 0 {
		r.Expires = instant(expires)
	}
	r.At = instant(at)
	return r, found, err
}

func (t *tx) putRecord(r rules.Record) error {
	var err error
	if r.Dropped {
		err = t.do("DELETE FROM records WHERE kind = ? AND key = ?", r.ID.Kind, r.ID.Key)
	} else {
		expires := int64(0)
		if !r.Expires.IsZero() {
			expires = micros(r.Expires)
		}
		body := r.Body
		if body == nil {
			body = []byte{}
		}
		err = t.do(`INSERT INTO records (kind, key, revision, owner, body, expires, at) VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET revision = excluded.revision, owner = excluded.owner, body = excluded.body,
				expires = excluded.expires, at = excluded.at`,
			r.ID.Kind, r.ID.Key, r.Revision, r.Owner, body, expires, micros(r.At))
	}
	if err != nil {
		return fmt.Errorf("write record %s %q: %w", r.ID.Kind, r.ID.Key, err)
	}
	return nil
}

// recordKey is a key that a row of one text names among the records of a kind.
func recordKey(kind string) func(scanner) (rules.Key, error) {
	return func(r scanner) (rules.Key, error) {
		k := rules.RecordKey{Kind: kind}
		err := r.Scan(&k.Key)
		return k, err
	}
}
