package budgets

import (
	"fmt"
	"time"

	"parley/costs"
)

// Explain returns the reason for the person whose call did not fit, as the end of a
// sentence: which budget, how much of it is used, when it is free again, and
// what to do. Of budgets that people share without knowing each other it says
// no amounts. fresh is what people type there to begin a new conversation.
func Explain(e *costs.BudgetError, fresh string) string {
	if e.Unpriced {
		return "nobody told me what my model costs, and spending is limited here, so please tell the operator"
	}
	if e.Tool != "" {
		return fmt.Sprintf("a call of %s costs %s, and %s", e.Tool, e.Need.Display(), explainScope(e, fresh))
	}
	return explainScope(e, fresh)
}

// explainScope returns which budget has no room.
func explainScope(e *costs.BudgetError, fresh string) string {
	switch e.Scope {
	case Global, Channel:
		now := "today"
		if e.Window == costs.Month {
			now = "this month"
		}
		return "the budget of this bot for " + now + " is used up" + whenFree(e.Free)
	case Turn:
		return describeUsed("one message may cost", e, "; write again to go on", "; it costs less in a new conversation, which "+fresh+" starts")
	case Session:
		return describeUsed("one conversation may cost", e, "; "+fresh+" starts a new one", tell)
	case Person:
		return describeUsed("you may spend", e, whenFree(e.Free), tell)
	case Group:
		return describeUsed("this group may spend", e, whenFree(e.Free), tell)
	}
	return describeUsed("this task may cost", e, whenFree(e.Free), tell)
}

const tell = "; please tell the operator"

// describeUsed returns how much is left too little, and then what to do; or that there
// would never be enough, and then never.
func describeUsed(what string, e *costs.BudgetError, then, never string) string {
	per := ""
	if !e.Free.IsZero() {
		per = " a " + windowName(e.Window)
	}
	limit := e.Limit.Display()
	if e.Need > e.Limit && e.Tool != "" {
		return limit + " is the most that " + what + per + " here"
	}
	if e.Need > e.Limit {
		return "even a short answer to this may cost more than " + limit + ", which is the most that " + what + per + " here" + never
	}
	return fmt.Sprintf("%s %s%s here, %s of it is used or set aside, and the rest is not enough for this%s", what, limit, per, e.Spent.Display(), then)
}

func windowName(w costs.Window) string {
	if w == costs.Month {
		return "month"
	}
	return "day"
}

func whenFree(free time.Time) string {
	if free.IsZero() {
		return ""
	}
	return ", until " + free.UTC().Format("15:04 UTC on 2 January")
}
