package redis

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/rules"
)

// encode returns a row as it is stored in a hash, and in the log of facts.
func encode(r rules.Row) (row, error) {
	switch r := r.(type) {
	case rules.Mailbox:
		return encodeMailbox(r)
	case rules.Turn:
		return encodeTurn(r)
	case rules.Session:
		return encodeSession(r), nil
	case rules.Child:
		return row{"token": r.Token, "session": string(r.Session)}, nil
	case rules.Event:
		e := r.ID
		return row{"channel": e.Channel, "account": e.Account, "chat": e.Chat, "event": e.Event, "became": became(r)}, nil
	case rules.Wording:
		return row{"channel": r.Channel, "account": r.Account, "chat": r.Chat, "message": r.Message, "sum": r.Sum}, nil
	case rules.Begun:
		return row{"turn": r.ID.Turn, "step": strconv.Itoa(r.ID.Step), "call": r.ID.Call, "by": begunBy(r)}, nil
	case rules.Call:
		return encodeCall(r)
	case rules.Control:
		return encodeControl(r)
	case rules.Answer:
		return encodeAnswer(r)
	case rules.Worker:
		return row{"name": r.ID.Name, "nonce": r.ID.Nonce, "until": timeText(r.Until), "gone": flag(r.Gone)}, nil
	case rules.Chat:
		return encodeChat(r), nil
	case rules.Record:
		return encodeRecord(r), nil
	}
	return nil, fmt.Errorf("a %T cannot be stored", r)
}

// decode is the row of a kind that was encoded.
func decode(kind string, f row) (rules.Row, error) {
	r := reader{row: f}
	var found rules.Row
	var err error
	switch kind {
	case "mailbox":
		found, err = decodeMailbox(&r)
	case "turn":
		found, err = decodeTurn(&r)
	case "session":
		var s sessions.Session
		s, err = sessionOf(f)
		found = rules.Session{Session: s}
	case "child":
		found = rules.Child{Token: f["token"], Session: sessionkeys.SessionID(f["session"])}
	case "event":
		found, err = decodeEvent(sessions.InboxID{Channel: f["channel"], Account: f["account"], Chat: f["chat"], Event: f["event"]}, f["became"])
	case "wording":
		found = rules.Wording{Wording: sessions.Wording{Channel: f["channel"], Account: f["account"], Chat: f["chat"], Message: f["message"], Sum: f["sum"]}}
	case "begun":
		found, err = decodeBegun(rules.BegunKey{Turn: f["turn"], Step: int(r.int("step")), Call: f["call"]}, f["by"])
	case "call":
		found, err = decodeCall(&r)
	case "control":
		var c sessions.Control
		c, err = controlOf(f)
		found = rules.Control{Control: c, Done: f["done"] == "1"}
	case "answer":
		found, err = decodeAnswer(&r)
	case "worker":
		found = rules.Worker{ID: sessions.Worker{Name: f["name"], Nonce: f["nonce"]}, Until: r.time("until"), Gone: f["gone"] == "1"}
	case "chat":
		found = decodeChat(&r)
	case "record":
		found, err = decodeRecord(&r)
	default:
		return nil, fmt.Errorf("there are no rows of kind %q", kind)
	}
	if err = errors.Join(r.err, err); err != nil {
		return nil, fmt.Errorf("read a row (%s): %w", kind, err)
	}
	return found, nil
}

func flag(yes bool) string {
	if yes {
		return "1"
	}
	return "0"
}

// since is a time that a set is sorted by; 0: none.
func since(t time.Time) string {
	if t.IsZero() {
		return "0"
	}
	return strconv.FormatInt(micros(t), 10)
}

func encodeMailbox(m rules.Mailbox) (row, error) {
	origin, err := text(m.Mailbox.Key.Address())
	return row{
		"token": m.Token, "key": m.Mailbox.Key.String(), "origin": origin, "session": string(m.Session),
		"touched": strconv.FormatUint(m.Touched, 10), "read": strconv.FormatUint(m.Read, 10),
		"owner_name": m.Owner.Name, "owner_nonce": m.Owner.Nonce, "last": m.LastNonce,
		"epoch": strconv.FormatInt(m.Epoch, 10), "prior": strconv.FormatInt(m.PriorEpoch, 10),
		"attempts": strconv.Itoa(m.Attempts), "controls": strconv.Itoa(m.Controls),
		"turn": m.OpenTurn, "waiting": since(m.WaitingSince),
	}, err
}

func decodeMailbox(r *reader) (rules.Mailbox, error) {
	m := rules.Mailbox{
		Mailbox: sessions.Mailbox{
			Token: r.row["token"], Session: sessionkeys.SessionID(r.row["session"]),
			Touched: uint64(r.int("touched")), Read: uint64(r.int("read")),
			Owner: sessions.Worker{Name: r.row["owner_name"], Nonce: r.row["owner_nonce"]},
			Epoch: r.int("epoch"), Attempts: int(r.int("attempts")), Controls: int(r.int("controls")),
		},
		OpenTurn: r.row["turn"], LastNonce: r.row["last"], PriorEpoch: r.int("prior"),
	}
	if w := r.int("waiting"); w != 0 {
		m.WaitingSince = instant(w)
	}
	var err error
	if m.Mailbox.Key, err = sessionkeys.Parse(r.row["key"]); err != nil {
		err = fmt.Errorf("mailbox %s: %w", m.Token, err)
	}
	return m, err
}

