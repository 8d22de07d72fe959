package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/agent"
	"parley/broker"
	"parley/channels"
	"parley/costs"
	"parley/gateway/budgets"
	"parley/gateway/messages"
	"parley/gateway/outcomes"
	"parley/gateway/plans"
	"parley/llm"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/subagents"
	"parley/tools"
	"parley/transcript"
)

// runTurn runs the open turn t to its end, or leaves it open and returns an
// error. With stop it is ended without another model call.
func (a *actor) runTurn(t sessions.Turn, j *journal, stop bool) (released bool, err error) {
	w, now := a.w, a.settings
	stands := channels.Idle
	defer func() { a.showOutcome(t, stands) }()
	ag, plan, looks, err := a.turnAgent(j, stop)
	if err != nil {
		return false, err
	}
	workspace, err := w.Workspace(t.Session)
	if err != nil {
		return false, fmt.Errorf("make the workspace: %w", err)
	}
	dir, err := j.folder(a.ctx, ag.Tools, workspace)
	if err != nil {
		return false, err
	}
	own, err := j.ownTools(a.ctx)
	if err != nil {
		return false, err
	}
	limit := cmp.Or(now.TurnTimeout, w.Config.TurnTimeout)
	if j.job != nil {
		ag, limit = confine(ag, *j.job), cmp.Or(j.job.Timeout, limit)
	}
	limited, cancelLimit := context.WithTimeoutCause(a.ctx, limit, agent.ErrTurnTimeout)
	defer cancelLimit()
	ctx, cancel := context.WithCancelCause(limited)
	defer cancel(nil)
	if stop {
		cancel(agent.ErrStopped)
	}
	done, err := w.Busy.Acquire(t.Session, cancel)
	if err != nil {
		return false, fmt.Errorf("start the turn: %w", err)
	}
	defer done()

	w.Observer.TurnRunning(t.Channel, 1)
	defer w.Observer.TurnRunning(t.Channel, -1)

	j.counted = ag.MaxCost > 0
	steering := a.newSteering(j, cancel)
	s := newProgress(a, j, cancel, steering)
	attended := make(chan struct{})
	go func() {
		defer close(attended)
		s.run(ctx)
	}()
	set := j.bindTools(ag, own, subagents.Root{Workspace: workspace, Dir: dir, Env: ag.Env, Plan: plan, Gate: j.childGate(now.Loop.Gate, looks), Observe: s.observeActivity})
	loop := now.Loop
	loop.Journal = j
	loop.Gate, loop.Pause = j.gate(loop.Gate, plan, looks), j.asksForMore(loop.Why)
	turn := agent.Turn{
		ID: t.ID, Session: t.Session, Key: a.m.Key, Purpose: costs.RootTurn, Channel: t.Channel, Workspace: workspace, Dir: dir, Env: ag.Env,
		Model: ag.Model, Fallbacks: ag.Fallbacks, Summariser: ag.Summariser, System: j.systemMessage(a.ctx, ag, plan), Tools: set,
		MaxTokens: ag.MaxTokens, Window: ag.Window, MaxSteps: ag.MaxSteps, Vision: ag.SeesPictures, Steps: t.Steps, Tries: t.Tries,
		Parameters: ag.Parameters, Retry: ag.Retry, ToolTimeout: ag.ToolTimeout, ToolOutput: ag.ToolOutput,
		Permitted:  j.permitted(),
		Middleware: ag.Middleware, MaxCost: ag.MaxCost, MaxTurnTokens: ag.MaxTurnTokens,
	}
	if steering != nil {
		turn.Steering = steering
	}
	if turn.Compact, err = a.beginTurn(ctx, ag, j, stop); err != nil {
		cancel(nil)
		<-attended
		return false, fmt.Errorf("turn %s: %w", t.ID, err)
	}
	s.watch = j.watch(ag)
	var took usageTally
	out, err := loop.Run(ctx, turn, func(e agent.Event) {
		took.observe(e)
		s.observe(e)
	})
	cancel(nil)
	<-attended
	if err != nil {
		if s.watch != nil && j.isOpen() {
			s.watch.End(out, out.Cost, err)
		}
		return false, fmt.Errorf("turn %s: %w", t.ID, err)
	}
	if j.reached != "" {
		s.tellGoal(j.reached)
	}
	stands = stageAfter(out.Finish, out.Silent)
	if out.Silent {
		s.end()
	}
	a.stopRequested = errors.Is(out.Err, agent.ErrStopped) || out.Finish == transcript.Canceled && out.Silent
	cost := j.totalCost(out)
	if s.watch != nil {
		s.watch.End(out, cost, nil)
	}
	a.reportOutcome(t, ag, out, took, cost)
	return a.adoptFinished(j)
}

