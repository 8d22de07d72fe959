package worker

import (
	"parley/broker"
	"parley/channels"
	"parley/gateway/messages"
	"parley/gateway/roles"
	"parley/sessions"
)

const (
	// guestReason says to a model why a call does not run that would change something.
	guestReason = "who asks is a guest here: answer without it"
	// guestText answers a guest's command that would change how the conversation goes on.
	guestText = "You may talk to me here, but not change how I answer."
)

// onlyLooks reports whether the turn's tools may only read, as who asks is a guest. Their role is
// read now: they may have another since they asked.
func (a *actor) onlyLooks(j *journal, stop bool) (bool, error) {
	if j.job != nil || stop { // which calls no tool
		return false, nil
	}
	if j.asker == nil {
		m, err := a.opener(j.t)
		if err != nil {
			return false, err
		}
		j.asker = &m.Sender
	}
	role, err := a.roleOf(a.ctx, j.t.Channel, *j.asker)
	return !role.May(roles.Write), err
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