func encodeTurn(t rules.Turn) (row, error) {
	from, err := text(t.From)
	f := row{
		"id": t.ID, "token": t.Token, "session": string(t.Session), "seq": strconv.FormatUint(t.Seq, 10),
		"channel": t.Channel, "origin": from, "reply_to": t.ReplyTo, "sender": t.Sender,
		"received_at": strconv.FormatInt(micros(t.ReceivedAt), 10), "opened_at": strconv.FormatInt(micros(t.OpenedAt), 10),
		"ended_at": strconv.FormatInt(micros(t.EndedAt), 10), "nested": flag(t.Nested), "attempts": strconv.Itoa(t.Attempts),
		"state": string(t.State), "outcome": string(t.Outcome), "steps": strconv.Itoa(t.Steps), "tries": strconv.Itoa(t.Tries),
		"refused": "", "end_epoch": strconv.FormatInt(t.EndedBy.Epoch, 10), "end_nonce": t.EndedBy.Nonce,
		"released": flag(t.Released), "preview": previewText(t.Preview),
	}
	if err == nil && t.Refused != nil {
		f["refused"], err = text(t.Refused)
	}
	if err == nil {
		f["joined"], err = joinedText(t.Joined)
	}
	return f, err
}

func decodeTurn(r *reader) (rules.Turn, error) {
	shown, err := turnOf(r.row)
	t := rules.Turn{Turn: shown, Nested: r.row["nested"] == "1", Released: r.row["released"] == "1", Preview: previewOf(r.row["preview"])}
	if nonce := r.row["end_nonce"]; nonce != "" {
		t.EndedBy = sessions.Fence{Token: t.Token, Epoch: r.int("end_epoch"), Nonce: nonce}
	}
	return t, err
}

// encodeSession is a new session: its sums are 0.
func encodeSession(s rules.Session) row {
	token := ""
	if s.Parent != "" {
		token = s.ID.MailboxToken()
	}
	created := strconv.FormatInt(micros(s.CreatedAt), 10)
	return row{
		"id": string(s.ID), "key": s.Session.Key.String(), "token": token, "parent": string(s.Parent), "root": string(s.Root),
		"depth": strconv.Itoa(s.Depth), "tool_call": s.ToolCallID, "role": s.Role, "policy": string(s.Policy), "title": s.Title,
		"messages": "0", "own": "0", "subtree": "0", "held": "0", "unpriced": "0", "created": created, "updated": created,
	}
}

// became is what an event became, as it is stored.
func became(e rules.Event) string {
	return id(e.Token, e.Turn, strconv.FormatUint(e.Seq, 10), strconv.FormatInt(e.Epoch, 10), e.Nonce)
}

func decodeEvent(e sessions.InboxID, stored string) (rules.Event, error) {
	ps, err := parts(stored, 5)
	if err != nil {
		return rules.Event{}, fmt.Errorf("event %s: %w", e.Event, err)
	}
	seq, seqErr := number(ps[2])
	epoch, epochErr := number(ps[3])
	return rules.Event{ID: e, Token: ps[0], Turn: ps[1], Seq: uint64(seq), Epoch: epoch, Nonce: ps[4]}, errors.Join(seqErr, epochErr)
}

// begunBy is the fence under which a tool was begun, as it is stored.
func begunBy(b rules.Begun) string { return id(strconv.FormatInt(b.Epoch, 10), b.Nonce) }

func decodeBegun(k rules.BegunKey, stored string) (rules.Begun, error) {
	ps, err := parts(stored, 2)
	if err != nil {
		return rules.Begun{}, fmt.Errorf("call %s of turn %s: %w", k.Call, k.Turn, err)
	}
	epoch, err := number(ps[0])
	return rules.Begun{ID: k, Epoch: epoch, Nonce: ps[1]}, err
}

func encodeControl(c rules.Control) (row, error) {
	event, err := text(c.Event)
	if err != nil {
		return nil, err
	}
	from, err := text(c.From)
	f := row{
		"id": c.ID, "event": event, "token": c.Token, "key": c.Control.Key.String(), "kind": c.Kind,
		"through": strconv.FormatUint(c.Through, 10), "channel": c.Channel, "origin": from, "reply_to": c.ReplyTo,
		"sender": c.Sender, "at": strconv.FormatInt(micros(c.At), 10), "chat": "", "done": flag(c.Done),
	}
	if c.Kind == sessions.KindShut {
		f["chat"] = id(c.Event.Channel, c.Event.Account, c.Event.Chat)
	}
	return f, err
}

func encodeChat(c rules.Chat) row {
	return row{
		"channel": c.ID.Channel, "account": c.ID.Account, "peer": c.ID.Peer, "before": c.Before, "after": c.After,
		"moved_at": timeText(c.MovedAt), "cause": c.Shut.Cause, "dropped": strconv.Itoa(c.Shut.Dropped),
		"open": flag(c.Shut.Open), "opened_at": since(c.Shut.OpenedAt),
	}
}

func decodeChat(r *reader) rules.Chat {
	c := rules.Chat{
		ID:     sessions.ChatID{Channel: r.row["channel"], Account: r.row["account"], Peer: r.row["peer"]},
		Before: r.row["before"], After: r.row["after"], MovedAt: r.time("moved_at"),
		Shut: rules.Shut{Cause: r.row["cause"], Dropped: int(r.int("dropped")), Open: r.row["open"] == "1"},
	}
	if at := r.int("opened_at"); at != 0 {
		c.Shut.OpenedAt = instant(at)
	}
	return c
}
