package admin

import (
	"fmt"
	"strconv"
	"strings"

	"parley/gateway/budgets"
	h "parley/gateway/hypertext"
	"parley/gateway/page"
)

// budgetView is one budget, with what a form needs to raise it.
type budgetView struct {
	BudgetState

	Title, Key             string // in words, and in the configuration
	Person, Group, Session string // whose it is, if it is one's
	Account                string // of the person or group, or whose it is
	Raises                 []RaisedBudget
}

// used is which part of the limit is settled and held, in percent.
func (v budgetView) used() int { return int(min(100*v.Share, 999)) }

// budgetViews returns budgets with the raises of each that hold.
func budgetViews(p BudgetPage) []budgetView {
	var all []budgetView
	for _, b := range p.Budgets {
		v := budgetView{BudgetState: b, Key: configKey(b.Budget), Title: b.Budget}
		switch b.Budget {
		case "global_per_day":
			v.Title = "Everybody, today"
		case "global_per_month":
			v.Title = "Everybody, this month"
		case budgets.ChannelKey:
			v.Title, v.Account = "Channel "+b.Channel+", today", b.Channel
		case "session":
			v.Title, v.Session = "This conversation", b.Of
		case "person_per_day":
			v.Title, v.Account, v.Person = "This person, today", b.Channel, b.Of
		case "group_per_day":
			v.Title, v.Account, v.Group = "This group, today", b.Channel, b.Of
		}
		for _, r := range p.Raises {
			if r.Budget == b.Budget && r.Of == b.Of && r.State == RaiseHolds {
				v.Raises = append(v.Raises, r)
			}
		}
		all = append(all, v)
	}
	return all
}

// money shows an amount to the last digit, as the ledger has it.
func money(u USD) string {
	if text := u.Exact(); strings.HasPrefix(text, "-") {
		return "-$" + text[1:]
	}
	return "$" + u.Exact()
}

// budgetCards shows budgets, each with the form that raises it and leads back to a session; "": to the overview.
func budgetCards(f page.Frame, all []budgetView, back string) h.Node {
	return h.Div(h.Class("cards"), h.Map(all, func(v budgetView) h.Node { return v.card(f, back) }))
}

func (v budgetView) card(f page.Frame, back string) h.Node {
	spent := h.Group{h.Strong(h.Text(money(v.Settled))), h.Text(" spent"), h.If(v.Held != 0, h.Text(" and "+money(v.Held)+" set aside"))}
	title := h.H3(page.Line(v.Title), h.Text(" "), under(page.Line(v.Key)))
	if v.Limit == 0 {
		return h.Article(h.Class("budget"), title, h.P(h.Class("figures"), spent, h.Text("; no limit")))
	}
	used := fmt.Sprintf("%d %%", v.used())
	return h.Article(h.Class("budget"), title,
		h.P(h.Class("figures"), spent, h.Text(" of "+money(v.Limit)+" "), h.Span(h.Class("percent"), h.Text(used))),
		h.Meter(h.Min("0"), h.Max("100"), h.Low("70"), h.High("90"), h.Optimum("0"),
			h.Value(strconv.Itoa(v.used())), page.Label("Used: "+v.Title), h.Text(used)),
		h.If(!v.Ends.IsZero(), h.P(h.Class("small"), h.Text("Begins again "+page.When(v.Ends)+" UTC."))),
		h.Map(v.Raises, func(r RaisedBudget) h.Node { return r.standing(f, back) }),
		h.Details(h.Summary(h.Text("Raise it for a while")), v.form(f, back)),
	)
}

// standing shows a raise that holds, with the form that takes it back.
func (r RaisedBudget) standing(f page.Frame, back string) h.Node {
	return h.Group{
		h.P(h.Class("small"), h.Text("Raised by "+money(r.Amount)+" until "+page.When(r.Until)+" UTC, by "), page.Line(r.By), h.Text(" at "+page.When(r.Since)+".")),
		f.Act(h.At("raises", r.ID), "", page.Hidden("back", back), h.Button(h.Text("Take "+money(r.Amount)+" back"))),
	}
}

// form raises a budget.
func (v budgetView) form(f page.Frame, back string) h.Node {
	return f.Act(h.At("raise"), "raise",
		page.Hidden("budget", v.Budget), page.Hidden("channel", v.Account), page.Hidden("back", back),
		page.Hidden("person", v.Person), page.Hidden("group", v.Group), page.Hidden("session", v.Session),
		h.Label(h.Text("By how many dollars "), h.Input(h.Name("amount"), h.InputMode("decimal"), h.Required(),
			h.Pattern("[0-9]{1,4}([.][0-9]{1,12})?"), h.MaxLength("17"), h.AutoComplete("off"))),
		h.Label(h.Text("For how long "), h.Select(h.Name("for"),
			option("15m", "1h", h.Text("15 minutes")),
			option("1h", "1h", h.Text("an hour")),
			option("4h", "1h", h.Text("4 hours")),
			option("24h", "1h", h.Text("a day, at most")),
		)),
		h.Button(h.Class("main"), h.Text("Raise: "), page.Line(v.Title)),
	)
}
