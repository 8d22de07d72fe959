package admin

import (
	"net/http"

	h "parley/gateway/hypertext"
	"parley/gateway/page"
)

func actionsPage(r *http.Request, ask *Client) (page.Page, error) {
	p, err := ask.Actions(r.Context())
	return page.Page{Title: "What operators did", Here: "actions", Body: p.body}, err
}

func (p ActionPage) body(page.Frame) h.Node {
	return h.Group{
		h.P(h.Class("small"), h.Text("Decisions, dead letters and budgets, on this page and by commands, of the last 30 days.")),
		tableOr("Nobody did anything yet.", head(column("What"), column("Who"), figures("When")), h.Map(p.Actions, Action.row)),
	}
}

func (a Action) row() h.Node {
	end := h.Node(nil)
	switch {
	case a.Problem != "":
		end = underBad(h.Text("not done: "), page.Line(a.Problem))
	case a.Ended.IsZero():
		end = under(h.Text("how it ended is not known"))
	}
	return h.Tr(
		rowHead(page.Line(a.What), under(page.Isolated(a.About)), end),
		h.Td(page.Isolated(a.By)),
		figure(page.Moment(a.At, page.When(a.At))),
	)
}
