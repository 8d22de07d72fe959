package redis

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"parley/sessionkeys"
	"parley/sessions/rules"
)

// put adds the writing of a row, and of what finds it.
func (p *plan) put(c changedRow) error {
	var err error
	was := p.r.seen[c.row.Key()]
	if was == nil {
		was = &storedRow{}
	}
	l := learnedRow{key: c.row.Key(), stored: &storedRow{c.row, mergeRows(was.fields, c.Fields)}}
	l.stored.fields["v"] = c.next()
	switch r := c.row.(type) {
	case rules.Mailbox:
		p.putMailbox(c, was, r, &l)
	case rules.Turn:
		err = p.putTurn(c, was, r)
	case rules.Session:
		p.putSession(c, r)
	case rules.Child:
		p.do("SET", p.db.key("child:"+r.Token), string(r.Session))
	case rules.Event:
		p.do("HSET", p.db.inboxKey(rules.EventKey(r.ID)), r.ID.Event, encodeEvent(r))
	case rules.TextHash:
		p.do("HSET", p.db.textHashKey(rules.TextHashKey(r.TextHash)), r.Message, r.Sum)
	case rules.Begun:
		p.do("HSET", p.db.key("begun:"+r.ID.Turn), id(strconv.Itoa(r.ID.Step), r.ID.Call), begunBy(r))
	case rules.Call:
		p.putCall(c, was, r)
	case rules.Control:
		l.number = p.putControl(c, was, r)
	case rules.Answer:
		l.number, err = p.putAnswer(c, was, r)
	case rules.Worker:
		p.putWorker(r)
	case rules.Chat:
		p.putChat(r)
	case rules.Record:
		p.putRecord(c, was, r)
	}
	p.learned = append(p.learned, l)
	return err
}

func mergeRows(was, is row) row {
	m := make(row, len(was)+len(is)+2)
	maps.Copy(m, was)
	maps.Copy(m, is)
	return m
}

func (p *plan) putMailbox(c changedRow, was *storedRow, m rules.Mailbox, l *learnedRow) {
	key := p.db.hashOf(m.Key())
	before, there := was.row.(rules.Mailbox)
	gen := cmp.Or(p.r.gen, "0")
	l.stored.fields["gen"] = gen
	more := []string{"gen", gen} // which the row as it was read may not have
	if !there {
		a := m.Mailbox.Key.Address()
		p.do("ZADD", p.db.key("boxes"), "0", m.Token)
		p.do("SADD", p.db.key("boxesof:"+id(a.Channel, a.Account, a.Peer)), m.Token)
	}
	if m.Epoch > before.Epoch {
		// What no fact under an older fence was applied of by now never will be.
		if p.hold != nil {
			more = append(more, "base", cmp.Or(was.fields["base"], "0"))
		} else {
			p.step("g", m.Token)
			l.base = true
		}
	}
	p.hset(key, was.fields, c.Fields, c.next(), more...)
	if m.LastSeen > before.LastSeen {
		p.step("s", "highest", strconv.FormatUint(m.LastSeen, 10))
	}
	var old map[string]string
	if there {
		old = p.db.mailboxIndexes(before)
	}
	p.index(m.Token, old, p.db.mailboxIndexes(m))
}

// mailboxIndexes are the sorted sets that a mailbox stands in, and where.
func (ks keyspace) mailboxIndexes(m rules.Mailbox) map[string]string {
	in, waiting := map[string]string{}, microsText(m.WaitingSince)
	if m.Owner.Nonce != "" {
		worker := id(m.Owner.Name, m.Owner.Nonce)
		in[ks.key("owned:"+worker)] = "0"
		if m.HasWork() {
			in[ks.key("owes:"+worker)] = waiting
		}
	} else if m.HasWork() {
		in[ks.key("free")] = waiting
	}
	if m.LastSeen > m.LastRead {
		in[ks.key("queued")] = waiting
	}
	if m.OpenTurn != "" {
		in[ks.key("running")] = waiting
	} else if m.HasWork() {
		in[ks.key("waits")] = waiting
	}
	return in
}

