package admin

import (
	"fmt"

	h "parley/gateway/hypertext"
	"parley/gateway/page"
)

// section is a part of a page under a heading that names it.
func section(id, title string, children ...h.Node) h.Node {
	return h.Section(h.Aria("labelledby", "h-"+id), h.H2(h.ID("h-"+id), h.Text(title)), h.Group(children))
}

// table has a head and rows.
func table(head h.Node, rows h.Group) h.Node { return h.Table(head, h.TBody(rows)) }

// tableOr is a table, or that sentence without rows.
func tableOr(none string, head h.Node, rows h.Group) h.Node {
	if len(rows) == 0 {
		return h.P(h.Text(none))
	}
	return table(head, rows)
}

func head(columns ...h.Node) h.Node { return h.THead(h.Tr(columns...)) }

func column(name string) h.Node { return h.Th(h.Scope("col"), h.Text(name)) }

// figures heads a column of figures.
func figures(name string) h.Node { return h.Th(h.Scope("col"), h.Class("n"), h.Text(name)) }

func rowHead(children ...h.Node) h.Node { return h.Th(h.Scope("row"), h.Group(children)) }

// figure is a cell of a column of figures.
func figure(children ...h.Node) h.Node { return h.Td(h.Class("n"), h.Group(children)) }

// under is small, on a line of its own.
func under(children ...h.Node) h.Node { return h.Span(h.Class("under"), h.Group(children)) }

func underBad(children ...h.Node) h.Node { return h.Span(h.Class("under bad"), h.Group(children)) }

// bad shows what is not as it should be.
func bad(what h.Node) h.Node { return h.Span(h.Class("bad"), what) }

// fact is a line of a list of facts.
func fact(name string, children ...h.Node) h.Node {
	return h.Group{h.Dt(h.Text(name)), h.Dd(children...)}
}

// number is a large one.
func number[N int | uint64](n N) h.Node { return h.Strong(h.Text(fmt.Sprint(n))) }

// oneOr returns the words for one thing, or for several.
func oneOr[N int | uint64](n N, one, several string) string {
	if n == 1 {
		return one
	}
	return several
}

// command names one of parley's.
func command(line string) h.Node { return h.Code(h.Text(line)) }

// more leads on.
func more(to h.Address, text string, attributes ...h.Node) h.Node {
	return h.Link(to, h.Class("more"), h.Group(attributes), h.Text(text))
}

// option is one of a choice, of which one is chosen.
func option(value, chosen string, text h.Node) h.Node {
	return h.Option(h.Value(value), h.If(value == chosen, h.Selected()), text)
}

// do is a button of a form that may do several things.
func do(what, text string, attributes ...h.Node) h.Node {
	return h.Button(h.Group(attributes), h.Name("do"), h.Value(what), h.Text(text))
}

// words are what people or models wrote, in whichever direction that runs.
func words(text string) h.Node { return h.Pre(h.Dir("auto"), page.Block(text)) }

// unasked stands where words would, before somebody asks for them.
func unasked(ask string) h.Node {
	return h.Group{
		h.P(h.Text("People's words are not shown unless you ask for them; the log notes who reads them.")),
		h.P(more(h.Address{}.With("words", "1"), ask)),
	}
}

// stateOf shows how a session or a turn is.
func stateOf(s SessionState) h.Node {
	class := map[SessionState]string{"running": "run", "waiting": "wait"}[s]
	return h.Span(h.Class("state "+class), page.Line(s))
}

// outcomeOf says how a turn ended, or that it runs.
func outcomeOf(t Turn) h.Node {
	if t.Outcome == "" {
		return stateOf("running")
	}
	return page.Line(t.Outcome)
}

// unpriced says how many calls are not in a sum.
func unpriced(calls int) h.Node {
	return h.If(calls != 0, underBad(h.Text(page.Count(calls, "call")+" unpriced")))
}

// problems says whether all is well, and what is not.
func problems(st Status) h.Node {
	if st.Fine {
		return h.P(h.Class("verdict fine"), sign("✓"), h.Text(" All is well."))
	}
	return h.Div(h.Class("verdict bad"), h.Role("alert"),
		h.P(sign("!"), h.Text(" "+page.Count(len(st.Problems), "thing")+" to look at:")),
		h.Ul(h.Map(st.Problems, func(p string) h.Node { return h.Li(page.Block(p)) })),
	)
}

// sign is for eyes alone.
func sign(text string) h.Node { return h.Span(h.Aria("hidden", "true"), h.Text(text)) }

func sessionsHead() h.Node { return head(column("Session"), figures("Cost"), figures("Changed")) }

func sessionRows(f page.Frame, all []Session) h.Group {
	return h.Map(all, func(s Session) h.Node { return s.row(f) })
}

func (s Session) row(f page.Frame) h.Node {
	name := page.Short(s.ID)
	if s.Title != "" {
		name = page.Isolated(s.Title)
	}
	return h.Tr(
		rowHead(h.Link(h.At("sessions", string(s.ID)), name), under(stateOf(s.State), h.Text(" "), page.Isolated(s.Key))),
		figure(h.Text(money(s.Subtree)), h.If(s.Held != 0, under(h.Text("+ "+money(s.Held)+" set aside"))), unpriced(s.Unpriced)),
		figure(page.Moment(s.Updated, page.Ago(f.Now, s.Updated))),
	)
}
