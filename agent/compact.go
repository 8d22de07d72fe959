package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"parley/agent/pressure"
	"parley/costs"
	"parley/faultpoint"
	"parley/llm"
	"parley/transcript"
)

// compactor keeps the turn's requests inside the model's window. What it does stands in
// the history as overlays, so another take goes on from there.
type compactor struct {
	*requester
	warned  bool               // the window fills, which the log has said
	plain   bool               // summaries are the own model's, since the summariser gave none
	refused *costs.BudgetError // what refused a summary in this take; nil: nothing did
}

// ContextLimitError is why a turn ended whose next request does not fit into the model's
// window. (requirements AH01)
type ContextLimitError struct {
	Tokens int64 // of the request, estimated
	Window int64 // of the model
}

func (e *ContextLimitError) Error() string {
	return fmt.Sprintf("the request of about %d tokens does not fit into the model's window of %d", e.Tokens, e.Window)
}

// measure reads how large the next request is.
func (r *compactor) measure(history []transcript.Message) {
	if r.ladder.Window == 0 {
		r.ladder = r.Pressure.Ladder(r.window())
	}
	if r.system == 0 {
		r.system = pressure.GuessSystem(llm.Request{System: r.turn.System, Tools: r.turn.Tools.Definitions()})
	}
	r.gauge = pressure.Measure(history, r.turn.Model.Name(), r.system)
	r.log.Debug("context measured", "tokens", r.gauge.Tokens, "percent", r.ladder.Percent(r.gauge.Tokens))
	if r.gauge.Tokens < r.ladder.Warn || r.warned {
		return
	}
	r.warned = true
	if !r.ladder.Filled(history) {
		r.log.Warn("context window fills", "tokens", r.gauge.Tokens, "window", r.ladder.Window, "percent", r.ladder.Percent(r.gauge.Tokens))
	}
}

// overflow does what has to be done after the model refused a request because it is too
// long. acted is false where nothing can be.
func (r *compactor) overflow(ctx context.Context, history []transcript.Message, a *attempt) (acted bool, end *Outcome, err error) {
	if r.Pressure.Off {
		return false, nil, nil
	}
	r.measure(history)
	plan := r.ladder.Overflow(history, r.turn.ID, r.gauge.Tokens, r.system)
	if plan.Action == pressure.GiveUp || plan.Action == pressure.Summarise && r.isRefused() {
		return false, nil, nil
	}
	if err := r.settle(ctx, a); err != nil {
		return false, nil, err
	}
	r.report(a)
	acted, end, err = r.follow(ctx, history, plan)
	if !acted && end == nil && err == nil { // a is booked already
		end, err = r.finish(ctx, nil, failedOutcome(a.err), nil)
	}
	return acted, end, err
}

// isRefused reports whether the budgets have refused a summary in this take.
func (r *compactor) isRefused() bool { return r.refused != nil }

// follow carries out a plan. acted is true when the history has changed, and is to be read
// again.
func (r *compactor) follow(ctx context.Context, history []transcript.Message, plan pressure.Plan) (acted bool, end *Outcome, err error) {
	switch plan.Action {
	case pressure.Trim:
		return true, nil, r.commitOverlay(ctx, history, plan.Overlay)
	case pressure.Summarise:
		if r.isRefused() {
			return false, nil, nil
		}
		end, err = r.summarise(ctx, history, plan.Overlay, "")
		return !r.isRefused(), end, err
	case pressure.Proceed, pressure.GiveUp:
	}
	return false, nil, nil
}

// commitOverlay commits an overlay that no model was asked for.
func (r *compactor) commitOverlay(ctx context.Context, history []transcript.Message, o transcript.Overlay) error {
	commit, done := r.commitContext(ctx)
	defer done()
	if err := r.Journal.Append(commit, r.overlayMessage(history, o)); err != nil {
		return fmt.Errorf("change what later requests hold: %w", err)
	}
	r.log.Info("later requests changed", "how", string(o.Kind), "tokens_before", o.Before, "tokens_after", o.After)
	r.emit(Event{Type: Compacted, Overlay: &o})
	return nil
}

// overlayMessage is o as it goes into the history.
func (r *compactor) overlayMessage(history []transcript.Message, o transcript.Overlay) transcript.Message {
	n := 1
	for range overlaysOf(history, r.turn.ID) {
		n++
	}
	return transcript.Message{
		ID:   transcript.MessageID{Turn: r.turn.ID, Kind: transcript.OverlayNote, Index: n}.String(),
		Role: transcript.System, Parts: []transcript.Part{o}, CreatedAt: r.Now(),
	}
}

