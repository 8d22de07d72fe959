// Package people keeps what was decided about people while the gateway runs: who was let in or
// shut out, by whom and how, and the codes by which strangers ask to be let in.
//
// Each decision is a record of the store, and is read whenever somebody says something: it
// holds at once, in every process, and over restarts. The configuration is never written; what
// it says of a person is compared with the record in [policy.Access.Authorize]. See
// docs/decisions/0084.
package people

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/channels"
	"parley/gateway/policy"
	"parley/gateway/records"
	"parley/gateway/roles"
	"parley/sessions"
)

// decisionKind is the kind of a decision's record. Its key is the channel instance and the
// person's id: the name of an instance has no slash.
const decisionKind = "person"

// Why something cannot be done.
var (
	// ErrNoCode means that no such code was given to anybody, that it was used, or that it has
	// expired.
	ErrNoCode = errors.New("no such code waits")
	// ErrTries means that somebody has typed too many wrong codes lately.
	ErrTries = errors.New("too many wrong codes")
	// ErrShutOut means that the person was shut out, which no code undoes.
	ErrShutOut = errors.New("the person is shut out")
	// ErrChanged means that somebody decided about the person in the same moment.
	ErrChanged = errors.New("somebody else decided about the person just now")
)

// Store is where decisions and codes are kept.
type Store = sessions.Records

// Book reads and writes decisions and codes. Its methods may be called concurrently, by several
// processes. It is not copied.
type Book struct {
	Store Store
	Now   func() time.Time
	// Count counts a change: one of Changes. nil: nobody counts.
	Count func(change string)

	tries tries
}

// What is counted.
const (
	asked   = "asked" // a stranger was given a code
	allowed = string(policy.LetIn)
	denied  = string(policy.ShutOut)
	revoked = "revoked"
)

func (b *Book) count(change string) {
	if b.Count != nil {
		b.Count(change)
	}
}

// By says who decided, and how.
type By struct {
	// ID is the stable id of an approver, on the same channel. Empty: the operator, by a
	// command of the program.
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"` // as the network shows it
	// Code is the code by which the person had asked; empty: they were named by their id.
	Code string `json:"code,omitempty"`
}

// String returns how others know who decided.
func (b By) String() string {
	switch {
	case b.ID == "":
		return "the operator"
	case b.Name != "":
		return b.Name
	}
	return b.ID
}

// Person is somebody about whom was decided.
type Person struct {
	Channel string        `json:"-"` // the instance; the record's key has it
	ID      string        `json:"id"`
	Alias   string        `json:"alias,omitempty"` // the network's other id of theirs, if that is known
	Ruling  policy.Ruling `json:"ruling"`
	// Role is what they are, if the operator or an owner has said so; it goes before what the
	// configuration says.
	Role roles.Role `json:"role,omitempty"`
	By   By         `json:"by"`
	At   time.Time  `json:"at"`
	// Lowered: the operator had said a role of theirs before somebody else decided, so that what is
	// said here counts also if the configuration calls them an owner.
	Lowered bool `json:"lowered,omitempty"`

	revision int64
}

func decisionID(channel, person string) sessions.RecordID {
	return sessions.RecordID{Kind: decisionKind, Key: channel + "/" + person}
}

// ReadAhead reads together the decisions that Standing looks up, a chat and other records; see
// [sessions.Records].ReadAhead.
func (b *Book) ReadAhead(ctx context.Context, channel string, s channels.Sender, chat sessions.ChatID, more ...sessions.RecordID) sessions.Ahead {
	for _, id := range []string{s.ID, s.Alias} {
		if isID(id) {
			more = append(more, decisionID(channel, id))
		}
	}
	return b.Store.ReadAhead(ctx, chat, more...)
}

// Standing returns what was decided about somebody, by whichever of their ids; who was shut out by
// one of them is, and of two roles they have the lesser. But what was said over chat does not count
// of one of whom the operator says that they are an owner: their other id was taken for a stranger's.
// A record that cannot be read lets nobody in.
func (b *Book) Standing(ctx context.Context, channel string, s channels.Sender) (policy.Standing, error) {
	shutOut := policy.Standing{Ruling: policy.ShutOut}
	var operators, others policy.Standing
	for _, id := range []string{s.ID, s.Alias} {
		if !isID(id) {
			continue
		}
		p, err := b.read(ctx, channel, id)
		by := &operators
		if p.By.ID != "" && !p.Lowered {
			by = &others
		}
		switch {
		case errors.Is(err, records.ErrUnreadable):
			return shutOut, nil
		case err != nil:
			return shutOut, err
		case p.Ruling == policy.ShutOut:
			*by = shutOut
		case p.Ruling == policy.LetIn && by.Ruling != policy.ShutOut:
			*by = policy.Standing{Ruling: policy.LetIn, Role: roles.Least(by.Role, p.Role)}
		}
	}
	switch {
	case others.Ruling == policy.NoRuling, operators.Ruling == policy.ShutOut, operators.Role == roles.Owner:
		return operators, nil
	case others.Ruling == policy.ShutOut && operators.Role == roles.None:
		return policy.Standing{Ruling: policy.ShutOutByOwner}, nil
	case others.Ruling == policy.ShutOut:
		return shutOut, nil
	}
	return policy.Standing{
		Ruling: policy.LetIn, Role: roles.Least(operators.Role, others.Role), ByOwner: others.Role != roles.None && operators.Role == roles.None,
	}, nil
}

