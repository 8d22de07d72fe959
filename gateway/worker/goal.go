package worker

import (
	"context"
	"fmt"
	"slices"

	"parley/agent"
	"parley/broker"
	"parley/channels"
	"parley/gateway/activity"
	"parley/gateway/goals"
	"parley/gateway/messages"
	"parley/gateway/signals"
	"parley/sessions"
	"parley/transcript"
)

// Answers to /goal and /done.
const (
	goalsOffText = "Goals are switched off here."
	goalSetText  = "That is our goal now: "
	noGoalText   = "There is no goal that could be reached."
)

// changeGoal carries out /goal with words behind it, and /done.
func (a *commands) changeGoal(e broker.Envelope, msg channels.Message, c messages.Command) (bool, error) {
	change := sessions.Command{Seq: e.Seq, Event: messages.Inbox(msg)}
	if a.settings.Goals.Off {
		return a.answer(change, e.Seq, msg, goalsOffText)
	}
	now := a.w.Now()
	g, err := goals.Read(a.ctx, a.w.Store, a.m.Session, now)
	if err = a.passUnreadable(err); err != nil {
		return false, err
	}
	text, before := noGoalText, g
	if c.Name == "done" {
		if g, _ = g.Complete(now); g != before {
			text = g.Announce()
		}
	} else if g = g.Set(c.Args, now); g != before {
		text = goalSetText + g.Code()
	}
	if g == before {
		return a.answer(change, e.Seq, msg, text)
	}
	s, err := a.w.Store.Session(a.ctx, a.m.Session)
	if err != nil {
		return false, fmt.Errorf("look at the session of a goal: %w", err)
	}
	if s.Messages == 0 {
		g = g.Starting()
	}
	r, err := g.Record(a.m.Session, now)
	if err != nil {
		return false, err
	}
	change.Records = []sessions.Record{r}
	released, err := a.answer(change, e.Seq, msg, text)
	if err == nil && g.State == goals.Completed {
		a.noteGoal(goals.ByCommand)
		a.w.signal(signals.EventTopic, activity.Beside(agent.GoalCompleted, now, s.ID, a.m.Key, activity.Payload{Text: g.Text, Status: goals.ByCommand}))
	}
	return released, err
}

// noteGoal logs and counts a goal that was reached.
func (a *owner) noteGoal(how string) {
	a.w.Logger.Info("goal completed", "session", a.m.Session, "key", a.m.Key, "how", how)
	a.w.Observer.GoalCompleted(how)
}

// promptGoal returns the goal's text as far as the model may see it; "" where there is none
// or it cannot be read.
func (j *journal) promptGoal(ctx context.Context) string {
	w, wanted := j.a.w, j.a.settings.Goals
	if !wanted.TrackInSystemPrompt || wanted.Off {
		return ""
	}
	g, err := goals.Read(ctx, w.Store, j.t.Session, w.Now())
	switch {
	case err != nil:
		w.Logger.Warn("goal unreadable, the model is not told it", "session", j.t.Session, "turn", j.t.ID, "error", err)
		return ""
	case g.State != goals.Active:
		return ""
	}
	return g.Text
}

// followGoal adds to the end of the turn what becomes of the session's goal by it, and returns
// the goal's text if it is completed; "": nothing by a guest's, who may neither set a goal nor say that it is
// reached. The store is read only where that is possible.
func (j *journal) followGoal(ctx context.Context, e *sessions.FinishTurn, o agent.Outcome) (reached string, err error) {
	w, wanted := j.a.w, j.a.settings.Goals
	said := saysDone(e.Messages, o, wanted)
	if wanted.Off || j.looks || j.job != nil || j.decided != nil || !said && !wanted.FromMessages {
		return "", nil
	}
	history, err := j.Messages(ctx)
	if err != nil {
		return "", err
	}
	asked, called := ownPart(history, j.t.ID)
	if c, ok := messages.ParseCommand(asked); ok && c.IsTurn() {
		return "", nil
	}
	before, err := goals.Read(ctx, w.Store, j.t.Session, e.At)
	if err != nil { // a goal never acts on a turn: the answer was paid for
		w.Logger.Warn("goal unreadable, the turn ends without it", "session", j.t.Session, "turn", j.t.ID, "error", err)
		return "", nil
	}
	g, done := before, false
	if wanted.FromMessages {
		g = g.Heard(asked, j.t.OpenedAt)
	}
	if said && !called {
		g, done = g.Complete(e.At)
	}
	if g == before {
		return "", nil
	}
	r, err := g.Record(j.t.Session, e.At)
	if err != nil {
		return "", err
	}
	e.Records = append(e.Records, r)
	if done {
		reached = g.Text
		e.Replies = append(e.Replies, sessions.Outgoing{
			ID: messages.ID{Kind: messages.GoalReached, About: j.t.ID}.String(), Channel: j.t.Channel, Session: j.t.Session,
			To: j.t.From, ReplyTo: j.t.ReplyTo, Text: g.Announce(), At: e.At, MaybeDuplicate: j.t.Seq <= w.AmbiguousThrough,
		})
	}
	return reached, nil
}

// saysDone reports whether a turn ended by itself with an answer that says so.
func saysDone(closing []transcript.Message, o agent.Outcome, c goals.Config) bool {
	if o.Finish != transcript.EndTurn || len(closing) == 0 {
		return false
	}
	last := closing[len(closing)-1]
	return last.Role == transcript.Assistant && goals.Says(last.Text(), c.CompletionPhrases)
}

// ownPart returns the words that opened a turn, and whether it has called a tool. (AD02)
func ownPart(history []transcript.Message, turn string) (asked string, called bool) {
	for _, m := range slices.Backward(history) {
		if m.ID == openingID(turn) {
			return m.Text(), called
		}
		called = called || len(m.Calls()) > 0
	}
	return "", called
}
