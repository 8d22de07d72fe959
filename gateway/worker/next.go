package worker

import (
	"encoding/json"
	"errors"
	"fmt"

	"parley/broker"
	"parley/channels"
	"parley/gateway/messages"
	"parley/sessionkeys"
	"parley/sessions"
)

// takeNext takes up the first message that no turn has read.
func (a *actor) takeNext() (bool, error) {
	it, err := a.head(a.ctx)
	if errors.Is(err, broker.ErrNone) {
		return a.skipMissing()
	}
	if err != nil {
		return false, fmt.Errorf("read the mailbox: %w", err)
	}
	if it.err != nil {
		if err := a.deadLetter(it.e, "", "encoding", it.err.Error()); err != nil {
			return false, err
		}
		return a.skip(it.e.Seq)
	}
	if done, released, err := a.divertHead(it); done || err != nil {
		return released, err
	}
	if a.m.Attempts > a.attempts() {
		return a.giveUp(it)
	}
	if c, ok := it.command(); ok && !c.IsTurn() {
		return a.runCommand(it.e, it.msg, c)
	}
	if it.msg.Job != "" {
		if renewed, released, err := a.renewSession(it); renewed || err != nil {
			return released, err
		}
	}
	return a.takeBatch()
}

// skipMissing passes over messages that the log held and does not hold any more, and
// says so in the chat.
func (a *queue) skipMissing() (bool, error) {
	known, err := NotifyLost(a.ctx, a.w.Store, a.w.Generation, a.m, a.w.Now())
	if err != nil {
		return false, err
	}
	if !known {
		a.w.Observer.CountLost(1)
		a.w.Logger.Error("messages missing from the log", "session", a.m.Session, "key", a.m.Key, "after", a.m.LastRead, "until", a.m.LastSeen)
	}
	return a.skip(a.m.LastSeen)
}

// decode returns the message in e, which must be one of this conversation: its
// address is where the answer goes.
func (a *owner) decode(e broker.Envelope) (channels.Message, error) {
	return decodeMessage(a.m.Key.Address(), e)
}

func decodeMessage(at sessionkeys.Address, e broker.Envelope) (msg channels.Message, err error) {
	if err := json.Unmarshal(e.Body, &msg); err != nil {
		return msg, fmt.Errorf("read the message: %w", err)
	}
	if messages.Conversation(msg) != at {
		return msg, errors.New("the message is not of this conversation")
	}
	return msg, nil
}

func (a *owner) skip(seq uint64) (bool, error) {
	if err := a.w.Store.Skip(a.ctx, a.m.Fence(), seq); err != nil {
		return false, fmt.Errorf("pass over a message: %w", err)
	}
	return a.release()
}

// answer ends c, whose first message stands at seq in the log, with one reply
// to msg.
func (a *answers) answer(c sessions.Command, seq uint64, msg channels.Message, text string) (bool, error) {
	switch d := msg.Decision; {
	case d == nil:
		c.Replies = []sessions.Outgoing{a.reply(seq, msg, messages.Note, text)}
	case d.Operator: // whose program sees what became of it, and the chat did not ask
		a.w.Logger.Warn("operator's decision not carried out", "session", a.m.Session, "request", d.Request, "reason", text)
	default: // who decided elsewhere reads it there, also behind the note that their decision holds
		msg.Address, msg.MessageID = d.From, ""
		c.Replies = []sessions.Outgoing{a.reply(seq, msg, messages.Decided, text)}
	}
	return a.commitAnswer(c, msg.Channel)
}

// reply returns what is said where msg stands, about the message at seq.
func (a *answers) reply(seq uint64, msg channels.Message, kind messages.IDKind, text string) sessions.Outgoing {
	return sessions.Outgoing{
		ID: messages.ID{Kind: kind, About: a.turnID(seq)}.String(), Channel: msg.Channel, Session: a.m.Session,
		To: msg.Address, ReplyTo: messages.ReplyTo(msg), Text: text, At: a.w.Now(), MaybeDuplicate: seq <= a.w.AmbiguousThrough,
	}
}

// commitAnswer ends c with its replies, of which the channel's delivery is told.
func (a *answers) commitAnswer(c sessions.Command, channel string) (bool, error) {
	c.At = a.w.Now()
	done, err := a.w.Store.Answer(a.ctx, a.m.Fence(), c)
	if err != nil {
		return false, fmt.Errorf("answer a command: %w", err)
	}
	a.didWork = true
	if !done {
		a.w.Observer.CountDuplicate(channel, "message_id")
	} else {
		a.w.signalOutbox(channel)
	}
	return a.release()
}

// resume goes on with a turn that an earlier owner left open.
func (a *actor) resume(stop bool) (bool, error) {
	if !stop {
		var err error
		if stop, err = a.refusesTurn(*a.m.Turn); err != nil {
			return false, err
		}
	}
	if !stop { // which takes no time
		switch _, err := a.admit(person{a.m.Turn.Channel, a.m.Turn.Sender}); {
		case errors.Is(err, errPoked):
			return a.release() // which says whether a request is there
		case err != nil:
			return false, err
		}
	}
	a.settings = a.w.Present() // it may have waited for its person's other turns
	t, err := a.w.Store.Resume(a.ctx, a.m.Fence(), a.w.Now())
	if errors.Is(err, sessions.ErrNotFound) {
		return a.release()
	}
	if err != nil {
		return false, fmt.Errorf("resume a turn: %w", err)
	}
	j, err := a.journal(t)
	if err != nil {
		return false, err
	}
	j.resumed = true
	if j.decided, err = a.findDecision(t.ID); err != nil {
		return false, err
	}
	a.showResumed(t)
	if t.Attempts > a.attempts() && !stop {
		return a.abandon(t, j)
	}
	return a.runTurn(t, j, stop)
}
