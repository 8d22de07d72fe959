// Package approvals keeps what waits until a person permits it: calls of tools, and higher budgets.
// Each is a record, with what was asked, until when, and who decided how.
//
// A turn that comes to such a call ends with the question, and the conversation goes on. The
// decision opens a turn of its own, which begins with that very call; see
// docs/decisions/0081.
package approvals

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/costs"
	"parley/gateway/records"
	"parley/problems"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/tools"
	"parley/transcript"
)

// Kinds of a request's record: of a call, and of a higher budget, which every reservation looks
// for. Its key is the mailbox's token and the request's id.
const (
	recordKind = "approval"
	raiseKind  = "raise"
)

// How long a question stands, and how long its record is kept after that, so that a late
// answer learns why it is too late.
const (
	DefaultTimeout = 10 * time.Minute
	maxTimeout     = 24 * time.Hour
	kept           = 7 * 24 * time.Hour
)

// MaxShown is the most bytes of a call that people can be asked about: of more nobody reads
// each line in a chat.
const MaxShown = 1500

// Store is where requests are kept.
type Store interface {
	Reader
	records.Writer
}

// Reader is what requests are read from.
type Reader interface {
	Records(ctx context.Context, kind, prefix string, now time.Time, yield func(sessions.Record) bool) error
}

// Config is what an operator says about permissions.
type Config struct {
	// Timeout is how long a question stands: 10s to 24h. Default 10m. What nobody permitted
	// by then does not run.
	Timeout time.Duration `yaml:"timeout"`
}

// Defaults fills in what is not said.
func (c Config) Defaults() Config {
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	return c
}

// Validate reports what cannot be.
func (c Config) Validate() error {
	var ps problems.List
	if c.Timeout < 10*time.Second || c.Timeout > maxTimeout {
		ps.Add("timeout", "%s is not 10s to 24h", c.Timeout)
	}
	return ps.Err()
}

// State describes how far a request is.
type State string

// States of a request. One that is Pending and past its time is expired; nothing is written
// when that happens.
const (
	Pending   State = "pending"
	Approved  State = "approved"
	Denied    State = "denied"
	Used      State = "used"      // the call was begun: its permission is gone
	Withdrawn State = "withdrawn" // by /stop, before it was decided or its decision taken up
)

// Person is somebody who asks or decides.
type Person struct {
	ID    string `json:"id"` // stable, on the channel of the request
	Alias string `json:"alias,omitempty"`
	Name  string `json:"name,omitempty"` // as the network shows it; of an operator, which one
	// Operator: it was the operator, by a command of the program or on its page, and no person of
	// the network. People read no name of theirs.
	Operator bool `json:"operator,omitempty"`
}

// String returns how others know the person.
func (p Person) String() string {
	if p.Operator {
		return "the operator"
	}
	if p.Name != "" {
		return p.Name
	}
	return p.ID
}

// LogID returns what stands in the log for the person: no name, which they choose, and no alias,
// which may be a telephone number.
func (p Person) LogID() string {
	if p.Operator {
		return strings.TrimSpace("operator " + p.Name)
	}
	return p.ID
}

// Request is one call, or one higher budget, that waits for a person.
type Request struct {
	ID      string                `json:"id"`   // 128 random bits
	Code    string                `json:"code"` // by which people name it in their conversation
	Token   string                `json:"-"`    // of the mailbox; the record's key has it
	Session sessionkeys.SessionID `json:"session"`
	Turn    string                `json:"turn"` // that came to the call
	Channel string                `json:"channel"`
	Asker   Person                `json:"asker"`              // whose turn it was
	ReplyTo string                `json:"reply_to,omitempty"` // their message

	Call   transcript.ToolCall `json:"call"`            // with its arguments as they are run
	Shown  string              `json:"shown"`           // what people read of it
	Where  string              `json:"where,omitempty"` // what runs it; see tools.Petition
	Dir    string              `json:"dir,omitempty"`   // in which folder of the workspace
	Env    []string            `json:"env,omitempty"`   // name=value
	Price  costs.Amount        `json:"price,omitempty"` // what the call costs; 0: nothing
	Digest string              `json:"digest"`
	// After is what the turn had read of others, three at most, and More how many there are beside.
	After []string `json:"after,omitempty"`
	More  int      `json:"more,omitempty"`
	// Raise is the higher budget that is asked for, in the place of a call; nil: a call is.
	Raise *Raise `json:"raise,omitempty"`

	// Private: it is shown in its chat to those alone who may decide, one by one. All others read
	// a notice.
	Private bool `json:"private,omitempty"`

	At      time.Time `json:"at"`
	Expires time.Time `json:"expires"`

	State     State     `json:"state"`
	By        Person    `json:"by,omitzero"` // who decided
	DecidedAt time.Time `json:"decided_at,omitzero"`
	DecidedIn string    `json:"decided_in,omitempty"` // the turn that the decision opened; the request that withdrew it
	UsedBy    string    `json:"used_by,omitempty"`    // the process and the epoch in which the call was begun

	revision int64
}

