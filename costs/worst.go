package costs

import "strings"

// WorstCase bounds what a call can cost before it is made, at the standard tier and
// speed: see WorstCaseAt. An account may have another tier as its default, so
// a caller that relies on the bound names the tier in the request.
func (p *Price) WorstCase(inputTokens, maxOutput int64) (Amount, error) {
	return p.WorstCaseAt("", "", inputTokens, maxOutput)
}

// WorstCaseAt bounds what a call can cost that asks for that tier and speed. Its
// Cost is never above upper as long as it has at most inputTokens of total
// input and maxOutput of output, however the input is split over the cache and
// whichever context tier it falls into, in the dearest geography that p lists.
// Server tools and sub-calls of other models come on top of upper: who allows
// them adds their price. The errors are ErrUsage for negative counts,
// ErrNoPrice for a tier or speed that p does not list, and ErrOverflow.
func (p *Price) WorstCaseAt(tier, speed string, inputTokens, maxOutput int64) (upper Amount, err error) {
	reachable := []rates{p.baseRates()}
	for _, t := range p.Tiers {
		if inputTokens > t.Above {
			reachable = append(reachable, t.tierRates())
		}
	}
	for _, r := range reachable {
		in, err := multiply(inputTokens, max(r.input, r.cacheRead, r.cacheWrite5m, r.cacheWrite1h))
		if err != nil {
			return 0, err
		}
		out, err := multiply(maxOutput, r.output)
		if err != nil {
			return 0, err
		}
		both, err := in.Add(out)
		if err != nil {
			return 0, err
		}
		upper = max(upper, both)
	}
	dearest, err := p.dearestGeography(upper)
	if err != nil {
		return 0, err
	}
	return p.scale(upper, "tier:"+tier, "speed:"+speed, dearest)
}

// MaxOutput returns how many output tokens a call may have, at most atMost, so that
// its Worst is not above room; false: not even its input fits.
func (p *Price) MaxOutput(inputTokens, atMost int64, room Amount) (int64, bool) {
	fits := func(n int64) bool {
		upper, err := p.WorstCase(inputTokens, n)
		return err == nil && upper <= room
	}
	if !fits(0) {
		return 0, false
	}
	low, high := int64(0), atMost+1 // low fits, high is not asked for or does not
	for high-low > 1 {
		if mid := low + (high-low)/2; fits(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return low, true
}

// dearestGeography returns the key of the geography under which a becomes largest.
func (p *Price) dearestGeography(a Amount) (string, error) {
	dearest, limit := "geo:", a
	for key := range p.Multipliers {
		if !strings.HasPrefix(key, "geo:") {
			continue
		}
		there, err := p.scale(a, key)
		if err != nil {
			return "", err
		}
		if there > limit {
			dearest, limit = key, there
		}
	}
	return dearest, nil
}
