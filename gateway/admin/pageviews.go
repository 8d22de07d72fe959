package admin

import (
	"context"
	"embed"
	"errors"
	"html/template"
	"io/fs"
	"net/http"
	"strconv"
	"strings"

	"parley/costs"
	"parley/gateway/budgets"
	"parley/gateway/page"
)

//go:embed pages
var pages embed.FS

// Pages returns what the operator page consists of. Everything that it shows and does is a question or
// an action of s, in the name of who has logged in.
func (s *Server) Pages() page.Pages {
	all := page.Pages{Templates: pageTemplates(), Words: template.FuncMap{"money": money}, Views: map[string]page.View{}, Deeds: map[string]page.Deed{}}
	for pattern, v := range map[string]func(r *http.Request, ask *Client) (string, page.Page, error){
		"GET /{$}":                        overviewPage,
		"GET /sessions":                   sessionsPage,
		"GET /sessions/{id}":              sessionPage,
		"GET /sessions/{id}/turns/{turn}": turnPage,
		"GET /waiting":                    waitingPage,
		"GET /trouble":                    troublePage,
		"GET /dead-letters/{id}":          letterPageOf,
		"GET /actions":                    actionsPage,
		"GET /why":                        whyPageOf,
		"GET /{rest...}":                  missingPage,
	} {
		all.Views[pattern] = func(r *http.Request, by string) (string, page.Page, error) {
			if r.URL.Query().Get("words") == "1" {
				s.o.Logger.Info("operator read what people wrote", "path", r.URL.Path, "by", by)
			}
			return v(r, s.As(by))
		}
	}
	for pattern, d := range map[string]func(ctx context.Context, r *http.Request, ask *Client) (said, next string, err error){
		"POST /approvals/{id}":    decideByForm,
		"POST /dead-letters/{id}": changeLetterByForm,
		"POST /raise":             raiseByForm,
	} {
		all.Deeds[pattern] = func(ctx context.Context, r *http.Request, by, once string) (said, next string, err error) {
			said, next, err = d(ctx, r, s.As(by).Once(once))
			if e, ok := errors.AsType[*Error](err); ok && e.Kind == Again { // what was wished is so
				return e.Message, next, nil
			}
			return said, next, err
		}
	}
	return all
}

func pageTemplates() fs.FS {
	f, err := fs.Sub(pages, "pages")
	if err != nil {
		panic(err) // it is embedded
	}
	return f
}

// How many of each are on a page. Each costs the store a bounded number of questions.
const (
	perPage      = 25  // sessions
	latestShown  = 8   // sessions of the overview
	treeShown    = 100 // sessions of a tree, whose states are looked up
	turnsShown   = 50
	waitingShown = 20 // requests for permission, with their texts
	lettersShown = 50
	decidedShown = 10
)

// overviewView is what the first page shows.
type overviewView struct {
	Status   Status
	Budgets  []budgetView
	Sessions []Session
	Waiting  int // requests for permission
}

func overviewPage(r *http.Request, ask *Client) (string, page.Page, error) {
	ctx := r.Context()
	st, err := ask.Status(ctx)
	if err != nil {
		return "", page.Page{}, err
	}
	b, err := ask.TotalBudgets(ctx)
	if err != nil {
		return "", page.Page{}, err
	}
	list, err := ask.Sessions(ctx, SessionQuery{Limit: latestShown})
	if err != nil {
		return "", page.Page{}, err
	}
	v := overviewView{Status: st, Budgets: budgetViews(b), Sessions: list.Sessions, Waiting: st.Work.Asked}
	return "overview", page.Page{Title: "Overview", Here: "overview", Refresh: true, Body: v}, nil
}

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

// Next and Previous are the numbers of the pages beside this one.
func (v sessionsView) Next() int     { return v.Page + 1 }
func (v sessionsView) Previous() int { return v.Page - 1 }

