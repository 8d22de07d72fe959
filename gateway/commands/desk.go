// Package commands is what is answered without a model to what people type in chat:
// /status, /cost, /why, /agents, /goal, /sessions, /approvals, /pair, /access, /schedules, /help, and what
// there is to choose with /model and /provider.
package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"parley/agent/pressure"
	"parley/costs"
	"parley/gateway/approvals"
	"parley/gateway/budgets"
	"parley/gateway/conversations"
	"parley/gateway/errands"
	"parley/gateway/goals"
	"parley/gateway/messages"
	"parley/gateway/plans"
	"parley/gateway/preferences"
	"parley/gateway/records"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/tools"
	"parley/transcript"
)

// Reader is what the desk looks things up in.
type Reader interface {
	Mailbox(ctx context.Context, token string) (sessions.Mailbox, error)
	Session(ctx context.Context, id sessionkeys.SessionID) (sessions.Session, error)
	Tree(ctx context.Context, id sessionkeys.SessionID) ([]sessions.Session, error)
	Messages(ctx context.Context, id sessionkeys.SessionID) ([]transcript.Message, error)
	TurnsOf(ctx context.Context, id sessionkeys.SessionID) ([]sessions.Turn, error)
	Spent(ctx context.Context, s sessions.Scope, at time.Time) (settled, held costs.Amount, err error)
	conversations.Store
}

// Handler answers commands from what is stored.
type Handler struct {
	Store Reader
	// Menu returns which model answers for an agent, and which others people may choose.
	Menu func(agent string) preferences.Menu
	// Works reports whether provider/model is called at present; nil: all are.
	Works func(model string) bool
	// Ladder is the window of provider/model as the agent uses it; the zero value: it is not
	// watched. nil: none is.
	Ladder func(agent, model string) pressure.Ladder
	Now    func() time.Time
	Log    *slog.Logger // nil: silence
	Goals  bool         // conversations have goals
	People People       // nil: nobody is let in or shut out by a command
	// Questions are what approvers may decide about; nil: nothing.
	Questions *approvals.Desk
	// Accounts say who may talk to each bot account, by channel instance.
	Accounts map[string]Account
	// Errands are what people have scheduled; nil: nobody has.
	Errands *errands.Desk
	// Limits are told to who asks what something has cost.
	Limits budgets.Limits
	// Fates are looked up for who asks what became of a message of theirs; nil: nothing is known.
	Fates Fates
	// Raised returns by how much a scope's budget is higher at a time; nil: none ever is.
	Raised func(ctx context.Context, s sessions.Scope, at time.Time) (costs.Amount, error)
}

// helpText returns the answer to /help.
func helpText(sign string) string {
	lines := []string{"I answer when you write to me here, or mention me in a group.", ""}
	for _, c := range messages.Menu() {
		lines = append(lines, sign+c.Name+" – "+c.Does)
	}
	return strings.Join(lines, "\n")
}

// Texts that more than one place says.
const (
	noQuestionText = "Under that code no program asks you anything."
	nothingYet     = "Nothing was said here yet."
	unknownPrices  = " Some calls have no known price: they are counted at the most that the operator reckons with, or not at all."
)

// Answer returns the text that answers c. Only commands of kind messages.AtOnce are
// answered here. With an error there is no text.
func (d *Handler) Answer(ctx context.Context, by messages.Caller, c messages.Command) (string, error) {
	sign := cmp.Or(by.Sign, "/")
	switch c.Name {
	case "help", "start":
		return helpText(sign), nil
	case "status":
		return d.answerStatus(ctx, by.Token)
	case "cost":
		return d.answerCost(ctx, by)
	case "agents":
		return d.answerAgents(ctx, by.Token)
	case "why":
		return d.answerWhy(ctx, by, sign)
	case "goal":
		return d.answerGoal(ctx, by.Token, sign)
	case "approvals":
		return d.answerApprovals(ctx, by, sign)
	case "access":
		return d.answerAccess(ctx, by, sign, c.Args)
	case "schedules":
		return d.answerSchedules(ctx, by, sign, c.Args)
	case messages.AnswerCommand:
		return noQuestionText, nil
	case "pair":
		return d.answerPair(ctx, by, sign, c.Args)
	case "sessions":
		return d.answerSessions(ctx, by, sign)
	case "model", "provider":
		return d.answerModels(ctx, by, sign, c.Name == "provider")
	}
	return unknownText(c.Name, sign), nil
}

const maxName = 32 // characters of an unknown command's name that are said

// unknownText names the commands that were perhaps meant, or all.
func unknownText(name, sign string) string {
	text := "I do not know the command " + sign + name
	if len(name) > maxName {
		text = "I do not know that command"
	}
	if near := tools.Nearest(name, messages.CommandNames()); len(near) > 0 {
		return text + ": did you mean " + sign + strings.Join(near, " or "+sign) + "?"
	}
	var all []string
	for _, c := range messages.Menu() {
		all = append(all, sign+c.Name)
	}
	last := len(all) - 1
	return text + ": there are " + strings.Join(all[:last], ", ") + " and " + all[last] + "."
}

// passUnreadable returns err, unless it is of a record that holds nothing that can be read:
// that is logged, and the answer is as without the record.
func (d *Handler) passUnreadable(err error) error {
	if !errors.Is(err, records.ErrUnreadable) {
		return err
	}
	if d.Log != nil {
		d.Log.Warn("record unreadable, command answered without it", "error", err)
	}
	return nil
}

