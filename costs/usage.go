package costs

import (
	"errors"
	"fmt"
	"maps"
)

// ErrUsage is the kind of every error of Usage.Validate: the numbers cannot be
// what a call consumed. The caller books the call as unpriced rather than
// guess.
var ErrUsage = errors.New("impossible usage")

// MaxTokens is the most tokens that one call can have; more is a broken
// counter.
const MaxTokens = 1 << 40

// TotalInput returns all input, from wherever it came: what chooses the context
// tier, and the size of the context that the call saw.
func (u Usage) TotalInput() int64 {
	return addSaturating(addSaturating(u.Input, u.CacheRead), addSaturating(u.CacheWrite5m, u.CacheWrite1h))
}

// Total returns all tokens of the five buckets.
func (u Usage) Total() int64 { return addSaturating(u.TotalInput(), u.Output) }

// Validate reports whether a provider can have meant u: no count is negative or
// above MaxTokens, reasoning is part of the output, iterations hold no
// iterations of their own. The error wraps ErrUsage and names the field.
func (u Usage) Validate() error {
	for _, f := range []struct {
		name string
		n    int64
	}{
		{"input", u.Input},
		{"cache_read", u.CacheRead},
		{"cache_write_5m", u.CacheWrite5m},
		{"cache_write_1h", u.CacheWrite1h},
		{"output", u.Output},
		{"reasoning", u.Reasoning},
	} {
		if f.n < 0 || f.n > MaxTokens {
			return fmt.Errorf("%w: %s is %d", ErrUsage, f.name, f.n)
		}
	}
	if u.Reasoning > u.Output {
		return fmt.Errorf("%w: reasoning is %d of an output of %d", ErrUsage, u.Reasoning, u.Output)
	}
	for name, n := range u.ServerTools {
		if n < 0 {
			return fmt.Errorf("%w: server tool %s was used %d times", ErrUsage, quote(name), n)
		}
	}
	if u.Charged != nil && *u.Charged < 0 {
		return fmt.Errorf("%w: charged is %s", ErrUsage, *u.Charged)
	}
	for i, it := range u.Iterations {
		if len(it.Usage.Iterations) > 0 {
			return fmt.Errorf("%w: iteration %d has iterations", ErrUsage, i)
		}
		if err := it.Usage.Validate(); err != nil {
			return fmt.Errorf("iteration %d: %w", i, err)
		}
	}
	return nil
}

// Add returns the counts of u and v together, for showing a turn or a session. It is
// not for pricing: the sum has no iterations and no charge, and keeps a tier,
// speed or geography only where both name the same. It is estimated when either
// is. Counts stop at the largest int64 instead of wrapping. Neither u nor v is
// changed.
func (u Usage) Add(v Usage) Usage {
	sum := Usage{
		Input:        addSaturating(u.Input, v.Input),
		CacheRead:    addSaturating(u.CacheRead, v.CacheRead),
		CacheWrite5m: addSaturating(u.CacheWrite5m, v.CacheWrite5m),
		CacheWrite1h: addSaturating(u.CacheWrite1h, v.CacheWrite1h),
		Output:       addSaturating(u.Output, v.Output),
		Reasoning:    addSaturating(u.Reasoning, v.Reasoning),
		Tier:         commonValue(u.Tier, v.Tier),
		Speed:        commonValue(u.Speed, v.Speed),
		Geo:          commonValue(u.Geo, v.Geo),
		Source:       Reported,
	}
	if u.Source == Estimated || v.Source == Estimated {
		sum.Source = Estimated
	}
	if len(u.ServerTools)+len(v.ServerTools) > 0 {
		sum.ServerTools = make(map[string]int64, len(u.ServerTools)+len(v.ServerTools))
		maps.Copy(sum.ServerTools, u.ServerTools)
		for name, n := range v.ServerTools {
			sum.ServerTools[name] = addSaturating(sum.ServerTools[name], n)
		}
	}
	return sum
}

func commonValue(a, b string) string {
	if a == b {
		return a
	}
	return ""
}

// multiply returns tokens times rate.
func multiply(tokens int64, rate Amount) (Amount, error) {
	if tokens < 0 {
		return 0, fmt.Errorf("%w: %d tokens", ErrUsage, tokens)
	}
	return rate.Mul(tokens)
}
