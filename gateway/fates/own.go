package fates

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"parley/broker"
	"parley/channels"
	"parley/gateway/messages"
	"parley/sessionkeys"
	"parley/sessions"
)

// Own says of which message of their own somebody asks, in the conversation in which they ask.
type Own struct {
	Token         string // of the conversation's mailbox
	Channel, Chat string
	Sender        string // the network's stable id
	// Message is the network's id of it, or of an answer to it; empty: their last one.
	Message string
}

// Bounds of a look for one's own message, which people may take as often as they may write.
const (
	ownTurns    = 30  // so many turns back
	ownMessages = 300 // of the conversation
)

// FindOwn returns what became of somebody's own message in a conversation: of nobody else's, and of
// none elsewhere. nil: nothing is known of it. It looks no further back than the present session.
func (s *Source) FindOwn(ctx context.Context, o Own) (*Fate, error) {
	passed, err := s.Book.find(ctx, func(p Passed) bool {
		return p.Channel == o.Channel && p.Chat == cut(o.Chat) && p.Sender == cut(o.Sender) && (o.Message == "" || p.Message == cut(o.Message)) &&
			!strings.HasPrefix(p.Why, "the command /why,")
	})
	if err != nil {
		return nil, err
	}
	queued, err := s.ownQueued(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("look for somebody's own message: %w", err)
	}
	if queued != nil {
		passed = queued.explain(passed)
	}
	var latest *Fate
	if len(passed) > 0 {
		f := fateOf(passed[len(passed)-1])
		latest = &f
	}
	if queued != nil && (latest == nil || queued.ReceivedAt.After(latest.ReceivedAt)) {
		latest = queued
	}
	if latest == nil || latest.Verdict != PassedOver || latest.Reason != "" {
		return latest, nil
	}
	// It was queued, and nothing came of it: perhaps it was given up.
	letters, err := s.findLetters(ctx, Query{Message: latest.Event, Channel: o.Channel, Chat: o.Chat})
	if err != nil {
		return nil, err
	}
	for _, l := range letters {
		if l.Sender == o.Sender {
			latest = &l
		}
	}
	return latest, nil
}

// ownQueued returns what became of the last message of o's sender that was queued in the conversation
// and fits o; nil: there is none.
func (s *Source) ownQueued(ctx context.Context, o Own) (*Fate, error) {
	box, err := s.Store.Mailbox(ctx, o.Token)
	if errors.Is(err, sessions.ErrNotFound) {
		return nil, nil // nothing was queued there
	}
	if err != nil {
		return nil, err // the caller says what was looked for
	}
	all, err := s.Store.TurnsOf(ctx, box.Session)
	if err != nil {
		return nil, err // as above
	}
	var own []sessions.Turn
	for _, t := range all {
		if t.Sender == o.Sender && t.Channel == o.Channel && t.Token == o.Token {
			own = append(own, t)
		}
	}
	back := 1
	if o.Message != "" {
		back = ownTurns
	}
	after := max(box.LastRead, 1) - 1
	if len(own) > 0 {
		after = min(after, own[max(0, len(own)-back)].Seq-1)
	}
	answered, err := s.answeredBy(ctx, box, own, o.Message)
	if err != nil {
		return nil, err
	}
	var found *broker.Envelope
	var said channels.Message
	for range ownMessages {
		e, err := s.Log.Next(ctx, o.Token, after)
		if errors.Is(err, broker.ErrNone) {
			break
		}
		if err != nil {
			return nil, err // as above
		}
		after = e.Seq
		var m channels.Message
		if json.Unmarshal(e.Body, &m) != nil || m.Channel != o.Channel || m.Sender.ID != o.Sender || messages.ChatID(m) != o.Chat || m.Job != "" || m.Decision != nil {
			continue
		}
		if o.Message == "" || m.MessageID == o.Message || e.Seq == answered {
			found, said = &e, m
		}
	}
	if found == nil {
		return nil, nil // as the comment says
	}
	generation, err := s.Generation(ctx)
	if err != nil {
		return nil, err
	}
	f, err := s.follow(ctx, generation, *found, said, func(_ context.Context, _ sessionkeys.Key, e broker.Envelope) (*sessions.Turn, error) {
		for _, t := range own { // a turn is one person's
			if slices.Contains(t.Joined, e.Seq) {
				return &t, nil
			}
		}
		return nil, nil // it joined none
	})
	return &f, err
}

// answeredBy returns the place of the message that somebody's own turn answered by a message of that
// id; 0: it is no answer to them.
func (s *Source) answeredBy(ctx context.Context, box sessions.Mailbox, own []sessions.Turn, message string) (seq uint64, err error) {
	if message == "" || len(own) == 0 {
		return 0, nil
	}
	turn := ""
	err = s.Store.Deliveries(ctx, box.Session, func(d sessions.Delivery) bool {
		for _, p := range d.Parts {
			if p.MessageID == message {
				turn = d.Turn
			}
		}
		return turn == ""
	})
	for _, t := range own {
		if t.ID == turn {
			seq = t.Seq
		}
	}
	return seq, err // the caller says what was looked for
}
