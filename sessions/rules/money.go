package rules

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"parley/costs"
	"parley/sessions"
	"parley/transcript"
)

// Reserve implements [sessions.Turns].
func (s Turns) Reserve(ctx context.Context, f sessions.Fence, c sessions.Charge, r costs.Reservation) error {
	err := s.db.Update(ctx, f, func(tx *Tx) error {
		if err := checkFence(tx, f); err != nil {
			return err
		}
		return reserveHeld(tx, f, c, r)
	})
	return While(whyRefused(err, c, r), "reserve for call %s", r.ID)
}

// whyRefused returns the error of a reservation; one that passes a limit is the budget's.
func whyRefused(err error, c sessions.Charge, r costs.Reservation) error {
	if over, ok := errors.AsType[*LimitError](err); ok {
		return budgetError(c.Scopes[over.Count-1], r, over.Spent) // the first Count is the tree's
	}
	return err
}

// budgetError returns what is said of a limit that a reservation would pass.
func budgetError(s sessions.Scope, r costs.Reservation, spent costs.Amount) *costs.BudgetError {
	return &costs.BudgetError{
		Scope: s.Kind, Window: s.Window, Limit: s.Limit, Spent: spent, Need: r.Estimate.Upper,
		Free: s.Window.Next(r.At), Unpriced: !r.Estimate.Priced,
	}
}

// reserveHeld reserves for a call of a mailbox that f holds.
func reserveHeld(tx *Tx, f sessions.Fence, c sessions.Charge, r costs.Reservation) error {
	e := r.Estimate
	if r.ID == "" || e.Upper < 0 {
		return errors.New("reservation without id, or with a bound below 0")
	}
	_, there, err := get[Call](tx, CallKey(r.ID))
	if err != nil || there {
		return err
	}
	scopes := slices.Clone(c.Scopes)
	call := Call{Reservation: r, Token: f.Token, Session: c.Session, Turn: c.Turn, State: CallOpen, Held: e.Upper, Scopes: scopes}
	if err := charge(tx, call, scopes, change{held: e.Upper, unbound: !e.Priced}, r.At); err != nil {
		return err
	}
	tx.put(call)
	if c.Request != nil {
		tx.Set.Requests = append(tx.Set.Requests, RequestRecord{Session: c.Session, Turn: c.Turn, Reservation: r, Record: *c.Request})
	}
	t, there, err := get[Turn](tx, TurnKey(c.Turn))
	if err != nil || !there {
		return err
	}
	if isLoopCall(e.Call.Purpose) && t.Steps+1 == e.Call.Step && t.Tries < e.Call.Attempt {
		t.Tries = e.Call.Attempt
		tx.put(t)
	}
	return nil
}

// Settle implements [sessions.Turns].
func (s Turns) Settle(ctx context.Context, f sessions.Fence, st costs.Settlement, ms ...transcript.Message) error {
	fenced, err := update(ctx, s.db, f, func(tx *Tx) (fenced bool, err error) { return settle(tx, f, st.Entry, ms) })
	if err == nil && fenced {
		err = sessions.ErrFenced
	}
	return While(err, "settle call %s", st.Entry.ID)
}

func settle(tx *Tx, f sessions.Fence, e costs.Entry, ms []transcript.Message) (fenced bool, err error) {
	turn, err := book(tx, e)
	if err != nil {
		return false, err
	}
	if err := checkFence(tx, f); errors.Is(err, sessions.ErrFenced) {
		return true, nil
	} else if err != nil {
		return false, err
	}
	if len(ms) == 0 {
		return false, nil
	}
	t, err := turnOf(tx, turn)
	if err != nil {
		return false, err
	}
	if t.Token != f.Token {
		return true, nil
	}
	if t.stepOn(e.Call) {
		tx.put(t)
	}
	return false, appendTo(tx, t.Session, e.At, ms...)
}

// book writes the ledger row and moves every sum, once for each entry's id. It
// returns the turn that the call was made for.
func book(tx *Tx, e costs.Entry) (turn string, err error) {
	c, err := existing[Call](tx, CallKey(e.ID))
	if err != nil {
		return "", fmt.Errorf("reservation %s: %w", e.ID, err)
	}
	if c.State != CallOpen {
		return c.Turn, nil
	}
	if e.Amount < 0 || e.Upper < 0 {
		return "", errors.New("the entry's amount is negative")
	}
	var keep costs.Amount // what an interrupted call may still have cost
	if e.State == costs.Interrupted {
		keep = max(0, e.Upper-e.Amount)
	}
	ch := change{settled: e.Amount, held: -c.Held, ambiguous: keep}
	if !e.Priced {
		ch.unpriced = 1
	}
	scopes := slices.Clone(c.Scopes)
	for i := range scopes {
		scopes[i].Limit = 0 // a cost is a fact
	}
	if err := charge(tx, c, scopes, ch, e.At); err != nil {
		return "", err
	}
	c.State, c.Held = CallBooked, keep
	if keep > 0 {
		c.State = CallInterrupted
	}
	tx.put(c)
	e.At = normaliseTime(e.At)
	tx.Set.Booked = append(tx.Set.Booked, Booking{Session: c.Session, Turn: c.Turn, Entry: e})
	return c.Turn, nil
}

// change is what a call adds to the sums.
type change struct {
	settled   costs.Amount
	held      costs.Amount // for calls that may still be settled
	ambiguous costs.Amount // for calls that were interrupted
	unpriced  int
	unbound   bool // to be reserved without a price: no limit allows it
}

// TreeScope counts what a root session and all below it spend in a day.
const TreeScope = "tree"

