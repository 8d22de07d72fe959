package fates

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"parley/broker"
	"parley/channels"
	"parley/costs"
	"parley/gateway/messages"
	"parley/gateway/outcomes"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
)

// Query says of which message somebody asks: by the network's id of it, the id of its event, or
// the id of its turn; on that channel and in that chat, where they are given.
type Query struct{ Message, Channel, Chat string }

func (q Query) fits(channel, chat, message, event string) bool {
	return (q.Channel == "" || q.Channel == channel) && (q.Chat == "" || q.Chat == chat) && (q.Message == message || q.Message == event)
}

// Verdict is what became of a message.
type Verdict string

// Verdicts.
const (
	PassedOver   Verdict = "passed_over"
	AtOnce       Verdict = "answered_at_once" // a command that needs no turn
	Waiting      Verdict = "waiting"          // it is queued, and no turn has taken it
	Running      Verdict = "running"          // its turn is not over
	Ended        Verdict = "ended"            // its turn is over
	Command      Verdict = "command"          // it was carried out in its place among the messages, without a turn
	DeadLettered Verdict = "dead_letter"
)

// Fate is what became of one message. What does not apply is zero.
type Fate struct {
	Message, Event, Channel, Chat string
	Sender, Name                  string
	ReceivedAt                    time.Time
	Verdict                       Verdict
	Reason                        string // PassedOver: a value of outcomes
	Why                           string // by which rule
	Key                           sessionkeys.Key
	QueuedAt                      time.Time
	Turn                          *sessions.Turn // that took it
	Joined                        bool           // it joined the turn of another message
	Money                         Money
	Answers                       []sessions.Delivery
	Letter                        string // the dead letter's id

	heard string // why it was for the bot, if it was queued
}

// Money is what a turn cost.
type Money struct {
	Calls    int          // of models and of tools with a price, by the turn itself, each attempt
	Reserved costs.Amount // for them, in all; of a call the most that it could cost
	Spent    costs.Amount // for them
	Total    costs.Amount // spent with sub-agents, where a budget of the turn counts it, else Spent
	Held     costs.Amount // still set aside
}

// Reader is the part of the store that is read.
type Reader interface {
	sessions.Recordings
	Turn(ctx context.Context, id string) (sessions.Turn, error)
	TurnsOf(ctx context.Context, id sessionkeys.SessionID) ([]sessions.Turn, error)
	Mailbox(ctx context.Context, token string) (sessions.Mailbox, error)
	Sessions(ctx context.Context, q sessions.SessionQuery) ([]sessions.Session, error)
	Ledger(ctx context.Context, id sessionkeys.SessionID, yield func(sessionkeys.SessionID, costs.Entry) bool) error
	Spent(ctx context.Context, s sessions.Scope, at time.Time) (settled, held costs.Amount, err error)
	Delivery(ctx context.Context, id string) (sessions.Delivery, error)
}

// Log is the part of the message log that is read.
type Log interface {
	Envelopes(ctx context.Context, since time.Time, yield func(broker.Envelope) bool) error
	Next(ctx context.Context, token string, after uint64) (broker.Envelope, error)
	DeadLetters(ctx context.Context, after uint64, limit int) ([]broker.DeadLetter, error)
}

// Source is what fates are read from. All fields are required.
type Source struct {
	Store      Reader
	Log        Log
	Book       *Book
	Generation func(ctx context.Context) (string, error)
	// TurnID returns the id of the turn that the message at seq of a mailbox opens.
	TurnID func(generation, token string, seq uint64) string
	// TurnScope returns what a turn with its sub-agents is counted for.
	TurnScope func(turn string) sessions.Scope
	Now       func() time.Time
}

// Bounds of one look.
const (
	MostFates    = 20
	lookBack     = 8 * 24 * time.Hour // the log keeps what was read for a week
	lettersPage  = 200
	mostSessions = 100_000 // that changed since the message came
)

// Find returns what became of the messages of the last days that fit q, oldest first, at most
// MostFates. None: nothing is known of such a message.
func (s *Source) Find(ctx context.Context, q Query) ([]Fate, error) {
	passed, err := s.Book.Find(ctx, q)
	if err != nil {
		return nil, err
	}
	all, err := s.findQueued(ctx, q)
	if err != nil {
		return nil, err
	}
	for i := range all {
		passed = all[i].explain(passed)
	}
	for _, p := range passed {
		all = append(all, fateOf(p))
	}
	letters, err := s.findLetters(ctx, q)
	if err != nil {
		return nil, err
	}
	all = append(all, letters...)
	slices.SortStableFunc(all, func(a, b Fate) int { return a.ReceivedAt.Compare(b.ReceivedAt) })
	return all[:min(len(all), MostFates)], nil
}

