package rules

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"time"

	"parley/sessionkeys"
	"parley/sessions"
)

// The columns of rows, in the order in which their places come: first the key and what
// never changes. Those of a mailbox end with what an index is made of; those of a turn
// lack the token of EndedBy, those of a control request Done, those of a part its body.
const (
	MailboxColumns = "token, key, session, touched, read, epoch, attempts, controls, turn, last_nonce, prior, owner_name, " +
		"owner_nonce, waiting"
	TurnColumns = "id, token, session, nested, seq, channel, origin, reply_to, sender, received_at, opened_at, state, " +
		"attempts, ended_at, tries, outcome, steps, end_epoch, end_nonce, released, refused, preview_state, " +
		"preview, joined"
	SessionColumns = "id, key, parent, root, depth, tool_call, role, policy, title, messages, own, subtree, held, unpriced, " +
		"created_at, updated_at"
	ControlColumns  = "id, token, key, event, kind, through, channel, origin, reply_to, sender, at"
	OutgoingColumns = "id, channel, session, turn, target, reply_to, body, at, again, file, choices"
	PartColumns     = "state, attempts, message_id, repeats, reason, problem, at, by"
	EventColumns    = "channel, account, chat, event, token, turn, seq, epoch, nonce"
	RecordColumns   = "kind, key, revision, owner, body, expires, at"
	TextHashColumns = "channel, account, chat, message, sum"
	BegunColumns    = "turn, step, call, epoch, nonce"
	WorkerColumns   = "name, nonce, until, gone"
)

// Places returns where the values of MailboxColumns stand.
func (m *Mailbox) Places() []any {
	return []any{
		&m.Token, &m.Mailbox.Key, &m.Session, &m.LastSeen, &m.LastRead, &m.Epoch, &m.Attempts, &m.Controls, &m.OpenTurn,
		&m.LastNonce, &m.PriorEpoch, &m.Owner.Name, &m.Owner.Nonce, &m.WaitingSince,
	}
}

// Places returns where the values of TurnColumns stand.
func (t *Turn) Places() []any {
	return []any{
		&t.ID, &t.Token, &t.Session, &t.Nested, &t.Seq, &t.Channel, &t.From, &t.ReplyTo, &t.Sender, &t.ReceivedAt,
		&t.OpenedAt, &t.State, &t.Attempts, &t.EndedAt, &t.Tries, &t.Outcome, &t.Steps, &t.EndedBy.Epoch, &t.EndedBy.Nonce,
		&t.Released, &t.Refused, &t.Preview.State, &t.Preview.ID, &t.Joined,
	}
}

// SessionPlaces returns where the values of SessionColumns stand.
func SessionPlaces(s *sessions.Session) []any {
	return []any{
		&s.ID, &s.Key, &s.Parent, &s.Root, &s.Depth, &s.ToolCallID, &s.Role, &s.Policy, &s.Title, &s.Messages, &s.Own,
		&s.Subtree, &s.Held, &s.Unpriced, &s.CreatedAt, &s.UpdatedAt,
	}
}

// Places returns where the values of ControlColumns stand.
func (c *Control) Places() []any {
	return []any{&c.ID, &c.Token, &c.Control.Key, &c.Event, &c.Kind, &c.Through, &c.Channel, &c.From, &c.ReplyTo, &c.Sender, &c.At}
}

// OutgoingPlaces returns where the values of OutgoingColumns stand.
func OutgoingPlaces(o *sessions.Outgoing) []any {
	return []any{&o.ID, &o.Channel, &o.Session, &o.Turn, &o.To, &o.ReplyTo, &o.Text, &o.At, &o.MaybeDuplicate, &o.File, &o.Choices}
}

// PartPlaces returns where the values of PartColumns stand.
func PartPlaces(p *sessions.Part) []any {
	return []any{&p.State, &p.Attempts, &p.MessageID, &p.Repeats, &p.Reason, &p.Problem, &p.At, &p.By}
}

// Places returns where the values of EventColumns stand.
func (e *Event) Places() []any {
	return []any{&e.ID.Channel, &e.ID.Account, &e.ID.Chat, &e.ID.Event, &e.Token, &e.Turn, &e.Seq, &e.Epoch, &e.Nonce}
}

// Places returns where the values of RecordColumns stand.
func (r *Record) Places() []any {
	return []any{&r.ID.Kind, &r.ID.Key, &r.Revision, &r.Owner, &r.Body, &r.Expires, &r.At}
}

// Places are where the values of TextHashColumns stand.
func (w *TextHash) Places() []any {
	return []any{&w.Channel, &w.Account, &w.Chat, &w.Message, &w.Sum}
}

