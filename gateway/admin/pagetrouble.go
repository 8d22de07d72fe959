package admin

import (
	"net/http"

	h "parley/gateway/hypertext"
	"parley/gateway/page"
)

// troubleView is what went wrong.
type troubleView struct {
	Status   Status
	Letters  []DeadLetter
	Unread   bool // the letters could not be read
	Refusals []Refusal
}

func troublePage(r *http.Request, ask *Client) (page.Page, error) {
	ctx := r.Context()
	st, err := ask.Status(ctx)
	if err != nil {
		return page.Page{}, err
	}
	v := troubleView{Status: st}
	err = ask.DeadLetters().List(ctx, func(l DeadLetter) bool {
		v.Letters = append(v.Letters, l)
		return len(v.Letters) < lettersShown
	})
	if err != nil {
		v.Unread, v.Letters = true, nil
		v.Status.add("the dead letters are not shown: " + err.Error())
	}
	if !st.Uncounted { // else the store does not say this either
		refused, err := ask.Refusals(ctx)
		if err != nil {
			return page.Page{}, err
		}
		v.Refusals = refused.Refusals
	}
	return page.Page{Title: "Trouble", Here: "trouble", Refresh: true, Body: v.body}, nil
}

func (v troubleView) body(f page.Frame) h.Node {
	return h.Group{
		problems(v.Status),
		page.Ask(h.At("why"), "filter",
			h.Label(h.Text("What became of a message? "), h.Input(h.Name("message"), h.Required(), h.MaxLength("200"), h.AutoComplete("off"),
				h.Placeholder("its id on the network, its event, or its turn"))),
			h.Button(h.Text("Look")),
		),
		h.If(!v.Unread, section("letters", "Dead letters",
			h.P(h.Class("small"), h.Text("Messages that were given up and wait for a person.")),
			tableOr("There is none.", head(column("Letter"), column("Reason"), figures("Given up")),
				h.Map(v.Letters, func(l DeadLetter) h.Node { return l.row(f) })),
		)),
		section("failed", "Turns that ended early",
			h.P(h.Class("small"), h.Text("Of this process, since it started: with an error, at the time limit, or at a budget.")),
			tableOr("There is none.", head(column("Turn"), column("Outcome"), figures("When")),
				h.Map(v.Status.Recent.Failures, func(t FailedTurn) h.Node { return t.row(f) })),
		),
		h.If(!v.Status.Uncounted, section("refused", "Refused messages",
			tableOr("There is none of the last days.", head(column("Who"), column("Why"), figures("When")),
				h.Map(v.Refusals, func(r Refusal) h.Node { return r.row(f) })),
		)),
	}
}

func (l DeadLetter) row(f page.Frame) h.Node {
	return h.Tr(
		rowHead(h.Link(h.At("dead-letters", l.ID), page.Short(l.ID)), under(page.Line(l.Channel), h.Text(" "), page.Isolated(l.Key))),
		h.Td(page.Line(l.Reason)),
		figure(h.Text(page.Ago(f.Now, l.At))),
	)
}

func (t FailedTurn) row(f page.Frame) h.Node {
	return h.Tr(
		rowHead(h.Link(h.At("sessions", string(t.Session), "turns", t.Turn), page.Short(t.Turn)), under(page.Line(t.Channel))),
		h.Td(bad(page.Line(t.Outcome))),
		figure(h.Text(page.Ago(f.Now, t.At))),
	)
}

func (r Refusal) row(f page.Frame) h.Node {
	who := r.Name
	if who == "" {
		who = r.Sender
	}
	return h.Tr(
		rowHead(page.Isolated(who), under(page.Line(r.Channel), h.Text(" "), page.Isolated(r.Sender))),
		h.Td(page.Line(r.Reason), under(page.Line(r.Why))),
		figure(h.Text(page.Ago(f.Now, r.At))),
	)
}
