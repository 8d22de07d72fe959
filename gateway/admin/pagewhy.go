package admin

import (
	"net/http"

	h "parley/gateway/hypertext"
	"parley/gateway/page"
)

// whyView is what became of a message.
type whyView struct {
	Message string
	Fates   []Fate
}

func whyPageOf(r *http.Request, ask *Client) (page.Page, error) {
	v := whyView{Message: r.URL.Query().Get("message")}
	if v.Message != "" {
		found, err := ask.Why(r.Context(), WhyQuery{Message: v.Message})
		if err != nil {
			return page.Page{}, err
		}
		v.Fates = found.Fates
	}
	return page.Page{Title: "What became of a message", Here: "trouble", Body: v.body}, nil
}

func (v whyView) body(page.Frame) h.Node {
	return h.Group{
		page.Ask(h.At("why"), "filter",
			h.Label(h.Text("The network's id of a message, its event, or its turn "),
				h.Input(h.Name("message"), page.Value(v.Message), h.Required(), h.MaxLength("200"), h.AutoComplete("off"))),
			h.Button(h.Text("Look")),
		),
		h.If(v.Message != "" && len(v.Fates) == 0, h.P(h.Text("Nothing is known of such a message of the last days."))),
		h.Map(v.Fates, Fate.article),
	}
}

func (f Fate) article() h.Node {
	return h.Article(
		h.H2(page.Line(f.Verdict)),
		h.Dl(h.Class("facts"),
			fact("Why", page.Line(f.Why), h.If(f.Reason != "", h.Group{h.Text(" ("), page.Line(f.Reason), h.Text(")")})),
			fact("Sender", page.Isolated(f.Name), h.Text(" "), page.Isolated(f.Sender), h.Text(", "), page.Line(f.Channel)),
			fact("Received", h.Text(page.When(f.ReceivedAt)+" UTC")),
			f.Turn.fact(),
			h.Map(f.Answers, func(a FateAnswer) h.Node { return h.Map(a.Parts, FatePart.fact) }),
		),
	)
}

func (t *FateTurn) fact() h.Node {
	if t == nil {
		return nil
	}
	return fact("Turn",
		h.Link(h.At("sessions", string(t.Session), "turns", t.ID), page.Short(t.ID)), h.Text(" "), page.Line(t.Outcome),
		h.Text(", "+page.Count(t.Calls, "call")+": "+money(t.Spent)+" of "+money(t.Reserved)+" that were set aside"),
	)
}

func (p FatePart) fact() h.Node {
	return fact("Answer", page.Line(p.State), h.Text(" "+page.When(p.At)+" UTC"),
		h.If(p.Problem != "", h.Group{h.Text(" "), bad(page.Line(p.Problem))}))
}
