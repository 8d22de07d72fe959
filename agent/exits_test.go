package agent_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"parley/agent"
	"parley/llm"
	"parley/llm/llmtest"
	"parley/tools"
	"parley/transcript"
)

// hanging is a model that begins to answer its request number at with these events, calls hit,
// and says nothing more. Other requests are the script's.
type hanging struct {
	*llmtest.Script
	t      *testing.T
	at     int
	events []llm.Event
	hit    func()
	asked  int
}

func (h *hanging) Stream(ctx context.Context, q llm.Request) iter.Seq2[llm.Event, error] {
	if err := transcript.Check(q.Messages); err != nil {
		h.t.Errorf("request %d: %v", h.asked+1, err)
	}
	if h.asked++; h.asked != h.at {
		return h.Script.Stream(ctx, q)
	}
	return func(yield func(llm.Event, error) bool) {
		for _, e := range h.events {
			if !yield(e, nil) {
				return
			}
		}
		h.hit()
		<-ctx.Done()
		yield(llm.Event{}, &llm.Error{Kind: llm.Canceled, Sent: true, Err: context.Cause(ctx)})
	}
}

// moment is where in a turn something ends it.
type moment struct {
	turns  []llmtest.Turn // the model's answers, but for the one that hangs
	hangs  int            // which request hangs; 0: none
	events []llm.Event    // of that answer
	deaf   bool           // a new message of the person waits until it is over
	half   bool           // words of an answer were shown
	begin  func(r *fixture, hit func())
}

// exits are the moments at which a turn may be ended.
func exits(t *testing.T) map[string]moment {
	t.Helper()
	shown := llm.Event{Type: llm.ContentDelta, Text: "half an ans"}
	call := []llm.Event{
		{Type: llm.ToolUseStart, ToolCall: &transcript.ToolCall{ID: "c1", Name: "read"}},
		{Type: llm.ToolUseDelta, Text: `{"text":"a`},
	}
	two := calls(llmtest.Call{ID: "c1", Name: "read"}, llmtest.Call{ID: "c2", Name: "write"}, llmtest.Call{ID: "c3", Name: "read"})
	// tooled has a tool of that name hit at its run number n, and then wait for its end or not.
	tooled := func(name string, n int, waits bool) func(*fixture, func()) {
		return func(r *fixture, hit func()) {
			ran := 0
			work := func(ctx context.Context, _ input, _ tools.Call) (tools.Result, error) {
				if ran++; ran != n {
					return tools.Result{Content: "done"}, nil
				}
				hit()
				if waits {
					<-ctx.Done()
					return tools.Result{}, context.Cause(ctx)
				}
				return tools.Result{Content: "done"}, nil
			}
			categories := map[string]tools.Category{"read": tools.Read, "write": tools.Write}
			r.turn.Tools = r.turn.Tools.Bind(tool(t, name, categories[name], work))
		}
	}
	onOp := func(name string) func(*fixture, func()) {
		return func(r *fixture, hit func()) {
			done := false
			r.journal.onOp = func(op string) {
				if op == name && !done {
					done = true
					hit()
				}
			}
		}
	}
	return map[string]moment{
		"before the turn":                     {begin: func(_ *fixture, hit func()) { hit() }},
		"while the history is read":           {begin: onOp("messages")},
		"before the stream":                   {begin: onOp("reserve")},
		"before the first byte":               {hangs: 1},
		"in a thought":                        {hangs: 1, events: []llm.Event{{Type: llm.ThinkingDelta, Text: "hm"}}},
		"in the middle of words":              {hangs: 1, events: []llm.Event{shown}, half: true},
		"in the middle of a call's arguments": {hangs: 1, events: call},
		"in a call behind words":              {hangs: 1, events: append([]llm.Event{shown}, call...), half: true},
		"while an answer is stored":           {turns: []llmtest.Turn{two}, begin: onOp("settle")},
		"in a gate": {turns: []llmtest.Turn{two}, begin: func(r *fixture, hit func()) {
			asked := 0
			r.loop.Gate = func(context.Context, tools.Tool, tools.Call) (tools.Verdict, error) {
				if asked++; asked == 2 {
					hit()
				}
				return tools.Verdict{}, nil
			}
		}},
		"before a tool with side effects": {turns: []llmtest.Turn{two}, begin: onOp("begin")},
		"in a tool":                       {turns: []llmtest.Turn{two}, begin: tooled("read", 1, true)},
		"in a tool with side effects":     {turns: []llmtest.Turn{two}, begin: tooled("write", 1, true), deaf: true},
		"between calls":                   {turns: []llmtest.Turn{two}, begin: tooled("read", 1, false)},
		"while a result is stored":        {turns: []llmtest.Turn{two}, begin: onOp("append")},
		"after the last call":             {turns: []llmtest.Turn{two}, begin: tooled("read", 2, false)},
		"in the answer after tools":       {turns: []llmtest.Turn{two}, hangs: 2, events: []llm.Event{shown}, half: true},
		"before the answer after tools":   {turns: []llmtest.Turn{two}, hangs: 2},
		"in the closing call": {turns: []llmtest.Turn{two}, hangs: 2, events: []llm.Event{shown}, half: true, deaf: true, begin: func(r *fixture, _ func()) {
			r.turn.MaxSteps = 1
		}},
		"while it waits to try again": {turns: []llmtest.Turn{busy()}, deaf: true, begin: func(r *fixture, hit func()) {
			r.loop.Retry = always
			r.loop.Wait = func(ctx context.Context, _ time.Duration) error {
				hit()
				return context.Cause(ctx)
			}
		}},
		"in a summary": {hangs: 1, events: []llm.Event{shown}, deaf: true, begin: func(r *fixture, _ func()) {
			r.turn.Window, r.turn.MaxTokens = 10_000, 500
			r.journal.messages = talk(10, 1000)
		}},
	}
}

