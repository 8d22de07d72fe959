package tracing

import (
	"errors"
	"strings"
	"sync"
	"time"

	trace "go.opentelemetry.io/proto/slim/otlp/trace/v1"

	"parley/agent"
	"parley/costs"
	"parley/sessions"
	"parley/transcript"
)

// Take is the work of one process on a turn.
type Take struct {
	Turn sessions.Turn
	// Agent is the name of the agent, Provider and Model are its model as configured.
	Agent, Provider, Model string
	// With are further messages of the mailbox that the turn answers, by their places.
	With []uint64
}

// Turn makes the spans of one take of a turn: its own, and those of calls and sub-agents
// below it. Its methods may be called concurrently, but for End, which comes last.
type Turn struct {
	t    *Tracer
	id   traceID
	take Take

	mu        sync.Mutex             // guards what follows
	open      map[string]*trace.Span // turns that run, by their ids: this one, and sub-agents'
	described map[string]bool        // those of which the span names the model
	calls     map[call]spanID        // calls of tools that run
}

// call is a call of a tool. A model names them, so the names are unique in one turn at one
// time, and no more.
type call struct{ turn, id string }

// Begin returns what makes the spans of a take; nil: the turn is not traced.
func (t *Tracer) Begin(k Take) *Turn {
	id, ok := traceOf(k.Turn.ID)
	if !ok || !t.sampler.takes(id) {
		return nil
	}
	now := t.o.Now()
	s := newSpan(id, newSpanID(), id.root(), internal, opInvokeAgent+" "+k.Agent, now)
	describe(s, k.Agent, string(k.Turn.Session))
	if k.Provider != "" {
		set(s, text(attrProvider, t.providerKind(k.Provider)))
	}
	setText(s, attrModel, k.Model)
	set(s, text(attrTurn, k.Turn.ID), number(attrTake, int64(k.Turn.Attempts)), text(attrChannel, k.Turn.Channel), text(attrChat, chatKind(k.Turn.From)))
	for _, seq := range k.With {
		if other, ok := traceOf(t.o.TurnID(k.Turn.Token, seq)); ok {
			root := other.root()
			s.Links = append(s.Links, &trace.Span_Link{TraceId: other[:], SpanId: root[:], Flags: sampledFlag})
		}
	}
	return &Turn{
		t: t, id: id, take: k, open: map[string]*trace.Span{k.Turn.ID: s},
		described: map[string]bool{k.Turn.ID: true}, calls: map[call]spanID{},
	}
}

// describe says which agent runs, in which session.
func describe(s *trace.Span, name, conversation string) {
	set(s, text(attrOperation, opInvokeAgent))
	setText(s, attrAgent, name)
	setText(s, attrConversation, conversation)
}

// providerKind returns the provider as the conventions name it, and as the configuration does
// where they have no name.
func (t *Tracer) providerKind(name string) string {
	if kind := t.o.ProviderKind(name); kind != "" {
		return kind
	}
	return name
}

// Observe takes an event of the turn, or of one below it.
func (u *Turn) Observe(e agent.Event) {
	switch e.Type {
	case agent.ToolCalled:
		u.mu.Lock()
		u.calls[call{e.Turn, e.CallID}] = newSpanID()
		u.mu.Unlock()
	case agent.ToolResulted:
		u.endCall(e)
	case agent.ModelCalled:
		u.describeChild(e)
		u.t.exporter.add(u.t.newCall(u.id, u.spanOf(e.Turn), *e.Call, e.At))
	case agent.SubagentSpawned:
		u.beginChild(e)
	case agent.SubagentEnded:
		u.endChild(e.Turn, e.Status, e.At)
	default:
	}
}

// spanOf returns the span of a turn that runs, and the first of the trace for any other.
func (u *Turn) spanOf(turn string) spanID {
	u.mu.Lock()
	defer u.mu.Unlock()
	if s := u.open[turn]; s != nil {
		return spanID(s.SpanId)
	}
	return u.id.root()
}

