package worker

import (
	"context"
	"errors"
	"fmt"

	"parley/broker"
	"parley/channels"
	"parley/faultpoint"
	"parley/gateway/approvals"
	"parley/gateway/messages"
	"parley/gateway/signals"
	"parley/sessions"
	"parley/tools"
	"parley/transcript"
)

// Answers to /approve and /deny.
const (
	noCodeText       = "Which one? Behind %s stands the code that I gave with the question."
	noRequestText    = "Under the code %s nothing waits that you may decide about." // whether or not there is something
	chatClosedText   = "I cannot write any more to the chat where that was asked, so nothing runs."
	stoppedThereText = "Somebody has said stop in the chat where that was asked, before I took up what you decided. So nothing runs."
)

// requests are the questions for permission of the conversation: who decides about one, and who
// hears of that.
type requests struct{ *rights }

// permitGate returns the gate of a turn of a person: what only reads or writes runs, and a
// person is asked about everything else, where there is one who may decide; where nobody may, otherwise
// says what becomes of it. The call that was decided on goes by the decision alone, also where it
// would need none by now. (F03, K03)
func (j *journal) permitGate(otherwise tools.Gate) tools.Gate {
	if j.decided == nil && j.a.settings.Approvers == nil && !j.a.settings.Access[j.t.Channel].NamesApprover() {
		return otherwise
	}
	ask := tools.InteractiveGate(func(ctx context.Context, t tools.Tool, c tools.Call) (tools.Verdict, error) {
		some, err := j.rights.namesApprover(ctx, j.t.Channel)
		if err != nil {
			return tools.Verdict{}, err
		}
		if !some && otherwise != nil {
			return otherwise(ctx, t, c)
		}
		return j.judgeCall(ctx, t, c)
	})
	return func(ctx context.Context, t tools.Tool, c tools.Call) (tools.Verdict, error) {
		if j.isDecided(c) {
			return j.judgeCall(ctx, t, c)
		}
		return ask(ctx, t, c)
	}
}

// isDecided reports whether c is the call that the decision is about which opened the turn.
func (j *journal) isDecided(c tools.Call) bool {
	return j.decided != nil && j.decided.Raise == nil && j.decided.Permitted().ID == c.ID && c.Step == 0
}

// judgeCall says what becomes of a call that was decided on, or that a person must be asked
// about.
func (j *journal) judgeCall(ctx context.Context, t tools.Tool, c tools.Call) (tools.Verdict, error) {
	p, err := approvals.Petition(t, c)
	if err != nil {
		return tools.Verdict{Decision: tools.Deny, Reason: err.Error()}, nil //nolint:nilerr // it is why the call does not run
	}
	digest, err := approvals.Digest(c, p)
	if err != nil {
		return tools.Verdict{}, err // it says of which call
	}
	if j.isDecided(c) {
		return j.usePermission(ctx, digest)
	}
	return j.askPermission(ctx, t, c, p, digest)
}

// usePermission says whether the call that was decided on runs. If it does, its permission is
// gone before it begins.
func (j *journal) usePermission(ctx context.Context, digest string) (tools.Verdict, error) {
	a, now := j.a, j.a.w.Now()
	v, use := j.decided.Judge(digest, now)
	if !use {
		return v, nil
	}
	by := j.decided.By
	approves, err := j.rights.approves(ctx, j.t.Channel, senderOf(by))
	if err != nil {
		return tools.Verdict{}, err
	}
	if !by.Operator && !approves {
		why := fmt.Sprintf("%s may not permit it any more", by)
		return tools.Verdict{Decision: tools.Deny, Halt: true, Reason: why, Ask: j.decided.NotRun(why)}, nil
	}
	faultpoint.Hit("worker.permission.before")
	used, err := j.decided.Use(j.Fence).Write(ctx, a.w.Store, now)
	if errors.Is(err, sessions.ErrChanged) {
		return tools.Verdict{Decision: tools.Deny, Reason: "its permission was used or withdrawn meanwhile"}, nil
	}
	if err != nil {
		return tools.Verdict{}, err // it says which
	}
	faultpoint.Hit("worker.permission.after")
	j.decided = &used
	a.w.Logger.Info("permission used", "session", j.t.Session, "turn", j.t.ID, "tool", used.Call.Name, "by", by.LogID(), "request", used.ID)
	return v, nil
}

