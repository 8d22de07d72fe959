package agent

import (
	"cmp"
	"context"
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
)

// finishedCall is a call with its result, as it goes into the history and out
// as events.
type finishedCall struct {
	message transcript.Message
	events  []Event
	status  string
	done    *tools.Result // set by a tool that ends the turn
	halt    bool          // a person said no: the turn ends
}

func messagesOf(fs []finishedCall) []transcript.Message {
	var ms []transcript.Message
	for _, f := range fs {
		ms = append(ms, f.message)
	}
	return ms
}

func eventsOf(fs []finishedCall) []Event {
	var es []Event
	for _, f := range fs {
		es = append(es, f.events...)
	}
	return es
}

// batch runs the calls of an answer, one after the other, and side by side
// those that stand together and may. Each result is committed in the order of
// the calls, and before the next group begins; one that ends the turn is
// committed with the end. For a new message, the calls that have not begun are
// not run.
func (r *run) batch(ctx context.Context, b batch) (*Outcome, error) {
	for len(b.calls) > 0 {
		if over(ctx) {
			return r.cancelled(ctx, nil, r.unrun(b.step, b.calls, resultCanceled, true))
		}
		if r.interrupted() {
			return nil, r.supersede(ctx, b)
		}
		end, err := r.group(ctx, &b)
		if end != nil || err != nil {
			return end, err
		}
	}
	return nil, nil
}

// group runs the calls at the head of b that go together, and takes them from
// b. What stops the turn at a call, a person who must decide or said no, does so
// after the calls before it have ended.
func (r *run) group(ctx context.Context, b *batch) (*Outcome, error) {
	started, stop := r.prepare(ctx, *b)
	running, settled := ctx, func() {}
	if mayRunAgain(started) {
		running, settled = r.interruptible(ctx)
	}
	defer settled()
	side := begin(running, started)
	defer side.end()
	for i := range started {
		f, err := side.result(i)
		rest := b.calls[i:]
		switch {
		case err != nil:
			return nil, fmt.Errorf("tool %s: %w", rest[0].Name, err)
		case f == nil && !over(ctx): // a new message came first
			all, err := r.others(side, b.step, rest, i, len(started), resultSuperseded, false)
			if err != nil {
				return nil, err
			}
			b.calls = nil
			return nil, r.keep(ctx, all)
		case f == nil: // ctx ended before there was a result
			all, err := r.others(side, b.step, rest, i, len(started), resultCanceled, true)
			if err != nil {
				return nil, err
			}
			return r.cancelled(ctx, nil, all)
		case f.done != nil:
			all, err := r.others(side, b.step, rest, i, len(started), resultSkipped, false)
			if err != nil {
				return nil, err
			}
			text := cmp.Or(f.done.Content, b.words, textDone)
			return r.finish(ctx, nil, Outcome{Finish: transcript.Done, Text: text}, messagesOf(all), eventsOf(all)...)
		}
		b.failed.fit(f)
		commit, done := r.commit(ctx)
		err = r.Journal.Append(commit, f.message)
		done()
		if err != nil {
			return nil, fmt.Errorf("store result of tool %s: %w", rest[0].Name, err)
		}
		if rest[0].index < maxCalls {
			b.failed.note(rest[0].ToolCall, f.status != StatusOK)
		}
		for _, e := range f.events {
			r.emit(e)
		}
	}
	b.calls = b.calls[len(started):]
	switch {
	case stop.err != nil:
		return nil, stop.err
	case stop.over:
		all := r.unrun(b.step, b.calls, resultCanceled, true)
		all[0].events = all[0].events[2:] // its start was told
		return r.cancelled(ctx, nil, all)
	case stop.halted != nil:
		all := append([]finishedCall{*stop.halted}, r.unrun(b.step, b.calls[1:], resultCanceled, true)...)
		return r.finish(ctx, nil, Outcome{Finish: transcript.PermissionDenied, Text: textDenied}, messagesOf(all), eventsOf(all)...)
	}
	return nil, nil
}

// mayRunAgain says whether nothing is lost when the calls are cancelled.
func mayRunAgain(started []prepared) bool {
	return !slices.ContainsFunc(started, func(p prepared) bool { return !p.again })
}

// others are the results of rest, whose first is number i of the n that were
// started: what they really gave, and the given words for those that were not
// started; those that gave nothing were cancelled, or given up for a new message.
func (r *calls) others(side *side, step int, rest []call, i, n int, words string, isError bool) ([]finishedCall, error) {
	var all []finishedCall
	for k := i; k < n; k++ {
		f, err := side.result(k)
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", rest[k-i].Name, err)
		}
		if f == nil {
			none := r.unrun(step, rest[k-i:k-i+1], resultCanceled, true)
			if words == resultSuperseded {
				none = r.unrun(step, rest[k-i:k-i+1], words, isError)
			}
			none[0].events = none[0].events[2:] // its start was told
			f = &none[0]
		}
		all = append(all, *f)
	}
	return append(all, r.unrun(step, rest[n-i:], words, isError)...), nil
}

// stop is why the calls of an answer end before the last.
type stop struct {
	over   bool          // the turn's context ended while the gate decided
	halted *finishedCall // a person said no
	err    error         // of the gate or the journal; ErrParked
}

// prepare decides on the calls at the head of b that may run side by side, or
// on one. stop is what is in the way of the call after the last of them.
func (r *calls) prepare(ctx context.Context, b batch) (started []prepared, s stop) {
	for i, c := range b.calls {
		if i > 0 && (!r.parallel(b.step, b.calls[0]) || !r.parallel(b.step, c)) {
			break
		}
		p, err := r.call(ctx, b, c)
		switch {
		case err != nil:
			return started, stop{err: err}
		case p == nil:
			return started, stop{over: true}
		case p.ready != nil && p.ready.halt:
			return started, stop{halted: p.ready}
		}
		started = append(started, *p)
	}
	return started, s
}

// parallel says whether c may run beside its neighbours: its tool says so, and
// it may run again, so that nobody needs to know which of them had begun.
func (r *calls) parallel(step int, c call) bool {
	t, ok := r.t.Tools.Lookup(c.Name)
	if !ok {
		return false
	}
	if p, ok := t.(tools.Parallel); !ok || !p.Parallel() {
		return false
	}
	args, err := tools.DecodeArguments(c.Input)
	return err == nil && r.again(t, r.toolCall(step, c, args))
}

// unrun gives results to calls that did not run and will not.
func (r *calls) unrun(step int, calls []call, text string, isError bool) []finishedCall {
	fs := make([]finishedCall, len(calls))
	for i, c := range calls {
		_, args, _ := r.arguments(c)
		res := tools.Result{Content: text}
		fs[i] = r.finished(step, c, res, StatusCancelled, isError)
		fs[i].events = append([]Event{
			{Type: StepStart, Step: step, CallID: c.ID, Tool: c.Name},
			{Type: ToolCalled, Step: step, CallID: c.ID, Tool: c.Name, Args: args},
		}, fs[i].events...)
	}
	return fs
}

// finished makes the message and the closing events of a call.
func (r *calls) finished(step int, c call, res tools.Result, status string, isError bool) finishedCall {
	return finishedCall{
		status: status,
		message: transcript.Message{
			ID:        resultID(r.t.ID, step, c.index),
			Role:      transcript.Tool,
			CreatedAt: r.Now(),
			Parts: []transcript.Part{transcript.ToolResult{
				ToolCallID: c.ID, Name: c.Name, Content: res.Content, Metadata: res.Metadata, IsError: isError,
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
