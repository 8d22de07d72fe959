package admin

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"parley/costs"
	"parley/gateway/budgets"
	"parley/gateway/messages"
	"parley/sessionkeys"
	"parley/sessions"
)

// BudgetPage is an answer of [Client.Budgets].
type BudgetPage struct {
	Now time.Time `json:"now"`
	// Budgets are those of the configuration, each followed by whom it bounds one by one and
	// who has spent of it lately: who is nearest to the end stands first, at most MaxBounded.
	Budgets []BudgetState `json:"budgets"`
	// Raises are what budgets are raised by, and were in the last days, the latest first.
	Raises []RaisedBudget `json:"raises"`
}

// MaxBounded is how many of those that a budget bounds one by one are listed.
const MaxBounded = 20

// BudgetState is one budget and what is spent of it.
type BudgetState struct {
	Budget string `json:"budget"` // its key in the configuration
	// Of is whom it bounds: everybody, an account, or a person, a group, a conversation by
	// their ids; Each: it is the same for each of those, and the amounts are not its own.
	Of      string `json:"of"`
	Each    bool   `json:"each,omitempty"`
	Channel string `json:"channel,omitempty"` // of whom it bounds
	Limit   USD    `json:"limit_usd"`         // with what it is raised by; 0: none
	Raised  USD    `json:"raised_usd"`        // part of the limit
	Settled USD    `json:"settled_usd"`
	Held    USD    `json:"held_usd"` // for calls under way, and for those whose end nobody saw
	// Share is which part of the limit is settled and held; 0 where there is no limit.
	Share  float64   `json:"share"`
	Period string    `json:"period"` // as 2026-11-26 or 2026-11 in UTC, conversation or message
	Ends   time.Time `json:"ends,omitzero"`
	More   int       `json:"more,omitempty"` // with Each: how many have spent of it that are not listed
}

func (desk budgetDesk) budgets(r *http.Request) (any, error) {
	ctx, q := r.Context(), r.URL.Query()
	page := BudgetPage{Now: desk.o.Now().UTC(), Budgets: []BudgetState{}}
	each, err := parseBool(cmp.Or(q.Get("each"), "1"))
	if err != nil {
		return nil, err
	}
	var known []spender
	some := true // raises of those that are known alone
	switch {
	case q.Get("session") != "":
		if known, err = desk.conversation(ctx, q.Get("session")); err != nil {
			return nil, err
		}
		err = desk.addBounded(ctx, &page, known, false)
	case !each:
		known = desk.totals(page.Now)
		err = desk.addTotals(ctx, &page)
	default:
		some = false
		if known, err = desk.spenders(ctx, page.Now); err != nil {
			return nil, err
		}
		if err = desk.addTotals(ctx, &page); err == nil {
			page.Budgets = append(page.Budgets, BudgetState{Budget: "turn", Of: "each message", Each: true, Limit: USD(desk.o.Limits().Turn), Period: "message"})
			err = desk.addBounded(ctx, &page, known, true)
		}
	}
	if err != nil {
		return nil, err
	}
	page.Raises, err = desk.listRaises(ctx, known, some, page.Now)
	return page, err
}

// totals returns whom budgets bound that are not the same for each: everybody, and the accounts.
func (desk budgetDesk) totals(now time.Time) []spender {
	l := desk.o.Limits()
	all := []spender{
		{scope: l.DayScope(), of: everybody, key: "global_per_day", period: costs.Day.Name(now), ends: costs.Day.Next(now)},
		{scope: l.MonthScope(), of: everybody, key: "global_per_month", period: costs.Month.Name(now), ends: costs.Month.Next(now)},
	}
	for _, name := range slices.Sorted(maps.Keys(l.ChannelsByTheDay)) {
		all = append(all, spender{scope: l.ChannelScope(name), of: name, channel: name, key: budgets.ChannelKey, period: costs.Day.Name(now), ends: costs.Day.Next(now)})
	}
	return all
}

