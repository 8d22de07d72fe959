package worker

import (
	"context"

	"parley/channels"
	"parley/gateway/messages"
	"parley/gateway/signals"
	"parley/sessions"
	"parley/transcript"
)

// marks are the messages on which a turn shows that it works on them.
type marks struct {
	ids     []string           // touched by the actor's goroutine alone
	resumed chan []string      // gives those of a turn that is resumed, once; nil: it is not
	cancel  context.CancelFunc // ends looking for them
}

// showWorking shows that the turn works on further messages.
func (a *reactions) showWorking(t sessions.Turn, ids []string) {
	if a.settings.Reactions[t.Channel].Any() {
		a.marks.ids = append(a.marks.ids, ids...)
		a.react(t, ids, channels.Working, false)
	}
}

// showResumed calls showWorking for a turn that is resumed: it shows so on the first of the
// messages that opened it and on the first of each that joined it. What else an earlier
// process has put there stays. The turn does not wait for it.
func (a *reactions) showResumed(t sessions.Turn) {
	if !a.settings.Reactions[t.Channel].Any() {
		return
	}
	ctx, cancel := context.WithCancel(a.ctx)
	again := make(chan []string, 1)
	a.marks.resumed, a.marks.cancel = again, cancel
	go func() {
		ids := a.readLeadIDs(ctx, t)
		a.react(t, ids, channels.Working, true)
		again <- ids
	}()
}

// showOutcome shows how the turn stands to its messages when it does not run any more.
func (a *reactions) showOutcome(t sessions.Turn, s channels.Stage) {
	m := a.marks
	a.marks = marks{}
	a.react(t, m.ids, s, false)
	if m.resumed != nil {
		a.react(t, <-m.resumed, s, true)
		m.cancel()
	}
}

func (a *reactions) react(t sessions.Turn, ids []string, s channels.Stage, resumed bool) {
	of := a.settings.Reactions[t.Channel]
	if s == channels.Done && of.Done == "" {
		s = channels.Idle
	}
	if len(ids) == 0 || s != channels.Done && of.Working == "" { // nothing is there, nor to be
		return
	}
	a.w.signal(signals.ReactionTopic, signals.Reaction{
		Channel: t.Channel, To: t.From, Messages: ids, Stage: s, Resumed: resumed, AskedAt: t.ReceivedAt,
	})
}

// stageAfter returns how a turn that ended so stands to its messages.
func stageAfter(why transcript.FinishReason, silent bool) channels.Stage {
	if !silent && (why == transcript.EndTurn || why == transcript.Done) {
		return channels.Done
	}
	return channels.Idle
}

// leadIDs returns the messages that stand for what is said in b: of an album or a paste the one
// with the mention, or the first.
func (b *batch) leadIDs() (ids []string) {
	for i := range b.starts {
		u := b.utterance(i)
		lead := u[0].msg
		for _, it := range u {
			if messages.ForBot(it.msg) {
				lead = it.msg
				break
			}
		}
		if lead.MessageID != "" { // else it is of a job
			ids = append(ids, lead.MessageID)
		}
	}
	return ids
}

// readLeadIDs reads from the log what opened the turn and what joined it, as far as it is
// there. What cannot be read keeps the reaction that it may have.
func (a *reactions) readLeadIDs(ctx context.Context, t sessions.Turn) (ids []string) {
	if a.turnID(t.Seq) != t.ID { // the log was another one
		return nil
	}
	var err error
	for _, seq := range append([]uint64{t.Seq}, t.Joined...) {
		e, nerr := a.w.Log.NextAtLeast(ctx, a.token, seq-1, seq)
		if nerr != nil || e.Seq != seq {
			err = nerr
			continue
		}
		if msg, rerr := decodeMessage(t.From, e); rerr == nil {
			ids = append(ids, msg.MessageID)
		}
	}
	if err != nil {
		a.w.Logger.Debug("reactions of a turn not all updated", "session", t.Session, "turn", t.ID, "error", err)
	}
	return ids
}
