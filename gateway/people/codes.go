package people

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/channels"
	"parley/gateway/policy"
	"parley/gateway/records"
	"parley/sessions"
)

// requestKind is the kind of a request's record; its key is as of a decision, so that nobody has
// more than one.
const requestKind = "pairing"

// Bounds of codes.
const (
	// CodeLifetime is how long a code holds. A stranger is answered once a day, so a code that
	// held for less would leave them without one.
	CodeLifetime = 24 * time.Hour
	// maxRequests is how many codes of a bot account may wait; one more takes the place of the
	// oldest. More than policy.Limits.Strangers gives in a day by default.
	maxRequests = 500
	// CodeLength is how many characters a code has: 40 bits.
	CodeLength = 8
)

// alphabet is that of Crockford's base 32: no letter looks like a number.
const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// Request is somebody who asks to be let in.
type Request struct {
	Channel string    `json:"-"` // the instance; the record's key has it
	ID      string    `json:"id"`
	Alias   string    `json:"alias,omitempty"`
	Code    string    `json:"code"`
	At      time.Time `json:"at"`
	Expires time.Time `json:"expires"`
	// UsedBy is who has let them in by the code, and UsedIn names the event in which they said
	// so: the code is used up.
	UsedBy *By    `json:"used_by,omitempty"`
	UsedIn string `json:"used_in,omitempty"`
	// Claim is random: of two who use a code up in the same moment, in the same words, one is
	// first.
	Claim string `json:"claim,omitempty"`

	revision int64
}

// ReadCode returns the code that somebody has typed, as it was given out; "" when it can be none.
func ReadCode(typed string) string {
	code := strings.Trim(strings.TrimSpace(typed), "`\"'.,;!<>()[]“”")
	code = strings.NewReplacer("O", "0", "I", "1", "L", "1", "-", "", " ", "").Replace(strings.ToUpper(code))
	if len(code) != CodeLength || strings.Trim(code, alphabet) != "" {
		return ""
	}
	return code
}

func newCode() string {
	var code [CodeLength]byte
	_, _ = rand.Read(code[:]) // which never fails
	for i := range code {
		code[i] = alphabet[int(code[i])%len(alphabet)]
	}
	return string(code[:])
}

func requestID(channel, person string) sessions.RecordID {
	return sessions.RecordID{Kind: requestKind, Key: channel + "/" + person}
}

// Ask gives somebody who is not known a code, or the one that they have already, which holds from
// now on, until that time. Nothing of what they say is kept, and not their name, which they
// choose themselves.
func (b *Book) Ask(ctx context.Context, channel string, s channels.Sender) (code string, until time.Time, err error) {
	if err := CheckID(s.ID); err != nil {
		return "", until, err
	}
	now := b.Now().UTC()
	until = now.Add(CodeLifetime)
	waiting, err := b.all(ctx, channel)
	if err != nil && !errors.Is(err, records.ErrUnreadable) {
		return "", until, err
	}
	own, revision, err := records.Read[Request](ctx, b.Store, requestID(channel, s.ID), now)
	if err != nil && !errors.Is(err, records.ErrUnreadable) {
		return "", until, err // it says which
	}
	r := Request{Channel: channel, ID: s.ID, Alias: s.Alias, At: now, Expires: until, revision: revision}
	if own.UsedBy == nil {
		r.Code = own.Code
	}
	for r.Code == "" || slices.ContainsFunc(waiting, func(o Request) bool { return o.ID != r.ID && o.Code == r.Code }) {
		r.Code = newCode()
	}
	if err := b.evict(ctx, r, waiting); err != nil {
		return "", until, err
	}
	if err := b.writeRequest(ctx, r); err != nil {
		return "", until, err
	}
	b.count(asked)
	return r.Code, until, nil
}

// evict makes room for r among the requests of its account: the oldest go.
func (b *Book) evict(ctx context.Context, r Request, waiting []Request) error {
	others := slices.DeleteFunc(waiting, func(o Request) bool { return o.ID == r.ID })
	slices.SortStableFunc(others, func(a, b Request) int { return a.At.Compare(b.At) })
	for _, o := range others[:max(0, len(others)+1-maxRequests)] {
		if err := b.dropRequest(ctx, o.Channel, o.ID); err != nil {
			return err
		}
	}
	return nil
}