func sessionsPage(r *http.Request, ask *Client) (string, page.Page, error) {
	q := r.URL.Query()
	v := sessionsView{Sort: q.Get("sort"), Channel: q.Get("channel"), Page: max(number(q.Get("page")), 1)}
	if v.Sort != "cost" {
		v.Sort = "recent"
	}
	v.Page = min(v.Page, MaxSkip/perPage)
	list, err := ask.Sessions(r.Context(), SessionQuery{ByCost: v.Sort == "cost", Channel: v.Channel, Limit: perPage + 1, Skip: (v.Page - 1) * perPage})
	if err != nil {
		return "", page.Page{}, err
	}
	st, err := ask.Status(r.Context())
	if err != nil {
		return "", page.Page{}, err
	}
	v.Channels = st.Channels
	v.Sessions, v.More = list.Sessions[:min(len(list.Sessions), perPage)], len(list.Sessions) > perPage
	if v.More && v.Page == MaxSkip/perPage {
		v.More, v.Last = false, true
	}
	return "sessions", page.Page{Title: "Sessions", Here: "sessions", Body: v}, nil
}

// number reads a positive number of an address; 0: it is none.
func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// sessionView is one session in its tree.
type sessionView struct {
	Asked    Node
	Root     Node
	Tree     []Node
	Hidden   int // nodes that are not shown
	Turns    []Turn
	Earlier  int // turns before those that are shown; Skip leaves out so many of the latest
	Skip     int
	Context  *Context
	Budgets  []budgetView
	Settled  USD // of the whole tree, as its nodes add up
	TurnsNow int
}

// Depth is how far a session of the tree is moved in.
func (sessionView) Depth(n Node) int { return min(n.Depth, 5) }

// Older and Newer are how many of the latest turns the pages beside this one leave out.
func (v sessionView) Older() int { return v.Skip + turnsShown }
func (v sessionView) Newer() int { return max(v.Skip-turnsShown, 0) }

func sessionPage(r *http.Request, ask *Client) (string, page.Page, error) {
	d, err := ask.Overview(r.Context(), r.PathValue("id"), treeShown)
	if err != nil {
		return "", page.Page{}, err
	}
	b, err := ask.SessionBudgets(r.Context(), string(d.Asked))
	if err != nil {
		return "", page.Page{}, err
	}
	v := sessionView{Context: d.Context, Budgets: budgetViews(b), Skip: number(r.URL.Query().Get("skip"))}
	var sum costs.Amount
	for i, n := range d.Tree {
		if i == 0 {
			v.Root = n
		}
		if n.ID == d.Asked {
			v.Asked = n
		}
		if sum, err = sum.Add(costs.Amount(n.Own)); err != nil {
			return "", page.Page{}, err //nolint:wrapcheck // it says that it is too much
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
	return "session", page.Page{Title: "Session", Here: "sessions", Refresh: true, Body: v}, nil
}

// turnView is one turn.
type turnView struct {
	TurnDetail

	Words bool // what was said is shown
}

func turnPage(r *http.Request, ask *Client) (string, page.Page, error) {
	full := r.URL.Query().Get("words") == "1"
	d, err := ask.Turn(r.Context(), r.PathValue("id"), r.PathValue("turn"), full)
	if err != nil {
		return "", page.Page{}, err
	}
	return "turn", page.Page{Title: "Turn", Here: "sessions", Body: turnView{d, full}}, nil
}

// waitingView is what waits for somebody, and what was decided lately.
type waitingView struct {
	Status  Status
	Asked   []ApprovalDetail // what expires first stands first
	Hidden  int
	Decided []Approval
}

func waitingPage(r *http.Request, ask *Client) (string, page.Page, error) {
	ctx := r.Context()
	st, err := ask.Status(ctx)
	if err != nil {
		return "", page.Page{}, err
	}
	all, err := ask.Approvals(ctx)
	if err != nil {
		return "", page.Page{}, err
	}
	v := waitingView{Status: st}
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
				return "", page.Page{}, err
			}
			v.Asked = append(v.Asked, d)
		}
	}
	return "waiting", page.Page{Title: "Waiting", Here: "waiting", Refresh: true, Body: v}, nil
}

