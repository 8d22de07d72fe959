package budgets_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/costs"
	"parley/gateway/budgets"
	"parley/problems"
	"parley/sessionkeys"
	"parley/sessions"
)

// I10: who configures nothing has limits, not none.
func TestWithNothingSaidThereAreBudgets(t *testing.T) {
	t.Parallel()
	l, err := budgets.Config{}.Defaults().Limits()
	want := budgets.Limits{Turn: costs.USD, Session: 20 * costs.USD, Person: 5 * costs.USD, Group: 10 * costs.USD, Day: 50 * costs.USD}
	if d := cmp.Diff(want, l); d != "" || err != nil || !l.HasAny() {
		t.Errorf("%v\n%s", err, d)
	}
	l, err = budgets.WithoutAny().Limits()
	if err != nil || l.HasAny() {
		t.Errorf("all off is %+v, %v", l, err)
	}
	if !(budgets.Limits{ChannelsByTheDay: map[string]costs.Amount{"a": 0, "b": 1}}).HasAny() {
		t.Error("the budget of a channel is none")
	}
}

func TestAmountsAreReadStrictly(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]costs.Amount{
		"1": costs.USD, "0.25": costs.USD / 4, "$3.50": 7 * costs.USD / 2, "0.000000000001": 1, "none": 0, "007": 7 * costs.USD,
	} {
		if got, err := budgets.Parse(text); got != want || err != nil {
			t.Errorf("%q is %s, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", "0", "0.00", "-1", "1e3", "1,50", "1.2345678901234", "None", "off", "1.0.0", ".5", "5.", "NaN", " 1", "99999999999", "1_000",
	} {
		if got, err := budgets.Parse(text); err == nil || got != 0 || !strings.Contains(err.Error(), "0.25, or unlimited") {
			t.Errorf("%q is %s, %v", text, got, err)
		}
	}
	bad := budgets.Config{Turn: "x", PersonPerDay: "0", GlobalPerMonth: "-1"}.Defaults()
	var keys []string
	mistakes, _ := errors.AsType[problems.List](bad.Validate())
	for _, p := range mistakes {
		keys = append(keys, p.Path)
	}
	if !slices.Equal(keys, []string{"turn", "person_per_day", "global_per_month"}) {
		t.Errorf("mistakes in %v", keys)
	}
	if _, err := bad.Limits(); err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("%v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"1", "none", "unlimited", "0.000000000001", "1e9", "-1", "$2", "9223372.036854775807"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := budgets.Parse(s)
		switch {
		case err != nil && a != 0:
			t.Errorf("%q: %s beside %v", s, a, err)
		case err != nil:
		case a == 0 && s != budgets.Unlimited && s != "none", a < 0:
			t.Errorf("%q is %s", s, a)
		case a > 0:
			if again, err := budgets.Parse(a.String()); again != a || err != nil {
				t.Errorf("%q is %s, and that is %s, %v", s, a, again, err)
			}
		}
	})
}

var dm = sessionkeys.Address{Channel: "telegram", Account: "42", Kind: sessionkeys.DM, Peer: "7"}

func turnAt(a sessionkeys.Address, sender string) sessions.Turn {
	return sessions.Turn{ID: "t", Session: "s", Channel: "tg", From: a, Sender: sender}
}

func kinds(ss []sessions.Scope) (ks []string) {
	for _, s := range ss {
		limit := ""
		if s.Limit > 0 {
			limit = " " + s.Limit.String()
		}
		ks = append(ks, strings.TrimSpace(s.Kind+" "+string(s.Window))+limit)
	}
	return ks
}

func TestATurnIsCountedForEverybodyWhoIsConcerned(t *testing.T) {
	t.Parallel()
	l, err := budgets.Config{GlobalPerMonth: "900"}.Defaults().Limits()
	if err != nil {
		t.Fatal(err)
	}
	l.ChannelsByTheDay = map[string]costs.Amount{"tg": 30 * costs.USD}
	want := []string{"turn always $1.00", "session always $20.00", "person $5.00", "chat", "channel $30.00", "global $50.00", "global month $900.00"}
	if d := cmp.Diff(want, kinds(l.Scopes("token", turnAt(dm, "7")))); d != "" {
		t.Errorf("in a direct message:\n%s", d)
	}
	group := dm
	group.Kind, group.Peer = sessionkeys.Group, "-1"
	want = slices.Insert(want, 3, "group $10.00")
	if d := cmp.Diff(want, kinds(l.Scopes("token", turnAt(group, "7")))); d != "" {
		t.Errorf("in a group:\n%s", d)
	}
	if d := cmp.Diff([]string{"person", "chat", "channel", "global", "global month"}, kinds(budgets.Limits{}.Scopes("token", turnAt(dm, "7")))); d != "" {
		t.Errorf("without limits:\n%s", d)
	}
}

