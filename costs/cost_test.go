package costs_test

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	. "parley/costs"
)

func prices(t testing.TB) *Catalogue {
	t.Helper()
	c, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func charged(a Amount) *Amount { return &a }

func TestCallsCostWhatTheProviderBills(t *testing.T) {
	t.Parallel()
	c := prices(t)
	for _, tc := range []struct {
		name, provider, model string
		usage                 Usage
		want                  string
	}{
		{
			"Sonnet with cache and thinking, final numbers", "anthropic", "claude-sonnet-5",
			Usage{Input: 6, CacheWrite5m: 3337, CacheRead: 6289, Output: 198, Reasoning: 100, Tier: "standard", Geo: "not_available"},
			"$0.0115923",
		},
		{
			"the same from the first event alone would be less", "anthropic", "claude-sonnet-5",
			Usage{Input: 2, CacheWrite5m: 3068, Output: 198},
			"$0.009654",
		},
		{"GPT-4.1, 10k prompt of which 8k cached, 500 out", "openai", "gpt-4.1", Usage{Input: 2000, CacheRead: 8000, Output: 500, Tier: "default"}, "$0.012"},
		{"a dated name", "openai", "gpt-4.1-2025-04-14", Usage{Input: 1_000_000}, "$2.00"},
		{"an hour in the cache", "anthropic", "claude-opus-5-5", Usage{CacheWrite1h: 1000}, "$0.008"},
		{"input up to the threshold", "openai", "gpt-5.5", Usage{Input: 72_000, CacheRead: 200_000, Output: 1000}, "$0.49"},
		{"one token above it makes every token dearer", "openai", "gpt-5.5", Usage{Input: 72_001, CacheRead: 200_000, Output: 1000}, "$0.96501"},
		{"batch is half", "anthropic", "claude-opus-5-5", Usage{Input: 1000, Output: 1000, Tier: "batch"}, "$0.012"},
		{"fast in the United States", "anthropic", "claude-opus-5-5", Usage{Input: 1000, Output: 1000, Speed: "fast", Geo: "us"}, "$0.0528"},
		{"a fraction of a pico-dollar is rounded up", "anthropic", "claude-haiku-5-5", Usage{CacheRead: 1, Geo: "us"}, "$0.000000011"},
		{"searches are counted", "anthropic", "claude-sonnet-5", Usage{Input: 1000, ServerTools: map[string]int64{"web_search": 3, "web_fetch": 9}}, "$0.032"},
		{"tools are not halved in a batch", "anthropic", "claude-sonnet-5", Usage{Input: 1000, Tier: "batch", ServerTools: map[string]int64{"web_search": 1}}, "$0.011"},
		{"a tool that was not used needs no price", "demo", "demo", Usage{Input: 1, ServerTools: map[string]int64{"oracle": 0}}, "$0.000001"},
		{"what was charged is preferred", "anthropic", "claude-sonnet-5", Usage{Input: 1000, Charged: charged(7)}, "$0.000000000007"},
		{
			"iterations replace the top, each at its own model", "anthropic", "claude-sonnet-5",
			Usage{Input: 1, Output: 1, Iterations: []Iteration{
				{Kind: "message", Usage: Usage{Input: 1000, Output: 100}},
				{Kind: "advisor", Model: "claude-opus-5-5", Usage: Usage{Input: 1000, Output: 100}},
			}},
			"$0.009",
		},
		{
			"a charge covers its iterations", "anthropic", "claude-sonnet-5",
			Usage{Charged: charged(7), Iterations: []Iteration{{Model: "claude-99", Usage: Usage{Input: 1000}}}},
			"$0.000000000007",
		},
		{
			"iterations inherit the tier", "anthropic", "claude-sonnet-5",
			Usage{Tier: "batch", ServerTools: map[string]int64{"web_search": 1}, Iterations: []Iteration{{Usage: Usage{Input: 1000}}}},
			"$0.011",
		},
		{
			"each iteration has its own context tier", "anthropic", "claude-haiku-5-5",
			Usage{Input: 150_000, Iterations: []Iteration{{Usage: Usage{Input: 100_000}}, {Usage: Usage{Input: 50_000}}}},
			"$0.015",
		},
		{"nothing", "demo", "demo", Usage{}, "$0.00"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, p, err := c.Cost(tc.provider, tc.model, tc.usage)
			if err != nil || got.String() != tc.want || p == nil {
				t.Errorf("it costs %s at %v, %v; want %s", got, p, err, tc.want)
			}
		})
	}
}

