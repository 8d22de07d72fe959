package admin

import (
	"net/http"
	"strconv"

	"parley/costs"
	h "parley/gateway/hypertext"
	"parley/gateway/page"
)

// sessionView is one session in its tree.
type sessionView struct {
	Asked   Node
	Root    Node
	Tree    []Node
	Hidden  int // nodes that are not shown
	Turns   []Turn
	Earlier int // turns before those that are shown; Skip leaves out so many of the latest
	Skip    int
	Context *Context
	Budgets []budgetView
	Settled USD // of the whole tree, as its nodes add up
}

func sessionPage(r *http.Request, ask *Client) (page.Page, error) {
	d, err := ask.Overview(r.Context(), r.PathValue("id"), treeShown)
	if err != nil {
		return page.Page{}, err
	}
	b, err := ask.SessionBudgets(r.Context(), string(d.Asked))
	if err != nil {
		return page.Page{}, err
	}
	v := sessionView{Context: d.Context, Budgets: budgetViews(b), Skip: parseNumber(r.URL.Query().Get("skip"))}
	var sum costs.Amount
	for i, n := range d.Tree {
		if i == 0 {
			v.Root = n
		}
		if n.ID == d.Asked {
			v.Asked = n
		}
		if sum, err = sum.Add(costs.Amount(n.Own)); err != nil {
			return page.Page{}, err // it says that it is too much
		}
	}
	v.Settled = USD(sum)
	v.Tree = d.Tree[:min(len(d.Tree), treeShown)]
	v.Hidden = len(d.Tree) - len(v.Tree)
	end := max(len(d.Turns)-v.Skip, 0)
	v.Earlier = max(end-turnsShown, 0)
	for i := end - 1; i >= v.Earlier; i-- { // the latest first
		v.Turns = append(v.Turns, d.Turns[i])
	}
	return page.Page{Title: "Session", Heading: v.heading(), Here: "sessions", Refresh: true, Body: v.body}, nil
}

// heading names the conversation.
func (v sessionView) heading() h.Node {
	if v.Root.Title != "" {
		return page.Isolated(v.Root.Title)
	}
	return h.Group{h.Text("Session "), page.Short(v.Root.ID)}
}

func (v sessionView) body(f page.Frame) h.Node {
	turns := "Turns"
	if v.Asked.Parent != "" {
		turns += " of this sub-agent"
	}
	return h.Group{
		v.facts(f),
		section("tree", "Cost tree", v.tree()),
		section("turns", turns, v.turns(f)),
		h.If(len(v.Budgets) > 0, section("budgets", "Budgets of this conversation", budgetCards(f, v.Budgets, string(v.Asked.ID)))),
	}
}

func (v sessionView) facts(f page.Frame) h.Node {
	n := v.Asked
	return h.Dl(h.Class("facts"),
		fact("Conversation", page.Isolated(n.Key)),
		fact("Session", h.Code(page.Line(n.ID)), h.If(n.Parent != "", h.Group{
			h.Text(", a sub-agent of "), h.Link(h.At("sessions", string(n.Parent)), page.Short(n.Parent)),
		})),
		fact("State", stateOf(n.State), h.If(n.Outcome != "", h.Group{h.Text(": "), page.Line(n.Outcome)})),
		fact("Began", h.Text(page.When(n.Created)+" UTC, last change "+page.Ago(f.Now, n.Updated))),
		v.Context.fact(),
	)
}

func (c *Context) fact() h.Node {
	if c == nil {
		return nil
	}
	return fact("Window", h.Textf("about %d of %d tokens (%d %%)", c.Tokens, c.Window, c.Percent))
}

// tree shows what each session of the conversation cost.
func (v sessionView) tree() h.Node {
	return h.Group{
		h.Table(h.Class("tree"),
			h.Caption(h.Text(money(v.Settled)+" in all"), h.If(v.Root.Held != 0, h.Text(", and "+money(v.Root.Held)+" set aside"))),
			head(column("Session"), figures("With sub-agents")),
			h.TBody(h.Map(v.Tree, v.node)),
		),
		h.If(v.Hidden != 0, h.P(h.Text(page.Count(v.Hidden, "further sub-agent")+": "),
			h.Code(h.Text("parley sessions show "), page.Line(v.Root.ID)), h.Text(" lists all."))),
	}
}

// mostMovedIn is how far a session of the tree is moved in; page.css has as many classes.
const mostMovedIn = 5

func (v sessionView) node(n Node) h.Node {
	name := h.Text("the conversation")
	if n.Parent != "" {
		name = h.Group{page.Line(n.Role), h.Text(" "), page.Short(n.ID)}
	}
	u := n.Usage
	return h.Tr(h.If(n.ID == v.Asked.ID, h.Class("here")),
		h.Th(h.Scope("row"), h.Class("d"+strconv.Itoa(min(n.Depth, mostMovedIn))),
			h.Link(h.At("sessions", string(n.ID)), name),
			under(
				h.If(n.State != "", h.Group{stateOf(n.State), h.If(n.Outcome != "", h.Group{h.Text(" "), page.Line(n.Outcome)}), h.Text(", ")}),
				page.Line(n.Agent), h.Textf(", %s, %d in, %d cached, %d out", page.Count(u.Calls, "call"), u.Input, u.CacheRead, u.Output),
			),
		),
		figure(h.Text(money(n.Subtree)), under(h.Text("own "+money(n.Own))), unpriced(n.Unpriced)),
	)
}

func (v sessionView) turns(f page.Frame) h.Node {
	list := h.P(h.Text("There is none."))
	if len(v.Turns) > 0 {
		list = table(
			head(column("Turn"), figures("Steps"), figures("Took")),
			h.Map(v.Turns, func(t Turn) h.Node { return v.turn(f, t) }),
		)
	}
	skip := func(n int) h.Address { return h.Address{}.With("skip", strconv.Itoa(n)) }
	return h.Group{list, h.Nav(h.Aria("label", "Pages of turns"), h.Class("pages"),
		h.If(v.Skip != 0, more(skip(max(v.Skip-turnsShown, 0)), "Later turns", h.Rel("prev"))),
		h.If(v.Earlier != 0, more(skip(v.Skip+turnsShown), page.Count(v.Earlier, "earlier turn"), h.Rel("next"))),
	)}
}

func (v sessionView) turn(f page.Frame, t Turn) h.Node {
	return h.Tr(
		rowHead(
			h.Link(h.At("sessions", string(v.Asked.ID), "turns", t.ID), page.Moment(t.Opened, page.When(t.Opened))),
			under(outcomeOf(t), h.Text(" by "), page.Isolated(t.Sender), h.Text(", "), page.Line(t.Channel)),
		),
		figure(h.Text(strconv.Itoa(t.Steps)), h.If(t.Attempts > 1, under(h.Textf("taken up %d times", t.Attempts)))),
		figure(h.Text(page.Took(f.Now, t.Opened, t.Ended))),
	)
}
