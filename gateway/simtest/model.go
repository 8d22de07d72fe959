package simtest

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"time"

	"parley/costs"
	"parley/llm"
	"parley/tools"
	"parley/transcript"
)

// model answers "re: " and the name of the message. What else it does the
// message says: "strike" and "look" call a tool before, "poison" panics, "long"
// answers in two messages.
type model struct{ p *process }

func (*model) Provider() string { return "sim" }
func (*model) Name() string     { return "sim-1" }

// Stream implements [llm.Model].
func (m *model) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		w := m.p.w
		if err := transcript.Check(r.Messages); err != nil {
			w.fail("I4: a request was sent in which %v", err)
		}
		defer m.begin()()
		text, called := lastSaid(r.Messages)
		event, verb, _ := strings.Cut(text, " ")
		o := &op{kind: "model", what: "model " + event, token: w.tokenOf(event)}
		o.do = func() { w.recordModelCall(m.p, event, verb) }
		if err := m.p.park(ctx, o); err != nil {
			kind := llm.Network
			if ctx.Err() != nil {
				kind = llm.Canceled
			}
			yield(llm.Event{}, &llm.Error{Kind: kind, Provider: m.Provider(), Model: m.Name(), Err: err})
			return
		}
		if verb == "poison" {
			panic("this message is poison")
		}
		answer := transcript.Message{Role: transcript.Assistant, Model: m.Name()}
		finish := transcript.EndTurn
		switch {
		case (verb == "strike" || verb == "look") && !called:
			finish = transcript.ToolUse
			answer.Parts = []transcript.Part{transcript.ToolCall{ID: "call-" + event, Name: verb, Input: `{}`, Finished: true}}
		case verb == "long":
			answer.Parts = []transcript.Part{transcript.Text{Text: "re: " + event + "\nand so on: " + event}}
		default:
			answer.Parts = []transcript.Part{transcript.Text{Text: "re: " + event}}
		}
		answer.Parts = append(answer.Parts, transcript.Finish{Reason: finish, Time: time.Now().UTC()})
		yield(llm.Event{Type: llm.Complete, Response: &llm.Response{
			Message: answer, Finish: finish, Usage: costs.Usage{Input: 1, Output: 1, Source: costs.Reported}, Model: m.Name(),
		}}, nil)
	}
}

// begin counts a call until it ends. Of one person one turn runs at a time in one
// process, however many conversations wait.
func (m *model) begin() (end func()) {
	w := m.p.w
	count := func(n int) int {
		w.mu.Lock()
		defer w.mu.Unlock()
		m.p.asks += n
		return m.p.asks
	}
	if n := count(1); n > personTurns && w.single {
		w.fail("I2: %d turns of one person run in %s", n, m.p.name)
	}
	return func() { count(-1) }
}

// lastSaid returns what the person said last, and whether a tool was called for it.
func lastSaid(ms []transcript.Message) (text string, called bool) {
	for _, m := range ms {
		switch m.Role {
		case transcript.User:
			called = false
			for _, p := range m.Parts {
				if t, ok := p.(transcript.Text); ok {
					text = t.Text
				}
			}
		case transcript.Tool:
			called = true
		}
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1], called
}

// tool is one of the tools.
type tool struct {
	p        *process
	name     string
	category tools.Category
}

func (t *tool) Definition() llm.Definition {
	return llm.Definition{Name: t.name, Description: t.name, Schema: json.RawMessage(`{"type":"object","properties":{}}`)}
}

func (t *tool) Category(tools.Call) tools.Category { return t.category }

func (t *tool) Run(ctx context.Context, c tools.Call) (tools.Result, error) {
	w := t.p.w
	o := &op{kind: "tool", what: fmt.Sprintf("tool %s %s", t.name, strings.TrimPrefix(c.ID, "call-"))}
	return call(ctx, t.p, o, func() (tools.Result, error) {
		w.recordToolRun(t, c)
		return tools.Result{Content: "done"}, nil
	})
}