func (d *Handler) findConversation(ctx context.Context, token string) (m sessions.Mailbox, s sessions.Session, found bool, err error) {
	m, err = d.Store.Mailbox(ctx, token)
	if err == nil {
		s, err = d.Store.Session(ctx, m.Session)
	}
	if errors.Is(err, sessions.ErrNotFound) {
		return m, s, false, nil
	}
	return m, s, err == nil, err
}

func (d *Handler) answerStatus(ctx context.Context, token string) (string, error) {
	m, s, found, err := d.findConversation(ctx, token)
	if err != nil {
		return "", err
	}
	if !found {
		return nothingYet, nil
	}
	var b strings.Builder
	switch {
	case m.Turn != nil:
		fmt.Fprintf(&b, "I am working on an answer, for %s now.", d.Now().Sub(m.Turn.OpenedAt).Round(time.Second))
	case m.HasWork():
		b.WriteString("A message is waiting for its turn.")
	default:
		b.WriteString("I am idle.")
	}
	model, err := d.modelOf(ctx, m.Key.Agent(), token, m)
	if err != nil {
		return "", err
	}
	if model.model != "" {
		fmt.Fprintf(&b, "\nModel: %s", model.describe(d))
	}
	title, err := conversations.ReadTitle(ctx, d.Store, s.ID, d.Now())
	if err = d.passUnreadable(err); err != nil {
		return "", err
	}
	if title.Text != "" {
		b.WriteString("\nTitle: " + conversations.Code(title.Text))
	}
	fmt.Fprintf(&b, "\nThis conversation has %s and has cost %s.", plural(s.Messages, "message"), s.Subtree.Display())
	mode, err := plans.Read(ctx, d.Store, m.Session, d.Now())
	if err = d.passUnreadable(err); err != nil {
		return "", err
	}
	if mode.On {
		b.WriteString("\nPlan mode is on: I change nothing.")
	}
	g, err := d.goal(ctx, m)
	if err != nil {
		return "", err
	}
	if g.State != goals.Idle {
		fmt.Fprintf(&b, "\n%s", g)
	}
	gauge, err := d.contextGauge(ctx, m, model.model)
	if err != nil {
		return "", err
	}
	return b.String() + gauge, nil
}

// Gauge is how full a model's window is.
type Gauge struct{ Tokens, Window, Percent int64 }

// SessionGauge measures the next request of a session. Its Window is 0 where it is not watched.
// (requirements M01)
func (d *Handler) SessionGauge(ctx context.Context, s sessions.Session) (Gauge, error) {
	model, err := d.SessionModel(ctx, s)
	if err != nil {
		return Gauge{}, err
	}
	g, _, err := d.measure(ctx, s.Key.Agent(), model, s.ID)
	return g, err
}

// measure measures the next request of a session to a model of an agent.
func (d *Handler) measure(ctx context.Context, agent, model string, id sessionkeys.SessionID) (Gauge, []transcript.Message, error) {
	if d.Ladder == nil {
		return Gauge{}, nil, nil
	}
	ladder := d.Ladder(agent, model)
	if ladder.Window == 0 {
		return Gauge{}, nil, nil
	}
	history, err := d.Store.Messages(ctx, id)
	if err != nil {
		return Gauge{}, nil, err
	}
	tokens := pressure.Measure(history, "", 0).Tokens
	return Gauge{tokens, ladder.Window, ladder.Percent(tokens)}, history, nil
}

// contextGauge says how full the window of the model that answers is, and what the last summary freed.
// (requirements AC04)
func (d *Handler) contextGauge(ctx context.Context, m sessions.Mailbox, model string) (string, error) {
	g, history, err := d.measure(ctx, m.Key.Agent(), model, m.Session)
	if err != nil || g.Window == 0 {
		return "", err
	}
	colour := "🟢"
	switch {
	case g.Percent > 90:
		colour = "🔴"
	case g.Percent >= 70:
		colour = "🟡"
	}
	text := fmt.Sprintf("\nContext: %s about %s of %s tokens (%d %%)", colour, pressure.Thousands(g.Tokens), pressure.Thousands(g.Window), g.Percent)
	if o, at, ok := pressure.LastSummary(history); ok {
		text += fmt.Sprintf("; last summary %s ago: %s to %s", d.Now().Sub(at).Round(time.Minute), pressure.Thousands(o.Before), pressure.Thousands(o.After))
	}
	return text, nil
}

func (d *Handler) answerCost(ctx context.Context, by messages.Caller) (string, error) {
	_, s, found, err := d.findConversation(ctx, by.Token)
	if err != nil {
		return "", err
	}
	if !found {
		return nothingYet, nil
	}
	settled, held, err := d.Store.Spent(ctx, budgets.ChatScope(by.Token), d.Now())
	if err != nil {
		return "", err
	}
	tree, err := d.Store.Tree(ctx, s.ID)
	if err != nil {
		return "", err
	}
	shown := FormatCosts(tree)
	text := fmt.Sprintf("This conversation: %s\nWith its sub-agents: %s\nHere today (UTC): %s", shown.Own, shown.Total, shown.column.WithParts(settled).Total())
	if held > 0 {
		text += fmt.Sprintf(", and %s held for what is running", held.Display())
	}
	if s.Unpriced > 0 {
		text += "." + unknownPrices
	}
	left, err := d.RemainingBudget(ctx, by, s, "you")
	if err != nil {
		return "", err
	}
	if left != "" {
		text += "\nLeft (days are UTC): " + left
	}
	if shown.Agents != "" {
		text += "\n\n" + shown.Agents
	}
	return text, nil
}