// charge adds ch to the session of a call, to its ancestors, to their tree and to
// scopes. What it counts, counts at the time of the reservation; now is the time of
// the change.
func charge(tx *Tx, c Call, scopes []sessions.Scope, ch change, now time.Time) error {
	keep, err := ch.held.Add(ch.ambiguous)
	if err != nil {
		return fmt.Errorf("charge session %s: %w", c.Session, err)
	}
	root := c.Session
	for id := c.Session; id != ""; {
		s, err := sessionOf(tx, id)
		if err != nil {
			return err
		}
		sum := Sums{Session: id, Subtree: ch.settled, Held: keep, Unpriced: ch.unpriced, At: normaliseTime(now), Call: c.ID}
		if id == c.Session {
			sum.Own = ch.settled
		}
		tx.Set.Sums = append(tx.Set.Sums, sum)
		root, id = id, s.Parent
	}
	if err := count(tx, sessions.Scope{Kind: TreeScope, ID: string(root)}, c.Reservation, ch, now); err != nil {
		return err
	}
	for _, s := range scopes {
		if err := count(tx, s, c.Reservation, ch, now); err != nil {
			return err
		}
	}
	return nil
}

// count adds ch to what a scope has spent.
func count(tx *Tx, s sessions.Scope, r costs.Reservation, ch change, now time.Time) error {
	k := SpendingKey{s.Kind, s.ID, s.Window.Name(r.At)}
	c := Count{Key: k, Settled: ch.settled, Held: ch.held, Day: costs.Day.Name(now), Limit: s.Limit, Call: r.ID}
	if s.Window == costs.Always {
		c.Ambiguous = ch.ambiguous
	} else {
		var err error // a window that ends holds what is doubtful to its own end
		if c.Held, err = ch.held.Add(ch.ambiguous); err != nil {
			return fmt.Errorf("count for the %s: %w", s.Kind, err)
		}
	}
	if s.Limit > 0 && ch.unbound {
		p, err := tx.Reader.Spent(k)
		if err != nil {
			return err
		}
		spent, err := p.Sum(c.Day)
		if err != nil {
			return err
		}
		return budgetError(s, r, spent)
	}
	tx.Set.Counts = append(tx.Set.Counts, c)
	return nil
}

// Spent implements [sessions.Money].
func (s Money) Spent(ctx context.Context, sc sessions.Scope, at time.Time) (settled, held costs.Amount, err error) {
	p, err := view(ctx, s.db, func(tx *Tx) (Spending, error) {
		return tx.Reader.Spent(SpendingKey{sc.Kind, sc.ID, sc.Window.Name(at)})
	})
	if err == nil {
		held, err = p.Held.Add(p.ambiguousOn(costs.Day.Name(at)))
	}
	return p.Settled, held, While(err, "read what the %s spent", sc.Kind)
}

// SpendingKey is a scope in one of its windows.
type SpendingKey struct{ Kind, ID, Window string }

// Spending is what a scope has settled and holds in a window.
type Spending struct {
	Settled, Held costs.Amount

	// Only over all time: Doubt is held for interrupted calls up to and on the day
	// Until, as YYYY-MM-DD.
	Ambiguous costs.Amount
	Until     string
}

// Count is what is added to the spending of a scope. Additions commute, but for a
// limit: one that would pass it is a *LimitError.
type Count struct {
	Key                      SpendingKey
	Settled, Held, Ambiguous costs.Amount
	Day                      string       // of the change, in UTC: up to which Doubt counts
	Limit                    costs.Amount // 0: none
	Call                     string       // whose reservation or settlement it is
}

// LimitError means that a count passed its limit.
type LimitError struct {
	Count int          // which one of the write-set
	Spent costs.Amount // by its scope before
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("count %d passes its limit: %s are spent", e.Count, e.Spent)
}

// ambiguousOn returns what is held for interrupted calls on a day.
func (p Spending) ambiguousOn(day string) costs.Amount {
	if day <= p.Until {
		return p.Ambiguous
	}
	return 0
}

// Sum returns all that is settled and held on a day.
func (p Spending) Sum(day string) (costs.Amount, error) {
	return costs.SumOf(p.Settled, p.Held, p.ambiguousOn(day))
}

// With returns p after c, which is number n of its write-set.
func (p Spending) With(c Count, n int) (Spending, error) {
	after, err := p.plus(c)
	spent, before := p.Sum(c.Day)
	sum, wrong := after.Sum(c.Day)
	switch err := cmp.Or(before, err, wrong); {
	case err != nil:
		return p, fmt.Errorf("count for the %s: %w", c.Key.Kind, err)
	case c.Limit > 0 && sum > c.Limit:
		return p, &LimitError{Count: n, Spent: spent}
	}
	return after, nil
}

func (p Spending) plus(c Count) (_ Spending, err error) {
	if p.Settled, err = p.Settled.Add(c.Settled); err != nil {
		return p, err
	}
	if p.Held, err = p.Held.Add(c.Held); err != nil || c.Ambiguous == 0 {
		return p, err
	}
	if p.Ambiguous, err = p.ambiguousOn(c.Day).Add(c.Ambiguous); err != nil {
		return p, err
	}
	p.Until = max(p.Until, c.Day)
	return p, nil
}

// With returns a session's sums after an addition.
func (a Sums) With(b Sums) (Sums, error) {
	for _, sum := range []struct {
		to *costs.Amount
		of costs.Amount
	}{{&a.Own, b.Own}, {&a.Subtree, b.Subtree}, {&a.Held, b.Held}} {
		var err error
		if *sum.to, err = sum.to.Add(sum.of); err != nil {
			return a, fmt.Errorf("charge session %s: %w", b.Session, err)
		}
	}
	a.Session, a.Unpriced = cmp.Or(a.Session, b.Session), a.Unpriced+b.Unpriced
	if b.At.After(a.At) {
		a.At = b.At
	}
	return a, nil
}