func (desk budgetDesk) addTotals(ctx context.Context, page *BudgetPage) error {
	for _, sp := range desk.totals(page.Now) {
		b, err := desk.budgetState(ctx, sp, page.Now)
		if err != nil {
			return err
		}
		b.Budget, b.Period, b.Ends = sp.key, sp.period, sp.ends
		page.Budgets = append(page.Budgets, b)
	}
	return nil
}

// addBounded adds the budgets of those whom budgets bound one by one: all of them; or, below what
// holds for each, those who have spent, the nearest to the end first.
func (desk budgetDesk) addBounded(ctx context.Context, page *BudgetPage, known []spender, below bool) error {
	l, day, tomorrow := desk.o.Limits(), costs.Day.Name(page.Now), costs.Day.Next(page.Now)
	for _, each := range []struct {
		kind, key, of, period string
		limit                 costs.Amount
		ends                  time.Time
	}{
		{budgets.Session, "session", "each conversation", "conversation", l.Session, time.Time{}},
		{budgets.Person, "person_per_day", "each person", day, l.Person, tomorrow},
		{budgets.Group, "group_per_day", "each group", day, l.Group, tomorrow},
	} {
		var bounded []BudgetState
		for _, sp := range known {
			if sp.scope.Kind != each.kind {
				continue
			}
			b, err := desk.budgetState(ctx, sp, page.Now)
			if err != nil {
				return err
			}
			b.Budget, b.Period, b.Ends = each.key, each.period, each.ends
			if !below || b.Settled+b.Held+b.Raised > 0 {
				bounded = append(bounded, b)
			}
		}
		if !below {
			page.Budgets = append(page.Budgets, bounded...)
			continue
		}
		slices.SortStableFunc(bounded, func(a, b BudgetState) int {
			return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(b.Settled+b.Held, a.Settled+a.Held))
		})
		listed := bounded[:min(len(bounded), MaxBounded)]
		page.Budgets = append(page.Budgets, BudgetState{
			Budget: each.key, Of: each.of, Each: true, Limit: USD(each.limit), Period: each.period, Ends: each.ends, More: len(bounded) - len(listed),
		})
		page.Budgets = append(page.Budgets, listed...)
	}
	return nil
}

// everybody is whom the global budgets bound.
const everybody = "everybody"

// spender is whom a budget bounds.
type spender struct {
	scope   sessions.Scope
	of      string // as an operator knows them
	channel string
	asked   *sessions.Turn // of a person: a turn of theirs
	// Of those that totals returns: the key of the budget, its period and when that ends.
	key, period string
	ends        time.Time
}

// mostRoots bounds how many conversations of a day are looked at.
const mostRoots = 100_000

// spenders returns whom budgets bound one by one and who had turns today: conversations, people, groups.
func (desk budgetDesk) spenders(ctx context.Context, now time.Time) (all []spender, err error) {
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	roots, err := desk.o.Store.Sessions(ctx, sessions.SessionQuery{Since: today, Limit: mostRoots})
	if err != nil {
		return nil, err
	}
	schedulers, err := desk.schedulers(ctx)
	if err != nil {
		return nil, err
	}
	seen := map[sessions.Scope]bool{}
	for _, root := range roots {
		turns, err := desk.o.Store.TurnsOf(ctx, root.ID)
		if err != nil {
			return nil, err
		}
		for _, sp := range desk.spendersOf(root, turns, today, schedulers) {
			if seen[sp.scope] {
				continue
			}
			seen[sp.scope] = true
			if sp.asked != nil {
				if sp.of, err = treeDesk(desk).personOf(ctx, *sp.asked); err != nil {
					return nil, err
				}
			}
			all = append(all, sp)
		}
	}
	return all, nil
}

// schedulers returns who has scheduled something, by the names of the jobs: they pay for its runs.
func (desk budgetDesk) schedulers(ctx context.Context) (map[string]string, error) {
	people := map[string]string{}
	if desk.o.Jobs == nil {
		return people, nil
	}
	jobs, err := desk.o.Jobs(ctx)
	if _, err = passUnreadable(err); err != nil {
		return nil, err
	}
	for _, j := range jobs {
		if j.Person != "" {
			people[j.Name] = j.Person
		}
	}
	return people, nil
}

