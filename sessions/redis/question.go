package redis

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"parley/sessions"
	"parley/sessions/rules"
)

// question is how an index is asked.
type question struct {
	commands [][]string // each returns members
	boxes    bool       // members are tokens: their mailboxes are read with them
	own      bool       // one process mostly writes the set alone
	key      func(member string) (rules.Key, error)
	pick     func(*reading, []rules.Key) []rules.Key // those of the members that are meant, in order; nil: all
}

// question says how an index is asked.
func (s *Store) question(ix rules.Index, limit int) (question, error) {
	last, many := strconv.Itoa(limit-1), strconv.Itoa(limit) // -1 and 0: all
	if limit == 0 {
		many = "-1"
	}
	boxes := func(command ...string) question {
		return question{commands: [][]string{command}, boxes: true, key: named[rules.MailboxKey]}
	}
	switch ix := ix.(type) {
	case rules.OpenCalls:
		return question{own: true, commands: [][]string{{"SMEMBERS", s.key("calls:" + ix.Token)}}, key: named[rules.CallKey], pick: func(r *reading, keys []rules.Key) []rules.Key {
			return slices.DeleteFunc(keys, func(k rules.Key) bool {
				c, ok := r.seen[k].row.(rules.Call)
				return !ok || ix.Turn != "" && c.Turn != ix.Turn
			})
		}}, nil
	case rules.NestedTurns:
		return question{own: true, commands: [][]string{{"SMEMBERS", s.key("nested:" + ix.Token)}}, key: named[rules.TurnKey], pick: every}, nil
	case rules.FreeMailboxes:
		if ix.Latest {
			return boxes("ZREVRANGE", s.key("free"), "0", last), nil
		}
		return boxes("ZRANGE", s.key("free"), "0", last), nil
	case rules.OwedMailboxes:
		return boxes("ZRANGE", s.key("owes:"+id(ix.Owner.Name, ix.Owner.Nonce)), "0", last), nil
	case rules.OwnedMailboxes:
		return boxes("ZRANGE", s.key("owned:"+id(ix.Owner.Name, ix.Owner.Nonce)), "0", last), nil
	case rules.AllMailboxes:
		return boxes("ZRANGEBYLEX", s.key("boxes"), "("+ix.After, "+", "LIMIT", "0", many), nil
	case rules.Owners:
		return question{commands: [][]string{{"SMEMBERS", s.key("owners")}}, key: workerNamed, pick: every}, nil
	case rules.Namesakes:
		return question{commands: [][]string{{"SMEMBERS", s.key("names:" + ix.Name)}}, key: func(nonce string) (rules.Key, error) {
			return rules.WorkerKey{Name: ix.Name, Nonce: nonce}, nil
		}, pick: every}, nil
	case rules.ChatMailboxes:
		q := question{boxes: true, key: named[rules.MailboxKey], pick: func(_ *reading, keys []rules.Key) []rules.Key {
			slices.SortFunc(keys, func(a, b rules.Key) int { return cmp.Compare(a.(rules.MailboxKey), b.(rules.MailboxKey)) }) //nolint:forcetypeassert // as named
			return keys
		}}
		for _, c := range ix.Chats {
			q.commands = append(q.commands, []string{"SMEMBERS", s.key("boxesof:" + id(c.Channel, c.Account, c.Peer))})
		}
		return q, nil
	case rules.PendingControls:
		return question{commands: [][]string{{"ZRANGE", s.key("controls:" + ix.Token), "0", "-1"}}, key: named[rules.ControlKey], pick: every}, nil
	case rules.ShutControls:
		chat := id(ix.Chat.Channel, ix.Chat.Account, ix.Chat.Peer)
		return question{commands: [][]string{{"ZRANGE", s.key("shutting:" + chat), "0", "-1"}}, key: named[rules.ControlKey], pick: func(_ *reading, keys []rules.Key) []rules.Key {
			slices.SortFunc(keys, func(a, b rules.Key) int { return cmp.Compare(a.(rules.ControlKey), b.(rules.ControlKey)) }) //nolint:forcetypeassert // as named
			return keys
		}}, nil
	case rules.QueuedAnswers:
		q := question{key: named[rules.AnswerKey], pick: func(r *reading, keys []rules.Key) []rules.Key {
			slices.SortFunc(keys, func(a, b rules.Key) int { return cmp.Compare(r.order(a), r.order(b)) })
			return keys
		}}
		for _, c := range ix.Chats {
			q.commands = append(q.commands, []string{"SMEMBERS", s.key("outof:" + id(c.Channel, c.Account, c.Peer))})
		}
		return q, nil
	case rules.RecordsOf:
		from := "[" + ix.Prefix
		if ix.After >= ix.Prefix {
			from = "(" + ix.After
		}
		to := "(" + ix.Prefix + "\xff" // no text in UTF-8 has such a byte
		return recordsOf(ix.Kind, "ZRANGEBYLEX", s.key("records:"+ix.Kind), from, to, "LIMIT", "0", many), nil
	case rules.ExpiredRecords:
		return recordsOf(ix.Kind, "ZRANGEBYSCORE", s.key("expire:"+ix.Kind), "-inf", since(ix.At), "LIMIT", "0", many), nil
	}
	return question{}, fmt.Errorf("there is no index for a %T", ix)
}

// every takes all members; their rows are read at once.
func every(_ *reading, keys []rules.Key) []rules.Key { return keys }

// order is that of an answer that was read.
func (r *reading) order(k rules.Key) uint64 {
	a, _ := r.seen[k].row.(rules.Answer)
	return a.Order
}

func named[K interface {
	~string
	rules.Key
}](member string) (rules.Key, error) {
	return K(member), nil
}

func workerNamed(member string) (rules.Key, error) {
	ps, err := parts(member, 2)
	if err != nil {
		return nil, err
	}
	return rules.WorkerKey(sessions.Worker{Name: ps[0], Nonce: ps[1]}), nil
}
