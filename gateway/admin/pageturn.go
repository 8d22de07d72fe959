package admin

import (
	"net/http"
	"strconv"

	h "parley/gateway/hypertext"
	"parley/gateway/page"
)

// turnView is one turn.
type turnView struct {
	TurnDetail

	Words bool // what was said is shown
}

func turnPage(r *http.Request, ask *Client) (page.Page, error) {
	full := r.URL.Query().Get("words") == "1"
	d, err := ask.Turn(r.Context(), r.PathValue("id"), r.PathValue("turn"), full)
	if err != nil {
		return page.Page{}, err
	}
	return page.Page{Title: "Turn", Here: "sessions", Body: turnView{d, full}.body}, nil
}

func (v turnView) body(f page.Frame) h.Node {
	return h.Group{
		v.facts(f),
		section("calls", "Calls", v.calls()),
		section("tools", "Tools", v.tools()),
		h.If(len(v.Children) > 0, section("children", "Sub-agents that it started", v.children())),
		section("words", "What was said", v.words()),
	}
}

func (v turnView) facts(f page.Frame) h.Node {
	name := h.Code(page.Line(v.Session))
	if v.Title != "" {
		name = page.Isolated(v.Title)
	}
	return h.Dl(h.Class("facts"),
		fact("Session", h.Link(h.At("sessions", string(v.Session)), name)),
		fact("Turn", h.Code(page.Line(v.Turn.ID))),
		fact("Asked by", page.Isolated(v.Turn.Sender), h.Text(", "), page.Line(v.Turn.Channel)),
		fact("Outcome", outcomeOf(v.Turn), h.If(v.Refused != "", h.Pre(page.Block(v.Refused)))),
		fact("Began", h.Text(page.When(v.Turn.Opened)+" UTC, took "+page.Took(f.Now, v.Turn.Opened, v.Turn.Ended))),
		fact("Cost", h.Strong(h.Text(money(v.Own))), h.Text(" for its own calls, "+money(v.Total)+" with sub-agents")),
	)
}

func (v turnView) calls() h.Node {
	if len(v.Calls) == 0 {
		return h.P(h.Text("No call is in the ledger yet."))
	}
	return h.Table(
		head(column("Call"), figures("Tokens"), figures("Cost")),
		h.TBody(h.Map(v.Calls, Call.row)),
		h.TFoot(h.Tr(rowHead(h.Text("Together")), h.Td(), figure(h.Strong(h.Text(money(v.Own)))))),
	)
}

func (c Call) row() h.Node {
	name := "Before"
	if c.Step != 0 {
		name = "Step " + strconv.Itoa(c.Step)
	}
	if c.Attempt > 1 {
		name += ", try " + strconv.Itoa(c.Attempt)
	}
	cost := bad(h.Text("unknown"))
	if c.Priced {
		cost = h.Text(money(c.Cost))
	}
	return h.Tr(
		rowHead(h.Text(name), under(
			page.Line(c.Purpose), h.Text(", "), h.If(c.Provider != "", h.Group{page.Line(c.Provider), h.Text("/")}), page.Line(c.Model),
			h.If(c.Outcome != "ok", h.Group{h.Text(", "), bad(page.Line(c.Outcome))}),
			h.If(c.Interrupted, h.Group{h.Text(", "), bad(h.Text("may have cost more"))}),
		)),
		figure(h.Textf("%d in, %d out", c.Input, c.Output), under(
			h.If(c.CacheRead != 0, h.Textf("%d cached", c.CacheRead)),
			h.If(c.CacheWrite != 0, h.Textf(" %d to the cache", c.CacheWrite)),
		)),
		figure(cost),
	)
}

func (v turnView) tools() h.Node {
	if len(v.Tools) == 0 {
		return h.P(h.Text("None was called."))
	}
	return table(head(column("Tool"), column("Result"), figures("Bytes")), h.Map(v.Tools, ToolCall.row))
}

func (c ToolCall) row() h.Node {
	step := "after a permission"
	if c.Step != 0 {
		step = "step " + strconv.Itoa(c.Step)
	}
	state := page.Line(c.State)
	if c.State == "error" {
		state = bad(h.Text("error"))
	}
	return h.Tr(rowHead(page.Line(c.Tool), under(h.Text(step))), h.Td(state), figure(h.Text(strconv.Itoa(c.Bytes))))
}

func (v turnView) children() h.Node {
	return table(
		head(column("Sub-agent"), figures("Own"), figures("With sub-agents")),
		h.Map(v.Children, func(s Session) h.Node {
			return h.Tr(
				rowHead(h.Link(h.At("sessions", string(s.ID)), page.Line(s.Role), h.Text(" "), page.Short(s.ID))),
				figure(h.Text(money(s.Own))), figure(h.Text(money(s.Subtree))),
			)
		}),
	)
}

// words shows what was said, to those who ask for it.
func (v turnView) words() h.Node {
	if !v.Words {
		return unasked("Show what was said")
	}
	return h.Map(v.Transcript, Message.article)
}

func (m Message) article() h.Node {
	class := "said "
	if m.Role == "user" {
		class += "user"
	}
	return h.Article(h.Class(class),
		h.H3(page.Line(m.Role), h.If(m.Model != "", h.Group{h.Text(" "), h.Span(h.Class("small"), page.Line(m.Model))}), h.Text(" "),
			h.Time(h.Class("small"), h.DateTime(page.Clock(m.At)), h.Text(page.When(m.At)))),
		h.Map(m.Parts, Part.lines),
	)
}

func (p Part) lines() h.Node {
	kind := h.Group{page.Line(p.Type), h.Text(" "), page.Line(p.Tool), h.If(p.Error, h.Group{h.Text(" "), bad(h.Text("error"))})}
	return h.Group{
		h.P(h.Class("small"), h.If(p.Type != "text", kind)),
		words(p.Text),
	}
}
