package agent

import (
	"cmp"
	"context"
	"errors"

	"parley/agent/pressure"
	"parley/costs"
	"parley/llm"
	"parley/transcript"
)

// askSummariser asks the model that the operator named for summaries, in words alone: it has
// nothing cached that tools and their choice would have to agree with. answered is false when
// it gave none, which is booked, or when the request does not fit into its window: then the
// turn's own model is asked, in this take from now on. (docs/decisions/0073, requirements A06)
func (r *compactor) askSummariser(ctx context.Context, history []transcript.Message, o transcript.Overlay, wishes string) (got modelResult, answered bool, err error) {
	s := r.turn.Summariser
	if s == nil || r.plain {
		return got, false, nil
	}
	got, asked, err := r.askAs(ctx, *s, history, r.summaryTail(o, wishes))
	if err != nil || got.err != nil && ended(ctx) {
		return got, true, err
	}
	if got.err == nil && asked && got.response.Finish != transcript.Refusal && pressure.CleanSummary(got.response.Message.Text()) != "" {
		return got, true, nil
	}
	if errors.Is(got.err, errPreparation) {
		return got, true, nil // no time is left for another
	}
	r.plain = true
	if _, refused := errors.AsType[*costs.BudgetError](got.err); refused || !asked {
		r.log.Info("summary asked of the agent's own model", "summariser", s.Model.Provider()+"/"+s.Model.Name(), "error", got.err)
		return got, false, nil
	}
	r.log.Warn("summariser gave no summary, the agent's own model is asked", "summariser", s.Model.Provider()+"/"+s.Model.Name(), "error", got.err)
	if got.attempt != nil {
		if err := r.settle(ctx, got.attempt); err != nil {
			return got, true, err
		}
		r.report(got.attempt)
	}
	r.uncounted = r.tries
	return got, false, nil
}

// askAs makes the call for a summary as s; asked is false when the request does not fit.
func (r *compactor) askAs(ctx context.Context, s Fallback, history, tail []transcript.Message) (got modelResult, asked bool, err error) {
	turn, chain := r.turn, r.chain
	defer func() { r.turn, r.chain, r.purpose = turn, chain, turn.Purpose }()
	r.purpose, r.chain = costs.Summary, []llm.Model{s.Model}
	r.turn.Fallbacks, r.turn.Model, r.turn.Window, r.turn.MaxTokens = nil, s.Model, s.Window, s.MaxTokens
	r.turn.Parameters, r.turn.Vision = s.Parameters, s.Vision
	req := r.withoutCalls(r.buildRequest(history, tail...), history)
	req.MaxTokens = min(req.MaxTokens, int(pressure.AnswerTokens(r.ladder))+req.Budget)
	window := cmp.Or(s.Window, llm.Lookup(s.Model.Name()).Window)
	if llm.Estimate(req)+int64(req.MaxTokens) > int64(window) {
		return got, false, nil
	}
	got, err = r.ask(ctx, req, len(history), tail...)
	return got, true, err
}
