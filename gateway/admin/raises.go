package admin

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"parley/costs"
	"parley/gateway/approvals"
	"parley/gateway/budgets"
	"parley/gateway/policy"
	"parley/sessionkeys"
	"parley/sessions"
)

// RaisedBudget is by how much one budget is higher, or was.
type RaisedBudget struct {
	ID     string     `json:"id"`
	Budget string     `json:"budget"`
	Of     string     `json:"of"`
	Amount USD        `json:"amount_usd"`
	State  RaiseState `json:"state"`
	By     string     `json:"by"`              // who decided, as others know them
	Asked  string     `json:"asked,omitempty"` // the network's id of the person who asked for it; empty: the operator raised it
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

// listRaises returns the raises of the last days, the latest first; with some those of known alone.
func (desk budgetDesk) listRaises(ctx context.Context, known []spender, some bool, now time.Time) ([]RaisedBudget, error) {
	all, err := approvals.List(ctx, desk.o.Store, "", now)
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
		d, err := desk.describeRaise(ctx, r, known, now)
		if err != nil {
			return nil, err
		}
		raises = append(raises, d)
	}
	slices.SortStableFunc(raises, func(a, b RaisedBudget) int { return b.Since.Compare(a.Since) })
	return raises, nil
}

func (desk budgetDesk) describeRaise(ctx context.Context, r approvals.Request, known []spender, now time.Time) (RaisedBudget, error) {
	d := RaisedBudget{
		ID: r.ID, Budget: r.Raise.Name, Of: describeScope(r.Raise, known), Amount: USD(r.Raise.Amount), State: RaiseEnded,
		By: decidedBy(r), Asked: r.Asker.ID, Since: r.DecidedAt.UTC(), Until: r.Raise.Until.UTC(),
	}
	switch {
	case !r.Raise.Revoked.IsZero():
		d.State = RaiseRevoked
	case r.Holds(now):
		d.State = RaiseHolds
		if desk.o.Counts == nil {
			break
		}
		counts, err := desk.o.Counts(ctx, r)
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

func (desk budgetDesk) raiseBudget(r *http.Request) (any, error) {
	ctx, now := r.Context(), desk.o.Now().UTC()
	q, err := readRaise(r)
	if err != nil {
		return nil, err
	}
	amount := costs.Amount(q.Amount)
	sp, err := desk.findBounded(ctx, q)
	if err != nil {
		return nil, err
	}
	if sp.scope.Limit == 0 {
		return nil, newError(Refused, "%s is none in the configuration, so there is nothing to raise", configKey(q.Budget))
	}
	if desk.o.Raised != nil {
		more, err := desk.o.Raised(ctx, sp.scope, now)
		if err != nil {
			return nil, err
		}
		if _, err := costs.SumOf(sp.scope.Limit, more, amount); err != nil {
			return nil, newError(Invalid, "with %s more the budget is larger than any amount: %v", amount, err)
		}
	}
	raise := approvals.RaiseByOperator(actor(ctx), sp.scope, q.Budget, amount, q.For, now)
	if _, err := raise.WriteUnasked(ctx, desk.o.Store, now); err != nil {
		return nil, err // it says which
	}
	desk.o.Logger.Info("budget raised by the operator", "budget", q.Budget, "of", sp.of, "amount_usd", amount, "until", raise.Raise.Until, "request", raise.ID, "by", actor(ctx))
	return desk.describeRaise(ctx, raise, []spender{sp}, now)
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
func (desk budgetDesk) findBounded(ctx context.Context, q RaiseQuery) (spender, error) {
	l := desk.o.Limits()
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
		id, err := treeDesk(desk).resolve(ctx, q.Session)
		if err != nil {
			return spender{}, err
		}
		found, err := desk.o.Store.Session(ctx, id)
		return spender{scope: l.SessionScope(found.Root), of: string(found.Root)}, err
	}
	at, err := desk.addressOn(ctx, q.Channel)
	if err != nil {
		return spender{}, err
	}
	if q.Budget == "group_per_day" {
		at.Peer = q.Group
		return spender{scope: l.GroupScope(at), of: q.Group, channel: q.Channel}, nil
	}
	if desk.o.Accounts != nil {
		if err := policy.CheckID(q.Person, desk.o.Accounts()[q.Channel].CheckPerson); err != nil {
			return spender{}, newError(Invalid, "the id of a person on %s: %v", q.Channel, err)
		}
	}
	return spender{scope: l.PersonScope(at, q.Person), of: q.Person, channel: q.Channel}, nil
}

// addressOn returns an address of an account: its network knows what it calls itself there, and so
// does who wrote to it last.
func (desk budgetDesk) addressOn(ctx context.Context, channel string) (sessionkeys.Address, error) {
	latest, err := desk.o.Store.Sessions(ctx, sessions.SessionQuery{Channel: channel, Limit: 1})
	if err != nil {
		return sessionkeys.Address{}, err
	}
	for _, found := range latest {
		turns, err := desk.o.Store.TurnsOf(ctx, found.ID)
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

func (desk budgetDesk) revokeRaise(r *http.Request) (any, error) {
	ctx, now, id := r.Context(), desk.o.Now().UTC(), r.URL.Query().Get("id")
	if err := checkID(id); err != nil {
		return nil, err
	}
	all, err := approvals.List(ctx, desk.o.Store, "", now)
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
	revoked, err := fits[0].Revoke(now).Write(ctx, desk.o.Store, now)
	if errors.Is(err, sessions.ErrChanged) {
		return nil, newError(Refused, "that raise was changed meanwhile: look with parley budget ls, and do it again if it is still to be done")
	}
	if err != nil {
		return nil, err // it says which
	}
	desk.o.Logger.Info("raise of a budget taken back by the operator", "budget", revoked.Raise.Name, "amount_usd", revoked.Raise.Amount, "request", revoked.ID, "by", actor(ctx))
	known, err := desk.spenders(ctx, now)
	if err != nil {
		return nil, err
	}
	return desk.describeRaise(ctx, revoked, known, now)
}

// Raise raises a budget from the next model call on. The configuration stays as it is.
func (c *Client) Raise(ctx context.Context, q RaiseQuery) (RaisedBudget, error) {
	return askFor[RaisedBudget](ctx, c.connection, http.MethodPost, "/v1/budgets/raise", c.actionQuery(url.Values{
		"budget": {q.Budget}, "amount": {q.Amount.Exact()}, "for": {q.For.String()},
		"channel": {q.Channel}, "person": {q.Person}, "group": {q.Group}, "session": {q.Session},
	}))
}

// Revoke takes a raise back, by its id or as much of its beginning as no other has.
func (c *Client) Revoke(ctx context.Context, id string) (RaisedBudget, error) {
	return askFor[RaisedBudget](ctx, c.connection, http.MethodPost, "/v1/budgets/revoke", c.actionQuery(url.Values{"id": {id}}), id)
}
