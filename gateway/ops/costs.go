package ops

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"parley/costs"
	"parley/sessions"
)

// Totals is where the money is read from.
type Totals interface {
	Totals(ctx context.Context) ([]sessions.Total, error)
}

// Costs exports what was spent from the ledger's own totals, which are updated
// in the same commit as each row. So the counter equals the ledger at every
// scrape, over restarts and after a kill: it is never counted twice and never
// starts again at zero. One process of a deployment exports it.
type Costs struct {
	Store Totals
	Known []costs.Labels // exported from the start, at zero
	// Mine reports whether this process is the one that exports; nil: it is.
	Mine func() bool

	mu        sync.Mutex // guards Known
	desc      *prometheus.Desc
	toolsDesc *prometheus.Desc
}

// NewCosts exports at least the given label sets. What the ledger holds
// besides is added when it is first seen.
func NewCosts(store Totals, s LabelSets) *Costs {
	c := &Costs{Store: store, desc: prometheus.NewDesc(
		"parley_llm_cost_usd_total",
		"Cost by the price table, failed and retried requests included; requests without a known price are not included, see parley_llm_unpriced_requests_total.",
		[]string{"provider", "model", "channel", "agent_kind"}, nil), toolsDesc: prometheus.NewDesc(
		"parley_tool_cost_usd_total",
		"Cost of calls of tools that have a price, by what the operator says; not part of parley_llm_cost_usd_total.",
		[]string{"tool", "channel"}, nil)}
	c.Admit(s)
	return c
}

// Admit exports further label sets from now on.
func (c *Costs) Admit(s LabelSets) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range s.Models {
		for _, ch := range s.Channels {
			for _, p := range s.purposes(m) {
				l := costs.Labels{Provider: m.Provider, Model: m.Model, Channel: ch, Purpose: p}
				c.know(l)
			}
		}
	}
	for _, t := range s.PricedTools[:min(len(s.PricedTools), MaxPricedTools)] {
		for _, ch := range s.Channels {
			c.know(costs.Labels{Provider: costs.ToolProvider, Model: t, Channel: ch, Purpose: costs.Tool})
		}
	}
}

// know is called with mu held.
func (c *Costs) know(l costs.Labels) {
	if !slices.Contains(c.Known, l) {
		c.Known = append(c.Known, l)
	}
}

func (c *Costs) known() []costs.Labels {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.Known)
}

// Describe is part of prometheus.Collector.
func (c *Costs) Describe(ch chan<- *prometheus.Desc) {
	ch <- c.desc
	ch <- c.toolsDesc
}

// Collect is part of prometheus.Collector. When the ledger cannot be read the
// series are missing from this scrape, rather than wrong.
func (c *Costs) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if c.Mine != nil && !c.Mine() {
		return
	}
	totals, err := c.Store.Totals(ctx)
	if c.Mine != nil && !c.Mine() { // not any more: another does
		return
	}
	if err != nil {
		ch <- prometheus.NewInvalidMetric(c.desc, err)
		return
	}
	known := c.known()
	sums := make(map[costs.Labels]costs.Amount, len(known)+len(totals))
	for _, l := range known {
		sums[l] = 0
	}
	for _, t := range totals {
		sums[t.Labels] += t.Amount
	}
	for l, a := range sums {
		desc, labels := c.desc, []string{l.Provider, l.Model, l.Channel, string(l.Purpose)}
		if l.Purpose == costs.Tool {
			desc, labels = c.toolsDesc, []string{l.Model, l.Channel}
		}
		m, err := prometheus.NewConstMetric(desc, prometheus.CounterValue, a.Dollars(), labels...)
		if err != nil { // a label that is no text, in an old row
			m = prometheus.NewInvalidMetric(desc, err)
		}
		ch <- m
	}
}
