package redis

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/rules"
)

// The fields of rows that are hashes, in the order of their places. Some are called
// otherwise than the columns of package rules.
var (
	mailboxFields  = fieldsOf(rules.MailboxColumns, "last_nonce", "last")
	turnFields     = fieldsOf(rules.TurnColumns)
	sessionFields  = fieldsOf(rules.SessionColumns, "created_at", "created", "updated_at", "updated")
	controlFields  = fieldsOf(rules.ControlColumns)
	outgoingFields = fieldsOf(rules.OutgoingColumns, "body", "text")
	recordFields   = fieldsOf(rules.RecordColumns)
	callFields     = fieldsOf("id, token, session, turn, state, held, at")
	workerFields   = fieldsOf(rules.WorkerColumns)
	chatFields     = fieldsOf("channel, account, peer, before, after, moved_at, cause, dropped, open, opened_at")
)

func fieldsOf(columns string, renamed ...string) []string {
	return strings.Split(strings.NewReplacer(renamed...).Replace(columns), ", ")
}

func callPlaces(c *rules.Call) []any {
	return []any{&c.ID, &c.Token, &c.Session, &c.Turn, &c.State, &c.Held, &c.At}
}

func chatPlaces(c *rules.Chat) []any {
	return []any{
		&c.ID.Channel, &c.ID.Account, &c.ID.Peer, &c.Before, &c.After, &c.MovedAt,
		&c.Closed.Cause, &c.Closed.Dropped, &c.Closed.Open, &c.Closed.OpenedAt,
	}
}

// write sets fields to what stands at their places. A time that is none is empty.
func (f row) write(fields []string, places []any) error {
	for i, at := range places {
		v, err := rules.Stored(at)
		if err != nil {
			return fmt.Errorf("%s: %w", fields[i], err)
		}
		switch v := v.(type) {
		case string:
			f[fields[i]] = v
		case []byte:
			f[fields[i]] = string(v)
		case int64:
			f[fields[i]] = strconv.FormatInt(v, 10)
		default:
			f[fields[i]] = ""
		}
		if t, ok := at.(*time.Time); ok && t.IsZero() {
			f[fields[i]] = ""
		}
	}
	return nil
}

// read reads fields into their places. One that is not there is empty.
func (f row) read(fields []string, places []any) error {
	for i, at := range places {
		if err := rules.Load(at, f[fields[i]]); err != nil {
			return fmt.Errorf("%s: %w", fields[i], err)
		}
	}
	return nil
}

// encode returns a row as it is stored in a hash, and in the log of facts.
func encode(r rules.Row) (f row, err error) {
	f = row{}
	switch r := r.(type) {
	case rules.Mailbox:
		if f["origin"], err = jsonText(r.Mailbox.Key.Address()); err == nil {
			err = f.write(mailboxFields, r.Places())
		}
	case rules.Turn:
		err = f.write(turnFields, r.Places())
		delete(f, "preview_state")
		f["preview"] = previewText(r.Preview)
	case rules.Session: // it is new: its sums are 0
		if r.Parent != "" {
			f["token"] = r.ID.MailboxToken()
		}
		r.UpdatedAt = r.CreatedAt
		err = f.write(sessionFields, rules.SessionPlaces(&r.Session))
	case rules.Child:
		return row{"token": r.Token, "session": string(r.Session)}, nil
	case rules.Event:
		e := r.ID
		return row{"channel": e.Channel, "account": e.Account, "chat": e.Chat, "event": e.Event, "became": encodeEvent(r)}, nil
	case rules.TextHash:
		return row{"channel": r.Channel, "account": r.Account, "chat": r.Chat, "message": r.Message, "sum": r.Sum}, nil
	case rules.Begun:
		return row{"turn": r.ID.Turn, "step": strconv.Itoa(r.ID.Step), "call": r.ID.Call, "by": begunBy(r)}, nil
	case rules.Call:
		return encodeCall(r)
	case rules.Control:
		err = f.write(controlFields, r.Places())
		f["chat"], f["done"] = "", boolText(r.Done)
		if r.Kind == sessions.KindShut {
			f["chat"] = id(r.Event.Channel, r.Event.Account, r.Event.Chat)
		}
	case rules.Answer:
		return encodeAnswer(r)
	case rules.Worker:
		err = f.write(workerFields, r.Places())
	case rules.Chat:
		err = f.write(chatFields, chatPlaces(&r))
	case rules.Record:
		err = f.write(recordFields, r.Places())
		f["body"], f["dropped"] = base64.StdEncoding.EncodeToString(r.Body), boolText(r.Dropped)
	default:
		return nil, fmt.Errorf("a %T cannot be stored", r)
	}
	return f, err
}

