package admin

import (
	"net/http"
	"strconv"

	h "parley/gateway/hypertext"
	"parley/gateway/page"
)

// sessionsView is a page of the list of sessions.
type sessionsView struct {
	Sessions []Session
	Sort     string
	Channel  string
	Channels []ChannelStatus
	Page     int
	More     bool
	Last     bool // further pages are not shown
}

func sessionsPage(r *http.Request, ask *Client) (page.Page, error) {
	q := r.URL.Query()
	v := sessionsView{Sort: q.Get("sort"), Channel: q.Get("channel"), Page: max(parseNumber(q.Get("page")), 1)}
	if v.Sort != "cost" {
		v.Sort = "recent"
	}
	v.Page = min(v.Page, MaxSkip/perPage)
	list, err := ask.Sessions(r.Context(), SessionQuery{ByCost: v.Sort == "cost", Channel: v.Channel, Limit: perPage + 1, Skip: (v.Page - 1) * perPage})
	if err != nil {
		return page.Page{}, err
	}
	st, err := ask.Status(r.Context())
	if err != nil {
		return page.Page{}, err
	}
	v.Channels = st.Channels
	v.Sessions, v.More = list.Sessions[:min(len(list.Sessions), perPage)], len(list.Sessions) > perPage
	if v.More && v.Page == MaxSkip/perPage {
		v.More, v.Last = false, true
	}
	return page.Page{Title: "Sessions", Here: "sessions", Body: v.body}, nil
}

// parseNumber reads a positive number of an address; 0: it is none.
func parseNumber(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

func (v sessionsView) body(f page.Frame) h.Node {
	return h.Group{
		v.filter(),
		v.list(f),
		h.Nav(h.Aria("label", "Pages"), h.Class("pages"),
			h.If(v.Page > 1, v.beside("prev", v.Page-1)),
			h.If(v.More, v.beside("next", v.Page+1)),
		),
		h.If(v.Last, h.P(h.Text("Older ones are not listed; "), command("parley sessions ls"), h.Text(" narrows the list down."))),
	}
}

// filter chooses the order and the channel.
func (v sessionsView) filter() h.Node {
	return page.Ask(h.At("sessions"), "filter",
		h.Label(h.Text("Order "), h.Select(h.Name("sort"),
			option("recent", v.Sort, h.Text("latest first")),
			option("cost", v.Sort, h.Text("dearest first")),
		)),
		h.Label(h.Text("Channel "), h.Select(h.Name("channel"),
			h.Option(h.Value(""), h.Text("all")),
			h.Map(v.Channels, func(c ChannelStatus) h.Node { return option(c.Name, v.Channel, page.Line(c.Name)) }),
		)),
		h.Button(h.Text("Show")),
	)
}

func (v sessionsView) list(f page.Frame) h.Node {
	if len(v.Sessions) == 0 {
		return h.P(h.Text("There is none"), h.If(v.Page > 1, h.Text(" on this page")), h.Text("."))
	}
	return table(h.Group{h.Caption(h.Text("Page " + strconv.Itoa(v.Page) + "; costs with sub-agents")), sessionsHead()}, sessionRows(f, v.Sessions))
}

// beside leads to the page before or after this one.
func (v sessionsView) beside(rel string, n int) h.Node {
	to := h.At("sessions").With("sort", v.Sort, "channel", v.Channel, "page", strconv.Itoa(n))
	return more(to, "Page "+strconv.Itoa(n), h.Rel(rel))
}
