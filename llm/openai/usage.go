package openai

import (
	"encoding/json"
	"math/big"
	"strings"

	"parley/costs"
)

// counts is a usage object of OpenAI and its kin.
type counts struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Total      int64 `json:"total_tokens"`

	PromptDetails struct {
		Cached     int64 `json:"cached_tokens"`
		CacheWrite int64 `json:"cache_write_tokens"`

		Kept12h int64 `json:"-"` // of those, in Responses
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	CacheHit int64 `json:"prompt_cache_hit_tokens"` // DeepSeek

	// OpenRouter: what the call really cost, in dollars; with an own key of the
	// customer, only the fee, and the rest in the details.
	Cost        charge `json:"cost"`
	OwnKey      bool   `json:"is_byok"`
	CostDetails struct {
		Upstream charge `json:"upstream_inference_cost"`
	} `json:"cost_details"`
}

// charge is an amount in dollars: a number, or with Perplexity an object that has the total beside
// its parts (https://docs.perplexity.ai, usage). What is neither says nothing: an answer is not lost
// for it.
type charge struct{ dollars json.Number }

// UnmarshalJSON implements [json.Unmarshaler].
func (c *charge) UnmarshalJSON(raw []byte) error {
	var parts struct {
		Total json.Number `json:"total_cost"`
	}
	if json.Unmarshal(raw, &c.dollars) != nil && json.Unmarshal(raw, &parts) == nil {
		c.dollars = parts.Total
	}
	return nil
}

// responseCounts is a usage object of Responses: the same counts under other
// names.
type responseCounts struct {
	Input        int64 `json:"input_tokens"`
	Output       int64 `json:"output_tokens"`
	InputDetails struct {
		Cached     int64 `json:"cached_tokens"`
		CacheWrite int64 `json:"cache_write_tokens"`
		Written    struct {
			Kept12h int64 `json:"ttl_12h_tokens"`
		} `json:"cache_write_tokens_details"`
	} `json:"input_tokens_details"`
	OutputDetails struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`

	counts // the total, and what OpenRouter says of the cost
}

// chatCounts are the counts under the names of Chat Completions.
func (c responseCounts) chatCounts() *counts {
	same := c.counts
	same.Prompt, same.Completion = c.Input, c.Output
	same.PromptDetails.Cached, same.PromptDetails.CacheWrite = c.InputDetails.Cached, c.InputDetails.CacheWrite
	same.PromptDetails.Kept12h = c.InputDetails.Written.Kept12h
	same.CompletionDetails.Reasoning = c.OutputDetails.Reasoning
	return &same
}

// buckets are the counts as disjoint buckets. The prompt includes what the
// cache had and took. The completion includes the reasoning, except with
// servers whose total shows that they count it beside; some of those say how much
// it is in the total alone, such as gateways to Gemini, and what is in no other
// count is billed as output.
func (c counts) buckets() costs.Usage {
	cached := max(c.PromptDetails.Cached, c.CacheHit, 0)
	written := max(c.PromptDetails.CacheWrite, 0)
	long := min(max(c.PromptDetails.Kept12h, 0), written)
	reasoned := max(c.CompletionDetails.Reasoning, 0)
	out := max(c.Completion, 0)
	beside := c.Total == c.Prompt+c.Completion+reasoned
	unsaid := c.Total == 0 && reasoned > out
	if beside || unsaid {
		out += reasoned
	}
	if more := c.Total - c.Prompt - out; c.Prompt >= 0 && more > 0 {
		out, reasoned = out+more, reasoned+more
	}
	u := costs.Usage{
		Input:        max(c.Prompt-cached-written, 0),
		CacheRead:    cached,
		CacheWrite5m: written - long,
		CacheWrite1h: long, // the dearer of the two times
		Output:       out,
		Reasoning:    min(reasoned, out),
		Source:       costs.Reported,
	}
	if charged, ok := c.charge(); ok {
		u.Charged = &charged
	}
	return u
}

func (c counts) charge() (costs.Amount, bool) {
	cost, ok := parsePico(c.Cost.dollars)
	if !ok || !c.OwnKey {
		return cost, ok
	}
	upstream, ok := parsePico(c.CostDetails.Upstream.dollars)
	if !ok {
		return cost, true
	}
	return cost + upstream, true
}

// longestNumber and largestExponent keep a hostile number from growing when it
// is written out.
const (
	longestNumber   = 40
	largestExponent = 3 // digits
)

// parsePico returns a decimal number of dollars, exactly, rounded half up beyond the
// twelfth place.
func parsePico(n json.Number) (costs.Amount, bool) {
	s := strings.ToLower(n.String())
	if s == "" || len(s) > longestNumber {
		return 0, false
	}
	if _, exponent, ok := strings.Cut(s, "e"); ok && len(strings.TrimLeft(exponent, "+-")) > largestExponent {
		return 0, false
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok || r.Sign() < 0 {
		return 0, false
	}
	r.Mul(r, new(big.Rat).SetInt64(int64(costs.USD)))
	r.Add(r, big.NewRat(1, 2))
	whole := new(big.Int).Quo(r.Num(), r.Denom())
	if !whole.IsInt64() || whole.Int64() > int64(costs.USD)*1_000_000 {
		return 0, false
	}
	return costs.Amount(whole.Int64()), true
}
