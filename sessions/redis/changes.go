package redis

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/rules"
)

// changes is a write-set as it stands in the log of facts: with the versions of the
// rows that it was computed from. No rule is needed to apply it again.
type changes struct {
	Rows     []changedRow     `json:"rows,omitempty"`
	Appended []appended       `json:"appended,omitempty"`
	Sums     []addedSums      `json:"sums,omitempty"`
	Counts   []counted        `json:"counts,omitempty"`
	Booked   []booked         `json:"booked,omitempty"`
	Asked    []sessionRequest `json:"asked,omitempty"`
	Erased   []erased         `json:"erased,omitempty"`

	Generation string `json:"generation,omitempty"` // the name of another log: mailboxes forget what waits
}

// changedRow is a row as it is to stand.
//
// Some writers of mailboxes and turns have no fence, such as who asks for a stop. In
// the log of facts their rows have only the fields that change: that one of them ended
// before it could commit must not undo what the owner did.
type changedRow struct {
	Kind   string `json:"kind"`
	New    bool   `json:"new,omitempty"`  // there was none
	From   string `json:"from,omitempty"` // the version before
	Fields row    `json:"fields"`
	More   int64  `json:"more,omitempty"` // what is added to the control requests of a mailbox

	row rules.Row
}

// isShared reports whether a row has writers without a fence beside its owner.
func (c changedRow) isShared() bool { return !c.New && (c.Kind == "mailbox" || c.Kind == "turn") }

// logged is c as it stands in the log of facts.
func (c *changes) logged(r *reading, fenced bool) *changes {
	out := *c
	out.Rows = make([]changedRow, len(c.Rows))
	for i, one := range c.Rows {
		if one.isShared() {
			one = one.difference(r.seen[one.row.Key()].fields, fenced)
		}
		out.Rows[i] = one
	}
	return &out
}

// difference returns the row with what is other than it was, or all of it when an owner
// wrote it.
func (c changedRow) difference(was row, fenced bool) changedRow {
	is := c.Fields
	c.Fields = row{}
	for name, value := range is {
		if fenced || was[name] != value || name == "token" || name == "id" {
			c.Fields[name] = value
		}
	}
	if c.Kind == "mailbox" {
		c.More = is.int("controls") - was.int("controls")
		delete(c.Fields, "controls")
	}
	return c
}

// rebase returns a row of the log as it is to stand where the database has was.
func (c changedRow) rebase(was *storedRow) (changedRow, error) {
	if c.isShared() {
		c.Fields = mergeRows(was.fields, c.Fields)
		if c.More != 0 {
			c.Fields["controls"] = strconv.FormatInt(c.Fields.int("controls")+c.More, 10)
		}
		c.From = was.version()
	}
	var err error
	c.row, err = decode(c.Kind, c.Fields)
	return c, err
}

// key names the row.
func (c changedRow) key() (rules.Key, error) {
	switch {
	case c.row != nil:
		return c.row.Key(), nil
	case c.Kind == "mailbox":
		return rules.MailboxKey(c.Fields["token"]), nil
	case c.Kind == "turn":
		return rules.TurnKey(c.Fields["id"]), nil
	}
	decoded, err := decode(c.Kind, c.Fields)
	if err != nil {
		return nil, err
	}
	return decoded.Key(), nil
}

// next returns the version that the row gets.
func (c changedRow) next() string {
	n, _ := parseNumber(c.From)
	return strconv.FormatInt(n+1, 10)
}

type appended struct {
	Session  sessionkeys.SessionID `json:"session"`
	At       int64                 `json:"at"`
	Messages []message             `json:"messages"`
}

type addedSums struct {
	Session  sessionkeys.SessionID `json:"session"`
	Own      costs.Amount          `json:"own,omitempty"`
	Subtree  costs.Amount          `json:"subtree,omitempty"`
	Held     costs.Amount          `json:"held,omitempty"`
	Unpriced int                   `json:"unpriced,omitempty"`
	At       int64                 `json:"at"`
	Call     string                `json:"call"`
}

type counted struct {
	Kind    string       `json:"kind"`
	ID      string       `json:"id"`
	Window  string       `json:"window,omitempty"`
	Settled costs.Amount `json:"settled,omitempty"`
	Held    costs.Amount `json:"held,omitempty"`
	Doubt   costs.Amount `json:"doubt,omitempty"`
	Day     string       `json:"day"`
	Limit   costs.Amount `json:"limit,omitempty"`
	Call    string       `json:"call"`
}

