// Package llmtest helps to test what uses models, and adapters of models: a
// scripted model, a check of requests against Anthropic's own description of
// its API, and the suite that every adapter passes.
package llmtest

import (
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"parley/costs"
	"parley/llm"
	"parley/transcript"
)

// Turn is what a scripted model does in answer to one request, step by step.
// A turn without a Fail or Cut ends with Complete.
type Turn []Step

// Step is one thing that a scripted model does: Text, Thinking, Call, Usage,
// Finish, Warn, Wait, Reach, Fail or Cut.
type Step interface{ step() }

// Text is answered as one delta in a block of its own.
type Text string

// Thinking is thought aloud as one delta.
type Thinking string

// Call asks for a tool. An empty Input is {}.
type Call struct{ ID, Name, Input string }

// Usage replaces the usage that the model reports, which is otherwise
// llm.Estimate's of the request and the answer.
type Usage costs.Usage

// Finish replaces the finish reason, which is otherwise ToolUse after a Call
// and EndTurn without.
type Finish transcript.FinishReason

// Warn yields a warning.
type Warn string

// Wait pauses until the channel is closed or gives a value, or the context
// ends, which ends the stream as a real model would.
type Wait <-chan struct{}

// Notify gives the channel a value, or closes nothing and stops when the
// context ends: a test sees that the model came this far.
type Notify chan<- struct{}

// Fail ends the stream with this error; provider, model, Visible and Received
// are filled in, and Sent when something was visible.
type Fail llm.Error

// Cut ends the stream as a lost connection does.
type Cut struct{}

func (Text) step()     {}
func (Thinking) step() {}
func (Call) step()     {}
func (Usage) step()    {}
func (Finish) step()   {}
func (Warn) step()     {}
func (Wait) step()     {}
func (Notify) step()   {}
func (Fail) step()     {}
func (Cut) step()      {}

// Script is a model that does what it was told, for tests of what uses models.
// It keeps the promises of [llm.Model], and many goroutines may use it at once;
// each request takes the next turn. The exported fields are set before the
// first request.
type Script struct {
	ProviderName string // empty: "script"
	ModelName    string // empty: "scripted-1"

	// Reply gives the turn for request number n, from 1, once the turns of
	// NewScript are used up. Nil: such a request fails with kind Other.
	Reply func(n int, r llm.Request) Turn

	mu       sync.Mutex // guards what follows
	turns    []Turn
	requests []llm.Request
}

var _ llm.Model = (*Script)(nil)

// NewScript returns a model that answers with these turns, in order.
func NewScript(turns ...Turn) *Script { return &Script{turns: slices.Clone(turns)} }

// Provider is ProviderName, or "script".
func (s *Script) Provider() string {
	if s.ProviderName != "" {
		return s.ProviderName
	}
	return "script"
}

// Name is ModelName, or "scripted-1".
func (s *Script) Name() string {
	if s.ModelName != "" {
		return s.ModelName
	}
	return "scripted-1"
}

// Requests are the requests so far, in the order in which they began.
func (s *Script) Requests() []llm.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Remaining returns how many turns of NewScript nobody asked for yet.
func (s *Script) Remaining() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.turns)
}

func (s *Script) next(r llm.Request) (Turn, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Messages, r.System, r.Tools = slices.Clone(r.Messages), slices.Clone(r.System), slices.Clone(r.Tools)
	s.requests = append(s.requests, r)
	if len(s.turns) > 0 {
		t := s.turns[0]
		s.turns = s.turns[1:]
		return t, true
	}
	if s.Reply == nil {
		return nil, false
	}
	return s.Reply(len(s.requests), r), true
}

// Stream plays the next turn.
func (s *Script) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		turn, ok := s.next(r)
		p := &playback{script: s, request: r, yield: yield}
		if !ok {
			p.fail(llm.Error{Kind: llm.Other, Message: "the script has no turn left"})
			return
		}
		for _, step := range turn {
			if err := ctx.Err(); err != nil {
				p.fail(llm.Error{Kind: llm.Canceled, Message: "canceled", Err: err})
			}
			if p.ended {
				return
			}
			p.do(ctx, step)
		}
		p.complete(ctx)
	}
}

