package intake

import (
	"context"
	"encoding/json"
	"fmt"

	"parley/broker"
	"parley/channels"
	"parley/gateway/approvals"
	"parley/gateway/messages"
	"parley/sessionkeys"
)

// Decide queues m, a decision about a question for permission that was taken elsewhere, in the
// conversation of key: there it is carried out, whatever else was said and by whom. No limit of
// what people may send holds for it. It is a *RefusedError if who asked may not be answered any
// more; see MayAnswer. Nothing is recorded but the message, so after any error the decision may be
// taken again.
func (i *Intake) Decide(ctx context.Context, key sessionkeys.Key, asker channels.Sender, m channels.Message) error {
	if err := i.MayAnswer(ctx, m.Channel, m.Address, asker); err != nil {
		return err
	}
	return publishDecision(ctx, i.Log, key, m)
}

func publishDecision(ctx context.Context, log Log, key sessionkeys.Key, m channels.Message) error {
	body, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("write a decision: %w", err)
	}
	if _, err := log.Publish(ctx, broker.Envelope{ID: messages.EventID(m), Token: key.Token(), Key: key.String(), Body: body}); err != nil {
		return fmt.Errorf("queue a decision: %w", err)
	}
	return nil
}

// decisions brings what people decide about questions for permission to the conversation that
// asked, once they have read the question.
type decisions struct {
	*endings
	questions *approvals.Desk // see [Intake]
}

// handOn hands a decision about a question of another chat on to the conversation that
// asked. Somebody who was not shown it there is shown it now, and has to decide once more; so is
// somebody in the chat of a question that was shown to some people alone.
func (d *decisions) handOn(ctx context.Context, e *event) (outcome, error) {
	switch {
	case d.questions == nil:
		return pass, nil
	case e.Address.Kind != sessionkeys.DM:
		return d.showFirst(ctx, e)
	}
	q, err := d.questions.Elsewhere(ctx, e.Channel, approvals.ReadCode(e.command.Args), e.key.Token())
	switch {
	case err != nil:
		return stop, fmt.Errorf("look for the question of %s: %w", e.command, err)
	case q == nil:
		return pass, nil // the conversation itself answers
	case !d.questions.WasShown(e.Sender.ID, messages.EventID(e.Message), q.Request):
		text := "That was asked in another chat. Please read it, and then decide:\n\n" + q.Description(q.Key.Address(), e.source.command)
		if err := d.answer(ctx, e.Message, text); err != nil {
			return stop, err
		}
		d.questions.Show(e.Sender.ID, messages.EventID(e.Message), q.Request)
		return stop, nil
	}
	m := channels.Message{
		Event: messages.ID{Kind: messages.Decided, About: messages.EventID(e.Message)}.String(),
		Kind:  channels.Said, Channel: e.Channel, Address: q.Key.Address(), MessageID: q.ReplyTo,
		Sender: e.Sender, Text: e.command.String(), Mentioned: true, SentAt: e.SentAt, ReceivedAt: e.ReceivedAt,
		Decision: &channels.Decision{Request: q.ID, From: e.Address},
	}
	return stop, publishDecision(ctx, d.log, q.Key, m)
}

// showFirst shows a question, of which its chat has read no more than a notice, to somebody there
// who types a decision about it: nobody knows whether they were shown it. They decide by a button
// below it, or by typing once more. The buttons stand nowhere else but below a question.
func (d *decisions) showFirst(ctx context.Context, e *event) (outcome, error) {
	if e.pressed {
		return pass, nil
	}
	q, err := d.questions.Private(ctx, e.Channel, approvals.ReadCode(e.command.Args), e.key.Token())
	if err != nil {
		return stop, fmt.Errorf("look for the question of %s: %w", e.command, err)
	}
	if q == nil || d.questions.WasShown(e.Sender.ID, messages.EventID(e.Message), q.Request) {
		return pass, nil
	}
	alone := e.Message
	alone.MessageID = channels.PrivateReplyToPerson(e.Sender.ID)
	if err := d.answer(ctx, alone, "Please read it, and then decide:\n\n"+q.Description(q.Key.Address(), e.source.command), q.Choices()...); err != nil {
		return stop, err
	}
	d.questions.Show(e.Sender.ID, messages.EventID(e.Message), q.Request)
	return stop, nil
}

// MayAnswer returns nil if somebody is answered at an address of a channel, and a *RefusedError
// that says why not.
func (i *Intake) MayAnswer(ctx context.Context, channel string, at sessionkeys.Address, s channels.Sender) error {
	src, ok := i.present().Sources[channel]
	if !ok {
		return newRefusal("the channel %q, where it was asked, is not configured any more", channel)
	}
	chat, err := i.Store.Chat(ctx, chatID(at))
	if err != nil {
		return fmt.Errorf("look at the chat of a question: %w", err)
	}
	if chat.Closed {
		return newRefusal("I cannot write any more to the chat where it was asked, so nothing runs")
	}
	d, err := standing(ctx, i.People, channel, s)
	if err != nil {
		return err
	}
	if v := src.Access.Authorize(channels.Message{Channel: channel, Address: at, Sender: s}, d.Ruling, chat.IDs...); !v.Allowed {
		return newRefusal("%s, who asked, may not speak to me any more, so nothing runs", s.ID)
	}
	return nil
}