// overlaysOf are the overlays that a turn has committed.
func overlaysOf(history []transcript.Message, turn string) (all []transcript.Overlay) {
	for _, m := range history[turnStart(history, turn):] {
		if o, ok := m.Overlay(); ok {
			all = append(all, o)
		}
	}
	return all
}

// summariesOf counts the model calls of a turn that were for a summary.
func summariesOf(history []transcript.Message, turn string) (n int) {
	for _, o := range overlaysOf(history, turn) {
		if o.Kind == transcript.Summarised || o.Kind == transcript.NoSummary {
			n++
		}
	}
	return n
}

// summarise asks the model for the summary that o plans and commits what comes of it
// together with its cost. The turn goes on either way, unless it was ended meanwhile.
func (r *compactor) summarise(ctx context.Context, history []transcript.Message, o transcript.Overlay, wishes string) (*Outcome, error) {
	r.emit(Event{Type: Compacting, Overlay: &o})
	choice := llm.Auto
	for {
		got, err := r.askSummary(ctx, history, o, wishes, choice)
		if err != nil {
			return nil, err
		}
		if ended(ctx) && (got.err != nil || errors.Is(context.Cause(ctx), ErrStopped)) {
			return r.endCancelled(ctx, got.attempt, nil)
		}
		if budget, ok := errors.AsType[*costs.BudgetError](got.err); ok {
			r.refused = budget
			r.log.Warn("summary refused by the budgets", "error", budget)
			return nil, nil
		}
		if errors.Is(got.err, errNextModel) {
			return nil, nil // it may not need one
		}
		if llm.IsCircuitOpen(got.err) {
			return r.finishUnanswered(ctx, nil, failedOutcome(got.err), transcript.Failed, nil)
		}
		failure, _ := errors.AsType[*llm.Error](got.err)
		if failure != nil && failure.Kind == llm.ContextLength {
			if fewer, ok := pressure.Fewer(history, r.turn.ID, o); ok {
				if err := r.settle(ctx, got.attempt); err != nil {
					return nil, err
				}
				r.report(got.attempt)
				o = fewer
				continue
			}
		}
		if failure == nil && choice == llm.Auto && onlyCalls(got.response.Message) {
			if err := r.settle(ctx, got.attempt); err != nil {
				return nil, err
			}
			r.report(got.attempt)
			choice = llm.None
			continue
		}
		return nil, r.commitSummary(ctx, history, o, got.attempt, failure)
	}
}

// onlyCalls reports whether an answer has calls of tools and no words.
func onlyCalls(m transcript.Message) bool { return len(m.Calls()) > 0 && m.Text() == "" }

// askSummary makes the model call for a summary. It repeats the beginning of the requests
// before it, so that the provider's cache serves it: with their effort, thinking and choice of
// tools, too, which are part of what is cached (Claude API: thinking and prompt caching, tool
// use with prompt caching). So the words of the request forbid calls; choice is llm.None only
// after the model has called a tool in place of the summary. A summary would need less
// thinking, but reading the whole conversation uncached costs more than that saves. A number
// of thinking tokens comes on top of those for the words.
func (r *compactor) askSummary(ctx context.Context, history []transcript.Message, o transcript.Overlay, wishes string, choice llm.ToolChoice) (modelResult, error) {
	if r.Preparation > 0 && o.Trigger == pressure.TriggerAuto && r.gauge.Tokens < r.ladder.Hard {
		r.giveUpAt = r.Now().Add(r.Preparation)
	}
	defer func() { r.purpose, r.giveUpAt = r.turn.Purpose, time.Time{} }()
	if got, answered, err := r.askSummariser(ctx, history, o, wishes); answered || err != nil {
		return got, err
	}
	tail := r.summaryTail(o, wishes)
	r.purpose = costs.Summary
	req := r.buildRequest(history, tail...)
	if choice == llm.None {
		req = r.withoutCalls(req, history)
	}
	req.MaxTokens = min(req.MaxTokens, int(pressure.AnswerTokens(r.ladder))+req.Budget)
	got, err := r.ask(ctx, req, len(history), tail...)
	if err != nil || !isPictureRefused(req, got.err) || ended(ctx) {
		return got, err
	}
	if err := r.hidePictures(ctx, got.attempt); err != nil {
		return modelResult{}, err
	}
	return r.askSummary(ctx, history, o, wishes, choice)
}

// summaryTail returns the words that ask for the summary.
func (r *compactor) summaryTail(o transcript.Overlay, wishes string) []transcript.Message {
	tail := pressure.Request(o, r.ladder, wishes)
	for i := range tail {
		tail[i].CreatedAt = r.Now()
	}
	return tail
}