func TestAPersonIsTheSameEverywhereOnOneNetworkAndNowhereElse(t *testing.T) {
	t.Parallel()
	var l budgets.Limits
	group, other := dm, dm
	group.Kind, group.Peer = sessionkeys.Group, "-1"
	topic := group
	other.Account = "43"
	topic.Thread = "9"
	if l.PersonScope(dm, "7") != l.PersonScope(group, "7") || l.GroupScope(group) != l.GroupScope(topic) {
		t.Error("the place changes who it is")
	}
	if l.PersonScope(dm, "7") == l.PersonScope(other, "7") || l.PersonScope(dm, "7") == l.PersonScope(dm, "8") || l.PersonScope(dm, "-1").ID != l.GroupScope(group).ID {
		t.Error("somebody else is the same")
	}
	if l.PersonScope(dm, "-1").Kind == l.GroupScope(group).Kind {
		t.Error("a person is a group")
	}
}

func TestTheReasonSaysWhichBudgetHowMuchUntilWhenAndWhatToDo(t *testing.T) {
	t.Parallel()
	free := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		e    costs.BudgetError
		want string
	}{
		{
			costs.BudgetError{Scope: budgets.Turn, Window: costs.Always, Limit: costs.USD, Spent: 83 * costs.USD / 100, Need: costs.USD / 5},
			"one message may cost $1.00 here, $0.8300 of it is used or set aside, and the rest is not enough for this; write again to go on",
		},
		{
			costs.BudgetError{Scope: budgets.Turn, Window: costs.Always, Limit: costs.USD, Need: 2 * costs.USD},
			"even a short answer to this may cost more than $1.00, which is the most that one message may cost here; it costs less in a new conversation, which !new starts",
		},
		{
			costs.BudgetError{Scope: budgets.Session, Window: costs.Always, Limit: 20 * costs.USD, Spent: 20 * costs.USD},
			"one conversation may cost $20.00 here, $20.00 of it is used or set aside, and the rest is not enough for this; !new starts a new one",
		},
		{
			costs.BudgetError{Scope: budgets.Person, Limit: 5 * costs.USD, Spent: 5 * costs.USD, Free: free},
			"you may spend $5.00 a day here, $5.00 of it is used or set aside, and the rest is not enough for this, until 00:00 UTC on 22 November",
		},
		{
			costs.BudgetError{Scope: budgets.Group, Limit: 10 * costs.USD, Spent: 9 * costs.USD, Free: free},
			"this group may spend $10.00 a day here, $9.00 of it is used or set aside, and the rest is not enough for this, until 00:00 UTC on 22 November",
		},
		{
			costs.BudgetError{Scope: budgets.Global, Limit: 51 * costs.USD, Spent: 47 * costs.USD, Free: free},
			"the budget of this bot for today is used up, until 00:00 UTC on 22 November",
		},
		{
			costs.BudgetError{Scope: budgets.Global, Window: costs.Month, Limit: 51 * costs.USD, Free: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)},
			"the budget of this bot for this month is used up, until 00:00 UTC on 1 December",
		},
		{
			costs.BudgetError{Scope: budgets.Channel, Limit: 51 * costs.USD, Spent: 47 * costs.USD, Free: free},
			"the budget of this bot for today is used up, until 00:00 UTC on 22 November",
		},
		{
			costs.BudgetError{Scope: "task", Window: costs.Always, Limit: costs.USD / 4, Spent: costs.USD / 5},
			"this task may cost $0.2500 here, $0.2000 of it is used or set aside, and the rest is not enough for this",
		},
		{
			costs.BudgetError{Scope: budgets.Person, Limit: costs.USD, Unpriced: true},
			"nobody told me what my model costs, and spending is limited here, so please tell the operator",
		},
	} {
		if got := budgets.Explain(&c.e, "!new"); got != c.want {
			t.Errorf("%s over %q:\ngot  %s\nwant %s", c.e.Scope, c.e.Window, got, c.want)
		}
	}
}

func TestEveryKindOfScopeHasALabel(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{
		budgets.Turn: "turn", budgets.Session: "session", budgets.Person: "peer", budgets.Group: "peer",
		budgets.Channel: "channel", budgets.Global: "global", "task": "session",
	} {
		if got := budgets.Label(kind); got != want {
			t.Errorf("%s is shown as %s", kind, got)
		}
	}
}
