package activity

import (
	"errors"
	"time"

	"parley/agent"
	"parley/costs"
	"parley/llm"
	"parley/sessionkeys"
	"parley/tools"
)

// maxEventText bounds each text of an event, in bytes.
const maxEventText = 16 << 10

// Event is an event of a turn as listeners outside of its worker get it. (2.4) What is said
// in it, people and models wrote.
type Event struct {
	Seq         uint64          `json:"seq"` // in its run, without gaps but for what was lost, and for pieces of streams; 0: of no run
	At          time.Time       `json:"ts"`
	Session     string          `json:"session"`
	Key         string          `json:"session_key"`
	Run         string          `json:"run_id"`
	Parent      string          `json:"parent_run_id,omitempty"` // that started this sub-agent's run
	Depth       int             `json:"depth,omitempty"`         // how far below a person's run
	Iteration   int             `json:"iteration"`
	Correlation string          `json:"correlation_id"` // the person's run that it belongs to
	Family      agent.Family    `json:"family"`
	Type        agent.EventType `json:"type"`
	Payload     Payload         `json:"payload"`
}

// Payload is what an event says, of which each type has some.
type Payload struct {
	Text   string `json:"text,omitempty"`
	Call   string `json:"call,omitempty"`
	Tool   string `json:"tool,omitempty"`
	Doing  string `json:"doing,omitempty"`
	Of     string `json:"of,omitempty"`
	Args   string `json:"args,omitempty"`
	Status string `json:"status,omitempty"`
	Bytes  int    `json:"bytes,omitempty"` // of a tool's result
	Millis int64  `json:"ms,omitempty"`    // that it took, or that is waited
	Error  string `json:"error,omitempty"`

	Provider string `json:"provider,omitempty"` // of a model's call, or that is asked from now on
	Model    string `json:"model,omitempty"`
	Cost     string `json:"cost_usd,omitempty"`

	Before int64 `json:"tokens_before,omitempty"` // of a summary
	After  int64 `json:"tokens_after,omitempty"`

	Budget string `json:"budget,omitempty"` // that a call does not fit into: the kind of its scope
	Count  int    `json:"count,omitempty"`  // of messages that will not be read
}

// ByStop is why messages will not be read that waited when a person said stop, as
// Payload.Status of agent.QueueDropped has it. Others are refused by a limit, which it names.
const ByStop = "stop"

// Beside returns an event of a conversation that belongs to no run.
func Beside(t agent.EventType, at time.Time, session sessionkeys.SessionID, key sessionkeys.Key, p Payload) Event {
	p.Text = cut(p.Text)
	return Event{At: at, Session: string(session), Key: key.String(), Family: t.Family(), Type: t, Payload: p}
}

// cut bounds a text of an event.
func cut(s string) string {
	if s == "" {
		return ""
	}
	return tools.Truncate(s, maxEventText)
}

// EventOf returns e as it is sent; false for a piece of a stream, which is not.
func EventOf(e agent.Event) (Event, bool) {
	if e.Type == agent.TextDelta || e.Type == agent.ReasoningDelta {
		return Event{}, false
	}
	p := Payload{
		Text: cut(e.Text), Call: e.CallID, Tool: cut(e.Tool), Doing: e.Doing, Of: e.Of, Args: cut(e.Args), Status: e.Status,
		Millis: max(e.Took, e.Wait).Milliseconds(),
	}
	if e.Err != nil {
		p.Error = cut(e.Err.Error())
		if le, ok := errors.AsType[*llm.Error](e.Err); ok {
			p.Provider, p.Model = le.Provider, le.Model
		}
		if be, ok := errors.AsType[*costs.BudgetError](e.Err); ok {
			p.Budget = be.Scope
		}
	}
	if e.Result != nil {
		p.Bytes = len(e.Result.Content)
	}
	if c := e.Call; c != nil {
		p.Provider, p.Model, p.Millis = c.Entry.Labels.Provider, c.Entry.Labels.Model, c.Took.Milliseconds()
		if c.Entry.Priced {
			p.Cost = c.Entry.Amount.String()[1:]
		}
	}
	if f := e.Fallback; f != nil {
		p.Provider, p.Model = f.To.Provider, f.To.Model
	}
	if o := e.Overlay; o != nil {
		p.Before, p.After = o.Before, o.After
	}
	return Event{
		Seq: e.Seq, At: e.At, Session: string(e.Session), Key: e.Key.String(), Run: e.Turn, Parent: e.Parent, Depth: e.Depth,
		Iteration: e.Step, Correlation: e.Root, Family: e.Type.Family(), Type: e.Type, Payload: p,
	}, true
}