// requirements L07, TX02, TX03: whatever ends a turn, and wherever, each call has a result, no
// half call is kept, and the session answers at once.
func TestAfterEveryEndOfATurnTheSessionIsUsable(t *testing.T) {
	t.Parallel()
	errFresh := errors.New("a new message of the person")
	for name := range exits(t) {
		for _, cause := range []error{agent.ErrStopped, agent.ErrTurnTimeout, agent.ErrHandover, errors.New("lease lost"), errFresh} {
			m := exits(t)[name]
			if m.deaf && errors.Is(cause, errFresh) { // a new message does not interrupt this moment
				continue
			}
			t.Run(name+"/"+cause.Error(), func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithCancelCause(t.Context())
				r := newRig(t, setOf(t, tool(t, "read", tools.Read, echo), tool(t, "write", tools.Write, echo)), m.turns...)
				r.model.Reply = func(_ int, q llm.Request) llmtest.Turn {
					if asksForSummary(q) {
						return text("<summary>what was said</summary>")
					}
					return text("next")
				}
				hit := func() { cancel(cause) }
				if errors.Is(cause, errFresh) {
					s := r.steer("and this")
					hit = func() { s.cuts <- struct{}{} }
				}
				r.turn.Model = &hanging{Script: r.model, t: t, at: m.hangs, events: m.events, hit: hit}
				if m.begin != nil {
					m.begin(r, hit)
				}
				o, err := r.loop.Run(ctx, r.turn, r.emit)
				r.journal.onOp, r.turn.Steering = nil, nil
				sendable(t, r)
				if errors.Is(err, agent.ErrHandover) {
					r.turn = r.journal.resume(r.turn)
					o, err = r.loop.Run(t.Context(), r.turn, r.emit)
				}
				if err != nil {
					t.Fatal(err)
				}
				ended := errors.Is(cause, agent.ErrStopped) || errors.Is(cause, agent.ErrTurnTimeout)
				if (o.Finish == transcript.Canceled) != ended {
					t.Errorf("the turn ended with %+v", o)
				}
				if kept := strings.Contains(strings.Join(said(llm.Request{Messages: r.journal.messages}), "\n"), "half an ans"); kept != (m.half && ended) {
					t.Errorf("half an answer is in the history: %v", kept)
				}
				r.journal.sound(t)
				sendable(t, r)
				r.goOn(t)
			})
		}
	}
}

// sendable checks that the history can be sent as it stands, and holds no half call.
func sendable(t *testing.T, r *fixture) {
	t.Helper()
	if err := transcript.Check(agent.RequestMessages(r.journal.messages)); err != nil {
		t.Errorf("the history cannot be sent: %v", err)
	}
	for _, m := range r.journal.messages {
		for _, c := range m.Calls() {
			if !c.Finished {
				t.Errorf("half a call is in the history: %+v", m)
			}
		}
	}
}
