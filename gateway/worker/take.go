package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/agent"
	"parley/broker"
	"parley/channels"
	"parley/faultpoint"
	"parley/gateway/attachments"
	"parley/gateway/messages"
	"parley/gateway/outcomes"
	"parley/sessions"
	"parley/transcript"
)

// corrected stands before the new text of a message that was answered, or is
// being answered, as it stood before.
const corrected = "(I have edited what I wrote before. It now reads:)\n"

// completed stands before a message of which a part was answered, or is being
// answered.
const completed = "(There is more to what I wrote before. All of it:)\n"

// take makes one turn of the head of the mailbox and what belongs to it.
func (a *actor) take() (bool, error) {
	b, _, err := a.gather(a.ctx, true, a.poked)
	if errors.Is(err, errPoked) {
		return a.release() // which says whether a request is there
	}
	if err != nil {
		return false, err
	}
	switch waited, err := a.enter(person{b.items[0].msg.Channel, b.items[0].msg.Sender.ID}); {
	case errors.Is(err, errPoked):
		return a.release() // which says whether a request is there
	case err != nil:
		return false, err
	case waited:
		return a.next() // there may be more by now, or another
	}
	q, ok, err := a.ask(a.ctx, b)
	if err != nil {
		return false, err
	}
	if !ok {
		return a.skip(b.through)
	}
	return a.open(q)
}

// question is a batch that a turn is to answer.
type question struct {
	batch
	lead       channels.Message        // by which the bot is addressed
	correction bool                    // of what was answered, or is being answered, before
	files      [][]attachments.Brought // what came with each utterance; see bring
}

// message is what the model reads of q.
func (a *owner) message(q *question, id string, now time.Time) transcript.Message {
	return transcript.Message{ID: id, Role: transcript.User, CreatedAt: now, Parts: a.parts(q)}
}

// parts is q as the model reads it, and sees it: the words of each utterance, behind
// them its pictures and what its files say.
func (a *owner) parts(q *question) (ps []transcript.Part) {
	sees := a.w.Agents[a.m.Key.Agent()].Sees
	for i := range q.starts {
		m := whole(q.utterance(i))
		if q.correction && i == 0 {
			m.Text = correctionOf(m) + m.Text
		}
		var lines []string
		var contents []transcript.Part
		for _, f := range q.files[i] {
			line := f.Words
			switch {
			case !isPicture(f):
			case !sees:
				line = strings.TrimSuffix(line, ")") + ", which you cannot see: say so)"
			case f.Size > agent.MostPicture:
				line = strings.TrimSuffix(line, ")") + ", too large to be shown)"
			default:
				contents = append(contents, transcript.Binary{Path: f.Path, MIMEType: f.MIME, Sum: f.Sum})
			}
			lines = append(lines, line)
			if s := f.Sound; s != nil {
				own := *s
				own.Spoken = s.Spoken && len(m.Forwarded) == 0
				contents = append(contents, transcript.Binary{Path: f.Path, MIMEType: f.MIME, Sum: f.Sum, Sound: &own})
			}
			if f.Text != "" {
				contents = append(contents, transcript.Text{Text: f.Text})
			}
		}
		ps = append(append(ps, transcript.Text{Text: a.w.Said(m, lines)}), contents...)
	}
	return ps
}

// isPicture reports whether f is of a sort that every model takes which sees.
func isPicture(f attachments.Brought) bool {
	return f.Path != "" && f.Sum != "" && slices.Contains([]string{"image/jpeg", "image/png", "image/gif", "image/webp"}, f.MIME)
}

// ask says what b asks; ok is false when nothing: it is to be passed over.
func (a *actor) ask(ctx context.Context, b batch) (q question, ok bool, err error) {
	first := b.items[0].msg
	lead, ok := b.mentioned()
	if !ok {
		a.w.Observer.Ignored(first.Channel, outcomes.NotMentioned)
		return q, false, nil
	}
	if first.Kind != channels.Edited {
		return question{batch: b, lead: lead}, true, nil
	}
	w := messages.Wording(first)
	sum, found, err := a.w.Store.Said(ctx, w)
	if err != nil {
		return q, false, fmt.Errorf("look at what was edited: %w", err)
	}
	nothing := first.Completing && (!found || !messages.Adds(first)) // of what was not taken, or lacks nothing
	if found && sum == w.Sum || nothing {
		a.repeated(first.Channel, "edit", b.edits+1)
		return q, false, nil
	}
	return question{batch: b, lead: lead, correction: found}, true, nil
}