// askPermission makes the request that the end of the turn will write, and the question.
func (j *journal) askPermission(ctx context.Context, t tools.Tool, c tools.Call, p tools.Petition, digest string) (tools.Verdict, error) {
	a := j.a
	if why := approvals.Unaskable(p); why != "" {
		return tools.Verdict{Decision: tools.Deny, Reason: why}, nil
	}
	opener, err := a.opener(j.t)
	if err != nil {
		return tools.Verdict{}, err
	}
	switch some, err := j.rights.namesApprover(ctx, j.t.Channel); {
	case err != nil:
		return tools.Verdict{}, err
	case !some:
		return tools.Verdict{Decision: tools.Deny, Reason: "it needs a person's permission, and nobody may give it"}, nil
	}
	r, err := j.newRequest(ctx, opener.Sender)
	if err != nil {
		return tools.Verdict{}, err
	}
	r.Call = transcript.ToolCall{ID: c.ID, Name: c.Name, Input: string(c.Arguments)}
	r.Shown, r.Where, r.Dir, r.Env, r.Price, r.Digest = p.Text, p.Where, c.Dir, c.Env, c.Price, digest
	read, err := j.untrustedSources(ctx)
	if err != nil {
		return tools.Verdict{}, err
	}
	r = r.AskedAfter(read)
	j.asked = &r
	why := ""
	if reasoner, ok := t.(tools.Reasoner); ok {
		why = reasoner.Reason(c)
	}
	ag, _ := a.chosenAgent(ctx)
	return tools.Verdict{Decision: tools.Pending, Reason: r.Waiting(), Ask: j.pose(r, r.Question(why, ag.MaxCost, j.decidedHere, a.typed))}, nil
}

// newRequest makes a request of the turn of that person, which waits from now on.
func (j *journal) newRequest(ctx context.Context, asker channels.Sender) (r approvals.Request, err error) {
	a, now := j.a, j.a.w.Now()
	all, err := approvals.List(ctx, a.w.Store, "", now)
	if err = a.passUnreadable(err); err != nil {
		return r, err
	}
	r = a.w.NewRequest(j.t.ID, now, a.settings.Approvals.Timeout).WithOwnCode(all)
	r.Token, r.Session, r.Turn, r.Channel, r.ReplyTo = a.token, j.t.Session, j.t.ID, j.t.Channel, j.t.ReplyTo
	r.Asker = approvals.Person{ID: j.t.Sender, Alias: asker.Alias, Name: asker.Name}
	if j.decidedHere, err = j.rights.hasApprover(ctx, j.t.Channel, j.t.From, asker); err != nil {
		return r, err
	}
	j.confided.to, err = j.rights.confidants(ctx, j.t)
	r.Private = len(j.confided.to) > 0
	return r, err
}

// decide carries out /approve and /deny: it writes the decision, and opens the turn that
// makes the call, or that ends with the refusal. Whoever takes the message up again finds
// the decision and goes on with it.
func (a *actor) decide(e broker.Envelope, msg channels.Message, c messages.Command, yes bool) (bool, error) {
	change := sessions.Command{Seq: e.Seq, Event: messages.Inbox(msg)}
	now, id := a.w.Now(), a.turnID(e.Seq)
	all, err := approvals.List(a.ctx, a.w.Store, a.token, now)
	if err = a.passUnreadable(err); err != nil {
		return false, err
	}
	by, entitled, err := a.decider(msg)
	if err != nil {
		return false, err
	}
	code := approvals.ReadCode(c.Args)
	r, found := approvals.ByCode(all, code)
	if msg.Decision != nil {
		r, found = approvals.ByID(all, msg.Decision.Request)
	}
	switch {
	case code == "":
		return a.answer(change, e.Seq, msg, fmt.Sprintf(noCodeText, a.typed(c.Name)))
	case found && !r.IsDecidedOutside() && !entitled:
		a.w.Logger.Info("decision refused", "session", a.m.Session, "channel", msg.Channel, "sender", msg.Sender.ID, "request", r.ID)
		return a.answer(change, e.Seq, msg, fmt.Sprintf(noRequestText, code))
	case !found:
		return a.answer(change, e.Seq, msg, fmt.Sprintf(noRequestText, code))
	}
	if late := r.TooLate(a.m.Session, now); late != "" && r.DecidedIn != id {
		return a.answer(change, e.Seq, msg, late)
	}
	switch left, err := a.refusesAsker(msg, r); { // also who was shut out while the decision waited for their turn
	case err != nil:
		return false, err
	case left:
		return a.answer(change, e.Seq, msg, r.AskerLeft())
	}
	if r.DecidedIn != id {
		if r.IsDecidedOutside() {
			r.DecidedIn = id
		} else {
			r = r.Decide(by, yes, id, now)
		}
		if r.Raise != nil && r.State == approvals.Denied {
			return a.leaveBudget(change, e.Seq, msg, r)
		}
		if r, err = r.Write(a.ctx, a.w.Store, now); errors.Is(err, sessions.ErrChanged) {
			return a.takeNext() // and see what became of it
		}
		if err != nil {
			return false, err // it says which
		}
		a.noteDecided(r)
		faultpoint.Hit("worker.decided")
	}
	if err := a.tellDecider(e, msg, r); err != nil {
		return false, err
	}
	switch waited, err := a.admit(person{msg.Channel, r.Asker.ID}); {
	case errors.Is(err, errPoked):
		return a.release() // which says whether a request is there
	case err != nil:
		return false, err
	case waited:
		return a.takeNext()
	}
	return a.openDecided(e, msg, r)
}

