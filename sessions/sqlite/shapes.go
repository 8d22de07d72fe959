package sqlite

import (
	"strings"

	"parley/sessions"
	"parley/sessions/rules"
)

// shape is how the rows of a kind are stored, if each of them is one row of a table:
// the statements that follow from the names of its columns.
type shape struct {
	key                  int // so many columns, the first ones, are the key
	read, insert, upsert string
}

func newShape(table, columns string, key int) shape {
	keys := strings.ReplaceAll(between(columns, 0, key), ", ", " = ? AND ") + " = ?"
	sh := shape{key: key, insert: insertOf(table, columns), read: "SELECT " + from(columns, key) + " FROM " + table + " WHERE " + keys}
	sh.upsert = sh.insert + orElseUpdate(from(columns, key))
	return sh
}

var (
	mailboxShape  = newShape("mailboxes", rules.MailboxColumns, 1)
	turnShape     = newShape("turns", rules.TurnColumns, 1)
	eventShape    = newShape("inbox", rules.EventColumns, 4)
	textHashShape = newShape("wordings", rules.TextHashColumns, 4)
	begunShape    = newShape("begun", rules.BegunColumns, 3)
	controlShape  = newShape("controls", rules.ControlColumns+", done", 1)
	workerShape   = newShape("workers", rules.WorkerColumns, 2)
	recordShape   = newShape("records", rules.RecordColumns, 2)
)

// loadRow reads the row whose key stands at the first of its places, and returns nil
// when there is none.
func loadRow[R rules.Row](s source, sh shape, r *R, at []any) (rules.Row, error) {
	found, err := s.queryRow(sh.read, at[:sh.key], at[sh.key:]...)
	if err != nil || !found {
		return nil, err
	}
	return *r, nil
}

// load reads a row; nil: there is none.
func load(s source, k rules.Key) (rules.Row, error) {
	switch k := k.(type) {
	case rules.MailboxKey:
		r := rules.Mailbox{Mailbox: sessions.Mailbox{Token: string(k)}}
		return loadRow(s, mailboxShape, &r, r.Places())
	case rules.TurnKey:
		return rowOrNil(loadTurn(s, string(k)))
	case rules.EventKey:
		r := rules.Event{ID: sessions.InboxID(k)}
		return loadRow(s, eventShape, &r, r.Places())
	case rules.TextHashKey:
		r := rules.TextHash{TextHash: sessions.TextHash(k)}
		return loadRow(s, textHashShape, &r, r.Places())
	case rules.BegunKey:
		r := rules.Begun{ID: k}
		return loadRow(s, begunShape, &r, r.Places())
	case rules.ControlKey:
		r := rules.Control{Control: sessions.Control{ID: string(k)}}
		return loadRow(s, controlShape, &r, append(r.Places(), &r.Done))
	case rules.WorkerKey:
		r := rules.Worker{ID: sessions.Worker(k)}
		return loadRow(s, workerShape, &r, r.Places())
	case rules.RecordKey:
		r := rules.Record{Record: sessions.Record{ID: sessions.RecordID(k)}}
		return loadRow(s, recordShape, &r, r.Places())
	}
	return loadJoined(s, k)
}

// put writes a row: at once when it is new, with what else changes of it when it is
// known.
func (t *tx) put(row rules.Row) error {
	return rules.While(t.write(row), "write a row (%s)", rules.KindOf(row.Key()))
}

func (t *tx) write(row rules.Row) error {
	switch r := row.(type) {
	case rules.Mailbox:
		t.highest = max(t.highest, int64(r.LastSeen)) // the rules bound it
		t.rows.put(r.Key(), r)
		return nil
	case rules.Turn:
		return t.putTurn(r)
	case rules.Event:
		return t.exec(eventShape.insert, r.Places()...)
	case rules.TextHash:
		return t.exec(textHashShape.upsert, r.Places()...)
	case rules.Begun:
		return t.exec(begunShape.insert, r.Places()...)
	case rules.Control:
		if r.Done {
			return t.exec("UPDATE controls SET done = 1 WHERE id = ?", r.ID)
		}
		return t.exec(controlShape.insert, append(r.Places(), r.Done)...)
	case rules.Worker:
		t.rows.put(r.Key(), r)
		return nil
	case rules.Record:
		t.written = append(t.written, rules.RecordKey(r.ID))
		if r.Dropped {
			return t.exec("DELETE FROM records WHERE kind = ? AND key = ?", r.ID.Kind, r.ID.Key)
		}
		r.Body = append([]byte{}, r.Body...) // which is never NULL
		return t.exec(recordShape.upsert, r.Places()...)
	}
	return t.writeJoined(row)
}

// behind are the names of columns, each behind what stands before it.
func behind(before, names string) string {
	return before + strings.ReplaceAll(names, ", ", ", "+before)
}

// insertOf is the statement that inserts a row.
func insertOf(table, names string) string {
	return "INSERT INTO " + table + " (" + names + ") VALUES (?" + strings.Repeat(", ?", strings.Count(names, ",")) + ")"
}

// updateOf is the statement that writes columns of the row that a key names.
func updateOf(table, names, key string) string {
	return "UPDATE " + table + " SET " + strings.ReplaceAll(names, ",", " = ?,") + " = ? WHERE " + key + " = ?"
}

// orElseUpdate is what an insertion does when there is a row.
func orElseUpdate(names string) string {
	sets := strings.Split(names, ", ")
	for i, name := range sets {
		sets[i] = name + " = excluded." + name
	}
	return " ON CONFLICT DO UPDATE SET " + strings.Join(sets, ", ")
}

// between are the columns of a list from one, counted from 0, up to another.
func between(names string, from, to int) string {
	return strings.Join(strings.Split(names, ", ")[from:to], ", ")
}

func from(names string, n int) string { return between(names, n, strings.Count(names, ",")+1) }
