package faulttest

import (
	"parley/costs"
	"parley/simulators/model"
)

// checkMoney holds the ledger to the bill. Exact rows cost what their call cost, to
// the pico-dollar. Of a call that was cut off the bill lies between the row's
// bounds; a process that died before it knew the call's name has a row without
// one, and all of those together bound all that is left on the bill.
func (r *Report) checkMoney(b Evidence) {
	left := map[string]model.Entry{}
	names := map[string]string{} // of messages
	for _, e := range b.Bill.Entries {
		left[e.ID] = e
		if e.Message != "" {
			names[e.Message] = e.ID
		}
		if e.Outcome != model.Refused {
			r.Calls++
		}
	}
	r.Billed = costs.Amount(b.Bill.Pico)
	var minimum, limit costs.Amount
	nameless := 0
	for _, row := range b.Ledger {
		id := row.RequestID
		if n, ok := names[id]; ok {
			id = n
		}
		lower, upper := row.Lower, max(row.Amount, row.Upper)
		if row.State == costs.Settled {
			r.Settled++
			lower, upper = row.Amount, row.Amount
		} else {
			r.Doubts++
		}
		if row.Labels.Provider == reserve {
			r.Fallbacks++
		}
		if !row.Priced {
			r.add(Money, "the row %s has no price", row.ID)
		}
		e, billed := left[id]
		switch {
		case id == "" && row.State == costs.Settled && row.Amount == 0: // nobody was reached
		case id == "":
			nameless++
			minimum, limit = minimum+lower, limit+upper
		case !billed:
			r.add(Money, "the row %s is of the request %s, which is not on the bill, or has another row", row.ID, id)
		default:
			delete(left, id)
			if pico := costs.Amount(e.Pico); pico < lower || pico > upper {
				r.add(Money, "request %s cost %s, its row %s says %s to %s (%s)", id, pico, row.ID, lower, upper, row.State)
			}
		}
	}
	var rest costs.Amount
	calls := 0
	for _, e := range left {
		if e.Pico > 0 {
			rest += costs.Amount(e.Pico)
			calls++
		}
	}
	if rest < minimum || rest > limit || calls > nameless {
		r.add(Money, "%d calls without a row of their own cost %s; %d rows without a name say %s to %s", calls, rest, nameless, minimum, limit)
	}
}
