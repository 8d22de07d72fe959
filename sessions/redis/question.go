package redis

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"parley/sessions"
	"parley/sessions/rules"
)

// indexQuery is how an index is asked.
type indexQuery struct {
	commands [][]string // each returns members
	boxes    bool       // members are tokens: their mailboxes are read with them
	own      bool       // one process mostly writes the set alone
	loose    bool       // the commit does not compare the members, see [rules.Reader]
	key      func(member string) (rules.Key, error)
	pick     func(*reading, []rules.Key) []rules.Key // those of the members that are meant, in order; nil: all
}

// question says how an index is asked.
func (ks keyspace) question(ix rules.Index, limit int) (indexQuery, error) {
	last, many := strconv.Itoa(limit-1), strconv.Itoa(limit) // -1 and 0: all
	if limit == 0 {
		many = "-1"
	}
	boxes := func(loose bool, command ...string) indexQuery {
		return indexQuery{commands: [][]string{command}, boxes: true, loose: loose, key: keyNamed[rules.MailboxKey]}
	}
	switch ix := ix.(type) {
	case rules.OpenCalls:
		return indexQuery{own: true, commands: [][]string{{"SMEMBERS", ks.key("calls:" + ix.Token)}}, key: keyNamed[rules.CallKey], pick: func(r *reading, keys []rules.Key) []rules.Key {
			return slices.DeleteFunc(keys, func(k rules.Key) bool {
				c, ok := r.seen[k].row.(rules.Call)
				return !ok || ix.Turn != "" && c.Turn != ix.Turn
			})
		}}, nil
	case rules.NestedTurns:
		return indexQuery{own: true, commands: [][]string{{"SMEMBERS", ks.key("nested:" + ix.Token)}}, key: keyNamed[rules.TurnKey], pick: allMembers}, nil
	case rules.FreeMailboxes:
		if ix.Latest {
			return boxes(true, "ZREVRANGE", ks.key("free"), "0", last), nil
		}
		return boxes(true, "ZRANGE", ks.key("free"), "0", last), nil
	case rules.OwedMailboxes:
		return boxes(true, "ZRANGE", ks.key("owes:"+id(ix.Owner.Name, ix.Owner.Nonce)), "0", last), nil
	case rules.OwnedMailboxes:
		return boxes(false, "ZRANGE", ks.key("owned:"+id(ix.Owner.Name, ix.Owner.Nonce)), "0", last), nil
	case rules.AllMailboxes:
		return boxes(false, "ZRANGEBYLEX", ks.key("boxes"), "("+ix.After, "+", "LIMIT", "0", many), nil
	case rules.Owners:
		return indexQuery{commands: [][]string{{"SMEMBERS", ks.key("owners")}}, key: workerKeyNamed, pick: allMembers}, nil
	case rules.WorkersNamed:
		return indexQuery{commands: [][]string{{"SMEMBERS", ks.key("names:" + ix.Name)}}, key: func(nonce string) (rules.Key, error) {
			return rules.WorkerKey{Name: ix.Name, Nonce: nonce}, nil
		}, pick: allMembers}, nil
	case rules.ChatMailboxes:
		q := indexQuery{boxes: true, key: keyNamed[rules.MailboxKey], pick: func(_ *reading, keys []rules.Key) []rules.Key {
			slices.SortFunc(keys, func(a, b rules.Key) int { return cmp.Compare(a.(rules.MailboxKey), b.(rules.MailboxKey)) }) // as named
			return keys
		}}
		for _, c := range ix.Chats {
			q.commands = append(q.commands, []string{"SMEMBERS", ks.key("boxesof:" + id(c.Channel, c.Account, c.Peer))})
		}
		return q, nil
	case rules.PendingControls:
		return indexQuery{commands: [][]string{{"ZRANGE", ks.key("controls:" + ix.Token), "0", "-1"}}, key: keyNamed[rules.ControlKey], pick: allMembers}, nil
	case rules.CloseControls:
		chat := id(ix.Chat.Channel, ix.Chat.Account, ix.Chat.Peer)
		return indexQuery{commands: [][]string{{"ZRANGE", ks.key("shutting:" + chat), "0", "-1"}}, key: keyNamed[rules.ControlKey], pick: func(_ *reading, keys []rules.Key) []rules.Key {
			slices.SortFunc(keys, func(a, b rules.Key) int { return cmp.Compare(a.(rules.ControlKey), b.(rules.ControlKey)) }) // as named
			return keys
		}}, nil
	case rules.QueuedAnswers:
		q := indexQuery{own: true, key: keyNamed[rules.AnswerKey], pick: func(r *reading, keys []rules.Key) []rules.Key {
			slices.SortFunc(keys, func(a, b rules.Key) int { return cmp.Compare(r.order(a), r.order(b)) })
			return keys
		}}
		for _, c := range ix.Chats {
			q.commands = append(q.commands, []string{"SMEMBERS", ks.key("outof:" + id(c.Channel, c.Account, c.Peer))})
		}
		return q, nil
	case rules.RecordsOf:
		from := "[" + ix.Prefix
		if ix.After >= ix.Prefix {
			from = "(" + ix.After
		}
		to := "(" + ix.Prefix + "\xff" // no text in UTF-8 has such a byte
		return recordsOf(ix.Kind, "ZRANGEBYLEX", ks.key("records:"+ix.Kind), from, to, "LIMIT", "0", many), nil
	case rules.ChildrenOf:
		return indexQuery{commands: [][]string{{"LRANGE", ks.key("kids:" + string(ix.Parent)), "0", "-1"}}, key: keyNamed[rules.SessionKey]}, nil
	case rules.ExpiredRecords:
		return recordsOf(ix.Kind, "ZRANGEBYSCORE", ks.key("expire:"+ix.Kind), "-inf", microsText(ix.At), "LIMIT", "0", many), nil
	}
	return indexQuery{}, fmt.Errorf("no index for a %T", ix)
}

// allMembers takes all members; their rows are read at once.
func allMembers(_ *reading, keys []rules.Key) []rules.Key { return keys }

// order is that of an answer that was read.
func (r *reading) order(k rules.Key) uint64 {
	a, _ := r.seen[k].row.(rules.Answer)
	return a.Order
}

func keyNamed[K interface {
	~string
	rules.Key
}](member string) (rules.Key, error) {
	return K(member), nil
}

func workerKeyNamed(member string) (rules.Key, error) {
	ps, err := splitID(member, 2)
	if err != nil {
		return nil, err
	}
	return rules.WorkerKey(sessions.Worker{Name: ps[0], Nonce: ps[1]}), nil
}

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
