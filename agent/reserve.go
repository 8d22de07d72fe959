package agent

import (
	"context"
	"errors"
	"fmt"

	"parley/costs"
	"parley/llm"
	"parley/transcript"
)

// How few output tokens a call is worth making for when the money for more is
// not there. A thinking model needs some for its thoughts too.
const (
	minOutput = 1024
	minFinal  = 256 // for the last words of a turn that has to end
)

// goodOutput is output that does for almost any answer. A call that does not
// fit as it was asked for takes at most half of what is left, so that others
// beside it find something too, but as far as it can no less than this.
const goodOutput = 8192

// reserve holds the worst case of the next attempt, and gives the request as it
// may be sent. One that the budgets refuse is tried with fewer output tokens
// and reserved for those: what is held always covers what is sent.
func (r *take) reserve(ctx context.Context, req llm.Request, what transcript.RequestRecord) (costs.Reservation, llm.Request, error) {
	for {
		e, price, err := r.estimate(req)
		if err != nil {
			return costs.Reservation{}, req, err
		}
		what.MaxTokens = req.MaxTokens
		res, err := r.Journal.Reserve(ctx, e, what)
		if err == nil {
			return res, req, nil
		}
		refused, ok := errors.AsType[*costs.BudgetError](err)
		if !ok {
			return res, req, fmt.Errorf("reserve model call: %w", err)
		}
		if refused.Unpriced {
			r.log.Error("model call refused: the model has no price and a budget applies",
				"provider", e.Labels.Provider, "model", e.Labels.Model)
		}
		if price == nil {
			return res, req, refused
		}
		fewer, ok := r.affordableTokens(price, req, refused.Remaining())
		if !ok {
			final := *refused
			if need, err := price.WorstCase(llm.UpperBound(req), int64(r.minOutput)); err == nil {
				final.Need = need
			}
			return res, req, &final
		}
		req.MaxTokens = fewer
	}
}

// affordableTokens returns how many output tokens, fewer than before, a call may have
// with that much money left; false: too few to make it.
func (r *take) affordableTokens(p *costs.Price, req llm.Request, left costs.Amount) (int, bool) {
	input, before := llm.UpperBound(req), int64(req.MaxTokens)-1
	limit, ok := p.MaxOutput(input, before, left)
	if !ok || limit < int64(r.minOutput) {
		return 0, false
	}
	share, _ := p.MaxOutput(input, before, left/2)
	return int(max(share, min(limit, goodOutput))), true
}
