package redis

import (
	"cmp"
	"fmt"
	"strconv"

	"parley/sessions/rules"
)

// fetch reads rows.
func (r *reading) fetch(keys []rules.Key) error {
	var reads []read
	for _, k := range keys {
		reads = append(reads, r.db.rowReads(k)...)
	}
	a, err := r.read(reads...)
	if err != nil {
		return err
	}
	for _, k := range keys {
		n := len(r.db.rowReads(k))
		if err := r.learn(k, a[:n]); err != nil {
			return fmt.Errorf("read a row (%s): %w", rules.KindOf(k), err)
		}
		a = a[n:]
	}
	return nil
}

// rowReads read a row.
func (ks keyspace) rowReads(k rules.Key) []read {
	switch k := k.(type) {
	case rules.MailboxKey:
		return ks.mailboxReads(string(k))
	case rules.CallKey:
		return []read{newRead("HGETALL", ks.hashOf(k)), newRead("HGET", ks.key("booked"), string(k)).each(ks.entry())}
	case rules.ChildKey:
		return []read{newRead("GET", ks.key("child:"+string(k)))}
	case rules.EventKey:
		return []read{newRead("HGET", ks.inboxKey(k), k.Event)}
	case rules.TextHashKey:
		return []read{newRead("HGET", ks.textHashKey(k), k.Message)}
	case rules.BegunKey:
		return []read{newRead("HGET", ks.key("begun:"+k.Turn), id(strconv.Itoa(k.Step), k.Call))}
	case rules.ControlKey:
		return []read{newRead("HGETALL", ks.hashOf(k)), newRead("ZSCORE", ks.key("controls"), string(k))}
	case rules.WorkerKey:
		w := id(k.Name, k.Nonce)
		return []read{newRead("HGET", ks.key("until"), w), newRead("SISMEMBER", ks.key("gone"), w), newRead("SISMEMBER", ks.key("names:"+k.Name), k.Nonce)}
	case rules.ChatKey:
		bot := id(k.Channel, k.Account)
		return []read{
			newRead("HGET", ks.key("prev:"+bot), k.Peer),
			newRead("HGET", ks.key("next:"+bot), k.Peer),
			newRead("HGET", ks.key("movedat:"+bot), k.Peer),
			newRead("HGETALL", ks.key("shut:"+id(k.Channel, k.Account, k.Peer))),
		}
	}
	return []read{newRead("HGETALL", ks.hashOf(k))}
}

// mailboxReads read a mailbox and its open turn: of a token, or without one for each name.
func (ks keyspace) mailboxReads(token string) []read {
	key := ks.key("box:" + token)
	return []read{
		newRead("HGETALL", key).at(2),
		newRead("HGET", key, "turn").at(2).each(newRead("HGETALL", ks.key("turn:")).at(2)),
	}
}

// hashOf is the key of a row that is a hash of its own; empty: it is none.
func (ks keyspace) hashOf(k rules.Key) string {
	switch k := k.(type) {
	case rules.MailboxKey:
		return ks.key("box:" + string(k))
	case rules.TurnKey:
		return ks.key("turn:" + string(k))
	case rules.SessionKey:
		return ks.key("sess:" + string(k))
	case rules.CallKey:
		return ks.key("call:" + string(k))
	case rules.ControlKey:
		return ks.key("control:" + string(k))
	case rules.AnswerKey:
		return ks.key("out:" + string(k))
	case rules.RecordKey:
		return ks.key("record:" + id(k.Kind, k.Key))
	}
	return ""
}

func (ks keyspace) inboxKey(e rules.EventKey) string {
	return ks.key("inbox:" + id(e.Channel, e.Account, e.Chat))
}

func (ks keyspace) textHashKey(w rules.TextHashKey) string {
	return ks.key("words:" + id(w.Channel, w.Account, w.Chat))
}