// spendersOf returns whose budgets the turns of a root count for that did not end before a time. A run
// of what a person has scheduled counts for that person; one of a job of the configuration for nobody.
func (desk budgetDesk) spendersOf(root sessions.Session, turns []sessions.Turn, since time.Time, schedulers map[string]string) (all []spender) {
	l, channel := desk.o.Limits(), ""
	for _, t := range turns {
		channel = t.Channel
		if !t.EndedAt.IsZero() && t.EndedAt.Before(since) {
			continue
		}
		job := messages.JobOf(root.Key, t.Sender, t.From)
		if job != "" {
			t.Sender = schedulers[job]
		}
		if t.Sender != "" {
			all = append(all, spender{scope: l.PersonScope(t.From, t.Sender), of: t.Sender, channel: t.Channel, asked: &t})
		}
		if t.From.Kind != sessionkeys.DM {
			all = append(all, spender{scope: l.GroupScope(t.From), of: t.From.Peer, channel: t.Channel})
		}
	}
	return append(all, spender{scope: l.SessionScope(root.ID), of: string(root.ID), channel: channel})
}

// conversation returns whose budgets the conversation of a session counts for: its own, that of who
// wrote last, and of the group.
func (desk budgetDesk) conversation(ctx context.Context, text string) ([]spender, error) {
	id, err := treeDesk(desk).resolve(ctx, text)
	if err != nil {
		return nil, err
	}
	found, err := desk.o.Store.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	root, err := desk.o.Store.Session(ctx, found.Root)
	if err != nil {
		return nil, err
	}
	turns, err := desk.o.Store.TurnsOf(ctx, root.ID)
	if err != nil {
		return nil, err
	}
	schedulers, err := desk.schedulers(ctx)
	if err != nil {
		return nil, err
	}
	return desk.spendersOf(root, turns[max(len(turns)-1, 0):], time.Time{}, schedulers), nil
}

// budgetState reads what somebody has spent of a budget, and what that is raised by.
func (desk budgetDesk) budgetState(ctx context.Context, sp spender, now time.Time) (b BudgetState, err error) {
	b = BudgetState{Of: sp.of, Channel: sp.channel}
	limit := sp.scope.Limit
	if limit > 0 && desk.o.Raised != nil {
		more, err := desk.o.Raised(ctx, sp.scope, now)
		if err != nil {
			return b, err
		}
		if limit, err = limit.Add(more); err != nil {
			return b, fmt.Errorf("add up the budget of %s: %w", sp.of, err)
		}
		b.Raised = USD(more)
	}
	settled, held, err := desk.o.Store.Spent(ctx, sp.scope, now)
	if err != nil {
		return b, err
	}
	sum, err := settled.Add(held)
	if err != nil {
		return b, fmt.Errorf("add up what %s has spent: %w", sp.of, err)
	}
	b.Limit, b.Settled, b.Held = USD(limit), USD(settled), USD(held)
	if limit > 0 {
		b.Share = float64(sum) / float64(limit)
	}
	return b, nil
}

// Budgets returns all budgets, what is spent of them, and what they are raised by.
func (c *Client) Budgets(ctx context.Context) (BudgetPage, error) {
	return askFor[BudgetPage](ctx, c.connection, http.MethodGet, "/v1/budgets", nil)
}

// TotalBudgets returns the budgets of everybody and of the accounts alone, with what those are raised
// by: however many conversations there are, the store is asked as much.
func (c *Client) TotalBudgets(ctx context.Context) (BudgetPage, error) {
	return askFor[BudgetPage](ctx, c.connection, http.MethodGet, "/v1/budgets", url.Values{"each": {"0"}})
}

// SessionBudgets returns the budgets of the conversation of the session whose id begins with id: its
// own, that of who wrote last, and that of the group; and what those are raised by.
func (c *Client) SessionBudgets(ctx context.Context, id string) (BudgetPage, error) {
	return askFor[BudgetPage](ctx, c.connection, http.MethodGet, "/v1/budgets", url.Values{"session": {id}})
}
