// Package worker takes a conversation's waiting messages through lease,
// command, turn and reply.
//
// A delivery from the log only touches the mailbox row. The worker that finds the
// mailbox free becomes its actor: it reads the messages in their order, from
// the last committed one, until none is owed, and then gives the mailbox up in
// one conditional write. Every write carries the actor's fence, so a worker
// that comes back from the dead can change nothing.
//
//	Deliveries ──► touch ──► actor ──► next message ──► command: one commit
//	                 ▲         ▲  │                └──► turn: open, loop, finish
//	Signals ─────────┘         │  └── release, or go on; yield when others wait
//	Recover, every second ─────┘
package worker

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"parley/agent"
	"parley/broker"
	"parley/channels"
	"parley/costs"
	"parley/gateway/approvals"
	"parley/gateway/conversations"
	"parley/gateway/outcomes"
	"parley/gateway/policy"
	"parley/gateway/presence"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/subagents"
	"parley/tools/shell"
	"parley/wake"
)

// Log is the part of the broker that a worker reads from, and by which it hands
// on what belongs to another conversation.
type Log interface {
	Consume(ctx context.Context, h func(context.Context, broker.WakeUp) error) error
	NextAtLeast(ctx context.Context, token string, after, expect uint64) (broker.Envelope, error)
	Publish(ctx context.Context, e broker.Envelope) (seq uint64, err error)
	DeadLetter(ctx context.Context, d broker.DeadLetter) error
	Signal(ctx context.Context, s broker.Signal) error
	Signals(ctx context.Context, topic string, h func(broker.Signal)) error
}

// Store is the part of the store that a worker writes to.
type Store interface {
	sessions.Dispatch
	sessions.Turns
	sessions.Money
	Chat(ctx context.Context, id sessions.ChatID) (sessions.Chat, error)
	Clock(ctx context.Context) (time.Time, error)
	Delivery(ctx context.Context, id string) (sessions.Delivery, error)
	approvals.Store
	conversations.Store
}

// Observer counts. Calls must not block.
type Observer interface {
	CountIgnored(channel, reason string)
	CountDuplicate(channel, reason string)
	CountDeadLetter(channel, reason string)
	CountLost(n int)
	TurnStarted(channel string, waited time.Duration)
	TurnRunning(channel string, delta int)
	// TurnWaiting counts turns that wait for other turns of their own person.
	TurnWaiting(channel string, delta int)
	TurnEnded(t outcomes.Turn)
	// GoalCompleted counts a goal that was reached; see [goals.ByPhrase].
	GoalCompleted(how string)
	// ApprovalDecided counts a request for permission that a person decided; see
	// [approvals.State].
	ApprovalDecided(decision string)
	agent.Meter
	// BudgetDenied counts work that a budget refused or stopped.
	BudgetDenied(scope, action string)
	// WorkerEnded counts another worker whose process has ended, and the conversations with
	// work that it left.
	WorkerEnded(conversations int)
}

// Watcher sees the work on turns. Its methods may be called concurrently, and must not block.
type Watcher interface {
	// Begin is called when this worker begins or goes on with a turn, and returns what sees that
	// work; nil: nobody does.
	Begin(w Work) TurnWatcher
	// Titled is called after a call that looked for the title of the session of a turn.
	Titled(turn string, r agent.CallReport)
}

// Work is what one worker does on a turn, until the turn is over or another goes on with it.
type Work struct {
	Turn sessions.Turn
	// Agent is the name of the agent, Provider and Model are its model.
	Agent, Provider, Model string
	// With are further messages that the turn answers, by their places in the log. It may be
	// incomplete.
	With []uint64
}

// TurnWatcher sees the work on one turn.
type TurnWatcher interface {
	// Observe takes the events of the turn and of those below it. It may be called concurrently.
	Observe(e agent.Event)
	// End is called behind all events, with what [agent.Loop.Run] returned and what the whole turn
	// has cost.
	End(out agent.Outcome, cost costs.Amount, err error)
}

