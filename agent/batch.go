package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"parley/costs"
	"parley/tools"
	"parley/transcript"
)

// Statuses of a call in events.
const (
	StatusOK        = "ok"
	StatusError     = "error"
	StatusTimeout   = "timeout"
	StatusDenied    = "denied"
	StatusCancelled = "cancelled"
	StatusWaiting   = "waiting" // for a person's permission
)

// finishedCall is a call with its result, as it goes into the history and out
// as events.
type finishedCall struct {
	message transcript.Message
	events  []Event
	status  string
	kind    tools.Kind    // of its error; "": the tool does not know
	unpaid  bool          // its tool knows that nobody charges for it
	done    *tools.Result // set by a tool that ends the turn
	halt    bool          // a person said no: the turn ends
	told    string        // what the person reads when halt ends the turn; empty: the words of the loop
}

// setKind notes what the tool knows of its error, for when the same call is made again, and
// for what it costs.
func (f *finishedCall) setKind(err error) {
	f.unpaid = errors.Is(err, tools.ErrUnpaid)
	switch {
	case err == nil:
		return
	case tools.KindOf(err) == tools.Permanent:
		f.kind = tools.Permanent
	case errors.Is(err, tools.ErrTransient):
		f.kind = tools.Transient
	}
	res := f.message.Parts[0].(transcript.ToolResult) // made by finishCall
	res.Kind = string(f.kind)
	f.message.Parts[0] = res
}

func callMessages(fs []finishedCall) []transcript.Message {
	var ms []transcript.Message
	for _, f := range fs {
		ms = append(ms, f.message)
	}
	return ms
}

func callEvents(fs []finishedCall) []Event {
	var es []Event
	for _, f := range fs {
		es = append(es, f.events...)
	}
	return es
}

// runBatch runs the calls of an answer, one after the other, and side by side
// those that stand together and may. Each result is committed in the order of
// the calls, and before the next group begins; one that ends the turn is
// committed with the end. For a new message, the calls that have not begun are
// not run.
func (r *run) runBatch(ctx context.Context, b batch) (*Outcome, error) {
	for len(b.calls) > 0 {
		if ended(ctx) {
			return r.endCancelled(ctx, nil, r.skippedResults(b.step, b.calls, resultCanceled, true))
		}
		if r.isInterrupted() {
			return nil, r.supersede(ctx, b)
		}
		end, err := r.runGroup(ctx, &b)
		if end != nil || err != nil {
			return end, err
		}
	}
	return nil, nil
}

// runGroup runs the calls at the head of b that go together, and takes them from
// b. What stops the turn at a call, a person who must decide or said no, does so
// after the calls before it have ended.
func (r *run) runGroup(ctx context.Context, b *batch) (*Outcome, error) {
	started, stop := r.prepare(ctx, *b)
	running, settled := ctx, func() {}
	if mayRunAgain(started) {
		running, settled = r.withInterrupt(ctx)
	}
	defer settled()
	side := startCalls(running, started)
	defer side.stop()
	for i := range started {
		f, err := side.await(i)
		rest := b.calls[i:]
		switch {
		case err != nil:
			return nil, fmt.Errorf("tool %s: %w", rest[0].Name, err)
		case f == nil && !ended(ctx): // a new message came first
			all, err := r.remainingResults(ctx, side, b.step, rest, i, resultSuperseded, false)
			if err != nil {
				return nil, err
			}
			b.calls = nil
			return nil, r.commitResults(ctx, all)
		case f == nil: // ctx ended before there was a result
			all, err := r.remainingResults(ctx, side, b.step, rest, i, resultCanceled, true)
			if err != nil {
				return nil, err
			}
			return r.endCancelled(ctx, nil, all)
		case f.done != nil && !errors.Is(context.Cause(ctx), ErrStopped):
			all, err := r.remainingResults(ctx, side, b.step, rest, i, resultSkipped, false)
			if err != nil {
				return nil, err
			}
			text := cmp.Or(f.done.Content, b.text, textDone)
			return r.finish(ctx, nil, Outcome{Finish: transcript.Done, Text: text}, callMessages(all), callEvents(all)...)
		}
		b.failures.truncate(f)
		if err := r.commitResult(ctx, started[i].held, f); err != nil {
			return nil, fmt.Errorf("store result of tool %s: %w", rest[0].Name, err)
		}
		if rest[0].index < maxCalls {
			b.failures.note(rest[0].ToolCall, f.status != StatusOK, f.kind)
		}
		for _, e := range f.events {
			r.emit(e)
		}
	}
	b.calls = b.calls[len(started):]
	switch {
	case stop.err != nil:
		return nil, stop.err
	case stop.ended:
		all := r.skippedResults(b.step, b.calls, resultCanceled, true)
		all[0].events = all[0].events[2:] // its start was told
		return r.endCancelled(ctx, nil, all)
	case stop.denied != nil:
		all := append([]finishedCall{*stop.denied}, r.skippedResults(b.step, b.calls[1:], resultCanceled, true)...)
		return r.finish(ctx, nil, Outcome{Finish: transcript.PermissionDenied, Text: cmp.Or(stop.denied.told, textDenied)}, callMessages(all), callEvents(all)...)
	case stop.waiting != nil:
		all := append([]finishedCall{*stop.waiting}, r.skippedResults(b.step, b.calls[1:], resultBehind, false)...)
		o := Outcome{Finish: transcript.Waiting, Text: stop.ask, Beside: b.text}
		if stop.refused != nil {
			o.Err = stop.refused
		}
		return r.finish(ctx, nil, o, callMessages(all), callEvents(all)...)
	}
	return nil, nil
}

