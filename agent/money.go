package agent

import (
	"errors"
	"fmt"

	"parley/costs"
	"parley/llm"
)

// okOutcome is Entry.Outcome of a call that was answered.
const okOutcome = "ok"

func (r *take) labels() costs.Labels {
	return costs.Labels{
		Provider: r.turn.Model.Provider(),
		Model:    r.turn.Model.Name(),
		Channel:  r.turn.Channel,
		Purpose:  r.purpose,
	}
}

// estimate returns the worst case of the next attempt, and the price by which; nil:
// none is known.
func (r *take) estimate(req llm.Request) (e costs.Estimate, p *costs.Price, err error) {
	e = costs.Estimate{
		Call:   r.nextCall(),
		Labels: r.labels(),
	}
	if p = r.price(e.Labels); p == nil {
		return e, nil, nil
	}
	upper, err := p.WorstCase(llm.UpperBound(req), int64(req.MaxTokens))
	if errors.Is(err, costs.ErrNoPrice) {
		return e, nil, nil
	}
	if err != nil {
		return e, nil, fmt.Errorf("estimate model call: %w", err)
	}
	e.Upper, e.Priced = upper, true
	return e, p, nil
}

// ledgerEntry returns the ledger's row of an attempt.
func (r *take) ledgerEntry(res costs.Reservation, req llm.Request, a *attempt, received int) costs.Entry {
	e := costs.Entry{
		ID:      res.ID,
		Call:    res.Estimate.Call,
		Labels:  res.Estimate.Labels,
		State:   costs.Settled,
		Outcome: okOutcome,
		At:      r.Now(),
	}
	var exact bool
	if a.response != nil {
		e.RequestID = a.response.RequestID
		e.Usage, exact = answerUsage(a.response, req, received)
	} else {
		e.RequestID, e.Outcome = a.err.RequestID, string(a.err.Kind)
		if isFree(a.err) {
			e.Usage.Source, e.Priced = costs.Reported, true
			e.Price = r.price(e.Labels)
			return e
		}
		e.Usage, exact = failureUsage(a.err, req)
	}
	if known := r.priceEntry(&e); !exact || !known && res.Estimate.Priced {
		e.State = costs.Interrupted
		e.Upper = max(res.Estimate.Upper, e.Amount)
		e.Lower = min(r.reportedCost(&e, a), e.Amount)
	}
	r.recordOverrun(&e, res, "max_tokens", req.MaxTokens, "output_tokens", e.Usage.Output)
	return e
}

// recordOverrun notes what e costs above what was reserved.
func (r *take) recordOverrun(e *costs.Entry, res costs.Reservation, args ...any) {
	over := e.Amount - res.Estimate.Upper
	if !res.Estimate.Priced || over <= 0 {
		return
	}
	e.Overrun = over
	r.log.Error("model call exceeded its reservation: the provider ignored the request's limits, so budgets may be overrun",
		append([]any{
			"provider", e.Labels.Provider, "model", e.Labels.Model,
			"reserved_usd", res.Estimate.Upper, "cost_usd", e.Amount,
		}, args...)...)
}

// priceEntry fills in what e.Usage costs and reports whether the cost is known. A model
// without a price costs an unknown amount, not nothing.
func (r *take) priceEntry(e *costs.Entry) (known bool) {
	if r.prices == nil {
		return false
	}
	amount, price, err := r.prices.Cost(e.Labels.Provider, e.Labels.Model, e.Usage)
	if err != nil {
		r.log.Warn("model call without a price", "provider", e.Labels.Provider, "model", e.Labels.Model, "error", err)
		return false
	}
	e.Amount, e.Price, e.Priced = amount, price, price == nil || !price.Ceiling
	return true
}

// reportedCost returns what the provider told of a call that broke off: the input, mostly.
func (r *take) reportedCost(e *costs.Entry, a *attempt) costs.Amount {
	if a.err == nil || a.err.Usage == nil || r.prices == nil {
		return 0
	}
	known := *a.err.Usage
	if known.Source != costs.Reported {
		known.Output, known.Reasoning = 0, 0 // what was seen of it, at best
	}
	amount, _, err := r.prices.Cost(e.Labels.Provider, e.Labels.Model, known)
	if err != nil {
		return 0
	}
	return amount
}

func (r *take) price(l costs.Labels) *costs.Price {
	if r.prices == nil {
		return nil
	}
	if p, ok := r.prices.Price(l.Provider, l.Model); ok {
		return p
	}
	return nil
}

// isFree reports whether a failed call cost nothing: no answer began, or the answer was
// an HTTP error. One that was given up here is not free: its answer may have been
// on the way, and the provider will bill it.
func isFree(e *llm.Error) bool {
	return !e.Sent && e.Kind != llm.Canceled || e.Status >= 400 && e.Usage == nil && e.Received == 0
}

// answerUsage returns the usage of an answer, guessed where the provider sent none.
// (TX04)
func answerUsage(resp *llm.Response, req llm.Request, received int) (u costs.Usage, exact bool) {
	u = resp.Usage
	if u.Source == costs.Reported || u.Charged != nil {
		return u, true
	}
	if u.Input+u.CacheRead+u.CacheWrite5m+u.CacheWrite1h == 0 {
		u.Input = llm.Estimate(req)
	}
	u.Output = max(u.Output, llm.EstimateText(received))
	u.Source = costs.Estimated
	return u, false
}

// failureUsage returns what a call that broke off has consumed: what was reported of
// it, and for the output at least what was received.
func failureUsage(e *llm.Error, req llm.Request) (u costs.Usage, exact bool) {
	if e.Usage != nil {
		u = *e.Usage
		if isComplete(e.Kind) && u.Source == costs.Reported {
			return u, true
		}
	} else {
		u.Input = llm.Estimate(req)
	}
	u.Output = max(u.Output, llm.EstimateText(e.Received))
	u.Source = costs.Estimated
	return u, false
}

// isComplete reports whether an error of this kind comes with a whole answer, whose
// usage is final.
func isComplete(k llm.Kind) bool {
	switch k {
	case llm.Empty, llm.ContentFilter, llm.ContextLength, llm.InvalidRequest:
		return true
	default:
		return false
	}
}