// troubleView is what went wrong.
type troubleView struct {
	Status   Status
	Letters  []DeadLetter
	Refusals []Refusal
}

func troublePage(r *http.Request, ask *Client) (string, page.Page, error) {
	ctx := r.Context()
	st, err := ask.Status(ctx)
	if err != nil {
		return "", page.Page{}, err
	}
	v := troubleView{Status: st}
	err = ask.DeadLetters(ctx, func(l DeadLetter) bool {
		v.Letters = append(v.Letters, l)
		return len(v.Letters) < lettersShown
	})
	if err != nil {
		return "", page.Page{}, err
	}
	refused, err := ask.Refusals(ctx)
	v.Refusals = refused.Refusals
	return "trouble", page.Page{Title: "Trouble", Here: "trouble", Refresh: true, Body: v}, err
}

// letterView is one dead letter.
type letterView struct {
	DeadLetterDetail

	Words bool
}

func letterPageOf(r *http.Request, ask *Client) (string, page.Page, error) {
	full := r.URL.Query().Get("words") == "1"
	d, err := ask.DeadLetter(r.Context(), r.PathValue("id"), full)
	if err != nil {
		return "", page.Page{}, err
	}
	return "letter", page.Page{Title: "Dead letter", Here: "trouble", Body: letterView{d, full}}, nil
}

func actionsPage(r *http.Request, ask *Client) (string, page.Page, error) {
	p, err := ask.Actions(r.Context())
	return "actions", page.Page{Title: "What operators did", Here: "actions", Body: p}, err
}

// whyView is what became of a message.
type whyView struct {
	Message string
	Fates   []Fate
}

func whyPageOf(r *http.Request, ask *Client) (string, page.Page, error) {
	v := whyView{Message: r.URL.Query().Get("message")}
	if v.Message != "" {
		found, err := ask.Why(r.Context(), WhyQuery{Message: v.Message})
		if err != nil {
			return "", page.Page{}, err
		}
		v.Fates = found.Fates
	}
	return "why", page.Page{Title: "What became of a message", Here: "trouble", Body: v}, nil
}

func missingPage(*http.Request, *Client) (string, page.Page, error) {
	return "", page.Page{}, &Error{Status: http.StatusNotFound, Kind: NotFound, Message: "There is no such page."}
}

// money shows an amount to the last digit, as the ledger has it.
func money(u USD) string {
	if text := u.Exact(); strings.HasPrefix(text, "-") {
		return "-$" + text[1:]
	}
	return "$" + u.Exact()
}

// budgetView is one budget, with what a form needs to raise it.
type budgetView struct {
	BudgetState

	Title, Key             string // in words, and in the configuration
	Person, Group, Session string // whose it is, if it is one's
	Account                string // of the person or group, or whose it is
	Raises                 []RaisedBudget
}

// Used is which part of the limit is settled and held, in percent.
func (v budgetView) Used() int { return int(min(100*v.Share, 999)) }

// budgetViews returns budgets with the raises of each that hold.
func budgetViews(p BudgetPage) []budgetView {
	var all []budgetView
	for _, b := range p.Budgets {
		v := budgetView{BudgetState: b, Key: configKey(b.Budget), Title: b.Budget}
		switch b.Budget {
		case "global_per_day":
			v.Title = "Everybody, today"
		case "global_per_month":
			v.Title = "Everybody, this month"
		case budgets.ChannelKey:
			v.Title, v.Account = "Channel "+b.Channel+", today", b.Channel
		case "session":
			v.Title, v.Session = "This conversation", b.Of
		case "person_per_day":
			v.Title, v.Account, v.Person = "This person, today", b.Channel, b.Of
		case "group_per_day":
			v.Title, v.Account, v.Group = "This group, today", b.Channel, b.Of
		}
		for _, r := range p.Raises {
			if r.Budget == b.Budget && r.Of == b.Of && r.State == RaiseHolds {
				v.Raises = append(v.Raises, r)
			}
		}
		all = append(all, v)
	}
	return all
}
