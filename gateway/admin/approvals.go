package admin

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"parley/channels"
	"parley/costs"
	"parley/gateway/approvals"
	"parley/gateway/intake"
	"parley/gateway/messages"
	"parley/sessionkeys"
	"parley/sessions"
)

// Approval describes a call of a tool, or a higher budget, that needs permission. [ApprovalDetail]
// also has the text of what would run, or of which budget it is.
type Approval struct {
	ID      string                `json:"id"`
	Code    string                `json:"code"` // by which people name it in their chat
	State   ApprovalState         `json:"state"`
	Tool    string                `json:"tool"`            // empty: it is a higher budget
	Raise   *BudgetRaise          `json:"raise,omitempty"` // null: it is a call
	Key     string                `json:"key"`             // of its conversation
	Session sessionkeys.SessionID `json:"session"`
	Channel string                `json:"channel"`
	Asker   string                `json:"asker"` // whose turn it was: the network's stable id
	At      time.Time             `json:"at"`    // it was asked for
	Expires time.Time             `json:"expires"`
	By      string                `json:"by,omitempty"` // who decided, as others know them
	Decided time.Time             `json:"decided,omitzero"`
	// Queued, in the answer to a decision: it is stored, and carried out when the turn that runs
	// in the conversation has ended.
	Queued bool `json:"queued,omitempty"`
}

// BudgetRaise is a higher budget.
type BudgetRaise struct {
	Budget string        `json:"budget"` // its key in the configuration
	Scope  string        `json:"scope"`  // whose: a session, a person, a group, a channel; empty: everybody's
	Amount costs.Amount  `json:"amount"`
	For    time.Duration `json:"for"`            // from the decision on
	Until  time.Time     `json:"until,omitzero"` // zero: not permitted
	Holds  bool          `json:"holds"`
}

// ApprovalState describes how far a request for permission is.
type ApprovalState string

// States of a request.
const (
	AwaitsApproval    ApprovalState = "pending"
	ApprovalGiven     ApprovalState = "approved"
	ApprovalRefused   ApprovalState = "denied"
	ApprovalUsed      ApprovalState = "used"      // the call was begun
	ApprovalWithdrawn ApprovalState = "withdrawn" // somebody used /stop
	ApprovalExpired   ApprovalState = "expired"
)

// ApprovalPage is all requests of the last days, oldest first.
type ApprovalPage struct {
	Now       time.Time  `json:"now"`
	Approvals []Approval `json:"approvals"`
	// Problem names the requests that cannot be read: operators cannot decide about them.
	Problem string `json:"problem,omitempty"`
}

// ApprovalDetail is one request with what would run.
type ApprovalDetail struct {
	Approval
	Text string `json:"text"` // configured secrets are taken out
	// Read names what the turn had read of others before it asked, such as web pages.
	Read string `json:"read,omitempty"`
}

func (desk approvalDesk) approvals(r *http.Request) (any, error) {
	all, err := approvals.List(r.Context(), desk.o.Store, "", desk.o.Now())
	page := ApprovalPage{Now: desk.o.Now().UTC(), Approvals: []Approval{}}
	if page.Problem, err = passUnreadable(err); err != nil {
		return nil, err
	}
	for _, a := range all {
		one, err := desk.describeApproval(r.Context(), a)
		if err != nil {
			return nil, err
		}
		page.Approvals = append(page.Approvals, one)
	}
	slices.SortStableFunc(page.Approvals, func(a, b Approval) int { return a.At.Compare(b.At) })
	return page, nil
}

// decidedBy returns who decided about a request, as an operator reads it.
func decidedBy(a approvals.Request) string {
	if a.By.Operator && a.By.Name != "" {
		return a.By.String() + " (" + a.By.Name + ")"
	}
	return a.By.String()
}