type booked struct {
	ID      string                `json:"id"`
	Session sessionkeys.SessionID `json:"session"`
	Turn    string                `json:"turn"`
	At      int64                 `json:"at"`
	Order   string                `json:"order"`
	Amount  costs.Amount          `json:"amount,omitempty"`
	Unknown int                   `json:"unknown,omitempty"` // 1: the price is
	Doubt   bool                  `json:"doubt,omitempty"`   // nobody knows whether the request left
	Labels  string                `json:"labels"`
	Columns string                `json:"columns"` // see usedColumns, with session and agent
	Entry   string                `json:"entry"`
	Price   string                `json:"price,omitempty"`
}

// sessionRequest is what a call asks, and of which session.
type sessionRequest struct {
	Session sessionkeys.SessionID `json:"session"`
	storedRequest
}

// changes is a write-set of an operation that read r.
func (db *database) changes(r *reading, set *rules.WriteSet) (*changes, error) {
	c := &changes{}
	for _, row := range set.Rows {
		one, err := changedFrom(r, row)
		if err != nil {
			return nil, err
		}
		c.Rows = append(c.Rows, one)
	}
	for _, a := range set.Appended {
		ms, err := messagesOf(a.Messages)
		if err != nil {
			return nil, err
		}
		c.Appended = append(c.Appended, appended{a.Session, micros(a.At), ms})
	}
	for _, a := range set.Sums {
		c.Sums = append(c.Sums, addedSums{a.Session, a.Own, a.Subtree, a.Held, a.Unpriced, micros(a.At), a.Call})
	}
	for _, n := range set.Counts {
		c.Counts = append(c.Counts, counted{n.Key.Kind, n.Key.ID, n.Key.Window, n.Settled, n.Held, n.Ambiguous, n.Day, n.Limit, n.Call})
	}
	for _, b := range set.Booked {
		one, err := r.booking(b)
		if err != nil {
			return nil, err
		}
		c.Booked = append(c.Booked, one)
	}
	for _, a := range set.Requests {
		of, err := db.newStoredRequest(r.ctx, a.Record, sessions.Charge{Session: a.Session, Turn: a.Turn}, a.Reservation)
		if err != nil {
			return nil, err
		}
		c.Asked = append(c.Asked, sessionRequest{a.Session, *of})
	}
	for _, e := range set.Erased {
		one, err := db.erasedOf(r.ctx, e)
		if err != nil {
			return nil, err
		}
		c.Erased = append(c.Erased, one)
	}
	return c, nil
}

// changedFrom returns a row of the write-set beside what was read of it.
func changedFrom(r *reading, put rules.Row) (changedRow, error) {
	k := put.Key()
	fields, err := encode(put)
	one := changedRow{Kind: rules.KindOf(k), Fields: fields, row: put}
	switch was := r.seen[k]; {
	case was == nil:
		_, isWording := put.(rules.TextHash) // whoever says something again does not look
		one.New = !isWording
	case was.row == nil:
		one.New = true
	default:
		one.From = was.version()
	}
	return one, err
}

// booking returns a row of the ledger as it is stored.
func (r *reading) booking(b rules.Booking) (booked, error) {
	e := b.Entry
	of, err := r.stored(rules.SessionKey(b.Session))
	if err != nil {
		return booked{}, err
	}
	s, ok := of.row.(rules.Session)
	if !ok {
		return booked{}, fmt.Errorf("session %s: %w", b.Session, sessions.ErrNotFound)
	}
	columns, err := jsonText(append(usedColumns(e), string(b.Session), agentName(s.Session.Key.String())))
	if err != nil {
		return booked{}, err
	}
	one := booked{ID: e.ID, Session: b.Session, Turn: b.Turn, At: micros(e.At), Order: timeOrder(e.At), Amount: e.Amount, Doubt: e.State == costs.Interrupted, Columns: columns}
	if !e.Priced {
		one.Unknown = 1
	}
	if one.Labels, err = jsonText(e.Labels); err != nil {
		return booked{}, err
	}
	if one.Entry, err = jsonText(storedEntry{Entry: e}); err != nil {
		return booked{}, err
	}
	if e.Price != nil {
		one.Price, err = jsonText(e.Price)
	}
	return one, err
}

// agentName returns the agent's name in a session's key: agent:<name>:sub:… or <name>:…; no
// agent is called agent.
func agentName(key string) string {
	key = strings.TrimPrefix(key, "agent:")
	name, _, _ := strings.Cut(key, ":")
	return name
}

// addressOf reads an address that is stored as JSON.
func addressOf(stored string) (a sessionkeys.Address, err error) {
	if err := json.Unmarshal([]byte(stored), &a); err != nil {
		return a, fmt.Errorf("read an address: %w", err)
	}
	return a, nil
}
