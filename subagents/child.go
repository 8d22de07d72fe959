package subagents

import (
	"context"
	"errors"
	"time"

	"parley/agent"
	"parley/costs"
	"parley/faultpoint"
	"parley/sessions"
	"parley/tools"
	"parley/tools/skills"
	"parley/transcript"
)

// job is a turn that a child is to take.
type job struct {
	turn    string
	text    string
	call    string        // that asked for it, as the provider names it
	timeout time.Duration // 0: what the child's row says
	// create makes the child, once there is a slot for it; nil: it is there.
	create func(ctx context.Context) (sessions.Session, error)
}

// runJob runs the job's turn to its end and says how it went. A turn that an
// earlier take has ended is only told again; one that it left open goes on from
// its last committed step. ErrConcurrency: there was no slot, and nothing was
// stored.
func (m *turnNode) runJob(ctx context.Context, child sessions.Session, j job) (tools.Result, error) {
	r := m.tree.runner
	t, err := r.o.Store.Turn(ctx, j.turn)
	begun := err == nil
	switch {
	case begun && t.State == sessions.Done:
		return m.resultOf(ctx, child, t)
	case err != nil && !errors.Is(err, sessions.ErrNotFound):
		return tools.Result{}, unfinishedError("look for the sub-agent's turn", err)
	}
	rights, err := parseRights(child)
	if err != nil {
		return tools.Result{}, err
	}
	if _, ok := m.tree.Agents(child.Key.Agent()); !ok && !begun {
		return tools.Result{}, tools.Errorf(tools.Permanent, "the agent %q of this sub-agent is not configured any more", child.Key.Agent())
	}

	m.wait.begin()
	defer m.wait.end(ctx)
	left := minTimeout(rights.Timeout, j.timeout)
	if begun {
		left -= max(0, r.o.Now().Sub(t.OpenedAt)) // a clock that was set back gives no more time
	}
	limited, cancelLimit := context.WithTimeoutCause(ctx, left, ErrTimeout)
	defer cancelLimit()
	seat := &childSlot{slots: r.slots}
	seat.Reacquire(limited)
	defer seat.Release()
	switch {
	case ctx.Err() != nil && !begun:
		return tools.Result{}, context.Cause(ctx)
	case !seat.held && !begun:
		return tools.Result{}, ErrConcurrency
	}
	running, cancel := context.WithCancelCause(limited)
	defer cancel(nil)
	release, err := r.o.Busy.Acquire(child.ID, cancel)
	if err != nil {
		return tools.Result{}, tools.Errorf(tools.Transient, "the sub-agent works on something else: %w", err)
	}
	defer release()
	t, err = m.runChild(running, child, rights, j, seat)
	switch {
	case err != nil:
		return tools.Result{}, err
	case ctx.Err() != nil && (t.Outcome == transcript.Canceled || t.Outcome == transcript.TimedOut):
		return tools.Result{}, context.Cause(ctx) // with its parent: the loop has the words for that
	}
	return m.resultOf(ctx, child, t)
}

func minTimeout(limit, asked time.Duration) time.Duration {
	if asked > 0 && asked < limit {
		return asked
	}
	return limit
}

// runChild makes the child if need be, opens its turn, and runs it to its end.
func (m *turnNode) runChild(ctx context.Context, child sessions.Session, rights rights, j job, seat Slot) (sessions.Turn, error) {
	r, root := m.tree.runner, m.tree.root
	t, err := m.openTurn(ctx, child, j)
	if err != nil || t.State == sessions.Done {
		return t, err
	}
	kid := &turnNode{
		tree: m.tree, id: child.ID, key: child.Key, depth: child.Depth, turn: t.ID,
		tools: m.tree.root.Tools.Only(rights.Tools...), rights: rights, wait: childWait{slot: seat},
	}
	// Its row has what it was given, also what the operator has denied since.
	kid.tools = kid.tools.Filter(func(name string) bool { return m.tree.Config.permits(name, child.Depth, rights.MaxDepth) })
	log := &journal{spent: root.Spent, Journal: sessions.Journal{
		Store: r.o.Store, Fence: root.Fence, Turn: t.ID, Session: child.ID, Scopes: kid.scopes, Now: r.o.Now,
	}}
	who, ok := m.tree.Agents(child.Key.Agent())
	if !ok {
		return r.endWithoutAgent(ctx, log)
	}
	if len(who.Prompt.Skills) == 0 {
		kid.tools = kid.tools.Without(skills.ToolName) // its parent's agent may have some
	}
	set := kid.boundTools()
	r.o.Observer.SubagentRunning(child.Depth, 1)
	defer r.o.Observer.SubagentRunning(child.Depth, -1)
	r.notifyWatcher(ctx, t)

	loop := m.tree.Loop
	if root.Gate != nil {
		loop.Gate = root.Gate
	}
	loop.Journal = log
	if root.Plan {
		loop.Gate = tools.PlanGate(loop.Gate)
		who.Prompt.Plan = true
	}
	turn := agent.Turn{
		ID: t.ID, Session: child.ID, Key: child.Key, Purpose: costs.Subagent, Channel: root.Turn.Channel, Workspace: root.Workspace, Dir: root.Dir, Env: root.Env,
		Root: root.Turn.ID, Parent: m.turn, Depth: child.Depth,
		Model: who.Model, Fallbacks: who.Fallbacks, System: who.Prompt.Minimal(set, t.OpenedAt), Tools: set, MaxTokens: who.MaxTokens, Window: who.Window, MaxSteps: rights.MaxSteps,
		Steps: t.Steps, Tries: t.Tries, Parameters: who.Parameters, Retry: who.Retry, ToolTimeout: who.ToolTimeout, ToolOutput: who.ToolOutput,
		Middleware: who.Middleware, MaxCost: root.MaxCost, MaxTurnTokens: who.MaxTurnTokens,
	}
	events := kid.newEvents(turn)
	events.emit(agent.Event{Type: agent.SubagentSpawned, CallID: j.call, Text: j.label(child)})
	faultpoint.Hit("subagents.open.after")
	out, err := loop.Run(ctx, turn, events.observe)
	m.tree.counts.charge(out.Cost) // of its calls of models and of tools, however it ended
	if _, ok := errors.AsType[*agent.PanicError](err); ok {
		// What made it panic is not the parent's fault, nor its other children's.
		out = agent.Outcome{Finish: transcript.Failed, Text: "The sub-agent crashed.", Err: err}
		c, done := commitContext(ctx)
		err = log.Finish(c, nil, out)
		done()
	}
	if err != nil {
		return t, unfinishedError("the sub-agent's turn", err)
	}
	faultpoint.Hit("subagents.ended") // its parent does not know yet
	if r.o.Ended != nil {
		r.o.Ended(out)
	}
	if out.Err != nil {
		r.o.Logger.Info("sub-agent ended early", "session", child.ID, "turn", t.ID, "finish", out.Finish, "error", out.Err)
	}
	c, done := commitContext(ctx)
	defer done()
	if t, err = r.o.Store.Turn(c, t.ID); err != nil {
		return t, unfinishedError("read the sub-agent's turn", err)
	}
	events.emit(agent.Event{Type: agent.SubagentEnded, CallID: j.call, Status: statusText(t.Outcome)})
	r.notifyWatcher(c, t)
	return t, nil
}

