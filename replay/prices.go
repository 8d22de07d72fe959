package replay

import (
	"fmt"
	"slices"

	"parley/agent"
	"parley/costs"
	"parley/gateway/prices"
	"parley/gateway/recording"
)

// recordedPrices are the prices that a recording's calls were booked with; with
// current those of this version's list, where it has the model.
func recordedPrices(r *recording.Recording, current bool) (agent.Prices, error) {
	families := map[string]string{}
	for _, a := range r.Header.Setup.Agents {
		families[a.Provider] = a.Family
		for _, f := range slices.Concat(a.Fallbacks, a.Choices) {
			families[f.Provider] = f.Family
		}
		if f := a.Summariser; f != nil {
			families[f.Provider] = f.Family
		}
	}
	table, err := prices.Open(prices.Options{Families: families})
	if err != nil {
		return nil, fmt.Errorf("read this version's prices: %w", err)
	}
	p := &recordingPrices{now: table.View(), current: current, was: map[string]*costs.Price{}}
	for _, row := range r.Header.Prices {
		p.was[row.Provider+"/"+row.Model] = row.Price
	}
	var entries []costs.Entry
	for _, e := range r.Costs {
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b costs.Entry) int { return a.At.Compare(b.At) })
	for _, e := range entries {
		if e.Price != nil {
			p.was[e.Labels.Provider+"/"+e.Labels.Model] = e.Price
		}
	}
	return p, nil
}

// recordingPrices are the prices of a recording.
type recordingPrices struct {
	was     map[string]*costs.Price // by provider/model
	now     *prices.View
	current bool
}

var _ agent.Prices = (*recordingPrices)(nil)

// Price implements [agent.Prices].
func (p *recordingPrices) Price(provider, model string) (*costs.Price, bool) {
	if p.current {
		if now, ok := p.now.Price(provider, model); ok {
			return now, true
		}
	}
	was, ok := p.was[provider+"/"+model]
	return was, ok
}

// Cost implements [agent.Prices].
func (p *recordingPrices) Cost(provider, model string, u costs.Usage) (costs.Amount, *costs.Price, error) {
	price, ok := p.Price(provider, model)
	_, listed := p.now.Price(provider, model)
	if !ok || p.current && listed || len(u.Iterations) > 0 || u.Charged != nil {
		return p.now.Cost(provider, model, u)
	}
	amount, err := price.Cost(u)
	return amount, price, err
}
