package gateway

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"parley/costs"
	"parley/gateway/budgets"
	"parley/gateway/prices"
	"parley/gateway/settings"
	"parley/problems"
)

// limitsOf returns the budgets of c, which Validate accepts.
func limitsOf(c settings.Config) (budgets.Limits, error) {
	l, err := c.Budgets.Limits()
	if err != nil {
		return l, fmt.Errorf("budgets: %w", err)
	}
	l.ChannelsByTheDay = map[string]costs.Amount{}
	for _, a := range c.Accounts() {
		if l.ChannelsByTheDay[a.Name], err = budgets.Parse(a.BudgetPerDay); err != nil {
			return l, fmt.Errorf("%s.budget_per_day: %w", a.Path, err)
		}
	}
	return l, nil
}

// familiesOf returns which part of the price list holds for a provider.
func familiesOf(c settings.Config) map[string]string {
	m := map[string]string{}
	for name, p := range c.Providers {
		m[name] = p.Prices
	}
	return m
}

// Prices returns the prices that a gateway with this configuration uses. parse
// reads the file that cfg names; nil: as JSON.
func Prices(cfg settings.Config, parse func(name string, data []byte) (*costs.Catalogue, error)) (*prices.Table, error) {
	cfg = cfg.Defaults()
	t, err := prices.Open(prices.Options{Config: cfg.Prices, Families: familiesOf(cfg), Fixed: cfg.Transcription.FixedPrices(), Parse: parse})
	if err != nil {
		return nil, problems.List{{Path: "prices.file", Err: err}}
	}
	return t, nil
}

// Unpriced are the models of a configuration that have no price but perhaps the
// ceiling, by the agents that use them.
type Unpriced struct {
	Agent, Model string // no agent: the model makes words of voice notes
	Fallback     bool   // the agent falls back to it
	Choice       bool   // people may choose it
	Beside       string // where it stands that is asked beside the agents: titles.model or context.model
	Ceiling      bool   // they are reckoned by it
	Refused      bool   // a budget applies, so they are refused
	// Meant are models of the same provider that have a price and whose names resemble it.
	Meant []string
}

// ConfigPath returns the place in the configuration that names the model.
func (u Unpriced) ConfigPath() string {
	if u.Beside != "" {
		return u.Beside
	}
	if u.Agent == "" {
		return "transcription"
	}
	if u.Choice {
		return "agents." + u.Agent + ".choices"
	}
	if u.Fallback {
		return "agents." + u.Agent + ".fallbacks"
	}
	return "agents." + u.Agent
}

// Remedy returns how the model gets a price.
func (u Unpriced) Remedy() string {
	if u.Agent == "" && u.Beside == "" {
		return "give transcription.price_per_minute"
	}
	return "list it in prices.file, or give prices.ceiling"
}

// UnpricedModels returns the configured models without a price, by agent.
func UnpricedModels(c settings.Config, v *prices.View) (us []Unpriced) {
	c = c.Defaults()
	limits, err := limitsOf(c)
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		a := c.Agents[name]
		own := append([]string{a.Model}, a.Fallbacks...)
		chosen := slices.DeleteFunc(slices.Clone(a.Choices), func(model string) bool { return slices.Contains(own, model) })
		for i, asked := range slices.Concat(own, chosen) {
			provider, model, splitErr := settings.SplitModel(asked)
			if splitErr != nil {
				continue
			}
			p, ok := v.Price(provider, model)
			if ok && !p.Ceiling {
				continue
			}
			us = append(us, Unpriced{
				Agent: name, Model: asked, Fallback: i > 0 && i < len(own), Choice: i >= len(own),
				Ceiling: ok, Refused: !ok && err == nil && limits.HasAny(), Meant: v.Nearest(provider, model),
			})
		}
	}
	for _, beside := range [][2]string{{"titles.model", c.Titles.Model}, {"context.model", c.Context.Model}} {
		provider, model, splitErr := settings.SplitModel(beside[1])
		if p, ok := v.Price(provider, model); splitErr == nil && (!ok || p.Ceiling) {
			us = append(us, Unpriced{Model: beside[1], Beside: beside[0], Ceiling: ok, Refused: !ok && err == nil && limits.HasAny(), Meant: v.Nearest(provider, model)})
		}
	}
	provider, model, splitErr := settings.SplitModel(c.Transcription.Model)
	if p, ok := v.Price(provider, model); splitErr == nil && (!ok || !p.BillsAudio()) {
		us = append(us, Unpriced{Model: c.Transcription.Model, Refused: err == nil && limits.HasAny()})
	}
	return us
}

// newestPrice returns the day of the newest price, if a configured model has one of the list. Prices
// that parley invented for its demonstration do not grow old.
func newestPrice(c settings.Config, v *prices.View) time.Time {
	models := []string{c.Titles.Model, c.Context.Model}
	for _, a := range c.Agents {
		models = slices.Concat(models, []string{a.Model}, a.Fallbacks, a.Choices)
	}
	for _, m := range models {
		provider, model, err := settings.SplitModel(m)
		if err != nil {
			continue
		}
		if p, ok := v.Price(provider, model); ok && !p.Ceiling && p.Source != costs.Invented {
			return v.Newest()
		}
	}
	return time.Time{}
}

// warnUnpriced tells the operator of models without a price.
func (e *edition) warnUnpriced(v *prices.View) {
	for _, u := range UnpricedModels(e.cfg, v) {
		about := []any{"config_path", u.ConfigPath(), "model", u.Model}
		if len(u.Meant) > 0 {
			about = append(about, "did_you_mean", strings.Join(u.Meant, " or "))
		}
		switch {
		case u.Refused:
			e.log.Error("model refused: it has no price and a budget applies: "+u.Remedy(), about...)
		case u.Ceiling:
			e.log.Warn("model without a price: charged at prices.ceiling", about...)
		default:
			e.log.Warn("model without a price: its calls are recorded as unpriced and missing from cost totals", about...)
		}
	}
}
