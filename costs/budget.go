package costs

import (
	"fmt"
	"time"
)

// Window is the time over which money is counted against a limit. Days and
// months are those of UTC.
type Window string

// Windows.
const (
	Day    Window = "" // the zero value
	Month  Window = "month"
	Always Window = "always" // from the beginning to the end
)

// Name returns the window that t falls into: "2026-11-21", "2026-11", or "" for
// Always.
func (w Window) Name(t time.Time) string {
	switch w {
	case Month:
		return t.UTC().Format("2006-01")
	case Always:
		return ""
	default:
		return t.UTC().Format(time.DateOnly)
	}
}

// Next returns when the window after that of t begins, or the zero time for Always.
func (w Window) Next(t time.Time) time.Time {
	y, m, d := t.UTC().Date()
	switch w {
	case Month:
		return time.Date(y, m+1, 1, 0, 0, 0, 0, time.UTC)
	case Always:
		return time.Time{}
	default:
		return time.Date(y, m, d+1, 0, 0, 0, 0, time.UTC)
	}
}

// BudgetError refuses a reservation: with it the scope would have settled and
// held more than its limit. Its text is for operators.
type BudgetError struct {
	Scope  string // the kind of scope: turn, session, person, group, …
	Window Window
	Limit  Amount
	Spent  Amount    // settled and held, before
	Need   Amount    // what was to be held; never less than 0
	Free   time.Time // when the next window begins; zero: this one never ends

	// Unpriced: the call has no known price, so no limit can hold. Need is 0.
	Unpriced bool

	// Tool is the tool of which a call was refused; empty: it was a call of a model.
	Tool string `json:",omitempty"`
}

// Remaining returns what of the limit is neither settled nor held, never less than 0.
func (e *BudgetError) Remaining() Amount { return max(0, e.Limit-e.Spent) }

func (e *BudgetError) Error() string {
	if e.Unpriced {
		return "the model has no known price while a budget applies: list it in prices.file, or give prices.ceiling"
	}
	return fmt.Sprintf("the %s budget is used up: %s of %s is spent or held, and the call may need %s", e.Scope, e.Spent, e.Limit, e.Need)
}
