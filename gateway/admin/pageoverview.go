package admin

import (
	"net/http"
	"strconv"

	h "parley/gateway/hypertext"
	"parley/gateway/page"
)

// overviewView is what the first page shows.
type overviewView struct {
	Status   Status
	Budgets  []budgetView
	Sessions []Session
	Waiting  int // requests for permission
}

func overviewPage(r *http.Request, ask *Client) (page.Page, error) {
	ctx := r.Context()
	st, err := ask.Status(ctx)
	if err != nil {
		return page.Page{}, err
	}
	if st.Uncounted { // nor does the store say more
		return page.Page{Title: "Overview", Here: "overview", Refresh: true, Body: overviewView{Status: st}.body}, nil
	}
	b, err := ask.TotalBudgets(ctx)
	if err != nil {
		return page.Page{}, err
	}
	list, err := ask.Sessions(ctx, SessionQuery{Limit: latestShown})
	if err != nil {
		return page.Page{}, err
	}
	v := overviewView{Status: st, Budgets: budgetViews(b), Sessions: list.Sessions, Waiting: st.Work.Asked}
	return page.Page{Title: "Overview", Here: "overview", Refresh: true, Body: v.body}, nil
}

func (v overviewView) body(f page.Frame) h.Node {
	counted := !v.Status.Uncounted
	return h.Group{
		problems(v.Status),
		h.If(counted, section("wait", "Waiting", v.tiles())),
		h.If(counted, section("money", "Money",
			h.P(h.Class("small"), h.Text("The ledger's own sums, exact; days and months are UTC.")),
			budgetCards(f, v.Budgets, ""),
		)),
		section("channels", "Channels", table(
			head(column("Channel"), column("Connected"), figures("Last event")),
			h.Map(v.Status.Channels, func(c ChannelStatus) h.Node { return c.row(f) }),
		)),
		section("models", "Models in the last "+strconv.Itoa(v.Status.Recent.Minutes)+" minutes", v.models()),
		h.If(counted, section("latest", "Latest sessions", v.latest(f))),
		h.P(h.Class("small"), h.Text("parley "), page.Line(v.Status.Version), h.Text(", running since "+page.When(v.Status.Since)+" UTC.")),
	}
}

// tiles says how much of each thing waits.
func (v overviewView) tiles() h.Node {
	st := v.Status
	return h.Ul(h.Class("tiles"),
		h.Li(h.Link(h.At("waiting"), number(v.Waiting), h.Text(" for your permission"))),
		h.Li(number(st.Work.Running), h.Text(oneOr(st.Work.Running, " turn runs", " turns run"))),
		h.Li(number(st.Work.Waiting), h.Text(" waiting to be read"),
			h.If(st.Work.Waiting != 0, under(h.Text("the first "+page.Ago(st.Now, st.Work.WaitsSince))))),
		h.Li(number(st.Outbox.Pending), h.Text(oneOr(st.Outbox.Pending, " answer", " answers")+" to be sent")),
		h.Li(h.Link(h.At("trouble"), number(st.DeadLetters), h.Text(oneOr(st.DeadLetters, " dead letter", " dead letters")))),
		h.Li(number(st.Pairing), h.Text(oneOr(st.Pairing, " stranger asks", " strangers ask")+" to be let in")),
	)
}

func (c ChannelStatus) row(f page.Frame) h.Node {
	up := bad(h.Text("no"))
	switch {
	case c.Elsewhere:
		up = h.Text("by another process")
	case c.Up:
		up = h.Span(h.Class("fine"), h.Text("yes"))
	}
	return h.Tr(
		rowHead(page.Line(c.Name), h.If(c.Note != "", under(page.Line(c.Note)))),
		h.Td(up, h.If(!c.Changed.IsZero(), under(h.Text("since "+page.When(c.Changed))))),
		figure(h.Text(page.Ago(f.Now, c.LastEvent))),
	)
}

// models says what became of the calls of each model.
func (v overviewView) models() h.Node {
	if len(v.Status.Recent.Models) == 0 {
		return h.P(h.Text("None was called."))
	}
	return table(
		head(column("Model"), figures("Calls"), figures("Failed")),
		h.Map(v.Status.Recent.Models, func(m RecentModel) h.Node {
			class := "n"
			if m.Failed != 0 {
				class += " bad"
			}
			return h.Tr(
				rowHead(page.Line(m.Provider), h.Text("/"), page.Line(m.Model)),
				figure(h.Text(strconv.Itoa(m.Calls))),
				h.Td(h.Class(class), h.Text(strconv.Itoa(m.Failed)), h.If(m.Failed != 0, under(page.Line(m.LastError)))),
			)
		}),
	)
}

func (v overviewView) latest(f page.Frame) h.Node {
	if len(v.Sessions) == 0 {
		return h.P(h.Text("Nobody has written yet."))
	}
	return h.Group{
		table(sessionsHead(), sessionRows(f, v.Sessions)),
		h.P(more(h.At("sessions"), "All sessions")),
	}
}
