package approvals

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/costs"
	"parley/gateway/records"
	"parley/sessions"
)

// Raise is by how much, and how long, one scope may spend more than its budget. It holds for that
// scope alone, in the day or month of the decision, and ends by itself.
type Raise struct {
	Kind   string        `json:"kind"` // of the scope
	ID     string        `json:"id,omitempty"`
	Window costs.Window  `json:"window,omitempty"`
	Name   string        `json:"name"` // by which the operator knows the budget
	Amount costs.Amount  `json:"amount"`
	For    time.Duration `json:"for"`
	Until  time.Time     `json:"until,omitzero"` // zero: it does not hold
	// Revoked is when the operator took it back, which is its Until then; zero: nobody did.
	Revoked time.Time `json:"revoked,omitzero"`
}

// Bounds of what an operator raises a budget by without having been asked.
const (
	ShortestRaise = time.Minute
	LongestRaise  = 31 * 24 * time.Hour
)

// operators stands in the place of a mailbox's token where no conversation asked.
const operators = "operator"

// RaiseByOperator returns the record by which an operator, named by, raises the budget of a scope from
// now on, without anybody having asked: by amount, for d or until the scope's day or month ends.
func RaiseByOperator(by string, s sessions.Scope, name string, amount costs.Amount, d time.Duration, now time.Time) Request {
	r := New(now, d)
	r.Token, r.Raise = operators, NewRaise(s, name, amount, d)
	r = r.Decide(Person{Operator: true, Name: by}, true, "", now)
	r.Expires = r.Raise.Until
	return r
}

// lastUnasked is the record that says until when a raise by the operator may hold. Whoever reserves reads
// it in the place of all raises, because it is nearly always not there, which a store remembers.
var lastUnasked = sessions.RecordID{Kind: "raised", Key: operators}

// unasked is what it holds.
type unasked struct {
	Until time.Time `json:"until"`
}

// UnaskedStore is where raises by the operator are kept.
type UnaskedStore interface {
	Store
	records.Store
}

// markTries is how often the mark is written when others write it too.
const markTries = 8

// WriteUnasked writes a raise by the operator, which holds from then on. The mark is written first: a
// raise behind which the mark failed would hold beside the one that is made in its place.
func (r Request) WriteUnasked(ctx context.Context, s UnaskedStore, now time.Time) (Request, error) {
	if err := markUnasked(ctx, s, r.Raise.Until, now); err != nil {
		return r, err
	}
	return r.Write(ctx, s, now)
}

// markUnasked notes that a raise by the operator may hold until then.
func markUnasked(ctx context.Context, s UnaskedStore, until, now time.Time) error {
	for range markTries {
		was, revision, err := records.Read[unasked](ctx, s, lastUnasked, now)
		if err != nil && !errors.Is(err, records.ErrUnreadable) {
			return err // it says which record
		}
		if !was.Until.Before(until) {
			return nil
		}
		_, err = records.Write(ctx, s, sessions.Record{ID: lastUnasked, Revision: revision, At: now, Expires: until}, unasked{until})
		if err == nil {
			return nil
		}
		if !errors.Is(err, sessions.ErrChanged) {
			return fmt.Errorf("note the raise of a budget: %w", err)
		}
	}
	return fmt.Errorf("note the raise of a budget: %w", sessions.ErrChanged)
}

// HasUnasked reports whether a raise by the operator may hold at a time.
func HasUnasked(ctx context.Context, s records.Store, at time.Time) (bool, error) {
	mark, _, err := records.Read[unasked](ctx, s, lastUnasked, at)
	if errors.Is(err, records.ErrUnreadable) {
		return true, nil // so they are looked at
	}
	return at.Before(mark.Until), err // it says which record
}

// IsByOperator reports whether r is of RaiseByOperator: no conversation waits for it.
func (r Request) IsByOperator() bool { return r.Token == operators }

// Revoke returns r with its raise taken back; what it has permitted to spend is spent.
func (r Request) Revoke(now time.Time) Request {
	raise := *r.Raise
	raise.Until, raise.Revoked = now.UTC(), now.UTC()
	r.Raise = &raise
	return r
}

// NewRaise returns what may be asked for: amount more for a scope, for so long.
func NewRaise(s sessions.Scope, name string, amount costs.Amount, d time.Duration) *Raise {
	return &Raise{Kind: s.Kind, ID: s.ID, Window: s.Window, Name: name, Amount: amount, For: d}
}

// from returns the raise as it holds from now on, and not beyond its day or month.
func (r Raise) from(now time.Time) *Raise {
	r.Until = now.Add(r.For).UTC()
	if end := r.Window.Next(now); !end.IsZero() && end.Before(r.Until) {
		r.Until = end
	}
	return &r
}

// IsOf reports whether r is of that scope.
func (r Raise) IsOf(s sessions.Scope) bool {
	return r.Kind == s.Kind && r.ID == s.ID && r.Window == s.Window
}

// Holds reports whether the budget that r asked for is higher at a time. What was taken back does not
// hold at any, since the clock of another machine may be late.
func (r Request) Holds(at time.Time) bool {
	return r.Raise != nil && r.State == Approved && r.Raise.Revoked.IsZero() && at.Before(r.Raise.Until)
}

// Raises returns the requests by which some budget is higher at a time. What cannot be read is
// passed over, and in the error.
func Raises(ctx context.Context, s Reader, at time.Time) (holding []Request, err error) {
	all, err := list(ctx, s, raiseKind, "", at)
	for _, r := range all {
		if r.Holds(at) {
			holding = append(holding, r)
		}
	}
	return holding, err
}

// More returns by how much raises, which hold, make a scope's budget higher: those that the operator
// made unasked; and, where raises are offered, those that a conversation asked for, if the operator
// permitted them or somebody who may still decide, as entitled says.
func More(raises []Request, s sessions.Scope, offered bool, entitled func(Request) (bool, error)) (sum costs.Amount, err error) {
	for _, r := range raises {
		if !r.Raise.IsOf(s) || !offered && !r.IsByOperator() {
			continue
		}
		counts := r.By.Operator
		if !counts {
			if counts, err = entitled(r); err != nil {
				return 0, err
			}
		}
		if !counts {
			continue
		}
		if sum, err = sum.Add(r.Raise.Amount); err != nil {
			return 0, fmt.Errorf("add up what a budget is raised by: %w", err)
		}
	}
	return sum, nil
}

// RaiseQuestion returns what people are asked at the end of a budget, in Markdown: why says which
// one. The rest is as for Question.
func (r Request) RaiseQuestion(why string, here bool, typed Typed) string {
	text := fmt.Sprintf("%s **May I go on?** I need more money for that: %s.\n\n", Mark, why)
	if here {
		text += r.commands(typed)
	} else {
		text += r.elsewhere(typed)
	}
	return text + fmt.Sprintf(" The question stands for %s; without an answer I leave it there.", duration(r.Expires.Sub(r.At)))
}

// offer says what a permission of r raises.
func (r Request) offer() string {
	return fmt.Sprintf("by %s for %s", r.Raise.Amount.Display(), duration(r.Raise.For))
}
