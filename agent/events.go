package agent

import (
	"sync"
	"time"

	"parley/sessionkeys"
	"parley/tools"
	"parley/transcript"
)

// EventType names what happens during a turn. (W01, 2.4)
type EventType string

// What happens during a turn, in this order for each model call.
const (
	TextDelta      EventType = "text_delta"      // a piece of the answer as it streams
	ReasoningDelta EventType = "reasoning_delta" // a piece of the thinking
	Reasoning      EventType = "reasoning"
	TextDone       EventType = "text" // text that came beside tool calls
	StepStart      EventType = "step_start"
	ToolCalled     EventType = "tool_call" // about to run: Doing and Of say what for (F18)
	ToolProgress   EventType = "tool_progress"
	ToolResulted   EventType = "tool_result"
	StepComplete   EventType = "step_complete"
	FinalResponse  EventType = "final"
	ModelCalled    EventType = "model_call"   // one attempt ended: Call is filled
	Retrying       EventType = "llm_retry"    // Wait says how long
	FellBack       EventType = "llm_fallback" // another model is asked: Fallback says which
	Compacting     EventType = "compacting"   // a summary is asked for: Overlay is the plan
	Compacted      EventType = "compacted"    // later requests hold less, or a summary failed: Overlay says which
	Interrupted    EventType = "interrupted"  // what the step said so far is void: it is asked anew
	Problem        EventType = "error"

	BudgetExceeded EventType = "budget_exceeded" // a call does not fit into a budget and is not made: Err is the *costs.BudgetError
	GoalCompleted  EventType = "goal_completed"  // Text is the goal, Status how it was reached
	QueueDropped   EventType = "queue_dropped"   // messages will not be read: Status says why

	// The turn of a sub-agent begins: CallID is the call that asked for it, in the turn
	// Parent, and Text what a model calls it. Before its other events, and after them.
	SubagentSpawned EventType = "subagent_spawned"
	SubagentEnded   EventType = "subagent_ended" // Status says how
)

// Family is what a type of events is about. (W04)
type Family string

// Families of events.
const (
	TaskFamily    Family = "task"    // the turn itself, and those of sub-agents
	ModelFamily   Family = "model"   // what the model says
	ToolFamily    Family = "tool"    // what tools do
	MetricsFamily Family = "metrics" // what was used
	WarningFamily Family = "warning" // what did not go as it should
)

// Family returns what the type is about.
func (t EventType) Family() Family {
	switch t {
	case TextDelta, ReasoningDelta, Reasoning, TextDone:
		return ModelFamily
	case StepStart, ToolCalled, ToolProgress, ToolResulted, StepComplete:
		return ToolFamily
	case ModelCalled:
		return MetricsFamily
	case Retrying, FellBack, Problem, BudgetExceeded, QueueDropped:
		return WarningFamily
	default:
		return TaskFamily
	}
}

// Event is one thing that happened. Seq grows by one from 1 within a Run, and of a
// sub-agent's turn within what its runner makes of one.
type Event struct {
	Seq     uint64
	At      time.Time
	Turn    string
	Session sessionkeys.SessionID
	Key     sessionkeys.Key
	Step    int
	Type    EventType

	// Root is the person's turn that this belongs to: Turn itself, or that above the
	// sub-agent, which Parent started and which is Depth below it.
	Root   string
	Parent string
	Depth  int

	Text   string // deltas, texts, progress, messages of problems, names of sub-agents
	CallID string // tool calls
	Tool   string
	Args   string // ToolCalled: canonical JSON, or {"_raw":…} of what does not parse (F10)
	Doing  string // ToolCalled: the tool's own words for what it does, "" when it has none
	Of     string // ToolCalled: what it does that to, which the model wrote
	Result *tools.Result
	Status string        // StepComplete and ToolResulted: ok, error, timeout, denied or cancelled; and see the types
	Took   time.Duration // ToolResulted: how long
	Began  time.Time     // ToolResulted: when it began; zero: it did not run
	Wait   time.Duration // Retrying
	Err    error         // Problem, Retrying, BudgetExceeded
	Call   *CallReport   // ModelCalled

	Fallback *FallbackReport // FellBack

	Overlay *transcript.Overlay // Compacting, Compacted
}

// Head returns an event of t that says only whose it is.
func (t Turn) Head() Event {
	e := Event{Turn: t.ID, Session: t.Session, Key: t.Key, Root: t.Root, Parent: t.Parent, Depth: t.Depth}
	if e.Root == "" {
		e.Root = t.ID
	}
	return e
}

// events numbers what happens in one Run and hands it on, one at a time.
type events struct {
	head Event
	now  func() time.Time
	to   func(Event)

	mu  sync.Mutex // guards seq and the order of calls of to
	seq uint64
}

func (e *events) emit(ev Event) {
	if e.to == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seq++
	h := e.head
	ev.Seq, ev.At, ev.Turn, ev.Session, ev.Key = e.seq, e.now(), h.Turn, h.Session, h.Key
	ev.Root, ev.Parent, ev.Depth = h.Root, h.Parent, h.Depth
	e.to(ev)
}

// emit sends an event of the model call that is being made, or was made last.
func (r *take) emit(ev Event) {
	if ev.Step == 0 {
		ev.Step = r.steps
	}
	r.out.emit(ev)
}