// New returns a request that waits from now on. What it is about is filled in by the caller.
func New(now time.Time, timeout time.Duration) Request {
	var id [16]byte
	_, _ = rand.Read(id[:]) // which never fails
	return Request{
		ID: hex.EncodeToString(id[:]), Code: NewCode(), At: now.UTC(), Expires: now.Add(timeout).UTC(), State: Pending,
	}
}

// NewCode returns a random code by which people name what they are asked.
func NewCode() string {
	var code [codeLength]byte
	_, _ = rand.Read(code[:]) // which never fails
	for i := range code {
		code[i] = alphabet[int(code[i])%len(alphabet)]
	}
	return string(code[:])
}

// WithOwnCode returns r with a code that none of all has: a code means one request in the whole
// gateway.
func (r Request) WithOwnCode(all []Request) Request {
	for slices.ContainsFunc(all, func(o Request) bool { return o.Code == r.Code && o.ID != r.ID }) {
		r.Code = NewCode()
	}
	return r
}

// codeLength is how many characters of the alphabet a code has.
const codeLength = 5

// alphabet is that of Crockford's base 32: no letter looks like a number.
const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// ReadCode returns the code that a person has typed, as it was given out; "" when it can be
// none.
func ReadCode(typed string) string {
	code, _, _ := strings.Cut(strings.TrimSpace(typed), " ")
	code = strings.NewReplacer("O", "0", "I", "1", "L", "1", "-", "").Replace(strings.ToUpper(strings.Trim(code, "`\"'.,;!<>()[]“”")))
	if len(code) != codeLength || strings.Trim(code, alphabet) != "" {
		return ""
	}
	return code
}

// IsExpired reports whether nobody has decided in time.
func (r Request) IsExpired(now time.Time) bool {
	return r.State == Pending && r.isOver(now)
}

// clockDrift is by how much the clocks of two processes may differ.
const clockDrift = time.Minute

// isOver reports whether the time of r has passed. A request that was made later than now is over too:
// the clock was set back, and how long r has waited cannot be computed any more. So a clock that is set
// back gives r at most as much more time as it had waited already.
func (r Request) isOver(now time.Time) bool {
	return !now.Before(r.Expires) || now.Before(r.At.Add(-clockDrift))
}

// Decide returns r as p has decided, by the message that opens that turn.
func (r Request) Decide(p Person, yes bool, turn string, now time.Time) Request {
	r.State, r.By, r.DecidedAt, r.DecidedIn = Denied, p, now.UTC(), turn
	if yes {
		r.State = Approved
		if r.Raise != nil {
			r.Raise = r.Raise.from(now)
		}
	}
	return r
}

// Withdraw returns r as p has withdrawn it, by the request to stop of that id.
func (r Request) Withdraw(p Person, stop string, now time.Time) Request {
	r.State, r.By, r.DecidedAt, r.DecidedIn = Withdrawn, p, now.UTC(), stop
	return r
}

// Waits reports whether something may still come of r that nothing has begun with.
func (r Request) Waits(now time.Time) bool {
	return r.State == Pending && !r.IsExpired(now) || r.IsDecidedOutside()
}

// IsDecidedOutside reports whether the operator has decided, and no turn was opened for it yet.
func (r Request) IsDecidedOutside() bool {
	return (r.State == Approved || r.State == Denied) && r.By.Operator && r.DecidedIn == ""
}

// RecordID returns the id of the record in which the request stands.
func (r Request) RecordID() sessions.RecordID {
	id := sessions.RecordID{Kind: recordKind, Key: r.Token + "/" + r.ID}
	if r.Raise != nil {
		id.Kind = raiseKind
	}
	return id
}

// Record returns the request as it is written over what was read of it.
func (r Request) Record(now time.Time) (sessions.Record, error) {
	rec, err := records.New(r.RecordID(), r.revision, r, now)
	if err != nil {
		return rec, err // it says which
	}
	rec.Expires = r.Expires.Add(kept)
	return rec, nil
}

