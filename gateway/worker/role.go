package worker

import (
	"context"

	"parley/broker"
	"parley/channels"
	"parley/gateway/messages"
	"parley/gateway/roles"
	"parley/sessions"
	"parley/tools"
)

const (
	// guestReason says to a model why a call does not run that would change something.
	guestReason = "who asks is a guest here: answer without it"
	// shutOutReason says to a model why a call does not run, and shutOutText to people why its turn ends.
	shutOutReason = "who asks may not talk to the bot any more"
	shutOutText   = "I have stopped: who asked me for this may not talk to me any more."
	// guestText answers a guest's command that would change how the conversation goes on.
	guestText = "You may talk to me here, but not change how I answer."
)

// onlyLooks reports whether the turn's tools may only read, as who asks is a guest. Their role is
// read now: they may have another since they asked.
func (j *journal) onlyLooks(ctx context.Context, stop bool) (bool, error) {
	if j.job != nil || stop { // which calls no tool
		return false, nil
	}
	if j.asker == nil {
		m, err := j.a.opener(j.t)
		if err != nil {
			return false, err
		}
		j.asker = &m.Sender
	}
	role, err := j.rights.roleOf(ctx, j.t.Channel, *j.asker)
	return !role.May(roles.Write), err
}

// standingGate returns the gate that reads, before each call that does more than look, what the
// turn's asker may do by now, and asks next about those that they may have made. One who was shut
// out since the turn began ends it so; one who became a guest has the model go on without.
// (security 2: rights are read again at use)
func (j *journal) standingGate(next tools.Gate) tools.Gate {
	if j.job != nil || j.asker == nil {
		return next
	}
	if next == nil { // as the loop has it
		next = tools.CategoryGate(tools.Read, tools.Write)
	}
	return func(ctx context.Context, t tools.Tool, c tools.Call) (tools.Verdict, error) {
		if t.Category(c) == tools.Read {
			return next(ctx, t, c)
		}
		role, err := j.rights.roleOf(ctx, j.t.Channel, *j.asker)
		switch {
		case err != nil:
			return tools.Verdict{}, err
		case role == roles.None:
			j.a.w.Logger.Info("call refused, who asks was shut out during the turn", "session", c.Session, "turn", j.t.ID, "tool", c.Name, "sender", j.asker.ID)
			return tools.Verdict{Decision: tools.Deny, Halt: true, Reason: shutOutReason, Ask: shutOutText}, nil
		case !role.May(roles.Write):
			return tools.LookGate(guestReason, next)(ctx, t, c)
		}
		return next(ctx, t, c)
	}
}

// refusesCommand answers a command that takes rights which its sender does not have.
func (a *actor) refusesCommand(e broker.Envelope, msg channels.Message, c messages.Command) (refused, released bool, err error) {
	if !c.Directs() {
		return false, false, nil
	}
	role, err := a.roleOf(a.ctx, msg.Channel, msg.Sender)
	if err != nil || role.May(roles.Direct) {
		return false, false, err
	}
	released, err = a.answer(sessions.Command{Seq: e.Seq, Event: messages.Inbox(msg)}, e.Seq, msg, guestText)
	return true, released, err
}