// turnAgent returns the agent of j's turn, and whether it may only plan, and only look: then it
// has the tools for that alone.
func (a *actor) turnAgent(j *journal, stop bool) (ag Agent, plan, looks bool, err error) {
	ag, ok := a.chosenAgent(a.ctx)
	if !ok && !stop {
		return ag, false, false, fmt.Errorf("the agent %q of an open turn is not configured", a.m.Key.Agent())
	}
	ctx := a.ctx
	if j.asker != nil && j.job == nil {
		ctx = a.readRights(ctx, j.t.Channel, *j.asker, sessions.ChatID{}, plans.RecordID(j.t.Session))
	}
	if plan, err = a.inPlanMode(ctx, j.t.Session); err != nil {
		return ag, plan, false, err
	}
	if looks, err = j.onlyLooks(ctx, stop); err != nil {
		return ag, plan, looks, err
	}
	j.looks = looks
	if plan || looks {
		ag.Tools = ag.Tools.Plan()
	}
	return ag, plan, looks, nil
}

// reportOutcome tells the log and the metrics how t ended, and what it cost.
func (a *actor) reportOutcome(t sessions.Turn, ag Agent, out agent.Outcome, took usageTally, cost costs.Amount) {
	if scope, action, ok := budgets.Denied(out); ok {
		a.w.Observer.BudgetDenied(scope, action)
	}
	a.w.logTurn(t, a.m.Key, ag, out, took, cost)
	a.w.Observer.TurnEnded(outcomes.Turn{
		Turn: t.ID, Session: t.Session, Channel: t.Channel, DM: t.From.Kind == sessionkeys.DM, Outcome: out.Finish,
		TimedOut: errors.Is(out.Err, agent.ErrTurnTimeout), Took: a.w.Now().Sub(t.OpenedAt), Cost: cost,
	})
}

// watch returns what sees the work on the turn; nil: nobody does.
func (j *journal) watch(ag Agent) TurnWatcher {
	a := j.a
	if a.w.Watcher == nil {
		return nil
	}
	w := Work{Turn: j.t, Agent: a.m.Key.Agent()}
	if ag.Model != nil {
		w.Provider, w.Model = ag.Model.Provider(), ag.Model.Name()
	}
	if j.opening != nil {
		for _, it := range j.opening.q.items {
			if it.e.Seq != j.t.Seq {
				w.With = append(w.With, it.e.Seq)
			}
		}
	}
	return a.w.Watcher.Begin(w)
}

// systemMessage returns the system message of the turn; nil: the agent has none.
func (j *journal) systemMessage(ctx context.Context, ag Agent, plan bool) []llm.SystemBlock {
	if ag.Prompt == nil {
		return nil
	}
	words := *ag.Prompt
	words.Goal, words.Plan = j.promptGoal(ctx), plan
	return words.Full(ag.Tools, j.a.m.Key, j.t.OpenedAt)
}

// bindTools returns the agent's tools as they act for the turn; root is what of its tree is not
// known from the turn.
func (j *journal) bindTools(ag Agent, own []tools.Tool, root subagents.Root) *tools.Set {
	a, set := j.a, ag.Tools
	if a.w.Subagents != nil && set != nil {
		root.Turn, root.Key, root.Fence, root.Tools, root.Scopes, root.Slot = j.t, a.m.Key, j.Fence, set, j.Scopes, &a.slot
		root.Settings, root.MaxCost, root.Spent = a.settings.Children, ag.MaxCost, j.Spent
		j.tree = a.w.Subagents.Tree(root)
		set = j.tree.Tools()
	}
	return set.Bind(own...)
}

// beginTurn starts what runs beside a turn that answers a message, and returns what one is to
// do that answers none; nil: it answers one.
func (a *actor) beginTurn(ctx context.Context, ag Agent, j *journal, stop bool) (*agent.Compaction, error) {
	history, err := j.Messages(ctx)
	if err != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("read the message that opened the turn: %w", err)
	}
	c := requestedCompaction(j.t.ID, history)
	if c != nil || stop || j.job != nil {
		return c, nil
	}
	title := func() { j.titling = a.startTitle(ag, j, history) }
	if j.opening != nil {
		j.opening.title = title // which is paid for, under the turn
	} else {
		title()
	}
	return nil, nil // it answers a message
}

// requestedCompaction returns what a turn is to do that carries out /compact; nil: it
// answers a message.
func requestedCompaction(turn string, history []transcript.Message) *agent.Compaction {
	opening := openingID(turn)
	for _, m := range slices.Backward(history) {
		if m.ID != opening {
			continue
		}
		if c, ok := messages.ParseCommand(m.Text()); ok && c.IsTurn() {
			return &agent.Compaction{Undo: strings.EqualFold(c.Args, "undo"), Wishes: c.Args}
		}
		break
	}
	return nil
}

// adoptFinished takes over what the commit that finished the turn said of the mailbox.
func (a *actor) adoptFinished(j *journal) (bool, error) {
	a.m, a.didWork = j.after, true
	return j.released, nil
}

// signal sends a hint; nothing depends on it.
func (w *Worker) signal(topic string, body any) {
	b, err := json.Marshal(body)
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		err = w.Log.Signal(ctx, broker.Signal{Topic: topic, Body: b})
	}
	if err != nil {
		w.Logger.Debug("signal not sent", "topic", topic, "error", err)
	}
}
