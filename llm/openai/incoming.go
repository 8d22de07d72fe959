package openai

import (
	"parley/costs"
	"parley/llm"
	"parley/llm/wire"
)

// incoming is what both protocols know of an answer that is being received:
// what was asked, who answers, and what it used.
type incoming struct {
	sink
	request         llm.Request
	provider, model string

	id, reported, tier string
	usage              *counts // nil: the provider has not said it
}

// newIncoming is the answer to r before its first byte.
func (b *base) newIncoming(r llm.Request, yield func(llm.Event, error) bool) incoming {
	return incoming{sink: sink{yield: yield, allowed: wire.NewAllowance(b.maxTokens(r))}, request: r, provider: b.o.Provider, model: b.o.Model}
}

// conclude yields what the exchange came to: the answer, or the fault together
// with what had been received. Both are nil when the consumer stopped.
func (a *incoming) conclude(resp *llm.Response, fault *llm.Error) {
	switch {
	case a.stopped:
	case fault != nil:
		fault.Provider, fault.Model = a.provider, a.model
		fault.Visible, fault.Received = a.visible, a.allowed.Received()
		fault.RequestID = firstOf(fault.RequestID, a.id)
		fault.Usage = a.partialUsage()
		a.yield(llm.Event{}, fault)
	default:
		a.yield(llm.Event{Type: llm.Complete, Response: resp}, nil)
	}
}

// finalUsage is the usage of a finished answer; estimated when the server sent none.
func (a *incoming) finalUsage() costs.Usage {
	var u costs.Usage
	if a.usage != nil && a.usage.Prompt+a.usage.Completion > 0 {
		u = a.usage.buckets()
	} else {
		a.warn("no usage reported: estimated")
		u = costs.Usage{Input: llm.Estimate(a.request), Output: llm.EstimateText(a.allowed.Received()), Source: costs.Estimated}
	}
	u.Tier = a.tier
	return u
}

// partialUsage is what had been reported when the stream broke, nil when nothing
// had.
func (a *incoming) partialUsage() *costs.Usage {
	if a.usage == nil {
		return nil
	}
	u := a.usage.buckets()
	u.Tier, u.Source = a.tier, costs.Estimated
	return &u
}
