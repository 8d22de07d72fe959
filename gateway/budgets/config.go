// Package budgets says how much may be spent on whom: what an operator sets,
// the scopes that every model call is reserved against, and the sentence for
// the person whose call does not fit.
package budgets

import (
	"cmp"
	"errors"
	"fmt"

	"parley/costs"
	"parley/problems"
)

// Config is the budgets of a gateway, each an amount of dollars such as "5" or
// "0.25", or [Unlimited]. The zero value has the defaults. Days and months are those
// of UTC.
type Config struct {
	// Turn is for one message and everything that follows from it, sub-agents
	// included. Default 1.
	Turn string `yaml:"turn"`
	// Session is for a conversation with its sub-agents, until /new. It counts
	// from when it is set. Default 20.
	Session string `yaml:"session"`
	// PersonPerDay is for everything that one person asks for, in groups too.
	// Default 5.
	PersonPerDay string `yaml:"person_per_day"`
	// GroupPerDay is for everything that is asked for in one group. Default 10.
	GroupPerDay string `yaml:"group_per_day"`
	// GlobalPerDay and GlobalPerMonth are for everything. Defaults 50 and unlimited.
	GlobalPerDay   string `yaml:"global_per_day"`
	GlobalPerMonth string `yaml:"global_per_month"`
	// Pause has approvers asked at the end of a budget, in the place of a refusal.
	Pause PauseConfig `yaml:"pause"`
}

// Unlimited switches a budget off; "none", as it was called at first, does so too.
const Unlimited = "unlimited"

func isUnlimited(text string) bool { return text == Unlimited || text == "none" }

// Defaults fills in what is not said.
func (c Config) Defaults() Config {
	c.Turn = cmp.Or(c.Turn, "1")
	c.Session = cmp.Or(c.Session, "20")
	c.PersonPerDay = cmp.Or(c.PersonPerDay, "5")
	c.GroupPerDay = cmp.Or(c.GroupPerDay, "10")
	c.GlobalPerDay = cmp.Or(c.GlobalPerDay, "50")
	c.GlobalPerMonth = cmp.Or(c.GlobalPerMonth, Unlimited)
	c.Pause = c.Pause.defaults()
	return c
}

// WithoutAny returns a Config without any budget.
func WithoutAny() Config {
	return Config{
		Turn: Unlimited, Session: Unlimited, PersonPerDay: Unlimited, GroupPerDay: Unlimited, GlobalPerDay: Unlimited, GlobalPerMonth: Unlimited,
	}
}

// field is one key of a Config.
type field struct {
	key  string
	text string
	into func(*Limits) *costs.Amount
}

func (c Config) fields() []field {
	return []field{
		{"turn", c.Turn, func(l *Limits) *costs.Amount { return &l.Turn }},
		{"session", c.Session, func(l *Limits) *costs.Amount { return &l.Session }},
		{"person_per_day", c.PersonPerDay, func(l *Limits) *costs.Amount { return &l.Person }},
		{"group_per_day", c.GroupPerDay, func(l *Limits) *costs.Amount { return &l.Group }},
		{"global_per_day", c.GlobalPerDay, func(l *Limits) *costs.Amount { return &l.Day }},
		{"global_per_month", c.GlobalPerMonth, func(l *Limits) *costs.Amount { return &l.Month }},
	}
}

// Validate reports which fields are no budget. It is asked after Defaults.
func (c Config) Validate() error {
	_, err := c.Limits()
	return err
}

// Limits are the amounts of c, which Validate accepts.
func (c Config) Limits() (l Limits, err error) {
	var ps problems.List
	for _, f := range c.fields() {
		a, err := Parse(f.text)
		ps.Check(f.key, err)
		*f.into(&l) = a
	}
	l.Pause = c.pause(&ps)
	return l, ps.Err()
}

var errAmount = errors.New("a budget is dollars such as 5 or 0.25, or unlimited")

// Parse reads an amount above 0, exactly and with at most twelve decimals, or
// Unlimited, which is 0.
func Parse(text string) (costs.Amount, error) {
	if isUnlimited(text) {
		return 0, nil
	}
	a, err := costs.ParseAmount(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%w; %w", errAmount, err)
	case a <= 0:
		return 0, fmt.Errorf("%w; %s would refuse every call", errAmount, a)
	}
	return a, nil
}