func (b *Book) writeRequest(ctx context.Context, r Request) error {
	rec := sessions.Record{ID: requestID(r.Channel, r.ID), Revision: r.revision, At: b.Now(), Expires: r.Expires}
	_, err := records.Write(ctx, b.Store, rec, r)
	if errors.Is(err, sessions.ErrChanged) {
		return ErrChanged
	}
	if err != nil {
		return fmt.Errorf("write the code of %s on %s: %w", r.ID, r.Channel, err)
	}
	return nil
}

func (b *Book) dropRequest(ctx context.Context, channel, id string) error {
	if err := b.Store.DropRecord(ctx, requestID(channel, id), sessions.AnyRevision); err != nil {
		return fmt.Errorf("drop the code of %s on %s: %w", id, channel, err)
	}
	return nil
}

// all returns the requests of a channel, of all with "", also those whose codes are used up. What
// cannot be read is passed over, and in the error.
func (b *Book) all(ctx context.Context, channel string) ([]Request, error) {
	var all []Request
	err := list(ctx, b, requestKind, channel, func(channel string, revision int64, r Request) {
		r.Channel, r.revision = channel, revision
		all = append(all, r)
	})
	return all, err
}

// Requests returns who asks to be let in on a channel; with "" on all. What cannot be read is
// passed over, and in the error.
func (b *Book) Requests(ctx context.Context, channel string) ([]Request, error) {
	all, err := b.all(ctx, channel)
	return slices.DeleteFunc(all, func(r Request) bool { return r.UsedBy != nil }), err
}

// Approve lets in who was given that code on a channel; with "" on any. The code is used up
// before anything else happens, so it lets in one person, once. event names what by said; the
// same event may come again, and then has the same answer. Of somebody who has typed maxTries
// wrong codes in triesWithin no other is looked at; the operator, who can list all codes, is not
// bounded. Errors are ErrNoCode, ErrTries, ErrShutOut and ErrChanged, beside those of the store.
func (b *Book) Approve(ctx context.Context, channel, code string, by By, event string) (Person, error) {
	if by.ID == "" {
		return b.approve(ctx, channel, code, by, event)
	}
	who := channel + "/" + by.ID
	if !b.tries.begin(who, b.Now()) {
		return Person{}, ErrTries
	}
	p, err := b.approve(ctx, channel, code, by, event)
	if !errors.Is(err, ErrNoCode) {
		b.tries.forgive(who)
	}
	return p, err
}

func (b *Book) approve(ctx context.Context, channel, code string, by By, event string) (Person, error) {
	all, err := b.all(ctx, channel)
	if err != nil && !errors.Is(err, records.ErrUnreadable) {
		return Person{}, err
	}
	i := slices.IndexFunc(all, func(r Request) bool { return r.Code == code })
	if code == "" || i < 0 {
		return Person{}, ErrNoCode
	}
	r := all[i]
	again := r.UsedBy != nil && event != "" && r.UsedIn == event
	if r.UsedBy != nil && !again {
		return Person{}, ErrNoCode
	}
	p, err := b.read(ctx, r.Channel, r.ID)
	if err != nil || again && p.Ruling == policy.LetIn {
		return p, err
	}
	switch d, err := b.Standing(ctx, r.Channel, channels.Sender{ID: r.ID, Alias: r.Alias}); {
	case err != nil:
		return p, err
	case d.Ruling.ShutsOut():
		return p, ErrShutOut
	}
	if !again {
		r.UsedBy, r.UsedIn, r.Claim = &by, event, rand.Text()
		if err := b.writeRequest(ctx, r); errors.Is(err, ErrChanged) {
			return p, ErrNoCode
		} else if err != nil {
			return p, err
		}
	}
	by.Code = code
	p.Alias, p.Ruling, p.By, p.At = r.Alias, policy.LetIn, by, b.Now().UTC()
	if err := b.write(ctx, p); err != nil {
		return p, fmt.Errorf("the code is used up, but %s is not let in: %w", r.ID, err)
	}
	return p, nil
}

// Withdraw takes the code of somebody away.
func (b *Book) Withdraw(ctx context.Context, r Request) error {
	if err := b.dropRequest(ctx, r.Channel, r.ID); err != nil {
		return err
	}
	b.count(revoked)
	return nil
}
