package costs

import (
	"bytes"
	_ "embed" // the prices that this version knows
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

//go:embed prices.json
var embedded []byte

// Catalogue is the prices of models by provider family, "anthropic" or
// "openai", and model name. It never changes after it was made, so many may
// read it at once. The zero Catalogue knows no price.
type Catalogue struct {
	prices map[string]map[string]*Price
	newest time.Time
}

// Embedded returns the catalogue that came with this version, the same each time. An
// error means that the version was built from a bad file.
func Embedded() (*Catalogue, error) { return loadEmbedded() }

var loadEmbedded = sync.OnceValues(func() (*Catalogue, error) {
	return Load(bytes.NewReader(embedded), "prices.json")
})

// Price finds the price of a model: the row of exactly that name, else the row
// whose name is followed by nothing but a date, as in
// claude-sonnet-4-5-20250929 or gpt-5-2025-08-07. It is never looser: what a
// stranger to the list costs is unknown (false), not nothing.
func (c *Catalogue) Price(provider, model string) (*Price, bool) {
	rows := c.prices[provider]
	if p, ok := rows[model]; ok {
		return p, true
	}
	for _, layout := range []string{"-20060102", "-2006-01-02"} {
		cut := len(model) - len(layout)
		if cut <= 0 {
			continue
		}
		if _, err := time.Parse(layout, model[cut:]); err != nil {
			continue
		}
		if p, ok := rows[model[:cut]]; ok {
			return p, true
		}
	}
	return nil, false
}

// Cost returns what u cost on that model, with every iteration priced as the model
// it names, and the price that was applied, for the ledger row. What the
// provider says it charged is preferred, also for a model without a price;
// then price is nil. The error is ErrNoPrice when the model, or an iteration's,
// or a server tool that was used has no price; price is then given as far as it
// is known, and amt is 0 without meaning it: the cost is unknown.
func (c *Catalogue) Cost(provider, model string, u Usage) (amt Amount, price *Price, err error) {
	price, known := c.Price(provider, model)
	switch {
	case known:
	case u.Charged != nil || allNamed(u.Iterations):
		price = nil
	default:
		return 0, nil, fmt.Errorf("model %s of %s: %w", quote(model), quote(provider), ErrNoPrice)
	}
	p := price
	if p == nil {
		p = &Price{Provider: provider, Model: model}
	}
	amt, err = p.cost(u, func(name string) (*Price, error) {
		if q, ok := c.Price(provider, name); ok {
			return q, nil
		}
		return nil, fmt.Errorf("model %s of %s: %w", quote(name), quote(provider), ErrNoPrice)
	})
	if err != nil {
		return 0, price, err
	}
	return amt, price, nil
}

// allNamed reports whether there are iterations and each names its model, so that the
// call's own is not needed.
func allNamed(its []Iteration) bool {
	return len(its) > 0 && !slices.ContainsFunc(its, func(it Iteration) bool { return it.Model == "" })
}

// With is c with the rows of overrides in place of, and besides, its own.
// Neither is changed; nil overrides nothing.
func (c *Catalogue) With(overrides *Catalogue) *Catalogue {
	out := &Catalogue{prices: map[string]map[string]*Price{}, newest: c.newest}
	for provider, rows := range c.prices {
		out.prices[provider] = maps.Clone(rows)
	}
	if overrides == nil {
		return out
	}
	for provider, rows := range overrides.prices {
		if out.prices[provider] == nil {
			out.prices[provider] = map[string]*Price{}
		}
		maps.Copy(out.prices[provider], rows)
	}
	if overrides.newest.After(out.newest) {
		out.newest = overrides.newest
	}
	return out
}

// Newest returns the date of the newest row, midnight UTC, and the zero time for a
// catalogue without rows. Prices that are long past it deserve a look.
func (c *Catalogue) Newest() time.Time { return c.newest }

// Models returns the names of the provider's rows, sorted.
func (c *Catalogue) Models(provider string) []string {
	return slices.Sorted(maps.Keys(c.prices[provider]))
}

// Providers returns the families that have rows, sorted.
func (c *Catalogue) Providers() []string { return slices.Sorted(maps.Keys(c.prices)) }

// add takes p in, or says that its name is taken.
func (c *Catalogue) add(p *Price, date time.Time) error {
	rows := c.prices[p.Provider]
	if rows == nil {
		rows = map[string]*Price{}
		c.prices[p.Provider] = rows
	}
	if _, taken := rows[p.Model]; taken {
		return errors.New("model listed twice")
	}
	rows[p.Model] = p
	if date.After(c.newest) {
		c.newest = date
	}
	return nil
}
