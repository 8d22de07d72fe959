package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"parley/costs"
	"parley/gateway/approvals"
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

// RaisedBudget is by how much one budget is higher, or was.
type RaisedBudget struct {
	ID     string     `json:"id"`
	Budget string     `json:"budget"`
	Of     string     `json:"of"`
	Amount USD        `json:"amount_usd"`
	State  RaiseState `json:"state"`
	By     string     `json:"by"`              // who decided, as others know them
	Asked  string     `json:"asked,omitempty"` // the network's id of who had asked; empty: nobody
	Since  time.Time  `json:"since"`
	Until  time.Time  `json:"until"`
}

// RaiseState describes how a raise stands.
type RaiseState string

// States of a raise.
const (
	RaiseHolds   RaiseState = "in force"
	RaiseEnded   RaiseState = "ended"
	RaiseRevoked RaiseState = "revoked"
	// RaiseVoid: who permitted it may not any more, or raise_by does not name the budget any more.
	RaiseVoid RaiseState = "void"
)

// RaiseQuery says which budget an operator raises.
type RaiseQuery struct {
	Budget  string // its key in the configuration
	Amount  USD
	For     time.Duration
	Channel string // of the account, or of the person or group
	Person  string // the network's stable id
	Group   string
	Session string // its id, or the beginning of it
}

func (s *Server) budgets(r *http.Request) (any, error) {
	ctx, q := r.Context(), r.URL.Query()
	page := BudgetPage{Now: s.o.Now().UTC(), Budgets: []BudgetState{}}
	each, err := parseBool(cmp.Or(q.Get("each"), "1"))
	if err != nil {
		return nil, err
	}
	var known []spender
	some := true // raises of those that are known alone
	switch {
	case q.Get("session") != "":
		if known, err = s.conversation(ctx, q.Get("session")); err != nil {
			return nil, err
		}
		err = s.addBounded(ctx, &page, known, false)
	case !each:
		known = s.totals(page.Now)
		err = s.addTotals(ctx, &page)
	default:
		some = false
		if known, err = s.spenders(ctx, page.Now); err != nil {
			return nil, err
		}
		if err = s.addTotals(ctx, &page); err == nil {
			page.Budgets = append(page.Budgets, BudgetState{Budget: "turn", Of: "each message", Each: true, Limit: USD(s.o.Limits().Turn), Period: "message"})
			err = s.addBounded(ctx, &page, known, true)
		}
	}
	if err != nil {
		return nil, err
	}
	page.Raises, err = s.listRaises(ctx, known, some, page.Now)
	return page, err
}

// totals returns whom budgets bound that are not the same for each: everybody, and the accounts.
func (s *Server) totals(now time.Time) []spender {
	l := s.o.Limits()
	all := []spender{
		{scope: l.DayScope(), of: everybody, key: "global_per_day", period: costs.Day.Name(now), ends: costs.Day.Next(now)},
		{scope: l.MonthScope(), of: everybody, key: "global_per_month", period: costs.Month.Name(now), ends: costs.Month.Next(now)},
	}
	for _, name := range slices.Sorted(maps.Keys(l.ChannelsByTheDay)) {
		all = append(all, spender{scope: l.ChannelScope(name), of: name, channel: name, key: budgets.ChannelKey, period: costs.Day.Name(now), ends: costs.Day.Next(now)})
	}
	return all
}

