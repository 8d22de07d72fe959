// Package errands keeps what people have agents do at set times, as they said in a chat: "remind me
// every weekday at 9". Each is a record of the store, whose runs are those of a job of package
// schedule, with the rights that its person has when it runs.
//
//	tool schedule ──► Book ──► record ──► Scheduler (schedule) ──► message log ──► worker
//	/schedules ──────┘            └── Desk.Job: may it run now? ──────────────────────┘
//
// See docs/decisions/0090.
package errands

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/channels"
	"parley/gateway/records"
	"parley/gateway/schedule"
	"parley/sessionkeys"
	"parley/sessions"
)

// recordKind is the kind of an errand's record; its key is the errand's name.
const recordKind = "errand"

// namePrefix begins the name of an errand's job. No job of the configuration has a dot in its name.
const namePrefix = "p."

const (
	// mostOfAll is how many errands of all people are kept: the scheduler looks at each.
	mostOfAll = 1000
	// keptAfter is how long what was to be done once is kept behind its time, so that it runs
	// late rather than not at all, and can be looked at.
	keptAfter = 7 * 24 * time.Hour
	// mostPast is how many errands of one person are kept that are past, or as many as may wait if
	// that is more: else who has something done every minute, ten at a time, leaves no room for
	// anybody.
	mostPast = 20
)

// Why something cannot be scheduled or removed.
var (
	// ErrTooMany means that the person has as many as they may have.
	ErrTooMany = errors.New("too many schedules")
	// ErrFull means that all people together have as many as are kept.
	ErrFull = errors.New("too many schedules of all people")
	// ErrNone means that there is none of that code in the chat.
	ErrNone = errors.New("no such schedule here")
	// ErrOthers means that it is another person's.
	ErrOthers = errors.New("the schedule is another person's")
)

// Errand is what somebody has scheduled. A value is never changed.
type Errand struct {
	Name    string              `json:"-"` // of its job; the record's key has it
	Channel string              `json:"channel"`
	Person  string              `json:"person"` // the network's stable id
	Alias   string              `json:"alias,omitempty"`
	To      sessionkeys.Address `json:"to"` // where they said it, and where its answers go
	Task    string              `json:"task"`

	Schedule string    `json:"schedule,omitempty"` // five fields of a crontab; or Once
	Once     time.Time `json:"once,omitzero"`
	Zone     string    `json:"zone"`
	Made     time.Time `json:"made"`
}

// Code returns by what people name it.
func (e Errand) Code() string { return e.Name[strings.LastIndexByte(e.Name, '.')+1:] }

// IsPast reports whether it was to be done once, and that time is over.
func (e Errand) IsPast(now time.Time) bool { return !e.Once.IsZero() && !now.Before(e.Once) }

// Timing returns when it is due.
func (e Errand) Timing() (schedule.Timing, error) {
	if !e.Once.IsZero() {
		return schedule.NewOnce(e.Once, e.Zone) // it says what is wrong
	}
	t, path, err := schedule.NewTiming(e.Schedule, 0, e.Zone)
	if err != nil {
		return t, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// IsName reports whether a job of that name is an errand.
func IsName(job string) bool { return strings.HasPrefix(job, namePrefix) }

// prefixOf begins the names of all errands of a person.
func prefixOf(channel, person string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d/%s/%s", len(channel), channel, person))
	return namePrefix + hex.EncodeToString(sum[:6]) + "."
}

// nameOf returns the name of the errand that a person makes by something of that id, which is the
// same whenever that happens again.
func nameOf(channel, person, by string) string {
	sum := sha256.Sum256([]byte(by))
	return prefixOf(channel, person) + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:5])
}

// Store is where errands are kept.
type Store = sessions.Records

// Book reads and writes errands. Its methods may be called concurrently, by several processes.
type Book struct {
	Store Store
	Now   func() time.Time
}

func recordID(name string) sessions.RecordID { return sessions.RecordID{Kind: recordKind, Key: name} }

// Find returns the errand of a name; ErrNone when there is none.
func (b *Book) Find(ctx context.Context, name string) (Errand, error) {
	e, revision, err := records.Read[Errand](ctx, b.Store, recordID(name), b.Now())
	e.Name = name
	if err == nil && revision == 0 {
		err = ErrNone
	}
	return e, err
}

