package prices

import (
	"fmt"

	"parley/costs"
)

// Row is a price in the form of a file: dollars per million tokens, and per use
// of a server tool, as decimals.
type Row struct {
	Provider     string            `json:"provider"` // the family
	Model        string            `json:"model"`
	Input        string            `json:"input"`
	Output       string            `json:"output"`
	CacheRead    string            `json:"cache_read"`
	CacheWrite5m string            `json:"cache_write_5m"`
	CacheWrite1h string            `json:"cache_write_1h"`
	Tiers        []Tier            `json:"tiers,omitempty"`
	Multipliers  map[string]string `json:"multipliers,omitempty"`
	ServerTools  map[string]string `json:"server_tools,omitempty"`
	Source       string            `json:"source"`
	Date         string            `json:"date"`
}

// Tier is the prices of requests with more input than Above.
type Tier struct {
	Above        int64  `json:"above"`
	Input        string `json:"input"`
	Output       string `json:"output"`
	CacheRead    string `json:"cache_read"`
	CacheWrite5m string `json:"cache_write_5m"`
	CacheWrite1h string `json:"cache_write_1h"`
}

// Rows are the prices of a family and of a model, sorted; "" is all of them. A
// dated version of a model has the row of the model.
func (v *View) Rows(family, model string) []Row {
	rows := []Row{}
	for _, f := range v.catalogue.Providers() {
		if family != "" && f != family {
			continue
		}
		wanted := v.catalogue.Models(f)
		if model != "" {
			wanted = nil
			if p, ok := v.catalogue.Price(f, model); ok {
				wanted = []string{p.Model}
			}
		}
		for _, m := range wanted {
			p, _ := v.catalogue.Price(f, m)
			rows = append(rows, rowOf(p))
		}
	}
	return rows
}

func rowOf(p *costs.Price) Row {
	r := Row{
		Provider: p.Provider, Model: p.Model, Input: perMillion(p.Input), Output: perMillion(p.Output),
		CacheRead: perMillion(p.CacheRead), CacheWrite5m: perMillion(p.CacheWrite5m), CacheWrite1h: perMillion(p.CacheWrite1h),
		Source: p.Source, Date: p.Date,
	}
	for _, t := range p.Tiers {
		r.Tiers = append(r.Tiers, Tier{
			Above: t.Above, Input: perMillion(t.Input), Output: perMillion(t.Output),
			CacheRead: perMillion(t.CacheRead), CacheWrite5m: perMillion(t.CacheWrite5m), CacheWrite1h: perMillion(t.CacheWrite1h),
		})
	}
	for name, f := range p.Multipliers {
		if r.Multipliers == nil {
			r.Multipliers = map[string]string{}
		}
		r.Multipliers[name] = fmt.Sprintf("%d/%d", f.Num, f.Den)
	}
	for name, a := range p.ServerTools {
		if r.ServerTools == nil {
			r.ServerTools = map[string]string{}
		}
		r.ServerTools[name] = a.String()[1:]
	}
	return r
}

// perMillion returns what a million tokens cost, without the sign.
func perMillion(perToken costs.Amount) string {
	a, err := perToken.Mul(1_000_000)
	if err != nil {
		return "more than can be shown"
	}
	return a.String()[1:]
}
