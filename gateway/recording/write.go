package recording

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"time"

	"parley/broker"
	"parley/costs"
	"parley/gateway/approvals"
	"parley/gateway/conversations"
	"parley/gateway/goals"
	"parley/gateway/messages"
	"parley/gateway/plans"
	"parley/gateway/redaction"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
)

// Store is what a recording is made from.
type Store interface {
	sessions.Recordings
	approvals.Reader
	Session(ctx context.Context, id sessionkeys.SessionID) (sessions.Session, error)
	Tree(ctx context.Context, id sessionkeys.SessionID) ([]sessions.Session, error)
	TurnsOf(ctx context.Context, id sessionkeys.SessionID) ([]sessions.Turn, error)
	MessagesAfter(ctx context.Context, id sessionkeys.SessionID, after, limit int) ([]transcript.Message, error)
	Mailbox(ctx context.Context, token string) (sessions.Mailbox, error)
	Record(ctx context.Context, id sessions.RecordID, now time.Time) (sessions.Record, error)
	Ledger(ctx context.Context, id sessionkeys.SessionID, yield func(sessionkeys.SessionID, costs.Entry) bool) error
}

// Log is where the envelopes are.
type Log interface {
	NextAtLeast(ctx context.Context, token string, after, expect uint64) (broker.Envelope, error)
}

// Source is what a Writer reads from. All fields are required.
type Source struct {
	Store      Store
	Log        Log
	Version    string // of the program
	Generation func(ctx context.Context) (string, error)
	// TurnID returns the id of the turn that the message at seq of a mailbox opens.
	TurnID func(generation, token string, seq uint64) string
	Agents func(name string) (Agent, bool)
	// Subagents returns the configuration that children are started by.
	Setup  func(ctx context.Context) (Setup, error)
	Price  func(provider, model string) (*costs.Price, bool)
	Redact func(string) string // takes configured secrets out of a text
	Now    func() time.Time
}

// Write writes the recording of the tree that the session stands in. It holds
// turns and sessions in memory, and of everything else a few at a time. What is
// written while it reads may be in the recording or not.
func (s *Source) Write(ctx context.Context, w io.Writer, id sessionkeys.SessionID) error {
	asked, err := s.Store.Session(ctx, id)
	if err != nil {
		return fmt.Errorf("record a session: %w", err)
	}
	tree, err := s.Store.Tree(ctx, asked.Root)
	if err != nil {
		return fmt.Errorf("record a session: %w", err)
	}
	generation, err := s.Generation(ctx)
	if err != nil {
		return fmt.Errorf("record a session: %w", err)
	}
	out := &writer{s: s, ctx: ctx, to: w, generation: generation, frames: map[string]bool{}, children: map[sessionkeys.SessionID]sessions.Session{}}
	for _, c := range tree[1:] {
		out.children[c.ID] = c
	}
	if err := out.writeHeader(ctx, tree); err != nil {
		return err
	}
	if err := out.writeSession(tree[0]); err != nil {
		return fmt.Errorf("record session %s: %w", tree[0].ID, err)
	}
	return out.writeLine(End{Type: TypeEnd, Lines: out.lines})
}

type writer struct {
	s          *Source
	ctx        context.Context
	to         io.Writer
	generation string
	lines      int
	frames     map[string]bool // that were written
	children   map[sessionkeys.SessionID]sessions.Session
}

func (w *writer) writeLine(v any) error {
	b, err := redaction.EncodeJSON(v)
	if err != nil {
		return err
	}
	return w.writeRaw(b)
}

// writeRaw writes one line. White space between tokens may hold an end of line.
func (w *writer) writeRaw(b []byte) error {
	b, err := redaction.CleanJSON(b, w.s.Redact)
	if err != nil {
		return err
	}
	b = bytes.ReplaceAll(b, []byte{'\n'}, []byte{' '})
	if _, err := w.to.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("write the recording: %w", err)
	}
	w.lines++
	return nil
}

