package prices

import (
	"errors"
	"time"

	"parley/costs"
	"parley/tools"
)

// View is what models cost at one time. It never changes, so many may read it
// at once. Providers have the operator's names.
type View struct {
	families  map[string]string
	fixed     []*costs.Price
	catalogue *costs.Catalogue
	ceiling   *costs.Price // nil: none
}

// Price finds the price of a model's tokens, the ceiling where it has none;
// false: there is none either.
func (v *View) Price(provider, model string) (*costs.Price, bool) {
	if p := v.fixedPrice(provider, model); p != nil {
		return p, true
	}
	if p, ok := v.catalogue.Price(v.families[provider], model); ok {
		return p, true
	}
	return v.ceiling, v.ceiling != nil
}

// Cost returns what u cost, and the price by which. The ceiling is only for models
// that have no price at all.
func (v *View) Cost(provider, model string, u costs.Usage) (costs.Amount, *costs.Price, error) {
	if p := v.fixedPrice(provider, model); p != nil {
		a, err := p.Cost(u)
		return a, p, err // the price's own
	}
	a, p, err := v.catalogue.Cost(v.families[provider], model, u)
	if err == nil || !errors.Is(err, costs.ErrNoPrice) || p != nil || v.ceiling == nil {
		return a, p, err // the catalogue's own
	}
	a, err = v.ceiling.Cost(u)
	return a, v.ceiling, err // as above
}

// fixedPrice returns the price that the operator fixed for a model; nil: none.
func (v *View) fixedPrice(provider, model string) *costs.Price {
	for _, p := range v.fixed {
		if p.Provider == provider && p.Model == model {
			return p
		}
	}
	return nil
}

// Nearest lists models of a provider that have a price and whose names resemble model, as
// provider/model.
func (v *View) Nearest(provider, model string) (near []string) {
	for _, name := range tools.Nearest(model, v.catalogue.Models(v.families[provider])) {
		near = append(near, provider+"/"+name)
	}
	return near
}

// Newest returns the date of the newest row.
func (v *View) Newest() time.Time { return v.catalogue.Newest() }