// commitSummary books a, with the summary that it brought, or why there is none.
func (r *compactor) commitSummary(ctx context.Context, history []transcript.Message, o transcript.Overlay, a *attempt, failure *llm.Error) error {
	o, why := r.judgeSummary(history, o, a, failure)
	if why != "" {
		o = transcript.Overlay{Kind: transcript.NoSummary, Trigger: o.Trigger, Reason: why, Before: o.Before}
		r.log.Warn("summary failed", "reason", why, "tokens", o.Before, "window", r.ladder.Window)
	}
	faultpoint.Hit("agent.summary.answered")
	if err := r.settle(ctx, a, r.overlayMessage(history, o)); err != nil {
		return err
	}
	faultpoint.Hit("agent.summary.settled")
	r.advance()
	r.report(a)
	if why == "" {
		r.log.Info("conversation summarised", "trigger", o.Trigger,
			"tokens_before", o.Before, "tokens_after", o.After, "saved", o.Before-o.After)
	}
	r.emit(Event{Type: Compacted, Overlay: &o})
	return nil
}

// Why there is no summary.
const (
	summaryRefused = "refused"
	summaryEmpty   = "empty"
	summaryUseless = "frees nothing"
)

// judgeSummary puts the answer of a into o; why says that there is nothing to put.
func (r *compactor) judgeSummary(history []transcript.Message, o transcript.Overlay, a *attempt, failure *llm.Error) (_ transcript.Overlay, why string) {
	if failure != nil {
		return o, string(failure.Kind)
	}
	if a.response.Finish == transcript.Refusal {
		return o, summaryRefused
	}
	o.Summary = pressure.CleanSummary(r.Redact(a.response.Message.Text()))
	if o.Summary == "" {
		return o, summaryEmpty
	}
	with := append(slices.Clip(history), r.overlayMessage(history, o))
	o.After = pressure.Measure(with, r.turn.Model.Name(), r.system).Tokens
	if !r.ladder.Helps(o) {
		return o, summaryUseless
	}
	return o, ""
}

// withoutCalls is req as one that must be answered in words. Definitions must stay where
// the history has calls: Anthropic refuses such a history without them, and they are part
// of what the provider has cached.
func (r *requester) withoutCalls(req llm.Request, history []transcript.Message) llm.Request {
	req.Choice = llm.None
	// A zero message stands for one that may have had some.
	if !slices.ContainsFunc(history, func(m transcript.Message) bool { return len(m.Calls()) > 0 || m.Role == "" }) {
		req.Tools, req.Choice = nil, llm.Auto
	}
	return req
}

// compact carries out what a person asked for; nil: the history has changed, and is to be
// read again.
func (r *compactor) compact(ctx context.Context, history []transcript.Message) (*Outcome, error) {
	say := func(format string, args ...any) (*Outcome, error) {
		text := fmt.Sprintf(format, args...)
		m := r.storedAnswer(transcript.Message{Parts: []transcript.Part{
			transcript.Text{Text: text}, transcript.Finish{Reason: transcript.EndTurn, Time: r.Now()},
		}})
		return r.finish(ctx, nil, Outcome{Finish: transcript.EndTurn, Text: text}, []transcript.Message{m})
	}
	if r.Pressure.Off {
		return say(textCannot)
	}
	for _, o := range slices.Backward(overlaysOf(history, r.turn.ID)) {
		switch o.Kind {
		case transcript.Summarised:
			return say(textCompacted, pressure.Thousands(o.After), pressure.Thousands(r.ladder.Window), pressure.Thousands(o.Before))
		case transcript.Undone:
			return say(textUncompacted)
		case transcript.NoSummary:
			return say(textNotCompacted, o.Reason)
		default:
		}
	}
	r.measure(history)
	if r.turn.Compact.Undo {
		if !pressure.HasSummary(history) {
			return say(textNoUndo)
		}
		// What the summary stands for counts again.
		whole, err := r.Journal.WholeHistory(ctx)
		if err != nil {
			return nil, fmt.Errorf("read history: %w", err)
		}
		return nil, r.commitOverlay(ctx, whole, transcript.Overlay{Kind: transcript.Undone, Trigger: pressure.TriggerManual})
	}
	o, ok := r.ladder.PlanSummary(history, r.turn.ID, r.gauge.Tokens, r.system, true)
	if !ok {
		return say(textNoCompaction)
	}
	end, err := r.summarise(ctx, history, o, r.turn.Compact.Wishes)
	if end == nil && err == nil && r.isRefused() {
		return r.finish(ctx, nil, Outcome{Finish: transcript.Budget, Text: fmt.Sprintf(textRefused, r.Why(r.turn.Key, r.refused)), Err: r.refused}, nil)
	}
	return end, err
}