func (w *writer) writeHeader(ctx context.Context, tree []sessions.Session) error {
	root := tree[0]
	setup, err := w.s.Setup(ctx)
	if err != nil {
		return fmt.Errorf("look at the configuration of a recording: %w", err)
	}
	h := Header{
		Type: TypeHeader, Format: Format, Version: Version, Parley: w.s.Version, Exported: w.s.Now().UTC(),
		Session: root.ID, Key: root.Key.String(), Agent: root.Key.Agent(), Generation: w.generation, Setup: setup, Prices: []Price{},
	}
	job := messages.JobOfKey(root.Key)
	maps.DeleteFunc(h.Setup.Jobs, func(name string, _ Job) bool { return name != job })
	h.Setup.Agents = map[string]Agent{}
	names := h.Setup.Subagents.Agents
	for _, t := range tree {
		names = append(names[:len(names):len(names)], t.Key.Agent())
	}
	priced := map[string]bool{}
	for _, name := range names {
		a, ok := w.s.Agents(name)
		if !ok {
			continue // configured no more: it can be read, not replayed
		}
		h.Setup.Agents[name] = a
		if name == h.Agent {
			h.Model = a.Provider + "/" + a.Model
		}
		for _, f := range a.models() {
			model := f.Provider + "/" + f.Model
			if p, ok := w.s.Price(f.Provider, f.Model); ok && !priced[model] {
				priced[model] = true
				h.Prices = append(h.Prices, Price{f.Provider, f.Model, p})
			}
		}
	}
	return w.writeLine(h)
}

// models are those that may be asked for an agent.
func (a Agent) models() []Fallback {
	all := append([]Fallback{{Provider: a.Provider, Model: a.Model, Family: a.Family}}, slices.Concat(a.Fallbacks, a.Choices)...)
	if a.Summariser != nil {
		all = append(all, *a.Summariser)
	}
	return all
}

// requestsOf returns what people were asked to permit in a session.
func (w *writer) requestsOf(s sessions.Session) ([]approvals.Request, error) {
	if s.Parent != "" { // those of sub-agents are refused at once
		return nil, nil
	}
	all, err := approvals.List(w.ctx, w.s.Store, s.Key.Token(), w.s.Now())
	return slices.DeleteFunc(all, func(r approvals.Request) bool { return r.Session != s.ID }), err // it says what was listed
}

// writeSession writes one session, and those that it started.
func (w *writer) writeSession(s sessions.Session) error {
	goal, err := goals.Read(w.ctx, w.s.Store, s.ID, w.s.Now())
	if err != nil {
		return err
	}
	mode, err := plans.Read(w.ctx, w.s.Store, s.ID, w.s.Now())
	if err != nil {
		return err
	}
	title := s.Title
	if s.Parent == "" {
		found, err := conversations.ReadTitle(w.ctx, w.s.Store, s.ID, w.s.Now())
		if err != nil {
			return err
		}
		title = found.Text
	}
	asked, err := w.requestsOf(s)
	if err != nil {
		return err
	}
	err = w.writeLine(Session{
		Type: TypeSession, ID: s.ID, Parent: s.Parent, Key: s.Key.String(), Depth: s.Depth, Role: s.Role, Title: title,
		ToolCall: s.ToolCallID, Policy: s.Policy, Messages: s.Messages, Own: s.Own, Subtree: s.Subtree, Held: s.Held,
		Unpriced: s.Unpriced, Created: s.CreatedAt, Goal: goal.AtStart, Plan: mode.AtStart,
		Approvals: asked,
	})
	if err != nil {
		return err
	}
	turns, err := w.s.Store.TurnsOf(w.ctx, s.ID)
	if err != nil {
		return err
	}
	one := &sessionWriter{w: w, s: s, turns: turns}
	one.requests, one.stopRequests = newStream(func(yield func(sessions.Recording) bool) error { return w.s.Store.Requests(w.ctx, s.ID, yield) }, &one.err)
	defer one.stopRequests()
	one.costs, one.stopCosts = newStream(func(yield func(costs.Entry) bool) error {
		return w.s.Store.Ledger(w.ctx, s.ID, func(_ sessionkeys.SessionID, e costs.Entry) bool { return yield(e) })
	}, &one.err)
	defer one.stopCosts()
	one.answers, one.stopAnswers = newStream(func(yield func(sessions.Delivery) bool) error { return w.s.Store.Deliveries(w.ctx, s.ID, yield) }, &one.err)
	defer one.stopAnswers()
	return errors.Join(one.write(), one.err)
}

// newStream returns each as a stream that is read piece by piece, and a look at the next.
func newStream[T any](each func(yield func(T) bool) error, failed *error) (*stream[T], func()) {
	next, stop := iter.Pull(func(yield func(T) bool) {
		if err := each(yield); err != nil {
			*failed = err
		}
	})
	return &stream[T]{next: next}, stop
}

type stream[T any] struct {
	next func() (T, bool)
	head T
	has  bool
}

// peek returns the next one, which take then takes; false: there is none.
func (s *stream[T]) peek() (T, bool) {
	if !s.has {
		s.head, s.has = s.next()
	}
	return s.head, s.has
}

func (s *stream[T]) advance() { s.has = false }

// startsSession reports whether an envelope is a command that starts another session.
func startsSession(text string) bool {
	c, ok := messages.ParseCommand(text)
	return ok && c.Kind() == messages.Queued && c.StartsSession()
}