// mayRunAgain reports whether nothing is lost when the calls are cancelled.
func mayRunAgain(started []preparedCall) bool {
	return !slices.ContainsFunc(started, func(p preparedCall) bool { return !p.rerunnable })
}

// remainingResults returns the results of rest, whose first is number i of those that were
// started: what they really gave, and the given words for those that were not
// started; those that gave nothing were cancelled, or given up for a new message. What they
// cost is booked.
func (r *toolRunner) remainingResults(ctx context.Context, side *parallelCalls, step int, rest []call, i int, words string, isError bool) ([]finishedCall, error) {
	var all []finishedCall
	n := len(side.calls)
	for k := i; k < n; k++ {
		f, err := side.await(k)
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", rest[k-i].Name, err)
		}
		if err := r.settleCall(ctx, side.calls[k].held, f); err != nil {
			return nil, err
		}
		if f == nil {
			none := r.skippedResults(step, rest[k-i:k-i+1], resultCanceled, true)
			if words == resultSuperseded {
				none = r.skippedResults(step, rest[k-i:k-i+1], words, isError)
			}
			none[0].events = none[0].events[2:] // its start was told
			f = &none[0]
		}
		all = append(all, *f)
	}
	return append(all, r.skippedResults(step, rest[n-i:], words, isError)...), nil
}

// stopReason is why the calls of an answer end before the last.
type stopReason struct {
	ended   bool               // the turn's context ended while the gate decided
	denied  *finishedCall      // a person said no
	waiting *finishedCall      // a person has to decide
	ask     string             // about it
	refused *costs.BudgetError // which they are asked to raise; nil: they are asked about the call
	err     error              // of the gate or the journal
}

// prepare decides on the calls at the head of b that may run side by side, or
// on one. stop is what is in the way of the call after the last of them.
func (r *toolRunner) prepare(ctx context.Context, b batch) (started []preparedCall, s stopReason) {
	for i, c := range b.calls {
		if i > 0 && (!r.mayRunParallel(b.step, b.calls[0]) || !r.mayRunParallel(b.step, c)) {
			break
		}
		p, err := r.prepareCall(ctx, b, c)
		switch {
		case err != nil:
			return started, stopReason{err: err}
		case p == nil:
			return started, stopReason{ended: true}
		case p.ready != nil && p.ready.halt:
			return started, stopReason{denied: p.ready}
		case p.ready != nil && p.ready.status == StatusWaiting:
			return started, stopReason{waiting: p.ready, ask: p.ask, refused: p.refused}
		}
		started = append(started, *p)
	}
	return started, s
}

// mayRunParallel reports whether c may run beside its neighbours: its tool allows it, and
// the call may run again, so after a crash it does not matter which of them had begun.
func (r *toolRunner) mayRunParallel(step int, c call) bool {
	t, ok := r.turn.Tools.Lookup(c.Name)
	if !ok {
		return false
	}
	if p, ok := t.(tools.Parallel); !ok || !p.Parallel() {
		return false
	}
	args, err := tools.DecodeArguments(c.Input)
	return err == nil && r.rerunnable(t, r.toolCall(step, c, args))
}

// skippedResults gives results to calls that did not run and will not.
func (r *toolRunner) skippedResults(step int, calls []call, text string, isError bool) []finishedCall {
	fs := make([]finishedCall, len(calls))
	for i, c := range calls {
		decoded, args, _ := r.arguments(c)
		res := tools.Result{Content: text}
		fs[i] = r.finishCall(step, c, res, StatusCancelled, isError)
		fs[i].events = append([]Event{
			{Type: StepStart, Step: step, CallID: c.ID, Tool: c.Name},
			r.announcedCall(step, c, decoded, args),
		}, fs[i].events...)
	}
	return fs
}

// finishCall makes the message and the closing events of a call.
func (r *toolRunner) finishCall(step int, c call, res tools.Result, status string, isError bool) finishedCall {
	view := 0
	if limit := r.Pressure.ResultBytes; !r.Pressure.Off && len(res.Content) > limit {
		view = limit
	}
	return finishedCall{
		status: status,
		message: transcript.Message{
			ID:        resultID(r.turn.ID, step, c.index),
			Role:      transcript.Tool,
			CreatedAt: r.Now(),
			Parts: []transcript.Part{transcript.ToolResult{
				ToolCallID: c.ID, Name: c.Name, Content: res.Content, Metadata: res.Metadata, IsError: isError, View: view,
			}},
		},
		events: []Event{
			{Type: ToolResulted, Step: step, CallID: c.ID, Tool: c.Name, Result: &res, Status: status},
			{Type: StepComplete, Step: step, CallID: c.ID, Tool: c.Name, Status: status},
		},
	}
}

func settlementOf(a *attempt) *costs.Settlement {
	if a == nil {
		return nil
	}
	return &a.settlement
}
