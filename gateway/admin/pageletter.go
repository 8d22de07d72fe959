package admin

import (
	"net/http"
	"strconv"

	h "parley/gateway/hypertext"
	"parley/gateway/page"
)

// letterView is one dead letter.
type letterView struct {
	DeadLetterDetail

	Words bool
}

func letterPageOf(r *http.Request, ask *Client) (page.Page, error) {
	full := r.URL.Query().Get("words") == "1"
	d, err := ask.DeadLetters().Show(r.Context(), r.PathValue("id"), full)
	if err != nil {
		return page.Page{}, err
	}
	return page.Page{Title: "Dead letter", Here: "trouble", Body: letterView{d, full}.body}, nil
}

func (v letterView) body(f page.Frame) h.Node {
	known := func(name, what string) h.Node { return h.If(what != "", fact(name, page.Isolated(what))) }
	return h.Group{
		h.Dl(h.Class("facts"),
			fact("Letter", h.Code(page.Line(v.ID))),
			fact("Reason", page.Line(v.Reason)),
			fact("Problem", h.Bdi(page.Block(v.Problem))),
			fact("Given up", h.Text(page.When(v.At)+" UTC, "+page.Ago(f.Now, v.At))),
			fact("Channel", page.Line(v.Channel)),
			known("Conversation", v.Key),
			known("Sender", v.Sender),
			known("Message", v.Message),
			fact("Size", h.Text(page.Count(v.Bytes, "byte"))),
		),
		h.If(v.Refused != "", h.P(h.Class("verdict bad"), h.Text("It cannot be given to the bot again: "), page.Line(v.Refused))),
		f.Act(h.At("dead-letters", v.ID), "decide",
			page.Hidden("place", strconv.FormatUint(v.Place, 10)),
			h.If(v.Refused == "", do("redeliver", "Give it to the bot again", h.Class("main"))),
			do("drop", "Forget it"),
		),
		section("words", "What is kept of it", v.words()),
	}
}

// words shows what is kept of a letter, to those who ask for it.
func (v letterView) words() h.Node {
	if !v.Words {
		return unasked("Show what is kept")
	}
	return words(v.Body)
}