// isID reports whether something can be decided about that id: a store takes no other.
func isID(id string) bool {
	return id != "" && len(id) <= maxID && id == strings.ToValidUTF8(id, "") && !strings.ContainsAny(id, "\x00\U0010ffff")
}

// maxID bounds an id of a network, in bytes.
const maxID = 255

// CheckID reports what is wrong with an id about which something is to be decided.
func CheckID(id string) error {
	if !isID(id) {
		return fmt.Errorf("%.40q is not the id of a person: it has 1 to %d bytes of text", id, maxID)
	}
	return nil
}

// read returns what is decided about an id, the zero ruling when nothing is.
func (b *Book) read(ctx context.Context, channel, id string) (Person, error) {
	p, revision, err := records.Read[Person](ctx, b.Store, decisionID(channel, id), b.Now())
	if err == nil && revision != 0 && p.Ruling != policy.LetIn && p.Ruling != policy.ShutOut {
		err = fmt.Errorf("the record of %s on %s: %w: ruling %q", id, channel, records.ErrUnreadable, string(p.Ruling))
	}
	if err == nil && p.Role != roles.None && p.Role.Validate() != nil {
		err = fmt.Errorf("the record of %s on %s: %w: role %q", id, channel, records.ErrUnreadable, string(p.Role))
	}
	p.Channel, p.ID, p.revision = channel, id, revision
	return p, err
}

// write writes a decision over what was read of it.
func (b *Book) write(ctx context.Context, p Person) error {
	_, err := records.Write(ctx, b.Store, sessions.Record{ID: decisionID(p.Channel, p.ID), Revision: p.revision, At: p.At}, p)
	if errors.Is(err, sessions.ErrChanged) {
		return ErrChanged
	}
	if err != nil {
		return fmt.Errorf("write what is decided about %s on %s: %w", p.ID, p.Channel, err)
	}
	b.count(string(p.Ruling))
	return nil
}

// Decisions returns everybody about whom something is decided on a channel; with "" on all. What
// cannot be read is passed over, and in the error.
func (b *Book) Decisions(ctx context.Context, channel string) ([]Person, error) {
	var all []Person
	err := list(ctx, b, decisionKind, channel, func(channel string, revision int64, p Person) {
		p.Channel, p.revision = channel, revision
		all = append(all, p)
	})
	return all, err
}

// HasApprover reports whether a decision makes anybody on a channel one who may permit what agents ask
// for.
func (b *Book) HasApprover(ctx context.Context, channel string) (bool, error) {
	all, err := b.Decisions(ctx, channel)
	if errors.Is(err, records.ErrUnreadable) { // who is in it is shut out
		err = nil
	}
	return slices.ContainsFunc(all, func(p Person) bool { return p.Ruling == policy.LetIn && p.Role.May(roles.Approve) }), err
}

// list calls yield for all records of a kind on a channel; with "" on all.
func list[T any](ctx context.Context, b *Book, kind, channel string, yield func(channel string, revision int64, v T)) error {
	prefix := channel
	if channel != "" {
		prefix += "/"
	}
	var broken []error
	err := b.Store.Records(ctx, kind, prefix, b.Now(), func(rec sessions.Record) bool {
		of, _, _ := strings.Cut(rec.ID.Key, "/")
		var v T
		if err := json.Unmarshal(rec.Body, &v); err != nil {
			broken = append(broken, fmt.Errorf("the record %s of %s: %w: %w", kind, rec.ID.Key, records.ErrUnreadable, err))
			return true
		}
		yield(of, rec.Revision, v)
		return true
	})
	if err != nil {
		return fmt.Errorf("list the records %s: %w", kind, err)
	}
	return errors.Join(broken...)
}

// Allow lets somebody in, in direct messages, with a role, whatever was decided about them before;
// but whom the operator has shut out only the operator lets in: ErrShutOut. Without a role they have
// the one that the configuration says. A denial of another id that is known to be theirs ends, too.
func (b *Book) Allow(ctx context.Context, channel, id string, role roles.Role, by By) (Person, error) {
	d := policy.Standing{Ruling: policy.LetIn, Role: role}
	denied, err := b.deniedOthers(ctx, channel, id)
	if err != nil {
		return Person{}, err
	}
	for _, other := range denied {
		if p, err := b.decide(ctx, channel, other, d, by); err != nil {
			return p, err
		}
	}
	return b.decide(ctx, channel, id, d, by)
}