func TestWhatHasNoPriceIsUnknownAndNotFree(t *testing.T) {
	t.Parallel()
	c := prices(t)
	for _, tc := range []struct {
		name, provider, model string
		usage                 Usage
		priced                bool
	}{
		{"model", "openai", "gpt-99", Usage{Input: 1}, false},
		{"provider", "nobody", "gpt-4.1", Usage{Input: 1}, false},
		{"model of an iteration", "anthropic", "claude-sonnet-5", Usage{Iterations: []Iteration{{Model: "claude-99", Usage: Usage{Input: 1}}}}, true},
		{"own model of an iteration", "anthropic", "claude-99", Usage{Iterations: []Iteration{{Usage: Usage{Input: 1}}}}, false},
		{"server tool", "anthropic", "claude-sonnet-5", Usage{ServerTools: map[string]int64{"code_execution": 1}}, true},
		{"service tier", "anthropic", "claude-sonnet-5", Usage{Input: 1, Tier: "priority"}, true},
		{"speed", "anthropic", "claude-sonnet-5", Usage{Input: 1, Speed: "fast"}, true},
		{"geography", "openai", "gpt-4.1", Usage{Input: 1, Geo: "eu"}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, p, err := c.Cost(tc.provider, tc.model, tc.usage)
			if !errors.Is(err, ErrNoPrice) || got != 0 || (p != nil) != tc.priced {
				t.Errorf("it costs %s at %v, %v; want ErrNoPrice", got, p, err)
			}
		})
	}
	got, p, err := c.Cost("openrouter", "x/y", Usage{Input: 5, Charged: charged(USD)})
	if err != nil || got != USD || p != nil {
		t.Errorf("a charge for a model without a price gives %s, %v, %v", got, p, err)
	}
	got, p, err = c.Cost("anthropic", "claude-99", Usage{Iterations: []Iteration{{Model: "demo", Usage: Usage{}}, {Model: "claude-sonnet-5", Usage: Usage{Input: 1}}}})
	if !errors.Is(err, ErrNoPrice) || got != 0 || p != nil {
		t.Errorf("iterations are looked up with the same provider only: %s, %v, %v", got, p, err)
	}
	got, _, err = c.Cost("anthropic", "claude-99", Usage{Iterations: []Iteration{{Model: "claude-sonnet-5", Usage: Usage{Input: 1}}}})
	if err != nil || got != 2_000_000 {
		t.Errorf("iterations that all name their model need no other price: %s, %v", got, err)
	}
}

func TestAPriceAloneDoesNotPriceOtherModels(t *testing.T) {
	t.Parallel()
	p, _ := prices(t).Price("anthropic", "claude-sonnet-5")
	u := Usage{Iterations: []Iteration{{Usage: Usage{Input: 1}}, {Model: "claude-sonnet-5", Usage: Usage{Input: 1}}}}
	if a, err := p.Cost(u); err != nil || a != 4_000_000 {
		t.Errorf("two iterations of its own: %s, %v", a, err)
	}
	u.Iterations[1].Model = "claude-opus-5-5"
	if a, err := p.Cost(u); !errors.Is(err, ErrNoPrice) || a != 0 {
		t.Errorf("an iteration of another model: %s, %v", a, err)
	}
}

