package openai

import (
	"parley/costs"
	"parley/llm"
	"parley/llm/wire"
)

// incoming is what both protocols know of an answer that is being received:
// what was asked, who answers, and what it used.
type incoming struct {
	wire.Sink
	request         llm.Request
	provider, model string

	id, reported, tier string
	usage              *counts // nil: the provider has not said it
}

// newIncoming returns the answer to r before its first byte.
func (b *base) newIncoming(r llm.Request, yield func(llm.Event, error) bool) incoming {
	return incoming{Sink: b.NewSink(r, yield), request: r, provider: b.Provider(), model: b.Name()}
}

// finalUsage returns the usage of a finished answer; estimated when the server sent none.
func (a *incoming) finalUsage() costs.Usage {
	var u costs.Usage
	if a.usage != nil && a.usage.Prompt+a.usage.Completion > 0 {
		u = a.usage.buckets()
	} else {
		a.Warn("no usage reported: estimated")
		u = costs.Usage{Input: llm.Estimate(a.request), Output: llm.EstimateText(a.Allowed.Received()), Source: costs.Estimated}
	}
	u.Tier = a.tier
	return u
}

// partialUsage returns what had been reported when the stream broke, nil when nothing
// had.
func (a *incoming) partialUsage() *costs.Usage {
	if a.usage == nil {
		return nil
	}
	u := a.usage.buckets()
	u.Tier, u.Source = a.tier, costs.Estimated
	return &u
}