// decode returns the row of a kind that was encoded.
func decode(kind string, f row) (found rules.Row, err error) {
	switch kind {
	case "mailbox":
		var m rules.Mailbox
		err = f.read(mailboxFields, m.Places())
		found = m
	case "turn":
		found, err = turnOf(f)
	case "session":
		var s sessions.Session
		s, err = sessionOf(f)
		found = rules.Session{Session: s}
	case "child":
		found = rules.Child{Token: f["token"], Session: sessionkeys.SessionID(f["session"])}
	case "event":
		found, err = decodeEvent(sessions.InboxID{Channel: f["channel"], Account: f["account"], Chat: f["chat"], Event: f["event"]}, f["became"])
	case "wording":
		found = rules.TextHash{TextHash: sessions.TextHash{Channel: f["channel"], Account: f["account"], Chat: f["chat"], Message: f["message"], Sum: f["sum"]}}
	case "begun":
		found, err = decodeBegun(f)
	case "call":
		found, err = decodeCall(f)
	case "control":
		c := rules.Control{Done: f["done"] == "1"}
		err = f.read(controlFields, c.Places())
		found = c
	case "answer":
		found, err = decodeAnswer(f)
	case "worker":
		var w rules.Worker
		err = f.read(workerFields, w.Places())
		found = w
	case "chat":
		var c rules.Chat
		err = f.read(chatFields, chatPlaces(&c))
		found = c
	case "record":
		r := rules.Record{Dropped: f["dropped"] == "1"}
		err = f.read(recordFields, r.Places())
		if err == nil {
			r.Body, err = base64.StdEncoding.DecodeString(f["body"])
		}
		found = r
	default:
		return nil, fmt.Errorf("unknown kind of rows %q", kind)
	}
	return found, rules.While(err, "read a row (%s %s)", kind, f["id"]+f["token"])
}

func boolText(yes bool) string {
	if yes {
		return "1"
	}
	return "0"
}

// microsText returns a time that a set is sorted by; 0: none.
func microsText(t time.Time) string {
	if t.IsZero() {
		return "0"
	}
	return strconv.FormatInt(micros(t), 10)
}

// encodeEvent returns what an event became, as it is stored.
func encodeEvent(e rules.Event) string {
	return id(e.Token, e.Turn, strconv.FormatUint(e.Seq, 10), strconv.FormatInt(e.Epoch, 10), e.Nonce)
}

func decodeEvent(e sessions.InboxID, stored string) (rules.Event, error) {
	ps, err := splitID(stored, 5)
	if err != nil {
		return rules.Event{}, fmt.Errorf("event %s: %w", e.Event, err)
	}
	seq, seqErr := parseNumber(ps[2])
	epoch, epochErr := parseNumber(ps[3])
	return rules.Event{ID: e, Token: ps[0], Turn: ps[1], Seq: uint64(seq), Epoch: epoch, Nonce: ps[4]}, errors.Join(seqErr, epochErr)
}

// begunBy returns the fence under which a tool was begun, as it is stored.
func begunBy(b rules.Begun) string { return id(strconv.FormatInt(b.Epoch, 10), b.Nonce) }

func decodeBegun(f row) (rules.Begun, error) {
	ps, err := splitID(f["by"], 2)
	if err != nil {
		return rules.Begun{}, err
	}
	step, stepErr := parseNumber(f["step"])
	epoch, err := parseNumber(ps[0])
	return rules.Begun{ID: rules.BegunKey{Turn: f["turn"], Step: int(step), Call: f["call"]}, Epoch: epoch, Nonce: ps[1]}, errors.Join(stepErr, err)
}
