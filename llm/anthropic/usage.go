package anthropic

import (
	"cmp"
	"encoding/json"
	"strings"

	"parley/costs"
	"parley/llm"
	"parley/llm/wire"
)

// counts is a usage object. A field that is absent was not reported, which is
// not the same as 0.
type counts struct {
	Input       *int64 `json:"input_tokens"`
	CacheRead   *int64 `json:"cache_read_input_tokens"`
	CacheWrite  *int64 `json:"cache_creation_input_tokens"`
	CacheDetail *struct {
		FiveMinutes int64 `json:"ephemeral_5m_input_tokens"`
		OneHour     int64 `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
	Output       *int64 `json:"output_tokens"`
	OutputDetail *struct {
		Thinking int64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
	ServerTools map[string]json.RawMessage `json:"server_tool_use"`
	Tier        string                     `json:"service_tier"`
	Speed       string                     `json:"speed"`
	Geo         string                     `json:"inference_geo"`
	Iterations  []struct {
		counts
		Type  string `json:"type"`
		Model string `json:"model"`
	} `json:"iterations"`
}

// usage collects the usage objects of one stream. They are cumulative: a later
// one replaces what it names and leaves the rest, and never adds.
type usage struct {
	seen  bool // at least one came
	final bool // one came with the end of the message
	counts
}

func (u *usage) merge(raw json.RawMessage, final bool) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var c counts
	if err := json.Unmarshal(raw, &c); err != nil {
		return wire.Malformedf("usage: %v", err)
	}
	u.Input = orElsePtr(c.Input, u.Input)
	u.CacheRead = orElsePtr(c.CacheRead, u.CacheRead)
	u.CacheWrite = orElsePtr(c.CacheWrite, u.CacheWrite)
	u.CacheDetail = orElsePtr(c.CacheDetail, u.CacheDetail)
	u.Output = orElsePtr(c.Output, u.Output)
	u.OutputDetail = orElsePtr(c.OutputDetail, u.OutputDetail)
	u.Tier, u.Speed, u.Geo = cmp.Or(c.Tier, u.Tier), cmp.Or(c.Speed, u.Speed), cmp.Or(c.Geo, u.Geo)
	if c.ServerTools != nil {
		u.ServerTools = c.ServerTools
	}
	if c.Iterations != nil {
		u.Iterations = c.Iterations
	}
	u.seen, u.final = true, u.final || final && c.Output != nil
	return nil
}

func orElsePtr[T any](a, b *T) *T {
	if a != nil {
		return a
	}
	return b
}

// buckets are the counts as disjoint buckets: Anthropic's input excludes what
// the cache had or took. covered says whether the written tokens' lifetimes
// were all reported; the rest counts as five minutes.
func (c counts) buckets() (b costs.Usage, covered bool) {
	b = costs.Usage{
		Input: valueOrZero(c.Input), CacheRead: valueOrZero(c.CacheRead), Output: valueOrZero(c.Output),
		Tier: c.Tier, Speed: c.Speed, Geo: c.Geo, Source: costs.Reported,
	}
	covered = true
	written := valueOrZero(c.CacheWrite)
	if d := c.CacheDetail; d != nil {
		written = max(written, d.FiveMinutes+d.OneHour)
		b.CacheWrite1h = d.OneHour
		covered = written == d.FiveMinutes+d.OneHour
	}
	b.CacheWrite5m = written - b.CacheWrite1h
	if c.OutputDetail != nil {
		b.Reasoning = c.OutputDetail.Thinking
	}
	for name, raw := range c.ServerTools {
		var n int64
		if json.Unmarshal(raw, &n) != nil || n == 0 {
			continue
		}
		if b.ServerTools == nil {
			b.ServerTools = map[string]int64{}
		}
		b.ServerTools[strings.TrimSuffix(name, "_requests")] = n
	}
	for _, i := range c.Iterations {
		sub, _ := i.buckets()
		b.Iterations = append(b.Iterations, costs.Iteration{Model: i.Model, Kind: i.Type, Usage: sub})
	}
	return b, covered
}

func valueOrZero(n *int64) int64 {
	if n == nil {
		return 0
	}
	return max(*n, 0)
}

// partialUsage returns what had been reported when the stream broke, nil when nothing
// had. The output of a broken stream is never final.
func (u *usage) partialUsage() *costs.Usage {
	if !u.seen {
		return nil
	}
	b, _ := u.buckets()
	b.Source = costs.Estimated
	return &b
}

// finalUsage returns the usage of a finished answer; estimated where the provider, or a
// proxy before it, left it out.
func (a *answer) finalUsage() costs.Usage {
	b, covered := a.usage.buckets()
	if !covered {
		a.Warn("cache writes without a lifetime counted as five minutes")
	}
	if a.usage.final {
		return b
	}
	a.Warn("no final usage reported: estimated")
	b.Source = costs.Estimated
	b.Output = max(b.Output, llm.EstimateText(a.Allowed.Received()))
	if a.usage.Input == nil {
		b.Input = llm.Estimate(a.request)
	}
	return b
}