// describeApproval returns a request as operators see it.
func (desk approvalDesk) describeApproval(ctx context.Context, a approvals.Request) (Approval, error) {
	d := Approval{
		ID: a.ID, Code: a.Code, State: ApprovalState(a.State), Tool: a.Call.Name, Session: a.Session, Channel: a.Channel,
		Asker: a.Asker.ID, At: a.At, Expires: a.Expires, Decided: a.DecidedAt,
	}
	if a.IsExpired(desk.o.Now()) {
		d.State = ApprovalExpired
	}
	if r := a.Raise; r != nil {
		d.Raise = &BudgetRaise{Budget: r.Name, Scope: r.ID, Amount: r.Amount, For: r.For, Until: r.Until, Holds: a.Holds(desk.o.Now())}
	}
	if !a.DecidedAt.IsZero() {
		d.By = decidedBy(a)
	}
	m, err := desk.o.Store.Mailbox(ctx, a.Token)
	if err == nil {
		d.Key = m.Key.String()
	} else if !errors.Is(err, sessions.ErrNotFound) {
		return d, err
	}
	return d, nil
}

// findApproval finds the request whose id begins as the path says, or that has it as its code.
func (desk approvalDesk) findApproval(r *http.Request) (approvals.Request, error) {
	id := r.PathValue("id")
	if err := checkID(id); err != nil {
		return approvals.Request{}, err
	}
	all, err := approvals.List(r.Context(), desk.o.Store, "", desk.o.Now())
	if _, err = passUnreadable(err); err != nil {
		return approvals.Request{}, err
	}
	var fits []approvals.Request
	var names []string
	code := approvals.ReadCode(id)
	for _, a := range all {
		if a.ID == id {
			return a, nil
		}
		if strings.HasPrefix(a.ID, id) || a.Code == code {
			fits, names = append(fits, a), append(names, a.ID)
		}
	}
	switch len(fits) {
	case 0:
		return approvals.Request{}, newError(NotFound, "no request for permission %s", id)
	case 1:
		return fits[0], nil
	}
	const most = 6
	return approvals.Request{}, ambiguousError("request for permission", id, names, most)
}

func (desk approvalDesk) approval(r *http.Request) (any, error) {
	a, err := desk.findApproval(r)
	if err != nil {
		return nil, err
	}
	d, err := desk.describeApproval(r.Context(), a)
	return ApprovalDetail{d, desk.o.Redact(a.Shown), desk.o.Redact(a.Read())}, err
}

func (desk approvalDesk) approve(r *http.Request) (any, error) { return desk.decide(r, true) }
func (desk approvalDesk) deny(r *http.Request) (any, error)    { return desk.decide(r, false) }

// How long the operator waits until a decision has become effective, and how often it is looked
// whether it has. A conversation in which a turn runs takes it up when that turn has ended.
const (
	decideWithin = 5 * time.Second
	decideLook   = 20 * time.Millisecond
)

// decide has the conversation that asked take up the operator's decision. The message that says so
// is the decision: before it is stored nothing is recorded, and then nothing is lost. The answer is
// how the request stands; it is Queued if the decision still waits behind what runs there.
func (desk approvalDesk) decide(r *http.Request, yes bool) (any, error) {
	ctx := r.Context()
	a, err := desk.findApproval(r)
	if err != nil {
		return nil, err
	}
	if a.IsByOperator() {
		return nil, newError(Refused, "nobody asked for that: it is a budget that you raised, and parley budget revoke %s takes it back", a.ID)
	}
	m, err := desk.o.Store.Mailbox(ctx, a.Token)
	if err != nil {
		return nil, err
	}
	if late := a.TooLate(m.Session, desk.o.Now()); late != "" {
		return nil, newError(Refused, "%s", late)
	}
	if a.IsDecidedOutside() && (a.State == approvals.Approved) != yes {
		return nil, newError(Refused, "that was decided already, the other way")
	}
	asker := channels.Sender{ID: a.Asker.ID, Alias: a.Asker.Alias, Name: a.Asker.Name}
	err = desk.o.Intake.Decide(ctx, m.Key, asker, desk.decisionMessage(r, a, m.Key.Address(), asker, yes))
	if refused, ok := errors.AsType[*intake.RefusedError](err); ok {
		return nil, newError(Refused, "%s; the request is as it was", refused.Why)
	}
	if err != nil {
		return nil, fmt.Errorf("request %s is not decided: %w", a.ID, err)
	}
	desk.o.Logger.Info("operator decided about a permission", "session", a.Session, "tool", a.Call.Name, "permit", yes, "request", a.ID, "by", actor(ctx))
	return desk.awaitDecision(ctx, a, asker, yes)
}