// Options is what a worker is made of.
type Options struct {
	Settings Settings // where Present is nil: they hold for ever; a field, so that nothing reads past Present
	// Present returns the settings in force, and is called whenever something is begun. It
	// must not block.
	Present func() *Settings

	Config     policy.Turns
	Identity   sessions.Worker // a stable name, and a nonce new at every start
	Generation string          // of the log, so that turn ids are unique for ever
	// AmbiguousThrough: messages up to this place of the log may have been answered by a
	// process whose store was a newer one. Their answers are marked as possible
	// repeats, and no preview is shown of them.
	AmbiguousThrough uint64
	Log              Log
	Store            Store
	// Signs show that a worker's process is there; see [presence.Options]. Of fewer than two
	// nothing is concluded: the conversations of a worker that died wait for its lease.
	Signs     []presence.Sign
	Subagents *subagents.Runner // nil: agents' tools to start some do nothing
	Busy      *agent.Registry
	Workspace func(sessionkeys.SessionID) (string, error)
	// CheckFolder returns why commands cannot begin in a folder of a workspace; default
	// [shell.CheckFolder].
	CheckFolder func(workspace, dir string) error
	// MessageText makes what the model reads of a message and the lines of its files.
	// Default [MessageText].
	MessageText func(m channels.Message, files []string) string
	// Command returns what people type on a network for the command of that name; nil: it
	// with a slash.
	Command func(network, name string) string
	// NewRequest makes the request for permission of a turn; default [approvals.New].
	NewRequest func(turn string, now time.Time, timeout time.Duration) approvals.Request
	// Handoff, if set, is called before a turn is opened, and returns what takes its answer; nil
	// where this process does not send for the channel.
	Handoff func(channel string) Handoff
	Watcher Watcher // nil: nobody sees the work on turns
	// PassOver counts, logs and remembers that nothing is done with a message that was queued, for a
	// reason of outcomes, and why. nil: it is counted.
	PassOver func(m channels.Message, reason, why string)
	Observer Observer
	Logger   *slog.Logger
	Now      func() time.Time
}

// Handoff takes the answer of one turn, to send it as soon as the commit that ends the turn is
// durable. begin is what that commit notes of it; nil: the answer is only queued, and settle is nil.
// Otherwise settle must be called once: with whether the commit began the delivery, or with its error.
type Handoff func(ctx context.Context, o sessions.Outgoing, asked time.Time) (begin *sessions.Progress, settle func(sending bool, err error))

// Worker runs turns. Make one with New, run it once.
type Worker struct {
	Options
	actors    registry
	leases    leaseClock
	histories historyCache
	slots     *slots
	titles    titles
	others    *presence.Watch // nil: there are no signs of others
	backlog   atomic.Uint64   // not 0: mailboxes may wait that nobody took, and go first; see owe
	nudge     wake.Signal     // look for work now
	hinted    atomic.Int64    // when others were told last that mailboxes wait
	// recovering: what Recover took may have no actor yet, although it is this
	// worker's.
	recovering atomic.Bool
	suspects   sync.Mutex // held by the suspect that runs; see suspect.go
	// suspectsDeferred: a suspect was given back, and would be found again at once. Until that
	// one has ended only the periodic look looks.
	suspectsDeferred atomic.Bool
	closing          chan struct{} // closed when the process takes nothing new
}

// New checks and wires; it starts nothing.
func New(o Options) (*Worker, error) {
	o.Config = o.Config.Defaults()
	if err := o.Config.Validate(); err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	if o.CheckFolder == nil {
		o.CheckFolder = shell.CheckFolder
	}
	if o.MessageText == nil {
		o.MessageText = MessageText
	}
	if o.NewRequest == nil {
		o.NewRequest = func(_ string, now time.Time, timeout time.Duration) approvals.Request {
			return approvals.New(now, timeout)
		}
	}
	if o.PassOver == nil {
		o.PassOver = func(m channels.Message, reason, _ string) { o.Observer.CountIgnored(m.Channel, reason) }
	}
	if o.Present == nil {
		always := o.Settings
		o.Present = func() *Settings { return &always }
	}

	w := &Worker{
		Options:   o,
		histories: newHistoryCache(),
		actors:    registry{byToken: map[string]*entry{}, failed: map[string]int{}, begun: wake.New()},
		nudge:     wake.New(),
		closing:   make(chan struct{}),
	}
	w.titles.slots = make(chan struct{}, o.Config.Turns)
	w.slots = newSlots(o.Config.Turns, o.Config.PersonTurns, w.hasBacklog)
	if len(o.Signs) > 1 {
		if err := w.watchOthers(); err != nil {
			return nil, fmt.Errorf("worker: %w", err)
		}
	}
	return w, nil
}

// Slots returns how many places for turns are taken, and how many there are. It may be called
// concurrently.
func (w *Worker) Slots() (busy, size int) { return w.slots.count() }