// learn notes what was read of a row.
func (r *reading) learn(k rules.Key, a answer) error {
	f := row{}
	switch k := k.(type) {
	case rules.MailboxKey:
		return r.learnMailbox(string(k), a)
	case rules.CallKey:
		f = a.row(0)
		if booked := a.list(1).below().list(0).list(0).row(1); len(f) == 0 && len(booked) > 0 {
			f = row{"id": string(k), "session": booked["session"], "turn": booked["turn"], "state": string(rules.CallBooked)}
		} else if len(f) > 0 {
			f["id"] = string(k)
		}
	case rules.ChildKey:
		if a.at(0) != nil {
			f = row{"token": string(k), "session": a.text(0)}
		}
	case rules.EventKey:
		if a.at(0) != nil {
			f = row{"channel": k.Channel, "account": k.Account, "chat": k.Chat, "event": k.Event, "became": a.text(0)}
		}
	case rules.TextHashKey:
		if a.at(0) != nil {
			f = row{"channel": k.Channel, "account": k.Account, "chat": k.Chat, "message": k.Message, "sum": a.text(0)}
		}
	case rules.BegunKey:
		if a.at(0) != nil {
			f = row{"turn": k.Turn, "step": strconv.Itoa(k.Step), "call": k.Call, "by": a.text(0)}
		}
	case rules.ControlKey:
		if f = a.row(0); len(f) > 0 {
			f["done"] = boolText(a.at(1) == nil)
		}
	case rules.WorkerKey:
		f = row{"name": k.Name, "nonce": k.Nonce, "until": a.text(0), "gone": a.text(1)}
		if a.at(0) == nil && !a.bool(1) && !a.bool(2) {
			f = nil
		}
	case rules.ChatKey:
		f = r.chat(k, a)
	default:
		f = a.row(0)
	}
	return r.note(k, f)
}

// chat returns the row of a chat's id; nil: nothing is known of it.
func (r *reading) chat(k rules.ChatKey, a answer) row {
	shut := a.row(3)
	if a.at(0) == nil && a.at(1) == nil && len(shut) == 0 {
		return nil
	}
	return row{
		"channel": k.Channel, "account": k.Account, "peer": k.Peer, "before": a.text(0), "after": a.text(1), "moved_at": a.text(2),
		"cause": shut["cause"], "dropped": shut["dropped"], "open": shut["open"], "opened_at": shut["opened_at"],
	}
}

// note keeps a row that was read; no fields: there is none.
func (r *reading) note(k rules.Key, f row) error {
	st := &storedRow{}
	if _, isTurn := k.(rules.TurnKey); isTurn && lacksJoined(f) {
		log := r.log
		a, err := r.read(r.db.messageIDs(f["session"]))
		if err == nil {
			f, err = withJoined(f, a.texts(0))
		}
		if err != nil {
			return fmt.Errorf("look what joined turn %s: %w", f["id"], err)
		}
		r.log = log // of the reads before
	}
	if len(f) > 0 {
		found, err := decode(rules.KindOf(k), f)
		if err != nil {
			return err
		}
		*st = storedRow{found, f}
	}
	if was := r.seen[k]; was != nil && !was.equals(st) { // the operation has decided on it
		return errChanged
	}
	r.seen[k] = st
	r.db.known.learnRead(r.era, k, st)
	return nil
}

// equals reports whether nobody changed a row between two readings of it.
func (s *storedRow) equals(o *storedRow) bool {
	return (s.row == nil) == (o.row == nil) && s.version() == o.version() && s.fields["gen"] == o.fields["gen"]
}

// learnMailbox notes a mailbox with its open turn.
func (r *reading) learnMailbox(token string, a answer) error {
	r.gen = r.log
	f := mailboxInLog(a.row(0), r.gen)
	if err := r.note(rules.MailboxKey(token), f); err != nil {
		return err
	}
	if turn := a.list(1).below().row(0); len(turn) > 0 {
		return r.note(rules.TurnKey(f["turn"]), turn)
	}
	return nil
}

// mailboxInLog returns a mailbox as it is in the log of a generation: sequences of an
// older one count for nothing. They are left out, so that whoever changes it writes them.
func mailboxInLog(f row, gen string) row {
	if len(f) == 0 || cmp.Or(f["gen"], "0") == gen {
		return f
	}
	waits := f.int("touched") > f.int("read")
	f = mergeRows(f, row{"gen": gen})
	delete(f, "touched")
	delete(f, "read")
	if waits && f["turn"] == "" {
		delete(f, "attempts")
	}
	return f
}
