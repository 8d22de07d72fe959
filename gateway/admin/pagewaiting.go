package admin

import (
	"net/http"
	"strconv"

	h "parley/gateway/hypertext"
	"parley/gateway/page"
)

// waitingView is what waits for somebody, and what was decided lately.
type waitingView struct {
	Status  Status
	Asked   []ApprovalDetail // what expires first stands first
	Hidden  int
	Problem string // requests that cannot be read
	Decided []Approval
}

func waitingPage(r *http.Request, ask *Client) (page.Page, error) {
	ctx := r.Context()
	st, err := ask.Status(ctx)
	if err != nil {
		return page.Page{}, err
	}
	if st.Uncounted { // nor does the store say who is asked
		return page.Page{Title: "Waiting", Here: "waiting", Refresh: true, Body: func(page.Frame) h.Node { return problems(st) }}, nil
	}
	all, err := ask.Approvals(ctx)
	if err != nil {
		return page.Page{}, err
	}
	v := waitingView{Status: st, Problem: all.Problem}
	for i := len(all.Approvals) - 1; i >= 0; i-- {
		if a := all.Approvals[i]; a.State != AwaitsApproval && len(v.Decided) < decidedShown {
			v.Decided = append(v.Decided, a)
		}
	}
	for _, a := range all.Approvals {
		switch {
		case a.State != AwaitsApproval:
		case len(v.Asked) == waitingShown:
			v.Hidden++
		default:
			d, err := ask.Approval(ctx, a.ID)
			if err != nil {
				return page.Page{}, err
			}
			v.Asked = append(v.Asked, d)
		}
	}
	return page.Page{Title: "Waiting", Here: "waiting", Refresh: true, Body: v.body}, nil
}

func (v waitingView) body(f page.Frame) h.Node {
	return h.Group{
		section("asked", "For your permission",
			h.If(v.Problem != "", h.P(h.Class("verdict bad"), page.Block(v.Problem))),
			h.If(len(v.Asked) == 0 && v.Problem == "", h.P(h.Text("Nothing waits for a permission."))),
			h.Map(v.Asked, func(a ApprovalDetail) h.Node { return a.article(f) }),
			h.If(v.Hidden != 0, h.P(h.Text(page.Count(v.Hidden, "further request")+": "), command("parley approvals ls"), h.Text(" lists all."))),
		),
		section("else", "Other things that wait", v.others()),
		h.If(len(v.Decided) > 0, section("decided", "Decided lately", table(
			head(column("What"), column("State"), figures("When")),
			h.Map(v.Decided, func(a Approval) h.Node { return a.row(f) }),
		))),
	}
}

// article shows one request whole, as it would run, with the buttons that decide.
func (a ApprovalDetail) article(f page.Frame) h.Node {
	conversation := page.Short(a.Session)
	if a.Key != "" {
		conversation = page.Isolated(a.Key)
	}
	return h.Article(h.Class("ask"),
		h.H3(h.If(a.Raise != nil, h.Text("More money: ")), a.what()),
		words(a.Text),
		a.Raise.sentence(),
		h.Dl(h.Class("facts"),
			fact("Asked by", page.Isolated(a.Asker), h.Text(", "), page.Line(a.Channel)),
			fact("Conversation", h.Link(h.At("sessions", string(a.Session)), conversation)),
			fact("Asked", h.Text(page.Ago(f.Now, a.At)+"; expires "+page.Ago(f.Now, a.Expires))),
			h.If(a.Read != "", fact("After reading", page.Line(a.Read))),
			fact("Code", h.Code(page.Line(a.Code))),
		),
		f.Act(h.At("approvals", a.ID), "decide",
			do("approve", "Permit once", h.Class("main")),
			do("deny", "Refuse"),
		),
	)
}

// sentence says what a permission of a higher budget does.
func (r *BudgetRaise) sentence() h.Node {
	if r == nil {
		return nil
	}
	return h.P(h.Text("A permission raises it by "), h.Strong(h.Text(r.Amount.Display())), h.Text(" for "+r.For.String()+"."))
}

// what names the tool, or the budget.
func (a Approval) what() h.Node {
	if a.Raise != nil {
		return page.Line(a.Raise.Budget)
	}
	return page.Line(a.Tool)
}

func (a Approval) row(f page.Frame) h.Node {
	at := a.Decided
	if at.IsZero() {
		at = a.Expires
	}
	return h.Tr(
		rowHead(a.what(), h.Text(" "), h.Code(page.Line(a.Code))),
		h.Td(page.Line(a.State), h.If(a.By != "", under(page.Isolated(a.By)))),
		figure(h.Text(page.Ago(f.Now, at))),
	)
}

// others says what waits for no permission.
func (v waitingView) others() h.Node {
	st := v.Status
	first := func(n int, since string) h.Node { return h.If(n != 0, h.Text(", the first "+since)) }
	return h.Dl(h.Class("facts"),
		fact("Conversations that wait", h.Text(strconv.Itoa(st.Work.Waiting)), first(st.Work.Waiting, page.Ago(st.Now, st.Work.WaitsSince))),
		fact("Answers to be sent", h.Text(strconv.Itoa(st.Outbox.Pending)), first(st.Outbox.Pending, page.Ago(st.Now, st.Outbox.PendingSince)),
			h.If(st.Outbox.Ambiguous != 0, h.Text("; "+page.Count(st.Outbox.Ambiguous, "message")+" may have arrived already"))),
		fact("Strangers with a code", h.Text(strconv.Itoa(st.Pairing)), h.If(st.Pairing != 0, h.Group{h.Text(": "), command("parley pair ls")})),
	)
}