// index moves a mailbox from the sets that it stood in to those where it is looked
// for.
func (p *plan) index(token string, was, is map[string]string) {
	owned := p.db.key("owned:")
	for _, set := range slices.Sorted(maps.Keys(was)) {
		if _, stays := is[set]; stays {
			continue
		}
		p.do("ZREM", set, token)
		if worker, yes := strings.CutPrefix(set, owned); yes {
			p.step("e", set, p.db.key("owners"), worker)
		}
	}
	for _, set := range slices.Sorted(maps.Keys(is)) {
		if score, stood := was[set]; stood && score == is[set] {
			continue
		}
		p.do("ZADD", set, is[set], token)
		if worker, yes := strings.CutPrefix(set, owned); yes {
			p.do("SADD", p.db.key("owners"), worker)
		}
	}
}

func (p *plan) putTurn(c changedRow, was *storedRow, t rules.Turn) error {
	p.hset(p.db.hashOf(t.Key()), was.fields, c.Fields, c.next())
	nested := p.db.key("nested:" + t.Token)
	if was.row == nil {
		opened := strconv.FormatInt(micros(t.OpenedAt), 10)
		p.do("ZADD", p.db.key("turnsof:"+string(t.Session)), opened, t.ID)
		if t.IsOpenNested() {
			p.keep(nested, t.ID, true)
		} else if err := p.active(t, opened); err != nil {
			return err
		}
	}
	if before, _ := was.row.(rules.Turn); before.IsOpenNested() && !t.IsOpenNested() {
		p.keep(nested, t.ID, false)
	}
	return nil
}

// active notes when the last turn of a root session was opened.
func (p *plan) active(t rules.Turn, opened string) error {
	of, err := p.r.stored(rules.SessionKey(t.Session))
	if err != nil {
		return err
	}
	if s, ok := of.row.(rules.Session); !ok || s.Parent != "" {
		return nil
	}
	kind := string(t.From.Kind)
	name, err := jsonText([]string{t.Channel, kind})
	p.do("SADD", p.db.key("active"), name)
	p.do("ZADD", p.db.key("active:"+id(t.Channel, kind)), "GT", opened, string(t.Session))
	return err
}

func (p *plan) putSession(c changedRow, s rules.Session) {
	sid := string(s.ID)
	p.hset(p.db.hashOf(s.Key()), nil, c.Fields, c.next())
	p.do("ZADD", p.db.key("ids"), "0", sid)
	if s.Parent != "" {
		p.do("RPUSH", p.db.key("kids:"+string(s.Parent)), sid)
		return
	}
	p.do("ZADD", p.db.key("roots"), c.Fields["created"], sid)
	p.do("ZADD", p.db.key("dear"), "0", strings.Repeat("0", 19)+sid)
}

func (p *plan) putCall(c changedRow, was *storedRow, r rules.Call) {
	key, open, holds := p.db.hashOf(r.Key()), p.db.key("calls:"+r.Token), p.db.key("holds:"+string(r.Session))
	switch r.State {
	case rules.CallOpen:
		p.hset(key, nil, c.Fields, c.next())
		p.keep(open, r.ID, true)
		p.do("SADD", holds, r.ID)
	case rules.CallBooked:
		p.keep(open, r.ID, false)
		p.do("DEL", key)
		p.do("SREM", holds, r.ID)
	default: // it still holds something
		p.keep(open, r.ID, false)
		p.hset(key, was.fields, c.Fields, c.next())
		p.do("HDEL", key, "call", "scopes", "dangling")
	}
}

