package costs

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
)

// ErrNoPrice means that what a call used has no price: its model, the model of
// one of its iterations, a server tool, or a service tier, speed or geography
// that the price does not list. The true cost is then unknown, which is never
// the same as nothing.
var ErrNoPrice = errors.New("no price")

// rates are what one context tier costs.
type rates struct{ input, output, cacheRead, cacheWrite5m, cacheWrite1h Amount }

func (p *Price) baseRates() rates {
	return rates{p.Input, p.Output, p.CacheRead, p.CacheWrite5m, p.CacheWrite1h}
}

func (t ContextTier) tierRates() rates {
	return rates{t.Input, t.Output, t.CacheRead, t.CacheWrite5m, t.CacheWrite1h}
}

// ratesAt returns the rates of a request with that much input.
func (p *Price) ratesAt(totalInput int64) rates {
	r := p.baseRates()
	for _, t := range p.Tiers {
		if totalInput > t.Above {
			r = t.tierRates()
		}
	}
	return r
}

// Cost returns what u costs at p, exactly; only multipliers can leave a fraction of
// a pico-dollar, and then the whole is rounded up once. What the provider says
// that it charged is preferred to our arithmetic. Iterations are priced one by
// one in place of the top-level buckets; server tools are priced where they are
// counted, at the top or in an iteration. An iteration of another model than
// p's is ErrNoPrice here: use Catalogue.Cost. Other errors are ErrNoPrice for
// what p does not list, ErrUsage and ErrOverflow.
func (p *Price) Cost(u Usage) (Amount, error) {
	return p.cost(u, func(model string) (*Price, error) {
		if model == p.Model || p.Ceiling {
			return p, nil
		}
		return nil, fmt.Errorf("iteration of model %s: %w", quote(model), ErrNoPrice)
	})
}

func (p *Price) cost(u Usage, of func(model string) (*Price, error)) (Amount, error) {
	if err := u.Validate(); err != nil {
		return 0, err
	}
	if u.Charged != nil {
		return *u.Charged, nil
	}
	if len(u.Iterations) == 0 {
		return p.flatCost(u)
	}
	sum, err := p.toolCost(u.ServerTools)
	if err != nil {
		return 0, err
	}
	for i, it := range u.Iterations {
		q := p
		if it.Model != "" {
			if q, err = of(it.Model); err != nil {
				return 0, err
			}
		}
		v := it.Usage
		v.Tier, v.Speed, v.Geo = cmp.Or(v.Tier, u.Tier), cmp.Or(v.Speed, u.Speed), cmp.Or(v.Geo, u.Geo)
		a, err := q.flatCost(v)
		if err != nil {
			return 0, fmt.Errorf("iteration %d: %w", i, err)
		}
		if sum, err = sum.Add(a); err != nil {
			return 0, err
		}
	}
	return sum, nil
}

// flatCost returns the cost of a usage without iterations.
func (p *Price) flatCost(u Usage) (Amount, error) {
	if u.Charged != nil {
		return *u.Charged, nil
	}
	r := p.ratesAt(u.TotalInput())
	var parts [5]Amount
	for i, b := range [...]struct {
		tokens int64
		rate   Amount
	}{
		{u.Input, r.input},
		{u.CacheRead, r.cacheRead},
		{u.CacheWrite5m, r.cacheWrite5m},
		{u.CacheWrite1h, r.cacheWrite1h},
		{u.Output, r.output},
	} {
		var err error
		if parts[i], err = multiply(b.tokens, b.rate); err != nil {
			return 0, err
		}
	}
	tokens, err := SumOf(parts[:]...)
	if err != nil {
		return 0, err
	}
	if tokens, err = p.scale(tokens, "tier:"+u.Tier, "speed:"+u.Speed, "geo:"+u.Geo); err != nil {
		return 0, err
	}
	tools, err := p.toolCost(u.ServerTools)
	if err != nil {
		return 0, err
	}
	return tokens.Add(tools)
}

func (p *Price) toolCost(used map[string]int64) (Amount, error) {
	var sum Amount
	for name, n := range used {
		if n == 0 {
			continue
		}
		unit, ok := p.ServerTools[name]
		if !ok {
			return 0, fmt.Errorf("server tool %s of %s: %w", quote(name), p.Model, ErrNoPrice)
		}
		a, err := multiply(n, unit)
		if err != nil {
			return 0, err
		}
		if sum, err = sum.Add(a); err != nil {
			return 0, err
		}
	}
	return sum, nil
}

// scale multiplies a by the multipliers of all keys and rounds up once.
func (p *Price) scale(a Amount, keys ...string) (Amount, error) {
	if p.Ceiling {
		return a, nil
	}
	var num, den *big.Int
	for _, key := range keys {
		if isStandardTier(key) {
			continue
		}
		f, ok := p.Multipliers[key]
		if !ok || f.Num < 0 || f.Den <= 0 {
			return 0, fmt.Errorf("%s of %s: %w", quote(key), p.Model, ErrNoPrice)
		}
		if num == nil {
			num, den = big.NewInt(int64(a)), big.NewInt(1)
		}
		num.Mul(num, big.NewInt(f.Num))
		den.Mul(den, big.NewInt(f.Den))
	}
	if num == nil {
		return a, nil
	}
	q, r := num.QuoRem(num, den, new(big.Int))
	if r.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	if !q.IsInt64() {
		return 0, fmt.Errorf("scale money: %w", ErrOverflow)
	}
	return Amount(q.Int64()), nil
}

// isStandardTier reports whether key is a way in which providers name the listed price.
func isStandardTier(key string) bool {
	switch key {
	case "tier:", "tier:standard", "tier:default", "tier:auto",
		"speed:", "speed:standard", "speed:default",
		"geo:", "geo:global", "geo:not_available":
		return true
	}
	return false
}