// Places are where the values of BegunColumns stand.
func (b *Begun) Places() []any {
	return []any{&b.ID.Turn, &b.ID.Step, &b.ID.Call, &b.Epoch, &b.Nonce}
}

// Places are where the values of WorkerColumns stand.
func (w *Worker) Places() []any { return []any{&w.ID.Name, &w.ID.Nonce, &w.Until, &w.Gone} }

// Stored returns what a database keeps of a value, or of what a pointer points to: an
// int64, a text, bytes or nil. A time is microseconds, the zero time 0; truth is 0 or
// 1. What is none of these is a text in JSON, and empty when it is nil or has no
// elements.
func Stored(v any) (any, error) {
	switch v := v.(type) {
	case string, int64, nil:
		return v, nil
	case *string:
		return *v, nil
	case []byte:
		if v == nil {
			return nil, nil // nothing is stored
		}
		return v, nil
	case time.Time:
		if v.IsZero() {
			return int64(0), nil
		}
		return v.UnixMicro(), nil
	case *time.Time:
		return Stored(*v)
	case *int:
		return int64(*v), nil
	case *int64:
		return *v, nil
	case *uint64:
		if *v <= math.MaxInt64 {
			return int64(*v), nil
		}
	case *bool:
		return Stored(*v)
	case bool:
		if v {
			return int64(1), nil
		}
		return int64(0), nil
	case *sessionkeys.Key:
		return v.String(), nil
	}
	r := reflect.ValueOf(v)
	for r.Kind() == reflect.Pointer && !r.IsNil() {
		r = r.Elem()
	}
	switch {
	case r.Kind() == reflect.String:
		return r.String(), nil
	case r.CanInt():
		return r.Int(), nil
	case r.CanUint() && r.Uint() <= math.MaxInt64:
		return int64(r.Uint()), nil // it fits
	case r.CanUint():
		return nil, fmt.Errorf("%d is out of range", r.Uint())
	case r.Type() == reflect.TypeFor[[]byte]():
		return Stored(r.Bytes())
	case r.Kind() == reflect.Slice && r.Len() == 0 || r.Kind() == reflect.Pointer:
		return "", nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	return string(b), nil
}

// Load reads what Stored returned into what a pointer points to. A number may also be
// its text.
func Load(at, v any) error {
	if b, ok := at.(*[]byte); ok && v == nil {
		*b = nil
		return nil
	}
	text, isText := v.(string)
	if b, ok := v.([]byte); ok {
		if at, ok := at.(*[]byte); ok {
			*at = b
			return nil
		}
		text, isText = string(b), true
	}
	n, isNumber := v.(int64)
	if !isText && !isNumber {
		return fmt.Errorf("a %T does not fit into a %T", v, at)
	}
	number := func() (err error) {
		if isText && text != "" {
			n, err = strconv.ParseInt(text, 10, 64)
		}
		return err
	}
	switch at := at.(type) {
	case *string:
		if isText {
			*at = text
			return nil
		}
	case *int64:
		if isNumber {
			*at = n
			return nil
		}
	case *uint64:
		if isNumber && n >= 0 {
			*at = uint64(n)
			return nil
		}
	case *int:
		if isNumber {
			*at = int(n)
			return nil
		}
	case *time.Time:
		err := number()
		*at = time.Time{}
		if n != 0 {
			*at = time.UnixMicro(n).UTC()
		}
		return err
	case *sessionkeys.Key:
		return at.UnmarshalText([]byte(text))
	case *[]byte:
		*at = nil
		if text != "" {
			*at = []byte(text)
		}
		return nil
	}
	d := reflect.ValueOf(at).Elem()
	switch {
	case d.Kind() == reflect.String && isText:
		d.SetString(text)
	case d.Kind() == reflect.Bool:
		err := number()
		d.SetBool(n != 0)
		return err
	case d.CanInt():
		err := number()
		d.SetInt(n)
		if d.Int() != n {
			return fmt.Errorf("%d does not fit into a %T", n, at)
		}
		return err
	case d.CanUint():
		if err := number(); err != nil || n < 0 {
			return fmt.Errorf("%v does not fit into a %T", v, at)
		}
		d.SetUint(uint64(n)) // it is not negative
	case isText && text == "":
		d.SetZero()
	case isText:
		if err := json.Unmarshal([]byte(text), at); err != nil {
			return fmt.Errorf("decode %T: %w", at, err)
		}
	default:
		return fmt.Errorf("a %T does not fit into a %T", v, at)
	}
	return nil
}
