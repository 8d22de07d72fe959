package openai

import (
	"parley/costs"
	"parley/llm"
)

// responseCounts is a usage object of this protocol: the same counts as in the
// other one under other names.
type responseCounts struct {
	Input        int64 `json:"input_tokens"`
	Output       int64 `json:"output_tokens"`
	InputDetails struct {
		Cached     int64 `json:"cached_tokens"`
		CacheWrite int64 `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	OutputDetails struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`

	counts // the total, and what OpenRouter says of the cost
}

// buckets are the counts as disjoint buckets, by the rules of counts.
func (c responseCounts) buckets() costs.Usage {
	same := c.counts
	same.Prompt, same.Completion = c.Input, c.Output
	same.PromptDetails.Cached, same.PromptDetails.CacheWrite = c.InputDetails.Cached, c.InputDetails.CacheWrite
	same.CompletionDetails.Reasoning = c.OutputDetails.Reasoning
	return same.buckets()
}

// used is the usage of a finished answer; estimated when the server sent none.
func (a *turn) used() costs.Usage {
	var u costs.Usage
	if a.usage != nil && a.usage.Input+a.usage.Output > 0 {
		u = a.usage.buckets()
	} else {
		a.warn("no usage reported: estimated")
		u = costs.Usage{Input: llm.Estimate(a.request), Output: llm.EstimateText(a.received), Source: costs.Estimated}
	}
	u.Tier = a.tier
	return u
}

// partial is what had been reported when the stream broke, nil when nothing
// had.
func (a *turn) partial() *costs.Usage {
	if a.usage == nil {
		return nil
	}
	u := a.usage.buckets()
	u.Tier, u.Source = a.tier, costs.Estimated
	return &u
}