// repeated counts n events that were known already.
func (a *owner) repeated(channel, reason string, n int) {
	for range n {
		a.w.Observer.Deduplicated(channel, reason)
	}
}

// open commits the messages of q as one and runs their turn.
func (a *actor) open(q question) (bool, error) {
	first, seq := q.items[0].msg, q.items[0].e.Seq
	id := a.turnID(seq)
	switch err := a.bring(a.ctx, &q, openingID(id), a.poked); {
	case errors.Is(err, errPoked):
		return a.release() // which says whether a request is there
	case err != nil:
		return false, err
	}
	if why := q.lost(); why != "" {
		if done, released, err := a.tellLost(q, why); done || err != nil {
			return released, err
		}
	}
	now := a.w.Now()
	asked := a.message(&q, openingID(id), now)
	faultpoint.HitOn("worker.open.before", q.text())
	t, opened, err := a.w.Store.Open(a.ctx, a.m.Fence(), sessions.Opening{
		Turn: sessions.Turn{
			ID: id, Seq: seq, Channel: first.Channel, From: first.Address, ReplyTo: messages.ReplyTo(q.lead),
			Sender: first.Sender.ID, ReceivedAt: first.ReceivedAt, OpenedAt: now,
		},
		Events: q.events, Through: q.through, Words: q.words(), Message: asked,
	})
	if ke, ok := errors.AsType[*sessions.KnownError](err); ok {
		return a.without(ke.Events, first)
	}
	if err != nil {
		return false, fmt.Errorf("open a turn: %w", err)
	}
	if !opened {
		a.repeated(first.Channel, "message_id", len(q.items))
		return a.release()
	}
	faultpoint.HitOn("worker.open.after", q.text())
	a.repeated(first.Channel, "edit", q.edits)
	a.w.Observer.TurnStarted(t.Channel, now.Sub(t.ReceivedAt))
	a.m.Read = max(a.m.Read, q.through, seq)
	a.workOn(t, q.leads())
	j := a.journal(t)
	if before, ok := a.w.histories.take(t.Session, j.Fence.Epoch); ok && t.Attempts <= 1 {
		j.Know(append(before, asked))
	}
	return a.turn(t, j, false)
}

// without takes the head up again when some of what was gathered with it was
// known before, or passes the head over when it was.
func (a *actor) without(known []sessions.InboxID, head channels.Message) (bool, error) {
	seq := a.ahead[0].e.Seq
	if a.knewHead(known, head) {
		return a.skip(seq)
	}
	b := pick(a.ahead, known, a.w.rules(head.Channel))
	q, ok, err := a.ask(a.ctx, b)
	if err != nil {
		return false, err
	}
	if !ok {
		return a.skip(b.through)
	}
	return a.open(q)
}

// knewHead says whether the head is among the known events, and counts them.
func (a *actor) knewHead(known []sessions.InboxID, head channels.Message) bool {
	a.repeated(head.Channel, "message_id", len(known))
	return slices.Contains(known, messages.Inbox(head))
}

// discarded is how many messages a stop drops when it passes over es. Edits are
// none, nor is what was taken into a turn ahead of its place, nor what was not
// for the bot.
func (a *owner) discarded(es []broker.Envelope) (int, error) {
	n := 0
	var events []sessions.InboxID
	for _, e := range es {
		switch msg, err := a.read(e); {
		case err != nil:
			n++
		case msg.Kind != channels.Edited && messages.ForBot(msg):
			events = append(events, messages.Inbox(msg))
		}
	}
	known, err := a.w.Store.Known(a.ctx, events...)
	if err != nil {
		return 0, fmt.Errorf("count what is discarded: %w", err)
	}
	for _, k := range known {
		if !k {
			n++
		}
	}
	return n, nil
}
