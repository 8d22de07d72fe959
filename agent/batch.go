package agent

import (
	"cmp"
	"context"
	"fmt"

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

// batch runs the calls of an answer one after the other. Each result is
// committed before the next call begins; one that ends the turn is committed
// with the end.
func (r *run) batch(ctx context.Context, b batch) (*Outcome, error) {
	for i, c := range b.calls {
		rest := b.calls[i:]
		if over(ctx) {
			return r.cancelled(ctx, nil, r.unrun(b.step, rest, resultCanceled, true))
		}
		f, err := r.call(ctx, b, c)
		switch {
		case err != nil:
			return nil, err
		case f == nil: // ctx ended before there was a result
			all := r.unrun(b.step, rest, resultCanceled, true)
			all[0].events = all[0].events[2:] // its start was told
			return r.cancelled(ctx, nil, all)
		case f.done != nil:
			all := append([]finishedCall{*f}, r.unrun(b.step, rest[1:], resultSkipped, false)...)
			text := cmp.Or(f.done.Content, b.words, textDone)
			return r.finish(ctx, nil, Outcome{Finish: transcript.Done, Text: text}, messagesOf(all), eventsOf(all)...)
		case f.halt:
			all := append([]finishedCall{*f}, r.unrun(b.step, rest[1:], resultCanceled, true)...)
			return r.finish(ctx, nil, Outcome{Finish: transcript.PermissionDenied, Text: textDenied}, messagesOf(all), eventsOf(all)...)
		}
		commit, done := r.commit(ctx)
		err = r.Journal.Append(commit, f.message)
		done()
		if err != nil {
			return nil, fmt.Errorf("store result of tool %s: %w", c.Name, err)
		}
		b.failed.note(c.ToolCall, f.status != StatusOK)
		for _, e := range f.events {
			r.emit(e)
		}
	}
	return nil, nil
}

// unrun gives results to calls that did not run and will not.
func (r *run) unrun(step int, calls []call, text string, isError bool) []finishedCall {
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
func (r *run) finished(step int, c call, res tools.Result, status string, isError bool) finishedCall {
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

func budgetText(err error) string { return fmt.Sprintf(textBudget, err) }
