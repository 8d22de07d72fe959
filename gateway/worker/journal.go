package worker

import (
	"context"
	"errors"
	"fmt"

	"parley/agent"
	"parley/agent/pressure"
	"parley/channels"
	"parley/costs"
	"parley/faultpoint"
	"parley/gateway/approvals"
	"parley/gateway/goals"
	"parley/gateway/schedule"
	"parley/sessions"
	"parley/subagents"
	"parley/transcript"
)

// journal is the memory of a person's turn: the store, under the actor's fence.
type journal struct {
	sessions.Journal
	a       *owner
	rights  *rights
	t       sessions.Turn
	counted bool               // its cost is counted although no budget is for one turn
	asked   *approvals.Request // for which a person's permission is needed; nil: nothing
	// decidedHere: there may be somebody in the chat who can decide about what is asked.
	decidedHere bool
	confided    confided            // the question, where not all of the chat are shown it
	decided     *approvals.Request  // by whose decision the turn was opened; nil: by a message
	job         *schedule.Job       // of whose run the turn is; nil: of none
	asker       *channels.Sender    // who asks; nil: as the message says that opened the turn
	looks       bool                // who asks is a guest
	resumed     bool                // an earlier take may have left children behind
	tree        *subagents.TurnTree // nil: it can have no children
	opening     *opening            // nil: the turn was open before
	handoff     Handoff             // takes the answer; nil: it is queued, and found
	titling     <-chan struct{}     // closed when the call for a title has its money; nil: there is none
	after       sessions.Mailbox    // the mailbox after Finish
	released    bool
	reached     string // the goal that the turn has reached; "": none
}

var _ agent.Journal = (*journal)(nil)

func (a *actor) journal(t sessions.Turn) (*journal, error) {
	job, err := a.jobOf(t)
	if err != nil {
		return nil, err
	}
	j := &journal{a: a.owner, rights: a.rights, t: t, job: job, Journal: sessions.Journal{
		Store: a.w.Store, Fence: a.m.Fence(), Turn: t.ID, Session: t.Session, Now: a.w.Now, Suffices: pressure.Suffices,
	}}
	j.Scopes = j.scopes
	return j, nil
}

func (j *journal) Finish(ctx context.Context, s *costs.Settlement, o agent.Outcome, ms ...transcript.Message) error {
	if j.titling != nil {
		select {
		case <-j.titling: // in one commit of the same store, begun with the turn
		case <-ctx.Done():
		}
	}
	e := sessions.FinishTurn{
		Settlement: s, Messages: ms, Outcome: o.Finish, Refused: o.BudgetError(), At: j.a.w.Now(),
		Nested: j.resumed || j.tree != nil && j.tree.HasChildren(),
	}
	text, replyTo := approvals.Quotation(o.Beside)+o.Text, j.t.ReplyTo
	if o.BudgetError() != nil && o.Steps == 0 && o.Finish != transcript.Waiting { // nothing but the refusal is said
		replyTo = channels.PrivateReplyTo(replyTo)
	}
	if !o.Silent {
		e.Replies = []sessions.Outgoing{{
			ID: j.t.ID, Channel: j.t.Channel, Session: j.t.Session, Turn: j.t.ID,
			To: j.t.From, ReplyTo: replyTo, Text: text, At: e.At, MaybeDuplicate: j.t.Seq <= j.a.w.AmbiguousThrough,
		}}
	}
	if o.Finish == transcript.Waiting && j.asked != nil {
		if j.asked.Private {
			e.Replies = append(e.Replies, j.confide(e.Replies[0])...)
		} else if j.decidedHere {
			e.Replies[0].Choices = j.asked.Choices()
		}
		r, err := j.asked.Record(e.At)
		if err != nil {
			return err // it says which
		}
		e.Records = append(e.Records, r)
	}
	reached, err := j.followGoal(ctx, &e, o)
	if err != nil {
		return err
	}
	faultpoint.HitOn("worker.finish.before", o.Text)
	done, err := j.endSettled(ctx, e)
	if err != nil {
		return fmt.Errorf("finish the turn: %w", err)
	}
	faultpoint.HitOn("worker.finish.after", o.Text)
	j.after, j.released = done.Mailbox, done.Released
	if r := j.asked; r != nil && o.Finish == transcript.Waiting {
		about := []any{"session", r.Session, "turn", r.Turn, "tool", r.Call.Name, "asker", r.Asker.ID, "request", r.ID, "expires", r.Expires}
		if r.Raise != nil {
			about = append(about, "budget", r.Raise.Name, "amount_usd", r.Raise.Amount)
		}
		j.a.w.Logger.Info("permission asked", about...)
	}
	if p, ok := j.History(); ok {
		j.a.w.histories.put(j.t.Session, j.Fence.Epoch, p)
	}
	if j.reached = reached; reached != "" {
		j.a.noteGoal(goals.ByPhrase)
	}
	if !done.Sending {
		j.a.w.signalOutbox(j.t.Channel)
	}
	return nil
}

// errPanicked is what a handoff is told that ended with a panic, which the worker survives.
var errPanicked = errors.New("the end of the turn panicked")

// endSettled ends the turn, and settles what was handed over for it, whatever happens: a lane waits
// for that.
func (j *journal) endSettled(ctx context.Context, e sessions.FinishTurn) (done sessions.Finished, err error) {
	settle, err := j.handOver(ctx, &e), errPanicked
	defer func() { settle(done.Sending, err) }()
	done, err = j.End(ctx, e)
	return done, err // it is wrapped by who calls
}

// handOver has the answer sent as soon as the end of the turn is durable, if it can be. settle takes
// what became of that end.
func (j *journal) handOver(ctx context.Context, e *sessions.FinishTurn) (settle func(sending bool, err error)) {
	if j.handoff == nil || len(e.Replies) != 1 {
		return func(bool, error) {}
	}
	begin, settle := j.handoff(ctx, e.Replies[0], j.t.ReceivedAt)
	if begin == nil {
		return func(bool, error) {}
	}
	e.Sending = begin
	return settle
}
