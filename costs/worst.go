package costs

import "strings"

// Worst bounds what a call can cost before it is made, at the standard tier and
// speed: see WorstAt. An account may have another tier as its default, so
// whoever relies on the bound names the tier in the request.
func (p *Price) Worst(inputTokens, maxOutput int64) (upper, lower Amount, err error) {
	return p.WorstAt("", "", inputTokens, maxOutput)
}

// WorstAt bounds what a call can cost that asks for that tier and speed. Its
// Cost is never above upper as long as it has at most inputTokens of total
// input and maxOutput of output, however the input is split over the cache and
// whichever context tier it falls into, in the dearest geography that p lists.
// Lower is what inputTokens cost at least once they were sent: all read from
// the cache, or whatever is cheapest. Server tools and sub-calls of other
// models come on top of upper: who allows them adds their price. The errors are
// ErrUsage for negative counts, ErrNoPrice for a tier or speed that p does not
// list, and ErrOverflow.
func (p *Price) WorstAt(tier, speed string, inputTokens, maxOutput int64) (upper, lower Amount, err error) {
	reachable := []rates{p.base()}
	for _, t := range p.Tiers {
		if inputTokens > t.Above {
			reachable = append(reachable, t.rates())
		}
	}
	for i, r := range reachable {
		in, err := product(inputTokens, max(r.input, r.cacheRead, r.cacheWrite5m, r.cacheWrite1h))
		if err != nil {
			return 0, 0, err
		}
		out, err := product(maxOutput, r.output)
		if err != nil {
			return 0, 0, err
		}
		least, err := product(inputTokens, min(r.input, r.cacheRead, r.cacheWrite5m, r.cacheWrite1h))
		if err != nil {
			return 0, 0, err
		}
		both, err := in.Add(out)
		if err != nil {
			return 0, 0, err
		}
		upper = max(upper, both)
		if i == 0 || least < lower {
			lower = least
		}
	}
	dearest, cheapest, err := p.geographies(upper, lower)
	if err != nil {
		return 0, 0, err
	}
	if upper, err = p.scale(upper, "tier:"+tier, "speed:"+speed, dearest); err != nil {
		return 0, 0, err
	}
	if lower, err = p.scale(lower, "tier:"+tier, "speed:"+speed, cheapest); err != nil {
		return 0, 0, err
	}
	return upper, lower, nil
}

// geographies are the keys under which upper becomes largest and lower least.
func (p *Price) geographies(upper, lower Amount) (dearest, cheapest string, err error) {
	dearest, cheapest = "geo:", "geo:"
	most, least := upper, lower
	for key := range p.Multipliers {
		if !strings.HasPrefix(key, "geo:") {
			continue
		}
		a, err := p.scale(upper, key)
		if err != nil {
			return "", "", err
		}
		if a > most {
			dearest, most = key, a
		}
		if a, err = p.scale(lower, key); err != nil {
			return "", "", err
		}
		if a < least {
			cheapest, least = key, a
		}
	}
	return dearest, cheapest, nil
}