// noteDecided logs, counts and signals that r is decided.
func (a *requests) noteDecided(r approvals.Request) {
	about := []any{"session", r.Session, "tool", r.Call.Name, "decision", r.State, "by", r.By.LogID(), "request", r.ID}
	if r.Raise != nil {
		about = append(about, "budget", r.Raise.Name, "amount_usd", r.Raise.Amount, "until", r.Raise.Until)
	}
	a.w.Logger.Info("permission decided", about...)
	a.w.Observer.ApprovalDecided(string(r.State))
	a.signalDecided(r)
}

// decider returns who decides by msg, and whether they may.
func (a *requests) decider(msg channels.Message) (by approvals.Person, entitled bool, err error) {
	if msg.Decision != nil && msg.Decision.Operator {
		return approvals.Person{Operator: true, Name: msg.Decision.By}, true, nil
	}
	by = approvals.Person{ID: msg.Sender.ID, Alias: msg.Sender.Alias, Name: msg.Sender.Name}
	entitled, err = a.approves(a.ctx, msg.Channel, msg.Sender)
	return by, entitled, err
}

// tellDecider tells somebody who decided in another chat that their decision holds, once. What
// becomes of it is told where it was asked.
func (a *requests) tellDecider(e broker.Envelope, msg channels.Message, r approvals.Request) error {
	if msg.Decision == nil || msg.Decision.Operator {
		return nil
	}
	told := messages.Inbox(msg)
	told.Event = messages.ID{Kind: messages.Note, About: told.Event}.String()
	now := a.w.Now()
	added, err := a.w.Store.Notice(a.ctx, told, []sessions.Outgoing{{
		ID: messages.ID{Kind: messages.Note, About: a.turnID(e.Seq)}.String(), Channel: msg.Channel, Session: a.m.Session,
		To: msg.Decision.From, Text: r.Done(), At: now, MaybeDuplicate: e.Seq <= a.w.AmbiguousThrough,
	}}, now)
	if err != nil {
		return fmt.Errorf("tell who decided in another chat: %w", err)
	}
	if added {
		a.w.signalOutbox(msg.Channel)
	}
	return nil
}

// signalDecided has the buttons of a question go away.
func (a *requests) signalDecided(r approvals.Request) {
	a.w.signal(signals.PreviewTopic, signals.Preview{Turn: r.Turn, Channel: r.Channel, To: a.m.Key.Address(), Decided: true})
}

// refusesAsker reports whether who asked may not be answered any more where msg decides.
func (a *requests) refusesAsker(msg channels.Message, r approvals.Request) (bool, error) {
	chat, err := a.chat(a.ctx)
	if err != nil {
		return false, err
	}
	msg.Sender = senderOf(r.Asker)
	return a.refuses(a.ctx, msg, chat)
}

// openDecided opens the turn of a decision: it is the asker's, and answers their message.
func (a *actor) openDecided(e broker.Envelope, msg channels.Message, r approvals.Request) (bool, error) {
	now, id := a.w.Now(), a.turnID(e.Seq)
	asked := transcript.Message{ID: openingID(id), Role: transcript.User, CreatedAt: now, Parts: []transcript.Part{transcript.Text{Text: r.Opening()}}}
	t, opened, err := a.w.Store.Open(a.ctx, a.m.Fence(), sessions.OpenTurn{
		Turn: sessions.Turn{
			ID: id, Seq: e.Seq, Channel: msg.Channel, From: msg.Address, ReplyTo: r.ReplyTo,
			Sender: r.Asker.ID, ReceivedAt: msg.ReceivedAt, OpenedAt: now,
		},
		Events: []sessions.InboxID{messages.Inbox(msg)}, Through: e.Seq, Message: asked,
	})
	if err != nil {
		return false, fmt.Errorf("open the turn of a decision: %w", err)
	}
	if !opened {
		a.countDuplicates(msg.Channel, "message_id", 1)
		return a.release()
	}
	a.w.Observer.TurnStarted(t.Channel, now.Sub(t.ReceivedAt))
	a.m.LastRead = max(a.m.LastRead, e.Seq)
	a.showWorking(t, []string{msg.MessageID})
	j, err := a.journal(t)
	if err != nil {
		return false, err
	}
	j.decided, j.asker = &r, new(senderOf(r.Asker))
	j.recall(asked)
	return a.runTurn(t, j, false)
}

// findDecision returns the decision that opened a turn; nil: none did.
func (a *owner) findDecision(turn string) (*approvals.Request, error) {
	all, err := approvals.List(a.ctx, a.w.Store, a.token, a.w.Now())
	if err = a.passUnreadable(err); err != nil {
		return nil, err
	}
	for _, r := range all {
		if r.DecidedIn == turn {
			return &r, nil
		}
	}
	return nil, nil // most turns are opened by a message, which is no error
}

// senderOf returns a person as the sender of a message.
func senderOf(p approvals.Person) channels.Sender {
	return channels.Sender{ID: p.ID, Alias: p.Alias, Name: p.Name}
}

// permitted returns the call with which the turn begins; nil: with a model call.
func (j *journal) permitted() *transcript.ToolCall {
	if j.decided == nil || j.decided.Raise != nil {
		return nil
	}
	return j.decided.Permitted()
}