// awaitDecision waits for a while until the conversation has taken up the operator's decision, and
// says what became of the request.
func (desk approvalDesk) awaitDecision(ctx context.Context, a approvals.Request, asker channels.Sender, yes bool) (any, error) {
	look, over := time.NewTicker(decideLook), time.NewTimer(decideWithin)
	defer look.Stop()
	defer over.Stop()
	for {
		all, err := approvals.List(ctx, desk.o.Store, a.Token, desk.o.Now())
		if _, err = passUnreadable(err); err != nil {
			return nil, err
		}
		m, err := desk.o.Store.Mailbox(ctx, a.Token)
		if err != nil {
			return nil, err
		}
		now, found := approvals.ByID(all, a.ID)
		if !found {
			return nil, newError(NotFound, "no request for permission %s any more", a.ID)
		}
		if now.By.Operator && now.DecidedIn != "" && (now.State == approvals.Denied) != yes {
			return desk.describeApproval(ctx, now)
		}
		if late := now.TooLate(m.Session, desk.o.Now()); late != "" {
			return nil, newError(Refused, "%s", late)
		}
		err = desk.o.Intake.MayAnswer(ctx, a.Channel, m.Key.Address(), asker)
		if refused, ok := errors.AsType[*intake.RefusedError](err); ok {
			return nil, newError(Refused, "%s; the request is as it was", refused.Why)
		}
		if err != nil {
			return nil, err
		}
		select {
		case <-look.C:
		case <-over.C:
			d, err := desk.describeApproval(ctx, now)
			d.Queued = true
			return d, err
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// decisionMessage is what has a conversation take up a decision of the operator. Its event is of
// this wish alone: one that could not be carried out may be taken again.
func (desk approvalDesk) decisionMessage(r *http.Request, a approvals.Request, at sessionkeys.Address, asker channels.Sender, yes bool) channels.Message {
	text := "/deny " + a.Code
	if yes {
		text = "/approve " + a.Code
	}
	event := messages.ID{Kind: messages.Decided, About: a.ID + "@" + cmp.Or(r.URL.Query().Get("once"), rand.Text())}
	return channels.Message{
		Event: event.String(), Kind: channels.Said, Channel: a.Channel, MessageID: a.ReplyTo, Address: at,
		Decision: &channels.Decision{Request: a.ID, Operator: true, By: actor(r.Context())},
		Sender:   asker, Text: text, Mentioned: true, ReceivedAt: desk.o.Now(),
	}
}

// Approvals returns the requests for permission of the last days, oldest first.
func (c *Client) Approvals(ctx context.Context) (ApprovalPage, error) {
	return askFor[ApprovalPage](ctx, c.connection, http.MethodGet, "/v1/approvals", nil)
}

// Approval returns the request whose id begins with id, or whose code it is, with what would
// run.
func (c *Client) Approval(ctx context.Context, id string) (ApprovalDetail, error) {
	return askFor[ApprovalDetail](ctx, c.connection, http.MethodGet, "/v1/approvals/"+id, nil, id)
}

// Decide permits the call of a request, named as for Approval, or refuses it.
func (c *Client) Decide(ctx context.Context, id string, yes bool) (Approval, error) {
	what := "/deny"
	if yes {
		what = "/approve"
	}
	return askFor[Approval](ctx, c.connection, http.MethodPost, "/v1/approvals/"+id+what, c.actionQuery(url.Values{}), id)
}