func (u *Turn) endCall(e agent.Event) {
	u.mu.Lock()
	self, ok := u.calls[call{e.Turn, e.CallID}]
	delete(u.calls, call{e.Turn, e.CallID})
	u.mu.Unlock()
	if !ok {
		self = newSpanID()
	}
	began := e.Began
	if began.IsZero() { // it did not run
		began = e.At
	}
	name := toolName(e.Tool)
	s := newSpan(u.id, self, u.spanOf(e.Turn), internal, opExecuteTool+" "+name, began)
	set(s, text(attrOperation, opExecuteTool), text(attrTool, name), text(attrToolType, "function"), text(attrOutcome, e.Status), number(attrStep, int64(e.Step)))
	setText(s, attrToolCall, e.CallID)
	switch e.Status {
	case agent.StatusOK, agent.StatusWaiting, agent.StatusCancelled:
	default:
		fail(s, e.Status)
	}
	finish(s, began.Add(e.Took))
	u.t.exporter.add(s)
}

// toolName returns the name of a tool as far as it is one. A model may invent some, and put
// into it what it likes.
func toolName(name string) string {
	const longest = 128
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
	if name == "" || len(name) > longest || strings.Trim(name, letters) != "" {
		return "_OTHER"
	}
	return name
}

func (u *Turn) beginChild(e agent.Event) {
	u.mu.Lock()
	defer u.mu.Unlock()
	parent, ok := u.calls[call{e.Parent, e.CallID}]
	if !ok {
		parent = u.id.root()
		if s := u.open[e.Parent]; s != nil {
			parent = spanID(s.SpanId)
		}
	}
	s := newSpan(u.id, newSpanID(), parent, internal, opInvokeAgent+" "+e.Key.Agent(), e.At)
	describe(s, e.Key.Agent(), string(e.Session))
	set(s, text(attrTurn, e.Turn))
	u.open[e.Turn] = s
}

// describeChild notes on which model a sub-agent runs, by the first call that it makes.
func (u *Turn) describeChild(e agent.Event) {
	u.mu.Lock()
	defer u.mu.Unlock()
	s := u.open[e.Turn]
	if l := e.Call.Entry.Labels; s != nil && !u.described[e.Turn] && l.Purpose != costs.Transcription {
		set(s, text(attrProvider, u.t.providerKind(l.Provider)), text(attrModel, l.Model))
		u.described[e.Turn] = true
	}
}

// endChild ends the span of a sub-agent's turn, if it is open.
func (u *Turn) endChild(turn, status string, at time.Time) {
	u.mu.Lock()
	s := u.open[turn]
	delete(u.open, turn)
	u.mu.Unlock()
	if s == nil {
		return
	}
	set(s, text(attrOutcome, status))
	switch status {
	case agent.StatusOK, string(transcript.Stopped), string(transcript.Canceled): // as package subagents says it
	default:
		fail(s, status)
	}
	finish(s, at)
	u.t.exporter.add(s)
}

// handedOver is the outcome of a take after which another one goes on.
const handedOver = "handed_over"

// End ends the take, with what [agent.Loop.Run] returned, and what the whole turn has cost. With
// an error another take goes on: its spans stand beside these.
func (u *Turn) End(out agent.Outcome, cost costs.Amount, err error) {
	now := u.t.o.Now()
	for turn := range u.open { // no event comes any more
		if turn != u.take.Turn.ID {
			u.endChild(turn, handedOver, now)
		}
	}
	s := u.open[u.take.Turn.ID]
	outcome, failed := string(out.Finish), ""
	switch {
	case err != nil:
		outcome, failed = handedOver, "_OTHER"
		if errors.Is(err, agent.ErrHandover) {
			failed = handedOver
		}
	case errors.Is(out.Err, agent.ErrTurnTimeout):
		failed = "timeout"
	case out.Finish == transcript.Failed || out.Finish == transcript.ContextLimit || out.Finish == transcript.Budget:
		failed = outcome
	}
	set(s, text(attrOutcome, outcome), number(attrSteps, int64(out.Steps)), number(attrTurnCost, int64(cost)))
	if failed != "" {
		fail(s, failed)
	}
	finish(s, now)
	u.t.exporter.add(s)
}