// playback is one turn being played.
type playback struct {
	script  *Script
	request llm.Request
	yield   func(llm.Event, error) bool

	ended    bool
	visible  bool
	received int
	parts    []transcript.Part
	usage    *costs.Usage
	finish   transcript.FinishReason
}

func (p *playback) emit(e llm.Event) {
	if p.ended {
		return
	}
	if e.Type != llm.Warning {
		p.visible = true
	}
	p.received += len(e.Text)
	p.ended = !p.yield(e, nil)
}

func (p *playback) fail(e llm.Error) {
	if p.ended {
		return
	}
	p.ended = true
	e.Provider, e.Model = p.script.Provider(), p.script.Name()
	e.Visible, e.Received, e.Sent = p.visible, p.received, e.Sent || p.visible
	if e.Usage == nil {
		e.Usage = p.usage
	}
	p.yield(llm.Event{}, &e)
}

func (p *playback) do(ctx context.Context, step Step) {
	canceled := llm.Error{Kind: llm.Canceled, Message: "canceled", Err: context.Canceled}
	switch step := step.(type) {
	case Text:
		p.emit(llm.Event{Type: llm.ContentStart})
		p.emit(llm.Event{Type: llm.ContentDelta, Text: string(step)})
		p.emit(llm.Event{Type: llm.ContentStop})
		p.parts = append(p.parts, transcript.Text{Text: string(step)})
	case Thinking:
		p.emit(llm.Event{Type: llm.ThinkingDelta, Text: string(step)})
		p.parts = append(p.parts, transcript.Reasoning{Thinking: string(step)})
	case Call:
		p.call(step)
	case Usage:
		u := costs.Usage(step)
		p.usage = &u
	case Finish:
		p.finish = transcript.FinishReason(step)
	case Warn:
		p.emit(llm.Event{Type: llm.Warning, Text: string(step)})
	case Wait:
		select {
		case <-step:
		case <-ctx.Done():
			p.fail(canceled)
		}
	case Notify:
		select {
		case step <- struct{}{}:
		case <-ctx.Done():
			p.fail(canceled)
		}
	case Fail:
		p.fail(llm.Error(step))
	case Cut:
		p.fail(llm.Error{Kind: llm.Network, Sent: true, Message: "answer cut off before its end"})
	}
}

func (p *playback) call(c Call) {
	if c.Input == "" {
		c.Input = "{}"
	}
	whole := transcript.ToolCall{ID: c.ID, Name: c.Name, Input: c.Input, Finished: true}
	p.emit(llm.Event{Type: llm.ToolUseStart, ToolCall: &transcript.ToolCall{ID: c.ID, Name: c.Name}})
	p.emit(llm.Event{Type: llm.ToolUseDelta, Text: c.Input})
	p.emit(llm.Event{Type: llm.ToolUseStop, ToolCall: &whole})
	p.parts = append(p.parts, whole)
}

func (p *playback) complete(ctx context.Context) {
	if err := ctx.Err(); err != nil {
		p.fail(llm.Error{Kind: llm.Canceled, Message: "canceled", Err: err})
	}
	if p.ended {
		return
	}
	m := transcript.Message{Role: transcript.Assistant, Model: p.script.Name(), Parts: p.parts}
	if p.finish == "" {
		p.finish = transcript.EndTurn
		if len(m.Calls()) > 0 {
			p.finish = transcript.ToolUse
		}
	}
	m.Parts = append(slices.Clip(m.Parts), transcript.Finish{Reason: p.finish, Time: time.Now().UTC()})
	usage := costs.Usage{
		Input: llm.Estimate(p.request), Output: llm.EstimateText(p.received), Source: costs.Reported,
	}
	if p.usage != nil {
		usage = *p.usage
	}
	p.yield(llm.Event{Type: llm.Complete, Response: &llm.Response{
		Message: m, Finish: p.finish, Usage: usage, Model: m.Model,
	}}, nil)
}