// endWithoutAgent ends a turn that is open while its agent is not configured any more: it
// could never go on, nor could its parent.
func (r *Runner) endWithoutAgent(ctx context.Context, log *journal) (sessions.Turn, error) {
	c, done := commitContext(ctx)
	defer done()
	out := agent.Outcome{Finish: transcript.Failed, Text: "The agent of this sub-agent is not configured any more."}
	if err := log.Finish(c, nil, out); err != nil {
		return sessions.Turn{}, unfinishedError("end the sub-agent's turn", err)
	}
	r.o.Logger.Warn("sub-agent ended, because its agent is not configured any more", "session", log.Session, "turn", log.Turn)
	t, err := r.o.Store.Turn(c, log.Turn)
	if err != nil {
		return t, unfinishedError("read the sub-agent's turn", err)
	}
	r.notifyWatcher(c, t)
	return t, nil
}

// notifyWatcher reports the turn to the watcher, if there is one, and logs a failure: the
// child goes on.
func (r *Runner) notifyWatcher(ctx context.Context, t sessions.Turn) {
	if r.o.Watch == nil {
		return
	}
	child, err := r.o.Store.Session(ctx, t.Session)
	if err != nil {
		r.o.Logger.Warn("sub-agent not shown to its watcher", "session", t.Session, "error", err)
		return
	}
	r.o.Watch(child, t)
}

// openTurn gives the open turn of the job, with its child; or the turn as it was
// ended meanwhile.
func (m *turnNode) openTurn(ctx context.Context, child sessions.Session, j job) (sessions.Turn, error) {
	r, root := m.tree.runner, m.tree.root
	c, done := commitContext(ctx)
	defer done()
	if j.create != nil {
		if _, err := j.create(c); err != nil {
			return sessions.Turn{}, unfinishedError("make the sub-agent", err)
		}
	}
	now := r.o.Now()
	t, opened, err := r.o.Store.Open(c, root.Fence, sessions.OpenTurn{
		Turn: sessions.Turn{
			ID: j.turn, Session: child.ID, Seq: root.Turn.Seq, Channel: root.Turn.Channel, From: root.Turn.From, ReplyTo: root.Turn.ReplyTo,
			Sender: root.Turn.Sender, ReceivedAt: root.Turn.ReceivedAt, OpenedAt: now,
		},
		Message: transcript.Message{
			ID: transcript.MessageID{Turn: j.turn, Kind: transcript.Opening}.String(), Role: transcript.User, CreatedAt: now, Parts: []transcript.Part{transcript.Text{Text: j.text}},
		},
	})
	if err == nil && !opened {
		t, err = r.o.Store.Turn(c, j.turn)
	}
	if err != nil {
		return sessions.Turn{}, unfinishedError("open the sub-agent's turn", err)
	}
	return t, nil
}

// scopes returns what the member's calls count for.
func (m *turnNode) scopes(ctx context.Context, at time.Time) (all []sessions.Scope, err error) {
	if m.tree.root.Scopes != nil {
		if all, err = m.tree.root.Scopes(ctx, at); err != nil {
			return nil, err
		}
	}
	for _, l := range m.rights.Caps {
		all = append(all, l.scope())
	}
	return all, nil
}
