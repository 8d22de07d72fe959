package costs

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// ErrPrices is the kind of every error of Load but those of its reader.
var ErrPrices = errors.New("bad price list")

// Load reads a price list: the embedded one, or an operator's of the same form.
// Prices are dollars per million tokens as decimals in quotes, with at most six
// decimals, so that a token costs whole pico-dollars; server tools are dollars
// per use:
//
//	{"prices": [{
//	  "provider": "anthropic", "model": "claude-sonnet-5",
//	  "input": "2", "output": "10",
//	  "cache_read": "0.20", "cache_write_5m": "2.50", "cache_write_1h": "4",
//	  "tiers": [{"above": 200000, "input": "4", "output": "15"}],
//	  "multipliers": {"tier:batch": "1/2", "geo:us": "11/10"},
//	  "server_tools": {"web_search": "0.01"},
//	  "source": "where it was read", "date": "2026-11-21"
//	}]}
//
// Input, output, source and date must be there. A cache price that is not
// listed is, for anthropic, a tenth, five quarters and twice the input; for
// everybody else it is the input: too much rather than too little. A tier
// stands for itself and inherits nothing.
//
// Names are exact, and nothing may be unknown, negative or there twice. All
// mistakes are reported at once, each with name and its row.
func Load(r io.Reader, name string) (*Catalogue, error) {
	return LoadAt(r, name, func(i int) string { return "row " + strconv.Itoa(i+1) })
}