// list returns the errands whose names begin with prefix. What cannot be read is passed over, and in the
// error.
func (b *Book) list(ctx context.Context, prefix string) ([]Errand, error) {
	var all []Errand
	var broken []error
	err := b.Store.Records(ctx, recordKind, prefix, b.Now(), func(r sessions.Record) bool {
		e := Errand{Name: r.ID.Key}
		if err := json.Unmarshal(r.Body, &e); err != nil {
			broken = append(broken, fmt.Errorf("the record %s of %s: %w: %w", recordKind, r.ID.Key, records.ErrUnreadable, err))
			return true
		}
		all = append(all, e)
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("list what people have scheduled: %w", err)
	}
	return all, errors.Join(broken...)
}

// All returns all errands, by their names. What cannot be read is passed over, and in the error.
func (b *Book) All(ctx context.Context) ([]Errand, error) { return b.list(ctx, "") }

// Of returns the errands of a person on an account; see All.
func (b *Book) Of(ctx context.Context, channel, person string) ([]Errand, error) {
	all, err := b.list(ctx, prefixOf(channel, person))
	return slices.DeleteFunc(all, func(e Errand) bool { return e.Channel != channel || e.Person != person }), err
}

// NamesOf returns the names of the errands of a person on an account; see All.
func (b *Book) NamesOf(ctx context.Context, channel, person string) (names []string, err error) {
	own, err := b.Of(ctx, channel, person)
	for _, e := range own {
		names = append(names, e.Name)
	}
	return names, err
}

// IsOf reports whether a job of that name is an errand of a person on an account, also one that is
// there no more.
func (b *Book) IsOf(job, channel, person string) bool {
	return strings.HasPrefix(job, prefixOf(channel, person))
}

// Add keeps an errand, of which by names what made it: it is the same when that happens again. A
// person has at most so many that are not past. Who finds more takes their own back, so that the
// bound holds also for two who add at once.
func (b *Book) Add(ctx context.Context, e Errand, by string, most int) (Errand, error) {
	e.Name = nameOf(e.Channel, e.Person, by)
	if known, err := b.Find(ctx, e.Name); !errors.Is(err, ErrNone) {
		return known, err
	}
	if err := b.dropOldest(ctx, e.Channel, e.Person, max(mostPast, most)); err != nil {
		return e, err
	}
	if err := b.checkRoom(ctx, e, most-1, mostOfAll-1); err != nil {
		return e, err
	}
	r := sessions.Record{ID: recordID(e.Name), At: e.Made}
	if !e.Once.IsZero() {
		r.Expires = e.Once.Add(keptAfter)
	}
	_, err := records.Write(ctx, b.Store, r, e)
	if errors.Is(err, sessions.ErrChanged) {
		return b.Find(ctx, e.Name) // it was made just now
	}
	if err != nil {
		return e, fmt.Errorf("keep what %s has scheduled: %w", e.Person, err)
	}
	if full := b.checkRoom(ctx, e, most, mostOfAll); full != nil {
		return e, errors.Join(full, b.Drop(ctx, e.Name))
	}
	return e, nil
}

// checkRoom reports whether the person of e has more errands than so many, or all people have.
func (b *Book) checkRoom(ctx context.Context, e Errand, own, all int) error {
	kept, err := b.All(ctx)
	if err != nil && !errors.Is(err, records.ErrUnreadable) {
		return err
	}
	now, n := b.Now(), 0
	for _, k := range kept {
		if k.Channel == e.Channel && k.Person == e.Person && !k.IsPast(now) {
			n++
		}
	}
	switch {
	case n > own:
		return ErrTooMany
	case len(kept) > all:
		return ErrFull
	}
	return nil
}

// dropOldest takes away what of a person's errands is past, but for so many of the latest.
func (b *Book) dropOldest(ctx context.Context, channel, person string, most int) error {
	past, err := b.Of(ctx, channel, person)
	if err != nil && !errors.Is(err, records.ErrUnreadable) {
		return err
	}
	now := b.Now()
	past = slices.DeleteFunc(past, func(e Errand) bool { return !e.IsPast(now) })
	slices.SortFunc(past, func(a, b Errand) int { return b.Once.Compare(a.Once) })
	for _, e := range past[min(most, len(past)):] {
		if err := b.Drop(ctx, e.Name); err != nil {
			return err
		}
	}
	return nil
}

// Drop takes the errand of a name away. One that is not there is dropped already.
func (b *Book) Drop(ctx context.Context, name string) error {
	if err := b.Store.DropRecord(ctx, recordID(name), sessions.AnyRevision); err != nil {
		return fmt.Errorf("remove the schedule %s: %w", name, err)
	}
	return nil
}

// senderOf returns the person of an errand, as their messages name them.
func (e Errand) senderOf() channels.Sender { return channels.Sender{ID: e.Person, Alias: e.Alias} }