func (s *Server) addTotals(ctx context.Context, page *BudgetPage) error {
	for _, sp := range s.totals(page.Now) {
		b, err := s.budgetState(ctx, sp, page.Now)
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
func (s *Server) addBounded(ctx context.Context, page *BudgetPage, known []spender, below bool) error {
	l, day, tomorrow := s.o.Limits(), costs.Day.Name(page.Now), costs.Day.Next(page.Now)
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
			b, err := s.budgetState(ctx, sp, page.Now)
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
func (s *Server) spenders(ctx context.Context, now time.Time) (all []spender, err error) {
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	roots, err := s.o.Store.Sessions(ctx, sessions.SessionQuery{Since: today, Limit: mostRoots})
	if err != nil {
		return nil, err
	}
	schedulers, err := s.schedulers(ctx)
	if err != nil {
		return nil, err
	}
	seen := map[sessions.Scope]bool{}
	for _, root := range roots {
		turns, err := s.o.Store.TurnsOf(ctx, root.ID)
		if err != nil {
			return nil, err
		}
		for _, sp := range s.spendersOf(root, turns, today, schedulers) {
			if seen[sp.scope] {
				continue
			}
			seen[sp.scope] = true
			if sp.asked != nil {
				if sp.of, err = s.personOf(ctx, *sp.asked); err != nil {
					return nil, err
				}
			}
			all = append(all, sp)
		}
	}
	return all, nil
}

// schedulers returns who has scheduled something, by the names of the jobs: they pay for its runs.
func (s *Server) schedulers(ctx context.Context) (map[string]string, error) {
	people := map[string]string{}
	if s.o.Jobs == nil {
		return people, nil
	}
	jobs, err := s.o.Jobs(ctx)
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
func (s *Server) spendersOf(root sessions.Session, turns []sessions.Turn, since time.Time, schedulers map[string]string) (all []spender) {
	l, channel := s.o.Limits(), ""
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
func (s *Server) conversation(ctx context.Context, text string) ([]spender, error) {
	id, err := s.resolve(ctx, text)
	if err != nil {
		return nil, err
	}
	found, err := s.o.Store.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	root, err := s.o.Store.Session(ctx, found.Root)
	if err != nil {
		return nil, err
	}
	turns, err := s.o.Store.TurnsOf(ctx, root.ID)
	if err != nil {
		return nil, err
	}
	schedulers, err := s.schedulers(ctx)
	if err != nil {
		return nil, err
	}
	return s.spendersOf(root, turns[max(len(turns)-1, 0):], time.Time{}, schedulers), nil
}

// budgetState reads what somebody has spent of a budget, and what that is raised by.
func (s *Server) budgetState(ctx context.Context, sp spender, now time.Time) (b BudgetState, err error) {
	b = BudgetState{Of: sp.of, Channel: sp.channel}
	limit := sp.scope.Limit
	if limit > 0 && s.o.Raised != nil {
		more, err := s.o.Raised(ctx, sp.scope, now)
		if err != nil {
			return b, err
		}
		if limit, err = limit.Add(more); err != nil {
			return b, fmt.Errorf("add up the budget of %s: %w", sp.of, err)
		}
		b.Raised = USD(more)
	}
	settled, held, err := s.o.Store.Spent(ctx, sp.scope, now)
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

// listRaises returns the raises of the last days, the latest first; with some those of known alone.
func (s *Server) listRaises(ctx context.Context, known []spender, some bool, now time.Time) ([]RaisedBudget, error) {
	all, err := approvals.List(ctx, s.o.Store, "", now)
	if _, err = passUnreadable(err); err != nil {
		return nil, err
	}
	raises := []RaisedBudget{}
	for _, r := range all {
		if r.Raise == nil || r.Raise.Until.IsZero() {
			continue
		}
		if some && !slices.ContainsFunc(known, func(sp spender) bool { return r.Raise.IsOf(sp.scope) }) {
			continue
		}
		d, err := s.describeRaise(ctx, r, known, now)
		if err != nil {
			return nil, err
		}
		raises = append(raises, d)
	}
	slices.SortStableFunc(raises, func(a, b RaisedBudget) int { return b.Since.Compare(a.Since) })
	return raises, nil
}

func (s *Server) describeRaise(ctx context.Context, r approvals.Request, known []spender, now time.Time) (RaisedBudget, error) {
	d := RaisedBudget{
		ID: r.ID, Budget: r.Raise.Name, Of: describeScope(r.Raise, known), Amount: USD(r.Raise.Amount), State: RaiseEnded,
		By: decidedBy(r), Asked: r.Asker.ID, Since: r.DecidedAt.UTC(), Until: r.Raise.Until.UTC(),
	}
	switch {
	case !r.Raise.Revoked.IsZero():
		d.State = RaiseRevoked
	case r.Holds(now):
		d.State = RaiseHolds
		if s.o.Counts == nil {
			break
		}
		counts, err := s.o.Counts(ctx, r)
		if err != nil {
			return d, err
		}
		if !counts {
			d.State = RaiseVoid
		}
	}
	return d, nil
}

// describeScope returns whose budget is raised, as an operator knows them.
func describeScope(r *approvals.Raise, known []spender) string {
	for _, sp := range known {
		if r.IsOf(sp.scope) {
			return sp.of
		}
	}
	if r.Kind == budgets.Global {
		return everybody
	}
	return r.ID
}

func (s *Server) raiseBudget(r *http.Request) (any, error) {
	ctx, now := r.Context(), s.o.Now().UTC()
	q, err := readRaise(r)
	if err != nil {
		return nil, err
	}
	amount := costs.Amount(q.Amount)
	sp, err := s.findBounded(ctx, q)
	if err != nil {
		return nil, err
	}
	if sp.scope.Limit == 0 {
		return nil, newError(Refused, "%s is none in the configuration, so there is nothing to raise", configKey(q.Budget))
	}
	if s.o.Raised != nil {
		more, err := s.o.Raised(ctx, sp.scope, now)
		if err != nil {
			return nil, err
		}
		if _, err := costs.SumOf(sp.scope.Limit, more, amount); err != nil {
			return nil, newError(Invalid, "with %s more the budget is larger than any amount: %v", amount, err)
		}
	}
	raise := approvals.RaiseByOperator(actor(ctx), sp.scope, q.Budget, amount, q.For, now)
	if _, err := raise.WriteUnasked(ctx, s.o.Store, now); err != nil {
		return nil, err //nolint:wrapcheck // it says which
	}
	s.o.Logger.Info("budget raised by the operator", "budget", q.Budget, "of", sp.of, "amount_usd", amount, "until", raise.Raise.Until, "request", raise.ID, "by", actor(ctx))
	return s.describeRaise(ctx, raise, []spender{sp}, now)
}

// readRaise reads what an operator wants to raise.
func readRaise(r *http.Request) (q RaiseQuery, err error) {
	v := r.URL.Query()
	q = RaiseQuery{Budget: v.Get("budget"), Channel: v.Get("channel"), Person: v.Get("person"), Group: v.Get("group"), Session: v.Get("session")}
	if q.Budget == "turn" {
		return q, newError(Invalid, "the budget of one message is not raised: who writes again goes on with a new one")
	}
	if !slices.Contains(budgets.RaisableKeys(), q.Budget) {
		return q, newError(Invalid, "no budget %q can be raised: there are %s", q.Budget, strings.Join(budgets.RaisableKeys(), ", "))
	}
	amount, err := budgets.Parse(v.Get("amount"))
	if err != nil || amount == 0 {
		return q, newError(Invalid, "%q is not by how many dollars a budget is raised, such as 5 or 0.25", v.Get("amount"))
	}
	q.Amount = USD(amount)
	q.For, err = time.ParseDuration(v.Get("for"))
	if err != nil || q.For < approvals.ShortestRaise || q.For > approvals.LongestRaise {
		return q, newError(Invalid, "a budget is raised for 1m to 31 days, not for %q", v.Get("for"))
	}
	needs := map[string][]string{
		budgets.ChannelKey: {"channel"}, "person_per_day": {"channel", "person"}, "group_per_day": {"channel", "group"}, "session": {"session"},
	}[q.Budget]
	for _, name := range []string{"channel", "person", "group", "session"} {
		switch given := v.Get(name) != ""; {
		case !given && slices.Contains(needs, name):
			return q, newError(Invalid, "the budget %s is that of one %s: say which, with --%s", q.Budget, needs[len(needs)-1], name)
		case given && !slices.Contains(needs, name):
			return q, newError(Invalid, "the budget %s is not that of a %s: leave --%s out", q.Budget, name, name)
		}
	}
	return q, nil
}

// configKey returns the path of a budget in the configuration.
func configKey(key string) string {
	if key == budgets.ChannelKey {
		return "budget_per_day of the account"
	}
	return "budgets." + key
}

// findBounded returns whose budget a question is about.
func (s *Server) findBounded(ctx context.Context, q RaiseQuery) (spender, error) {
	l := s.o.Limits()
	if q.Channel != "" {
		if _, ok := l.ChannelsByTheDay[q.Channel]; !ok {
			return spender{}, newError(NotFound, "no bot account %q in the configuration; there are: %s", q.Channel, strings.Join(slices.Sorted(maps.Keys(l.ChannelsByTheDay)), ", "))
		}
	}
	switch q.Budget {
	case "global_per_day":
		return spender{scope: l.DayScope(), of: everybody}, nil
	case "global_per_month":
		return spender{scope: l.MonthScope(), of: everybody}, nil
	case budgets.ChannelKey:
		return spender{scope: l.ChannelScope(q.Channel), of: q.Channel, channel: q.Channel}, nil
	case "session":
		id, err := s.resolve(ctx, q.Session)
		if err != nil {
			return spender{}, err
		}
		found, err := s.o.Store.Session(ctx, id)
		return spender{scope: l.SessionScope(found.Root), of: string(found.Root)}, err
	}
	at, err := s.addressOn(ctx, q.Channel)
	if err != nil {
		return spender{}, err
	}
	if q.Budget == "group_per_day" {
		at.Peer = q.Group
		return spender{scope: l.GroupScope(at), of: q.Group, channel: q.Channel}, nil
	}
	return spender{scope: l.PersonScope(at, q.Person), of: q.Person, channel: q.Channel}, nil
}

// addressOn returns an address of an account: its network knows what it calls itself there, and so
// does who wrote to it last.
func (s *Server) addressOn(ctx context.Context, channel string) (sessionkeys.Address, error) {
	latest, err := s.o.Store.Sessions(ctx, sessions.SessionQuery{Channel: channel, Limit: 1})
	if err != nil {
		return sessionkeys.Address{}, err
	}
	for _, found := range latest {
		turns, err := s.o.Store.TurnsOf(ctx, found.ID)
		if err != nil {
			return sessionkeys.Address{}, err
		}
		for _, t := range slices.Backward(turns) {
			if t.Channel == channel {
				return t.From, nil
			}
		}
	}
	return sessionkeys.Address{}, newError(Refused, "nobody has had an answer on %s yet, so nobody there has spent anything", channel)
}

func (s *Server) revokeRaise(r *http.Request) (any, error) {
	ctx, now, id := r.Context(), s.o.Now().UTC(), r.URL.Query().Get("id")
	if err := checkID(id); err != nil {
		return nil, err
	}
	all, err := approvals.List(ctx, s.o.Store, "", now)
	if _, err = passUnreadable(err); err != nil {
		return nil, err
	}
	var fits []approvals.Request
	var names []string
	for _, a := range all {
		if a.Raise != nil && !a.Raise.Until.IsZero() && strings.HasPrefix(a.ID, id) {
			fits, names = append(fits, a), append(names, a.ID)
		}
	}
	switch {
	case len(fits) == 0:
		return nil, newError(NotFound, "no raise of a budget %s; see parley budget ls --all", id)
	case len(fits) > 1:
		return nil, ambiguousError("raise", id, names, 6)
	case !fits[0].Holds(now):
		return nil, newError(Refused, "that raise is over since %s, so there is nothing to take back", fits[0].Raise.Until.Format(time.RFC3339))
	}
	revoked, err := fits[0].Revoke(now).Write(ctx, s.o.Store, now)
	if errors.Is(err, sessions.ErrChanged) {
		return nil, newError(Refused, "that raise was changed meanwhile: look with parley budget ls, and do it again if it is still to be done")
	}
	if err != nil {
		return nil, err //nolint:wrapcheck // it says which
	}
	s.o.Logger.Info("raise of a budget taken back by the operator", "budget", revoked.Raise.Name, "amount_usd", revoked.Raise.Amount, "request", revoked.ID, "by", actor(ctx))
	known, err := s.spenders(ctx, now)
	if err != nil {
		return nil, err
	}
	return s.describeRaise(ctx, revoked, known, now)
}

// Budgets returns all budgets, what is spent of them, and what they are raised by.
func (c *Client) Budgets(ctx context.Context) (page BudgetPage, err error) {
	err = c.request(ctx, http.MethodGet, "/v1/budgets", nil, &page)
	return page, err
}

// TotalBudgets returns the budgets of everybody and of the accounts alone, with what those are raised
// by: however many conversations there are, the store is asked as much.
func (c *Client) TotalBudgets(ctx context.Context) (page BudgetPage, err error) {
	err = c.request(ctx, http.MethodGet, "/v1/budgets", url.Values{"each": {"0"}}, &page)
	return page, err
}

// SessionBudgets returns the budgets of the conversation of the session whose id begins with id: its
// own, that of who wrote last, and that of the group; and what those are raised by.
func (c *Client) SessionBudgets(ctx context.Context, id string) (page BudgetPage, err error) {
	err = c.request(ctx, http.MethodGet, "/v1/budgets", url.Values{"session": {id}}, &page)
	return page, err
}

// Raise raises a budget from the next model call on. The configuration stays as it is.
func (c *Client) Raise(ctx context.Context, q RaiseQuery) (r RaisedBudget, err error) {
	ask := c.actionQuery(url.Values{"budget": {q.Budget}, "amount": {q.Amount.Exact()}, "for": {q.For.String()}})
	setIfGiven(ask, "channel", q.Channel)
	setIfGiven(ask, "person", q.Person)
	setIfGiven(ask, "group", q.Group)
	setIfGiven(ask, "session", q.Session)
	err = c.request(ctx, http.MethodPost, "/v1/budgets/raise", ask, &r)
	return r, err
}

// Revoke takes a raise back, by its id or as much of its beginning as no other has.
func (c *Client) Revoke(ctx context.Context, id string) (r RaisedBudget, err error) {
	if err := checkID(id); err != nil {
		return r, err
	}
	err = c.request(ctx, http.MethodPost, "/v1/budgets/revoke", c.actionQuery(url.Values{"id": {id}}), &r)
	return r, err
}
