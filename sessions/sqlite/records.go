package sqlite

import (
	"parley/sessions"
	"parley/sessions/rules"
)

const keyOfRecord = 2 // columns

var (
	selectRecord = "SELECT " + from(rules.RecordColumns, keyOfRecord) + " FROM records WHERE kind = ? AND key = ?"
	insertRecord = insertOf("records", rules.RecordColumns) + orElseUpdate(from(rules.RecordColumns, keyOfRecord))
)

func loadRecord(s source, id sessions.RecordID) (r rules.Record, found bool, err error) {
	r.ID = id
	at := r.Places()
	found, err = s.queryRow(selectRecord, at[:keyOfRecord], at[keyOfRecord:]...)
	return r, found, err
}

func (t *tx) putRecord(r rules.Record) (err error) {
	if r.Dropped {
		err = t.exec("DELETE FROM records WHERE kind = ? AND key = ?", r.ID.Kind, r.ID.Key)
	} else {
		r.Body = append([]byte{}, r.Body...) // which is never NULL
		err = t.exec(insertRecord, r.Places()...)
	}
	return rules.While(err, "write record %s %q", r.ID.Kind, r.ID.Key)
}

// recordKey is a key that a row of one text names among the records of a kind.
func recordKey(kind string) func(scanner) (rules.Key, error) {
	return func(r scanner) (rules.Key, error) {
		k := rules.RecordKey{Kind: kind}
		err := r.Scan(&k.Key)
		return k, err
	}
}
