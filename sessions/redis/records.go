package redis

import "parley/sessions/rules"

func (p *plan) putRecord(c changedRow, was *storedRow, r rules.Record) {
	key, all, ends := p.db.hashOf(r.Key()), p.db.key("records:"+r.ID.Kind), p.db.key("expire:"+r.ID.Kind)
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
func recordsOf(kind string, command ...string) indexQuery {
	return indexQuery{commands: [][]string{command}, key: func(key string) (rules.Key, error) {
		return rules.RecordKey{Kind: kind, Key: key}, nil
	}, pick: allMembers}
}
