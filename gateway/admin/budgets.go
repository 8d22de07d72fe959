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
	ctx := r.Context()
	page := BudgetPage{Now: s.o.Now().UTC(), Budgets: []BudgetState{}, Raises: []RaisedBudget{}}
	known, err := s.spenders(ctx, page.Now)
	if err != nil {
		return nil, err
	}
	l := s.o.Limits()
	add := func(of spender, key, period string, ends time.Time) error {
		b, err := s.budgetState(ctx, of, page.Now)
		b.Budget, b.Period, b.Ends = key, period, ends
		page.Budgets = append(page.Budgets, b)
		return err
	}
	day, month := costs.Day.Name(page.Now), costs.Month.Name(page.Now)
	tomorrow, next := costs.Day.Next(page.Now), costs.Month.Next(page.Now)
	err = errors.Join(
		add(spender{scope: l.DayScope(), of: everybody}, "global_per_day", day, tomorrow),
		add(spender{scope: l.MonthScope(), of: everybody}, "global_per_month", month, next),
	)
	for _, name := range slices.Sorted(maps.Keys(l.ChannelsByTheDay)) {
		err = errors.Join(err, add(spender{scope: l.ChannelScope(name), of: name, channel: name}, budgets.ChannelKey, day, tomorrow))
	}
	page.Budgets = append(page.Budgets, BudgetState{Budget: "turn", Of: "each message", Each: true, Limit: USD(l.Turn), Period: "message"})
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
			b, failed := s.budgetState(ctx, sp, page.Now)
			b.Budget, b.Period, b.Ends = each.key, each.period, each.ends
			if err = errors.Join(err, failed); b.Settled+b.Held+b.Raised > 0 {
				bounded = append(bounded, b)
			}
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
	if err != nil {
		return nil, err
	}
	page.Raises, err = s.listRaises(ctx, known, page.Now)
	return page, err
}

// everybody is whom the global budgets bound.
const everybody = "everybody"

// spender is whom a budget bounds.
type spender struct {
	scope   sessions.Scope
	of      string // as an operator knows them
	channel string
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
	l, seen := s.o.Limits(), map[sessions.Scope]bool{}
	add := func(sc sessions.Scope, of, channel string) {
		if !seen[sc] {
			seen[sc] = true
			all = append(all, spender{sc, of, channel})
		}
	}
	for _, root := range roots {
		turns, err := s.o.Store.TurnsOf(ctx, root.ID)
		if err != nil {
			return nil, err
		}
		channel := ""
		for _, t := range turns {
			channel = t.Channel
			if !t.EndedAt.IsZero() && t.EndedAt.Before(today) {
				continue
			}
			if messages.JobOf(root.Key, t.Sender, t.From) == "" {
				add(l.PersonScope(t.From, t.Sender), t.Sender, t.Channel)
			}
			if t.From.Kind != sessionkeys.DM {
				add(l.GroupScope(t.From), t.From.Peer, t.Channel)
			}
		}
		add(l.SessionScope(root.ID), string(root.ID), channel)
	}
	return all, nil
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

// listRaises returns the raises of the last days, the latest first.
func (s *Server) listRaises(ctx context.Context, known []spender, now time.Time) ([]RaisedBudget, error) {
	all, err := approvals.List(ctx, s.o.Store, "", now)
	if _, err = passUnreadable(err); err != nil {
		return nil, err
	}
	raises := []RaisedBudget{}
	for _, r := range all {
		if r.Raise == nil || r.Raise.Until.IsZero() {
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
		By: r.By.String(), Asked: r.Asker.ID, Since: r.DecidedAt.UTC(), Until: r.Raise.Until.UTC(),
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
	raise := approvals.RaiseByOperator(sp.scope, q.Budget, amount, q.For, now)
	if _, err := raise.WriteUnasked(ctx, s.o.Store, now); err != nil {
		return nil, err //nolint:wrapcheck // it says which
	}
	s.o.Logger.Info("budget raised by the operator", "budget", q.Budget, "of", sp.of, "amount_usd", amount, "until", raise.Raise.Until, "request", raise.ID, "uid", ctx.Value(uidKey{}))
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
		return spender{l.ChannelScope(q.Channel), q.Channel, q.Channel}, nil
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
		return spender{l.GroupScope(at), q.Group, q.Channel}, nil
	}
	return spender{l.PersonScope(at, q.Person), q.Person, q.Channel}, nil
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
	s.o.Logger.Info("raise of a budget taken back by the operator", "budget", revoked.Raise.Name, "amount_usd", revoked.Raise.Amount, "request", revoked.ID, "uid", ctx.Value(uidKey{}))
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

// Raise raises a budget from the next model call on. The configuration stays as it is.
func (c *Client) Raise(ctx context.Context, q RaiseQuery) (r RaisedBudget, err error) {
	ask := url.Values{"budget": {q.Budget}, "amount": {q.Amount.Exact()}, "for": {q.For.String()}}
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
	err = c.request(ctx, http.MethodPost, "/v1/budgets/revoke", url.Values{"id": {id}}, &r)
	return r, err
}