// fateOf returns what became of a message of which no turn was made.
func fateOf(p Passed) Fate {
	f := Fate{
		Message: p.Message, Event: p.Event, Channel: p.Channel, Chat: p.Chat, Sender: p.Sender, Name: p.Name,
		ReceivedAt: p.At, Verdict: PassedOver, Reason: p.Reason, Why: p.Why,
	}
	if p.Reason == outcomes.Answered {
		f.Verdict, f.Reason = AtOnce, ""
	}
	return f
}

// explain takes what a book knows of f, which was queued, out of passed: why nothing was done with it when
// its turn came.
func (f *Fate) explain(passed []Passed) []Passed {
	return slices.DeleteFunc(passed, func(p Passed) bool {
		if p.Reason == outcomes.Answered || p.Event != cut(f.Event) || p.Chat != cut(f.Chat) || p.Channel != f.Channel {
			return false
		}
		if f.Verdict == PassedOver {
			f.Reason, f.Why = p.Reason, f.heard+", and when its turn came nothing was done with it: "+p.Why
		}
		return true
	})
}

// findQueued finds messages in the log, and what became of them.
func (s *Source) findQueued(ctx context.Context, q Query) (all []Fate, err error) {
	generation, err := s.Generation(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for a message in the log: %w", err)
	}
	word, err := json.Marshal(q.Message)
	if err != nil {
		return nil, fmt.Errorf("look for a message in the log: %w", err)
	}
	type found struct {
		e broker.Envelope
		m channels.Message
	}
	var hits []found
	err = s.Log.Envelopes(ctx, s.Now().Add(-lookBack), func(e broker.Envelope) bool {
		byTurn := s.TurnID(generation, e.Token, e.Seq) == q.Message
		if !byTurn && !bytes.Contains(e.Body, word) {
			return true
		}
		var m channels.Message
		if json.Unmarshal(e.Body, &m) != nil { // it becomes a dead letter
			return true
		}
		if q.fits(m.Channel, messages.ChatID(m), m.MessageID, m.Event) || byTurn {
			hits = append(hits, found{e, m})
		}
		return len(hits) < MostFates
	})
	if err != nil {
		return nil, fmt.Errorf("look for a message in the log: %w", err)
	}
	for _, h := range hits {
		f, err := s.follow(ctx, generation, h.e, h.m, s.joined)
		if err != nil {
			return nil, fmt.Errorf("look what became of the message %s: %w", h.m.MessageID, err)
		}
		all = append(all, f)
	}
	return all, nil
}

// heard says why a message was for the bot.
func heard(m channels.Message) string {
	switch {
	case m.Job != "":
		return "a run of the job " + m.Job
	case m.Decision != nil:
		return "a decision about a question for permission, taken elsewhere"
	case m.Address.Kind == sessionkeys.DM:
		return "a direct message"
	case m.Mentioned:
		return "it mentions the bot, replies to it or is a command to it"
	}
	return "it belongs to a message that speaks to the bot, as a part or in a thread of its"
}

// follow says what became of a message that was queued; joined finds the turn that it joined.
func (s *Source) follow(ctx context.Context, generation string, e broker.Envelope, m channels.Message, joined func(context.Context, sessionkeys.Key, broker.Envelope) (*sessions.Turn, error)) (Fate, error) {
	f := Fate{
		Message: m.MessageID, Event: m.Event, Channel: m.Channel, Chat: messages.ChatID(m), Sender: m.Sender.ID, Name: m.Sender.Name,
		ReceivedAt: m.ReceivedAt, QueuedAt: e.At, Why: heard(m), heard: heard(m),
	}
	if f.ReceivedAt.IsZero() {
		f.ReceivedAt = e.At
	}
	f.Key, _ = sessionkeys.Parse(e.Key) // of what is no key nothing else is known either
	own := s.TurnID(generation, e.Token, e.Seq)
	t, err := s.Store.Turn(ctx, own)
	switch {
	case err == nil:
		return f, s.addTurn(ctx, &f, t)
	case !errors.Is(err, sessions.ErrNotFound):
		return f, err // the caller says what was looked for
	}
	box, err := s.Store.Mailbox(ctx, e.Token)
	if errors.Is(err, sessions.ErrNotFound) || err == nil && box.LastRead < e.Seq {
		f.Verdict = Waiting
		return f, nil
	}
	if err != nil {
		return f, err // as above
	}
	switch t, err := joined(ctx, f.Key, e); {
	case err != nil:
		return f, err
	case t != nil:
		f.Joined = true
		return f, s.addTurn(ctx, &f, *t)
	}
	f.Verdict = PassedOver
	f.Why += ", and when its turn came nothing was done with it: its sender may not talk to the bot any more, it was known already, /stop discarded it, or nothing of what came together spoke to the bot"
	d, err := s.Store.Delivery(ctx, messages.ID{Kind: messages.Note, About: own}.String())
	if err == nil {
		f.Verdict, f.Why, f.Answers = Command, heard(m), []sessions.Delivery{d}
	} else if !errors.Is(err, sessions.ErrNotFound) {
		return f, err // as above
	}
	return f, nil
}