// Write writes the request over what was read of it, and returns it as it is there now. It is
// sessions.ErrChanged when somebody was faster.
func (r Request) Write(ctx context.Context, s Store, now time.Time) (Request, error) {
	rec, err := r.Record(now)
	if err != nil {
		return r, err
	}
	if r.revision, err = s.WriteRecord(ctx, rec); err != nil {
		return r, fmt.Errorf("write the request for permission %s: %w", r.ID, err)
	}
	return r, nil
}

// List returns the requests of a mailbox, of all when token is empty, as they are kept at
// now. What cannot be read is passed over, and in the error.
func List(ctx context.Context, s Reader, token string, now time.Time) ([]Request, error) {
	calls, err := list(ctx, s, recordKind, token, now)
	if err != nil && !errors.Is(err, records.ErrUnreadable) {
		return nil, err
	}
	raises, failed := list(ctx, s, raiseKind, token, now)
	if failed != nil && !errors.Is(failed, records.ErrUnreadable) {
		return nil, failed
	}
	return append(calls, raises...), errors.Join(err, failed)
}

func list(ctx context.Context, s Reader, kind, token string, now time.Time) ([]Request, error) {
	prefix := token
	if token != "" {
		prefix += "/"
	}
	var all []Request
	var broken []error
	err := s.Records(ctx, kind, prefix, now, func(rec sessions.Record) bool {
		of, _, _ := strings.Cut(rec.ID.Key, "/")
		r := Request{Token: of, revision: rec.Revision}
		err := json.Unmarshal(rec.Body, &r)
		if err == nil && (r.Raise != nil) != (kind == raiseKind) {
			err = fmt.Errorf("it is none of kind %s", kind)
		}
		if err != nil {
			broken = append(broken, fmt.Errorf("the request for permission %s: %w: %w", rec.ID.Key, records.ErrUnreadable, err))
			return true
		}
		all = append(all, r)
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("list requests for permission: %w", err)
	}
	return all, errors.Join(broken...)
}

// Waiting returns how many requests of all mailboxes wait for somebody at now.
func Waiting(ctx context.Context, s Reader, now time.Time) (n int, err error) {
	all, err := List(ctx, s, "", now)
	for _, r := range all {
		if r.State == Pending && !r.IsExpired(now) {
			n++
		}
	}
	return n, err
}

// ByCode returns the request of that code.
func ByCode(all []Request, code string) (Request, bool) {
	for _, r := range all {
		if r.Code == code {
			return r, true
		}
	}
	return Request{}, false
}

// ByID returns the request of that id.
func ByID(all []Request, id string) (Request, bool) {
	for _, r := range all {
		if r.ID == id {
			return r, true
		}
	}
	return Request{}, false
}

// Permitted returns the call as the turn makes it that the decision has opened.
func (r Request) Permitted() *transcript.ToolCall {
	c := r.Call
	c.ID, c.Finished = "permitted_"+r.ID[:16], true
	return &c
}

// Judge returns what r allows of a call of that digest. use is true when it allows the call:
// then it must be written as Used before the call runs, and only that writing gives the right
// to run it.
func (r Request) Judge(digest string, now time.Time) (v tools.Verdict, use bool) {
	deny := func(halt bool, format string, args ...any) tools.Verdict {
		v := tools.Verdict{Decision: tools.Deny, Halt: halt, Reason: fmt.Sprintf(format, args...)}
		if halt && r.State != Denied {
			v.Ask = r.NotRun(v.Reason)
		}
		return v
	}
	switch r.State {
	case Denied:
		return deny(true, "%s has refused it", r.By), false
	case Used:
		return deny(false, "its permission was used when the call was begun before, and whether it ran is not known. Ask again if it is still needed"), false
	case Approved:
	case Pending:
		return deny(false, "nobody has permitted it"), false
	case Withdrawn:
		return deny(true, "%s has withdrawn it", r.By), false
	default:
		return deny(false, "the state %q of its permission is not known", string(r.State)), false
	}
	switch {
	case r.isOver(now):
		return deny(true, "its permission has expired"), false
	case digest != r.Digest:
		return deny(false, "what was permitted has changed since: the folder, the environment, the sandbox, the price, or a file that it runs. Ask again if it is still needed"), false
	}
	return tools.Verdict{}, true
}

// Use returns r as used by the process that holds the mailbox under f. Two processes write two
// different records, even at the same instant, and the store takes one of them only.
func (r Request) Use(f sessions.Fence) Request {
	r.State, r.UsedBy = Used, fmt.Sprintf("%s/%d", f.Nonce, f.Epoch)
	return r
}