func (p *plan) putControl(c changedRow, was *storedRow, r rules.Control) (isNew bool) {
	key, all, own := p.db.hashOf(r.Key()), p.db.key("controls"), p.db.key("controls:"+r.Token)
	shutting := ""
	if chat := c.Fields["chat"]; chat != "" {
		shutting = p.db.key("shutting:" + chat)
	}
	f := mergeRows(nil, c.Fields)
	delete(f, "done")
	if was.row == nil {
		p.step("+", "controls")
		p.hset(key, nil, f, c.next())
		p.numbered(4, "HSET", key, "no", "")
		p.numbered(3, "ZADD", all, "", r.ID)
		p.numbered(3, "ZADD", own, "", r.ID)
		if shutting != "" {
			p.numbered(3, "ZADD", shutting, "", r.ID)
		}
		return true
	}
	p.hset(key, was.fields, f, c.next())
	if r.Done {
		p.do("ZREM", all, r.ID)
		p.do("ZREM", own, r.ID)
		if shutting != "" {
			p.do("ZREM", shutting, r.ID)
		}
	}
	return false
}

func (p *plan) putAnswer(c changedRow, was *storedRow, a rules.Answer) (isNew bool, err error) {
	key := p.db.hashOf(a.Key())
	if was.row == nil {
		to, err := addressOf(c.Fields["target"])
		if err != nil {
			return false, err
		}
		channel := c.Fields["channel"]
		p.step("+", "outbox")
		p.hset(key, nil, c.Fields, c.next())
		p.numbered(4, "HSET", key, "no", "")
		p.numbered(3, "ZADD", p.db.key("pending:"+channel), "", a.ID)
		p.do("SADD", p.db.key("channels"), channel)
		p.do("ZADD", p.db.key("unsent"), c.Fields["at"], a.ID)
		if s := c.Fields["session"]; s != "" {
			p.do("RPUSH", p.db.key("outs:"+s), a.ID)
		}
		p.keep(p.db.key("outof:"+chatName(to)), a.ID, true)
		return true, nil
	}
	p.hset(key, was.fields, c.Fields, c.next())
	uncertain := p.db.key("ambiguous")
	for i := range a.Parts {
		n := strconv.Itoa(i + 1)
		changed := was.fields["s"+n] != c.Fields["s"+n]
		switch {
		case a.Done || changed && !rules.MayHaveArrived(a.Parts[i]):
			p.do("SREM", uncertain, id(a.ID, n))
		case changed:
			p.do("SADD", uncertain, id(a.ID, n))
		}
	}
	if !a.Done || was.fields["done"] == "1" {
		return false, nil
	}
	to, err := addressOf(was.fields["target"])
	p.do("ZREM", p.db.key("pending:"+was.fields["channel"]), a.ID)
	p.do("ZREM", p.db.key("unsent"), a.ID)
	p.keep(p.db.key("outof:"+chatName(to)), a.ID, false)
	return false, err
}

func chatName(a sessionkeys.Address) string { return id(a.Channel, a.Account, a.Peer) }

func (p *plan) putWorker(w rules.Worker) {
	member, names := id(w.ID.Name, w.ID.Nonce), p.db.key("names:"+w.ID.Name)
	if w.Gone {
		p.do("SADD", p.db.key("gone"), member)
		p.do("HDEL", p.db.key("until"), member)
		p.do("SREM", names, w.ID.Nonce)
		return
	}
	p.do("SADD", names, w.ID.Nonce)
	p.do("HSET", p.db.key("until"), member, strconv.FormatInt(micros(w.Until), 10))
}

func (p *plan) putChat(c rules.Chat) {
	bot := id(c.ID.Channel, c.ID.Account)
	for name, value := range map[string]string{"prev:": c.Before, "next:": c.After, "movedat:": timeText(c.MovedAt)} {
		if value != "" {
			p.do("HSET", p.db.key(name+bot), c.ID.Peer, value)
		}
	}
	if c.Closed.Cause != "" {
		p.do("HSET", p.db.key("shut:"+id(c.ID.Channel, c.ID.Account, c.ID.Peer)), "cause", c.Closed.Cause,
			"dropped", strconv.Itoa(c.Closed.Dropped), "open", boolText(c.Closed.Open), "opened_at", microsText(c.Closed.OpenedAt))
	}
}