func TestImpossibleUsageIsRefused(t *testing.T) {
	t.Parallel()
	p, _ := prices(t).Price("demo", "demo")
	for name, u := range map[string]Usage{
		"negative input":                {Input: -1},
		"negative read":                 {CacheRead: -1},
		"negative write":                {CacheWrite5m: -1},
		"negative long write":           {CacheWrite1h: -1},
		"negative output":               {Output: -1},
		"negative reasoning":            {Reasoning: -1},
		"more reasoning than output":    {Output: 5, Reasoning: 6},
		"more tokens than there are":    {Input: math.MaxInt64},
		"negative uses of a tool":       {ServerTools: map[string]int64{"web_search": -1}},
		"negative charge":               {Charged: charged(-1)},
		"negative count in iterations":  {Iterations: []Iteration{{Usage: Usage{Input: -1}}}},
		"iterations inside an iterated": {Iterations: []Iteration{{Usage: Usage{Iterations: []Iteration{{}}}}}},
	} {
		if a, err := p.Cost(u); !errors.Is(err, ErrUsage) || a != 0 {
			t.Errorf("%s costs %s, %v", name, a, err)
		}
	}
	dear := &Price{Model: "dear", Input: math.MaxInt64, Output: 1}
	if a, err := dear.Cost(Usage{Input: 2}); !errors.Is(err, ErrOverflow) || a != 0 {
		t.Errorf("more than all money: %s, %v", a, err)
	}
	if a, err := dear.Cost(Usage{Input: 1, Output: 1}); !errors.Is(err, ErrOverflow) || a != 0 {
		t.Errorf("more than all money in a sum: %s, %v", a, err)
	}
	if _, err := dear.WorstCase(2, 1); !errors.Is(err, ErrOverflow) {
		t.Errorf("its worst case: %v", err)
	}
	if _, err := p.WorstCase(-1, 1); !errors.Is(err, ErrUsage) {
		t.Errorf("a negative input: %v", err)
	}
	if _, err := p.WorstCaseAt("gold", "", 1, 1); !errors.Is(err, ErrNoPrice) {
		t.Errorf("an unlisted tier: %v", err)
	}
}

func TestUsageAddsUpForShowing(t *testing.T) {
	t.Parallel()
	u := Usage{Input: 1, CacheRead: 2, CacheWrite5m: 4, CacheWrite1h: 8, Output: 16, Reasoning: 3, Tier: "batch", Geo: "us", ServerTools: map[string]int64{"a": 1}, Source: Reported}
	v := Usage{Input: 100, Output: math.MaxInt64, Tier: "batch", Geo: "eu", ServerTools: map[string]int64{"a": 1, "b": 2}, Charged: charged(1), Source: Estimated}
	if u.TotalInput() != 15 || u.Total() != 31 || v.Total() != math.MaxInt64 {
		t.Errorf("totals are %d, %d, %d", u.TotalInput(), u.Total(), v.Total())
	}
	want := Usage{
		Input: 101, CacheRead: 2, CacheWrite5m: 4, CacheWrite1h: 8, Output: math.MaxInt64, Reasoning: 3, Tier: "batch",
		ServerTools: map[string]int64{"a": 2, "b": 2}, Source: Estimated,
	}
	if d := cmp.Diff(want, u.Add(v)); d != "" {
		t.Errorf("u+v (-want +got):\n%s", d)
	}
	if d := cmp.Diff(want, v.Add(u)); d != "" {
		t.Errorf("v+u (-want +got):\n%s", d)
	}
	if u.ServerTools["a"] != 1 || len(v.ServerTools) != 2 {
		t.Error("Add changed what it was given")
	}
}

// usages have at most so much input and output.
func usages(p *Price, input, output int64) *rapid.Generator[Usage] {
	return rapid.Custom(func(t *rapid.T) Usage {
		var u Usage
		left := rapid.Int64Range(0, input).Draw(t, "input")
		for _, n := range []*int64{&u.CacheRead, &u.CacheWrite5m, &u.CacheWrite1h} {
			*n = rapid.Int64Range(0, left).Draw(t, "cache")
			left -= *n
		}
		u.Input = left
		u.Output = rapid.Int64Range(0, output).Draw(t, "output")
		u.Geo = rapid.SampledFrom([]string{"", "us", "not_available"}).Draw(t, "geo")
		if _, ok := p.Multipliers["geo:us"]; !ok {
			u.Geo = ""
		}
		return u
	})
}

