package admin

import (
	"cmp"
	"slices"
	"time"

	"parley/llm"
)

// Circuit is a model that is not called at present, in the process that was asked.
type Circuit struct {
	Provider string    `json:"provider"`
	Model    string    `json:"model"`
	Failures int       `json:"failures"` // in a row
	Since    time.Time `json:"since"`
	Until    time.Time `json:"until"` // no call before
	Reason   string    `json:"reason"`
	Probing  bool      `json:"probing,omitempty"` // one call tries at this moment
}

// CircuitsOf is what is open, as an operator reads it.
func CircuitsOf(open []llm.CircuitStatus) []Circuit {
	all := []Circuit{}
	for _, s := range open {
		c := Circuit{
			Provider: s.Provider, Model: s.Model, Failures: s.Failures, Since: s.Since.UTC(), Until: s.Until.UTC(), Probing: s.State == llm.CircuitProbing,
		}
		if s.Last != nil {
			c.Reason = string(s.Last.Kind)
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b Circuit) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Model, b.Model))
	})
	return all
}