// LoadAt is like Load for rows of another form: place says where row i,
// from 0, stands in it.
func LoadAt(r io.Reader, name string, place func(i int) string) (*Catalogue, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	top, err := parseObject(b)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrPrices, name, err)
	}
	list, listed := top.take("prices")
	var rows []json.RawMessage
	if listed {
		if err := json.Unmarshal(list, &rows); err != nil {
			return nil, fmt.Errorf("%w: %s: prices: %w", ErrPrices, name, err)
		}
	}
	errs := top.errors()
	if rows == nil {
		errs = append(errs, errors.New("prices: required"))
	}
	c := &Catalogue{prices: map[string]map[string]*Price{}}
	for i, raw := range rows {
		if err := c.load(raw); err != nil {
			errs = append(errs, fmt.Errorf("%s %w", place(i), err))
		}
	}
	for i, err := range errs {
		errs[i] = fmt.Errorf("%w: %s: %w", ErrPrices, name, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return c, nil
}

// load adds one row; its error starts with the row's names.
func (c *Catalogue) load(raw json.RawMessage) error {
	o, err := parseObject(raw)
	if err != nil {
		return fmt.Errorf("(unnamed): %w", err)
	}
	p := &Price{Provider: o.takeText("provider"), Model: o.takeText("model"), Source: o.takeText("source"), Date: o.takeText("date")}
	o.takeRates(p.Provider, &p.Input, &p.Output, &p.CacheRead, &p.CacheWrite5m, &p.CacheWrite1h)
	date, err := time.Parse(time.DateOnly, p.Date)
	if err != nil && p.Date != "" {
		o.addError("date", "%s is not a day like 2026-11-21", quote(p.Date))
	}
	o.takeTiers(p)
	o.takeMultipliers(p)
	o.takeServerTools(p)
	errs := o.errors()
	if len(errs) == 0 {
		if err := c.add(p, date); err != nil {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("(%s %s): %w", cmp.Or(p.Provider, "?"), cmp.Or(p.Model, "?"), err)
	}
	return nil
}

func (o *object) takeTiers(p *Price) {
	raw, ok := o.take("tiers")
	if !ok {
		return
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		o.addError("tiers", "not a list")
		return
	}
	last := int64(0)
	for i, r := range list {
		field := "tiers[" + strconv.Itoa(i) + "]"
		t, err := parseObject(r)
		if err != nil {
			o.addError(field, "%v", err)
			continue
		}
		var tier ContextTier
		above, _ := t.take("above")
		if err := json.Unmarshal(above, &tier.Above); err != nil || tier.Above <= last {
			t.addError("above", "must be a count of tokens above that of the tier before")
		}
		last = max(last, tier.Above)
		t.takeRates(p.Provider, &tier.Input, &tier.Output, &tier.CacheRead, &tier.CacheWrite5m, &tier.CacheWrite1h)
		for _, err := range t.errors() {
			o.addError(field, "%v", err)
		}
		p.Tiers = append(p.Tiers, tier)
	}
}

func (o *object) takeMultipliers(p *Price) {
	for _, m := range o.members("multipliers") {
		field := "multipliers " + quote(m.name)
		dimension, value, _ := strings.Cut(m.name, ":")
		known := dimension == "tier" || dimension == "speed" || dimension == "geo"
		if !known || value == "" || isStandardTier(m.name) {
			o.addError(field, "must name a tier:, speed: or geo: that is not the standard one")
		}
		f, err := parseFraction(m.value)
		if err != nil {
			o.addError(field, "%v", err)
			continue
		}
		if p.Multipliers == nil {
			p.Multipliers = map[string]Fraction{}
		}
		p.Multipliers[m.name] = f
	}
}

func (o *object) takeServerTools(p *Price) {
	for _, m := range o.members("server_tools") {
		a, err := parsePrice(m.value, 12)
		if err != nil {
			o.addError("server_tools "+quote(m.name), "%v", err)
			continue
		}
		if p.ServerTools == nil {
			p.ServerTools = map[string]Amount{}
		}
		p.ServerTools[m.name] = a
	}
}

// takeRates reads the five prices of a row or tier, in pico-dollars per token.
func (o *object) takeRates(provider string, input, output, read, write5m, write1h *Amount) {
	shares := [3]Fraction{{1, 1}, {1, 1}, {1, 1}}
	if provider == "anthropic" {
		shares = [3]Fraction{{1, 10}, {5, 4}, {2, 1}}
	}
	o.takePerMillion("input", input, true)
	o.takePerMillion("output", output, true)
	for i, cache := range []struct {
		name string
		rate *Amount
	}{{"cache_read", read}, {"cache_write_5m", write5m}, {"cache_write_1h", write1h}} {
		if !o.takePerMillion(cache.name, cache.rate, false) {
			f, in := shares[i], int64(*input)
			*cache.rate = Amount(in/f.Den*f.Num + (in%f.Den*f.Num+f.Den-1)/f.Den) // in*f, rounded up
		}
	}
}

// takePerMillion reports whether the price is listed.
func (o *object) takePerMillion(name string, rate *Amount, required bool) bool {
	raw, ok := o.take(name)
	if !ok {
		if required {
			o.addError(name, "required")
		}
		return false
	}
	a, err := parsePrice(raw, 6)
	if err != nil {
		o.addError(name, "%v", err)
	}
	*rate = a / 1_000_000
	return true
}

// parsePrice reads a decimal in quotes that is not negative.
func parsePrice(raw json.RawMessage, decimals int) (Amount, error) {
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return 0, errors.New(`must be a decimal in quotes, like "2.50"`)
	}
	return parseDecimal(s, decimals)
}

func parseDecimal(s string, decimals int) (Amount, error) {
	if strings.ContainsAny(s, "$-") {
		return 0, fmt.Errorf("%s must be digits and a point, and not negative", quote(s))
	}
	if _, frac, _ := strings.Cut(s, "."); len(frac) > decimals {
		return 0, fmt.Errorf("%s has more than %d decimals", quote(s), decimals)
	}
	return ParseAmount(s)
}

// parseFraction reads "1/2" in quotes. The bounds keep every product of three
// fractions exact and far from absurd.
func parseFraction(raw json.RawMessage) (Fraction, error) {
	bad := errors.New(`must be a fraction in quotes, like "1/2", of numbers from 1 to 1000000`)
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return Fraction{}, bad
	}
	above, below, _ := strings.Cut(s, "/")
	num, errNum := strconv.ParseUint(above, 10, 32)
	den, errDen := strconv.ParseUint(below, 10, 32)
	if errNum != nil || errDen != nil || num < 1 || den < 1 || num > 1_000_000 || den > 1_000_000 {
		return Fraction{}, bad
	}
	return Fraction{Num: int64(num), Den: int64(den)}, nil
}
