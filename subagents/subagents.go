// Package subagents provides the tools by which an agent hands a task to a smaller
// one, a child, and waits for its result.
//
//	a person's turn ──► sessions_spawn ──► slot ──► child session ──► nested turn
//	      │ gives its slot back, waits            ▲        │ may spawn, in turn
//	      └──────────── result ◄──────────────────┴────────┘
//
// A child is a session of its own below its parent's: own transcript, own money,
// the parent's workspace, and of the parent's tools the few that its row names.
// What it may is written into the row when it is made and read from there ever
// after. Its turns are nested in the turn of the person who asked, under the
// same owner's fence. Every id is a function of the call that asked, so that
// after a crash a call finds its child, and goes on with it or reads its result
// again; nothing is spawned or paid twice.
//
// A turn that waits for children holds no slot, so turns and children can never
// wait for each other's.
package subagents

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"parley/agent"
	"parley/agent/prompt"
	"parley/costs"
	"parley/llm"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/tools"
)

// Names of the tools of this package.
const (
	SpawnName = "sessions_spawn"
	SendName  = "sessions_send"
)

// Role is what a child's row says it is.
const Role = "task"

// Store is the part of the store that children are kept in.
type Store interface {
	sessions.Turns
	sessions.Money
}

// Observer counts. Calls must not block.
type Observer interface {
	agent.Meter
	SubagentSpawned(depth int)
	SubagentDenied(reason string)
	SubagentRunning(depth, delta int)
}

// Slot is what a turn holds while it works and gives back while it only waits.
// One goroutine uses it at a time.
type Slot interface {
	// Release gives it back; on one that is not held it does nothing.
	Release()
	// Reacquire takes it again, or waits until it can, or until ctx ends.
	Reacquire(ctx context.Context)
}

// Agent is what a child of an agent's name runs on.
type Agent struct {
	Model     llm.Model
	Fallbacks []agent.Fallback // that answer when Model does not work
	MaxTokens int
	Window    int          // tokens; 0: as the catalogue knows the model
	Prompt    prompt.Agent // what its system messages are made of, besides parley's own words

	Parameters  llm.Parameters // how the model is asked
	Retry       agent.Retrier  // of its failed calls; nil: as the loop says
	ToolTimeout time.Duration  // of one call; 0: as the loop says
	ToolOutput  int            // bytes of one result; 0: as the loop says

	Middleware    []agent.Middleware // nil: the standard one
	MaxTurnTokens int64              // of the model calls of one turn; 0: no limit
}

// Settings is what an operator may change while a Runner runs. All sub-agents of a person's
// turn, however deep, run under those of its [Root]; what a child may is in its row, and
// no change gives it more.
type Settings struct {
	Config Config
	Agents func(name string) (Agent, bool)
	Loop   agent.Loop // without a Journal
}

// Options is what sub-agents are made of. All but Logger, Watch and Ended is required.
type Options struct {
	Settings // of a Root that has none of its own; Config.MaxConcurrent is of all of them
	Store    Store
	Busy     *agent.Registry
	Observer Observer
	Now      func() time.Time
	Logger   *slog.Logger // nil: silence

	// Watch, if set, receives a child's turn when this process takes it up and
	// when it has ended, with the child as it then is in the store. Several may be
	// told at once. It must not block for long.
	Watch func(child sessions.Session, t sessions.Turn)
	// Ended, if set, receives how a child's turn ended. Several calls may run at
	// once. It must not block.
	Ended func(o agent.Outcome)
}

// Runner runs the children of one process. All methods may be called by many
// goroutines at once.
type Runner struct {
	o     Options
	slots chan struct{}
}

// New checks and wires; it starts nothing.
func New(o Options) (*Runner, error) {
	o.Config = o.Config.Defaults()
	if err := o.Config.Validate(); err != nil {
		return nil, fmt.Errorf("subagents: %w", err)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Runner{o: o, slots: make(chan struct{}, o.Config.MaxConcurrent)}, nil
}

// Root is the turn of a person that may have children.
type Root struct {
	Turn      sessions.Turn
	Key       sessionkeys.Key
	Fence     sessions.Fence
	Workspace string
	Dir       string     // where the commands of the turn begin, and of those below it
	Env       []string   // of the commands of the turn, and of those below it
	Tools     *tools.Set // all that the turn has
	Plan      bool       // it is in plan mode, and so are those below
	Gate      tools.Gate // of the turn and of those below; nil: that of Settings.Loop
	// Scopes returns what a reservation of the turn, or of its children, counts for.
	Scopes func(ctx context.Context, at time.Time) ([]sessions.Scope, error)
	Slot   Slot
	// Settings are those of the turn, with defaults filled in; nil: those of Options.
	Settings *Settings

	// MaxCost is what the turn may cost with its sub-agents before they come to an end, and
	// Spent returns what it has cost; 0: no limit.
	MaxCost costs.Amount
	Spent   func(ctx context.Context) (costs.Amount, error)
	// Observe, if set, receives what happens in the turns below, from several goroutines at
	// once. It must not block for long.
	Observe func(agent.Event)
}

// TurnTree is a person's turn and all that is spawned below it.
type TurnTree struct {
	Settings
	runner *Runner
	root   Root
	top    *turnNode
	counts childCounts
}

// Tree makes the one of a turn. Nothing is read or started before a tool is
// called.
func (r *Runner) Tree(root Root) *TurnTree {
	f := &TurnTree{runner: r, root: root, Settings: r.o.Settings}
	if root.Settings != nil {
		f.Settings = *root.Settings
	}
	f.top = &turnNode{
		tree: f, id: root.Turn.Session, key: root.Key, turn: root.Turn.ID, tools: root.Tools,
		rights: rights{MaxDepth: f.Config.MaxDepth}, wait: childWait{slot: root.Slot},
	}
	return f
}

// Tools returns the root's tools, with those of this package bound to the family.
func (f *TurnTree) Tools() *tools.Set { return f.top.boundTools() }

// ChildrenCost returns what the calls of children cost, as far as this take made them.
func (f *TurnTree) ChildrenCost() costs.Amount { return f.counts.totalCost() }

// HasChildren reports whether the family has a child, as far as this take knows.
func (f *TurnTree) HasChildren() bool { return f.counts.hasChildren() }

// turnNode is a running turn that may have children: the root's or a child's.
type turnNode struct {
	tree   *TurnTree
	id     sessionkeys.SessionID
	key    sessionkeys.Key
	depth  int
	turn   string
	tools  *tools.Set // not bound
	rights rights
	wait   childWait
}

func (m *turnNode) boundTools() *tools.Set { return m.tools.Bind(spawnTool{m: m}, sendTool{m}) }

// unfinishedError reports that the turn cannot go on, not that the tool failed.
func unfinishedError(what string, err error) error {
	return fmt.Errorf("%s: %w: %w", what, tools.ErrUnfinished, err)
}

// grace is how long a commit may take after the turn was ended.
const grace = 10 * time.Second

// commitContext gives a context for a commit, which outlives the end of ctx by grace.
func commitContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return agent.WithGrace(ctx, grace, errSlow)
}

var errSlow = errors.New("the turn was ended and a commit of its sub-agent took too long")
