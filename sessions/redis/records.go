package redis

import (
	"encoding/base64"
	"fmt"
	"strconv"

	"parley/sessions"
	"parley/sessions/rules"
)

func encodeRecord(r rules.Record) row {
	return row{
		"kind": r.ID.Kind, "key": r.ID.Key, "revision": strconv.FormatInt(r.Revision, 10), "owner": r.Owner,
		"body": base64.StdEncoding.EncodeToString(r.Body), "expires": timeText(r.Expires), "at": timeText(r.At), "dropped": flag(r.Dropped),
	}
}

func decodeRecord(r *reader) (rules.Record, error) {
	body, err := base64.StdEncoding.DecodeString(r.row["body"])
	if err != nil {
		return rules.Record{}, fmt.Errorf("record %s %q: %w", r.row["kind"], r.row["key"], err)
	}
	return rules.Record{Record: sessions.Record{
		ID: sessions.RecordID{Kind: r.row["kind"], Key: r.row["key"]}, Revision: r.int("revision"), Owner: r.row["owner"],
		Body: body, Expires: r.time("expires"), At: r.time("at"),
	}, Dropped: r.row["dropped"] == "1"}, nil
}

func (p *plan) putRecord(c changedRow, was *stored, r rules.Record) {
	key, all, ends := p.s.hashOf(r.Key()), p.s.key("records:"+r.ID.Kind), p.s.key("expire:"+r.ID.Kind)
	if r.Dropped {
		p.do("DEL", key)
		p.do("ZREM", all, r.ID.Key)
		p.do("ZREM", ends, r.ID.Key)
		return
	}
	p.hset(key, was.fields, c.Fields, c.next())
	p.do("ZADD", all, "0", r.ID.Key)
	if r.Expires.IsZero() {
		p.do("ZREM", ends, r.ID.Key)
	} else {
		p.do("ZADD", ends, c.Fields["expires"], r.ID.Key)
	}
}

// recordsOf asks for the records of an index; each of them is read with it.
func recordsOf(kind string, command ...string) question {
	return question{commands: [][]string{command}, key: func(key string) (rules.Key, error) {
		return rules.RecordKey{Kind: kind, Key: key}, nil
	}, pick: every}
}