// anyPrice draws from the list, and prices that nobody would publish.
func anyPrice(c *Catalogue) *rapid.Generator[*Price] {
	var all []*Price
	for _, provider := range c.Providers() {
		for _, m := range c.Models(provider) {
			p, _ := c.Price(provider, m)
			all = append(all, p)
		}
	}
	rate := rapid.Custom(func(t *rapid.T) Amount { return Amount(rapid.Int64Range(0, 1_000_000_000).Draw(t, "rate")) })
	return rapid.OneOf(rapid.SampledFrom(all), rapid.Custom(func(t *rapid.T) *Price {
		p := &Price{
			Model: "odd", Input: rate.Draw(t, "in"), Output: rate.Draw(t, "out"),
			CacheRead: rate.Draw(t, "read"), CacheWrite5m: rate.Draw(t, "5m"), CacheWrite1h: rate.Draw(t, "1h"),
			Multipliers: map[string]Fraction{
				"tier:batch": {Num: 1, Den: 3},
				"geo:us":     {Num: rapid.Int64Range(1, 30).Draw(t, "geo"), Den: 7},
			},
		}
		for _, above := range []int64{50_000, 200_000}[:rapid.IntRange(0, 2).Draw(t, "tiers")] {
			p.Tiers = append(p.Tiers, ContextTier{
				Above: above, Input: rate.Draw(t, "in"), Output: rate.Draw(t, "out"),
				CacheRead: rate.Draw(t, "read"), CacheWrite5m: rate.Draw(t, "5m"), CacheWrite1h: rate.Draw(t, "1h"),
			})
		}
		return p
	}))
}

func TestNoCallCostsMoreThanItsWorstCase(t *testing.T) {
	t.Parallel()
	gen := anyPrice(prices(t))
	rapid.Check(t, func(t *rapid.T) {
		p := gen.Draw(t, "price")
		input, output := rapid.Int64Range(0, 2_000_000).Draw(t, "input"), rapid.Int64Range(0, 200_000).Draw(t, "max")
		tier := rapid.SampledFrom([]string{"", "batch"}).Draw(t, "tier")
		if _, ok := p.Multipliers["tier:batch"]; !ok {
			tier = ""
		}
		upper, err := p.WorstCaseAt(tier, "", input, output)
		if err != nil {
			t.Fatal(err)
		}
		u := usages(p, input, output).Draw(t, "usage")
		u.Tier = tier
		cost, err := p.Cost(u)
		if err != nil {
			t.Fatal(err)
		}
		if cost > upper {
			t.Fatalf("%s: %+v costs %s, the worst case is %s", p.Model, u, cost, upper)
		}
	})
}

func TestCostsAddUpWhereNoTierComesBetween(t *testing.T) {
	t.Parallel()
	gen := anyPrice(prices(t))
	rapid.Check(t, func(t *rapid.T) {
		p := *gen.Draw(t, "price")
		p.Tiers = nil
		u, v := usages(&p, 1_000_000, 100_000).Draw(t, "u"), usages(&p, 1_000_000, 100_000).Draw(t, "v")
		u.Geo, v.Geo = "", ""
		a, errA := p.Cost(u)
		b, errB := p.Cost(v)
		both, err := p.Cost(u.Add(v))
		if errA != nil || errB != nil || err != nil {
			t.Fatal(errA, errB, err)
		}
		if sum, err := a.Add(b); err != nil || sum != both {
			t.Fatalf("%s + %s are %s, together %s, %v", a, b, sum, both, err)
		}
	})
}

func TestScalingRoundsUpByLessThanAPicoDollar(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		num, den := rapid.Int64Range(1, 100).Draw(t, "num"), rapid.Int64Range(1, 100).Draw(t, "den")
		n := rapid.Int64Range(0, 1_000_000).Draw(t, "tokens")
		p := &Price{Model: "m", Input: 1, Multipliers: map[string]Fraction{"tier:x": {Num: num, Den: den}}}
		a, err := p.Cost(Usage{Input: n, Tier: "x"})
		if err != nil {
			t.Fatal(err)
		}
		if got := int64(a); got*den < n*num || (got-1)*den >= n*num {
			t.Fatalf("%d * %d/%d is %d", n, num, den, got)
		}
	})
}
