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

// takeBatch makes one turn of the head of the mailbox and what belongs to it.
func (a *actor) takeBatch() (bool, error) {
	b, _, err := a.gather(a.ctx, true, a.woken)
	if errors.Is(err, errPoked) {
		return a.release() // which says whether a request is there
	}
	if err != nil {
		return false, err
	}
	if len(b.events) > 1 { // the head was there when the mailbox was read, and no request was
		if stop, err := a.isStopRequested(a.ctx); err != nil {
			return false, err
		} else if stop {
			return a.release() // which says so
		}
	}
	switch waited, err := a.admit(person{b.items[0].msg.Channel, b.items[0].msg.Sender.ID}); {
	case errors.Is(err, errPoked):
		return a.release() // which says whether a request is there
	case err != nil:
		return false, err
	case waited:
		return a.takeNext() // there may be more by now, or another
	}
	q, ok, err := a.buildQuestion(a.ctx, b)
	if err != nil {
		return false, err
	}
	if !ok {
		return a.skip(b.through)
	}
	return a.openTurn(q)
}

// question is a batch that a turn is to answer.
type question struct {
	batch
	lead       channels.Message       // by which the bot is addressed
	command    string                 // that the turn carries out; "": none
	correction bool                   // of what was answered, or is being answered, before
	files      [][]attachments.Result // what came with each utterance; see bring
}

// message returns what the model reads of q.
func (a *owner) message(q *question, id string, now time.Time) transcript.Message {
	if q.command != "" {
		return transcript.Message{ID: id, Role: transcript.User, CreatedAt: now, Parts: []transcript.Part{transcript.Text{Text: q.command}}}
	}
	return transcript.Message{ID: id, Role: transcript.User, CreatedAt: now, Parts: a.parts(q)}
}

// parts returns q as the model reads it, and sees it: the words of each utterance, behind
// them its pictures and what its files say.
func (a *owner) parts(q *question) (ps []transcript.Part) {
	sees := q.hasPicture() && a.seesPictures()
	for i := range q.starts {
		m := mergeItems(q.utterance(i))
		if q.correction && i == 0 {
			m.Text = correctionOf(m) + m.Text
		}
		var lines []string
		var contents []transcript.Part
		for _, f := range q.files[i] {
			line := f.Line
			switch {
			case !isPicture(f):
			case !sees:
				line = strings.TrimSuffix(line, ")") + ", which you cannot see: say so)"
			case f.Size > agent.MaxPicture:
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
		ps = append(append(ps, transcript.Text{Text: a.w.MessageText(m, lines)}), contents...)
	}
	return ps
}

// hasPicture reports whether a picture came with q.
func (q *question) hasPicture() bool {
	return slices.ContainsFunc(q.files, func(fs []attachments.Result) bool { return slices.ContainsFunc(fs, isPicture) })
}

// seesPictures reports whether the model that answers the mailbox is shown pictures.
func (a *owner) seesPictures() bool {
	ag, _ := a.chosenAgent(a.ctx)
	return ag.SeesPictures
}

// isPicture reports whether f is of a sort that every model takes which sees.
func isPicture(f attachments.Result) bool {
	return f.Path != "" && f.Sum != "" && !f.Unseen && slices.Contains([]string{"image/jpeg", "image/png", "image/gif", "image/webp"}, f.MIME)
}

// buildQuestion returns what b asks; ok is false when nothing: it is to be passed over.
func (a *queue) buildQuestion(ctx context.Context, b batch) (q question, ok bool, err error) {
	first := b.items[0].msg
	lead, ok := b.mention()
	if !ok {
		a.w.Observer.CountIgnored(first.Channel, outcomes.NotMentioned)
		return q, false, nil
	}
	if c, ok := b.items[0].command(); ok {
		return question{batch: b, lead: lead, command: c.String()}, true, nil
	}
	if first.Kind != channels.Edited {
		return question{batch: b, lead: lead}, true, nil
	}
	w := messages.HashText(first)
	sum, found, err := a.w.Store.LastTextHash(ctx, w)
	if err != nil {
		return q, false, fmt.Errorf("look at what was edited: %w", err)
	}
	nothing := first.Completing && (!found || !messages.HasAttachments(first)) // of what was not taken, or lacks nothing
	if found && sum == w.Sum || nothing {
		a.countDuplicates(first.Channel, "edit", b.edits+1)
		return q, false, nil
	}
	return question{batch: b, lead: lead, correction: found}, true, nil
}

// countDuplicates counts n events that were known already.
func (a *owner) countDuplicates(channel, reason string, n int) {
	for range n {
		a.w.Observer.CountDuplicate(channel, reason)
	}
}

// openTurn commits the messages of q as one and runs their turn.
func (a *actor) openTurn(q question) (bool, error) {
	first, seq := q.items[0].msg, q.items[0].e.Seq
	id := a.turnID(seq)
	switch err := a.importFiles(a.ctx, &q, openingID(id), a.woken); {
	case errors.Is(err, errPoked):
		return a.release() // which says whether a request is there
	case err != nil:
		return false, err
	}
	a.settings = a.w.Present() // those of the turn: fetching its files may have taken long
	if why := q.unusable(); why != "" {
		if done, released, err := a.answerUnusable(q, why); done || err != nil {
			return released, err
		}
	}
	o := sessions.OpenTurn{
		Turn: sessions.Turn{
			ID: id, Seq: seq, Channel: first.Channel, From: first.Address, ReplyTo: messages.ReplyTo(q.lead),
			Sender: first.Sender.ID, ReceivedAt: first.ReceivedAt, OpenedAt: a.w.Now(),
		},
		Events: q.events, Through: q.through, TextHashes: q.textHashes(),
	}
	o.Message = a.message(&q, openingID(id), o.Turn.OpenedAt)
	return a.runOpening(q, o)
}

// dropKnown takes the head up again when some of what was gathered with it was
// known before, or passes the head over when it was.
func (a *actor) dropKnown(known []sessions.InboxID, head channels.Message) (bool, error) {
	seq := a.lookahead[0].e.Seq
	if a.isHeadKnown(known, head) {
		return a.skip(seq)
	}
	b := selectBatch(a.lookahead, known, a.settings.rules(head.Channel))
	q, ok, err := a.buildQuestion(a.ctx, b)
	if err != nil {
		return false, err
	}
	if !ok {
		return a.skip(b.through)
	}
	return a.openTurn(q)
}

// isHeadKnown reports whether the head is among the known events, and counts them.
func (a *queue) isHeadKnown(known []sessions.InboxID, head channels.Message) bool {
	a.countDuplicates(head.Channel, "message_id", len(known))
	return slices.Contains(known, messages.Inbox(head))
}

// countDiscarded returns how many messages a stop drops when it passes over es. Edits are
// none, nor is what was taken into a turn ahead of its place, nor what was not
// for the bot.
func (a *queue) countDiscarded(es []broker.Envelope) (int, error) {
	n := 0
	var events []sessions.InboxID
	for _, e := range es {
		switch msg, err := a.decode(e); {
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
