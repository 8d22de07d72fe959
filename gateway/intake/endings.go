package intake

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"parley/broker"
	"parley/channels"
	"parley/gateway/messages"
	"parley/gateway/policy"
	"parley/gateway/signals"
	"parley/sessions"
)

// endings are the ways in which an event ends that is not queued: it is passed over, answered at
// once, or a dead letter.
type endings struct {
	log      Log
	store    Store
	observer Observer
	passed   PassedOver // nil: nobody remembers
	refusals *refusals
	logger   *slog.Logger
	now      func() time.Time
}

func (i *Intake) endings() *endings {
	return &endings{log: i.Log, store: i.Store, observer: i.Observer, passed: i.Passed, refusals: &i.refusals, logger: i.Logger, now: i.Now}
}

// admit lets an event pass that is allowed, and counts and logs any other.
func (n *endings) admit(e *event, v policy.Verdict) outcome {
	if v.Allowed {
		return pass
	}
	n.passOver(e.Message, v.Reason, v.Hint)
	return stop
}

// answer queues what the sender of m reads, once.
func (n *endings) answer(ctx context.Context, m channels.Message, text string, choices ...sessions.Choice) error {
	id := messages.Inbox(m)
	added, err := n.store.Notice(ctx, id, []sessions.Outgoing{{
		ID: messages.ID{Kind: messages.Note, About: messages.EventID(m)}.String(), Channel: m.Channel, To: m.Address, ReplyTo: channels.PrivateReplyTo(messages.ReplyTo(m)), Text: text, At: n.now(), Choices: choices,
	}}, n.now())
	if err != nil {
		return fmt.Errorf("queue an answer: %w", err)
	}
	if !added {
		n.observer.CountDuplicate(m.Channel, "message_id")
		return nil
	}
	n.signal(ctx, signals.OutboxTopic, signals.Outbox{Channel: m.Channel})
	return nil
}

// signal sends a hint, which may be lost.
func (n *endings) signal(ctx context.Context, topic string, body any) {
	b, err := json.Marshal(body)
	if err == nil {
		err = n.log.Signal(ctx, broker.Signal{Topic: topic, Body: b})
	}
	if err != nil {
		n.logger.Debug("signal not sent", "topic", topic, "error", err)
	}
}