// deniedOthers returns the other ids of somebody, as far as a decision says that they are theirs, by
// which they are shut out.
func (b *Book) deniedOthers(ctx context.Context, channel, id string) (denied []string, err error) {
	ids, err := b.IDs(ctx, channel, id)
	if err != nil {
		return nil, err
	}
	for _, other := range ids[1:] {
		p, err := b.read(ctx, channel, other)
		unreadable := errors.Is(err, records.ErrUnreadable)
		if err != nil && !unreadable {
			return nil, err
		}
		if unreadable || p.Ruling == policy.ShutOut {
			denied = append(denied, other)
		}
	}
	return denied, nil
}

// Deny shuts somebody out everywhere on the channel, and takes their code away if they had one.
// If the id is the other one of somebody who was let in, their record is the one that changes. Whom
// the operator has shut out stays shut out by the operator.
func (b *Book) Deny(ctx context.Context, channel, id string, by By) (Person, error) {
	all, err := b.Decisions(ctx, channel)
	if err != nil && !errors.Is(err, records.ErrUnreadable) {
		return Person{}, err
	}
	for _, p := range all {
		if p.Alias == id {
			if _, err := b.decide(ctx, channel, p.ID, policy.Standing{Ruling: policy.ShutOut}, by); err != nil {
				return p, err
			}
			if err := b.dropRequest(ctx, channel, p.ID); err != nil {
				return p, err
			}
		}
	}
	p, err := b.decide(ctx, channel, id, policy.Standing{Ruling: policy.ShutOut}, by)
	if err != nil {
		return p, err
	}
	return p, b.dropRequest(ctx, channel, id)
}

// decide writes a decision. The operator's replaces whatever there was; anybody else's replaces what
// was read, but not that the operator has shut the person out, nor a record that cannot be read.
func (b *Book) decide(ctx context.Context, channel, id string, d policy.Standing, by By) (Person, error) {
	p, err := b.read(ctx, channel, id)
	unreadable := errors.Is(err, records.ErrUnreadable)
	if err != nil && !unreadable {
		return p, err
	}
	final := unreadable || p.isDeniedByOperator()
	switch {
	case by.ID == "":
		p.revision = sessions.AnyRevision
	case final && d.Ruling == policy.ShutOut:
		return p, nil
	case final:
		return p, ErrShutOut
	}
	p.Lowered = by.ID != "" && (p.Lowered || p.By.ID == "" && p.Role != roles.None)
	p.Ruling, p.Role, p.By, p.At = d.Ruling, d.Role, by, b.Now().UTC()
	return p, b.write(ctx, p)
}

// isDeniedByOperator reports whether the operator has shut p out.
func (p Person) isDeniedByOperator() bool { return p.Ruling == policy.ShutOut && p.By.ID == "" }

// Reset takes whatever was decided about somebody back, and a denial of another id that is known to be
// theirs: the configuration alone counts again. But whom the operator has shut out only the operator
// lets in: ErrShutOut. Returns false when nothing was decided.
func (b *Book) Reset(ctx context.Context, channel, id string, by By) (bool, error) {
	denied, err := b.deniedOthers(ctx, channel, id)
	if err != nil {
		return false, err
	}
	found := false
	for _, each := range append(denied, id) {
		was, err := b.reset(ctx, channel, each, by)
		if err != nil {
			return found, err
		}
		found = found || was
	}
	return found, nil
}

// reset takes the decision about one id back.
func (b *Book) reset(ctx context.Context, channel, id string, by By) (bool, error) {
	p, err := b.read(ctx, channel, id)
	unreadable := errors.Is(err, records.ErrUnreadable)
	switch {
	case err != nil && !unreadable:
		return false, err
	case by.ID != "" && (unreadable || p.isDeniedByOperator()):
		return false, ErrShutOut
	case p.revision == 0:
		return false, nil
	}
	switch err := b.Store.DropRecord(ctx, decisionID(channel, id), p.revision); {
	case errors.Is(err, sessions.ErrChanged):
		return false, ErrChanged
	case err != nil:
		return false, fmt.Errorf("take back what is decided about %s on %s: %w", id, channel, err)
	}
	b.count(revoked)
	return true, nil
}

// Forget takes the decision about somebody back, of that ruling or one that cannot be read: the
// configuration alone counts again. Returns false when there was none.
func (b *Book) Forget(ctx context.Context, channel, id string, r policy.Ruling) (bool, error) {
	p, err := b.read(ctx, channel, id)
	if err != nil && !errors.Is(err, records.ErrUnreadable) || err == nil && p.Ruling != r {
		return false, err
	}
	if err := b.drop(ctx, p); err != nil {
		return false, err
	}
	return true, nil
}

// drop takes a decision back as it was read.
func (b *Book) drop(ctx context.Context, p Person) error {
	if err := b.Store.DropRecord(ctx, decisionID(p.Channel, p.ID), p.revision); errors.Is(err, sessions.ErrChanged) {
		return ErrChanged
	} else if err != nil {
		return fmt.Errorf("forget what is decided about %s on %s: %w", p.ID, p.Channel, err)
	}
	b.count(revoked)
	return nil
}