// joined returns the turn that the message at e joined, or nil.
func (s *Source) joined(ctx context.Context, key sessionkeys.Key, e broker.Envelope) (*sessions.Turn, error) {
	all, err := s.Store.Sessions(ctx, sessions.SessionQuery{Since: e.At, Limit: mostSessions})
	if err != nil {
		return nil, err // the caller says what was looked for
	}
	for _, session := range all {
		if session.Key != key {
			continue
		}
		turns, err := s.Store.TurnsOf(ctx, session.ID)
		if err != nil {
			return nil, err // as above
		}
		for _, t := range turns {
			if t.Token == e.Token && slices.Contains(t.Joined, e.Seq) {
				return &t, nil
			}
		}
	}
	return nil, nil // there is none
}

// addTurn says what a turn did, cost and answered.
func (s *Source) addTurn(ctx context.Context, f *Fate, t sessions.Turn) error {
	f.Turn, f.Verdict = &t, Running
	if t.State == sessions.Done {
		f.Verdict = Ended
	}
	err := s.Store.Requests(ctx, t.Session, func(r sessions.Recording) bool {
		if r.Turn == t.ID {
			f.Money.Calls++
			f.Money.Reserved += r.Upper
		}
		return true
	})
	if err != nil {
		return err // the caller says what was looked for
	}
	err = s.Store.Ledger(ctx, t.Session, func(_ sessionkeys.SessionID, e costs.Entry) bool {
		if e.Call.Turn != t.ID {
			return true
		}
		f.Money.Spent += e.Amount
		if e.Call.Purpose == costs.Tool { // of which no request is stored
			f.Money.Calls++
			f.Money.Reserved += priceOf(e)
		}
		return true
	})
	if err != nil {
		return err // as above
	}
	settled, held, err := s.Store.Spent(ctx, s.TurnScope(t.ID), s.Now())
	if err != nil {
		return err // as above
	}
	f.Money.Total, f.Money.Held = max(settled, f.Money.Spent), held
	return s.Store.Deliveries(ctx, t.Session, func(d sessions.Delivery) bool { // as above
		if d.Turn == t.ID {
			f.Answers = append(f.Answers, d)
		}
		return true
	})
}

// priceOf returns what was reserved for a call of a tool.
func priceOf(e costs.Entry) costs.Amount {
	if e.Price == nil { // of what nobody knows how it ended
		return e.Upper
	}
	return e.Price.ServerTools[costs.ToolUse]
}

// findLetters finds messages among the dead letters.
func (s *Source) findLetters(ctx context.Context, q Query) (all []Fate, err error) {
	for after := uint64(0); ; {
		page, err := s.Log.DeadLetters(ctx, after, lettersPage)
		if err != nil {
			return nil, fmt.Errorf("look for a message among the dead letters: %w", err)
		}
		for _, l := range page {
			after = l.Seq
			var m channels.Message
			known := json.Unmarshal(l.Body, &m) == nil && m.Channel != ""
			if l.ID != q.Message && (!known || !q.fits(m.Channel, messages.ChatID(m), m.MessageID, m.Event)) {
				continue
			}
			all = append(all, Fate{
				Message: m.MessageID, Event: m.Event, Channel: l.Channel, Chat: messages.ChatID(m), Sender: m.Sender.ID, Name: m.Sender.Name,
				ReceivedAt: l.At, Verdict: DeadLettered, Reason: l.Reason, Why: l.Problem, Letter: l.ID,
			})
		}
		if len(page) < lettersPage || len(all) >= MostFates {
			return all, nil
		}
	}
}

// Outcome returns how the turn ended, in words.
func (f Fate) Outcome() string {
	if f.Turn == nil || f.Turn.State != sessions.Done {
		return ""
	}
	text := string(f.Turn.Outcome)
	if b := f.Turn.Refused; b != nil && f.Turn.Outcome == transcript.Budget {
		text += fmt.Sprintf(", the budget of the %s (%s of %s were used, %s were needed)", b.Scope, b.Spent, b.Limit, b.Need)
	}
	return text
}
