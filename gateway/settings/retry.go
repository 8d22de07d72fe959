package settings

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"parley/problems"
)

// RetryConfig is how often a failed model call is tried again. A call that has
// shown a word of its answer never is, nor one that waiting cannot mend.
type RetryConfig struct {
	Max    int           `yaml:"max_retries"` // after the first try; default 8, -1 for none
	Base   time.Duration `yaml:"base"`        // before the first retry, doubled each time; default 2s
	Cap    time.Duration `yaml:"cap"`         // longest wait, and longest that a provider may ask for; default 60s
	Window time.Duration `yaml:"window"`      // no try begins later than this after the first; default 2m
	// Statuses are those of HTTP after which a call is tried again. Default
	// llm.RetryStatuses.
	Statuses []int `yaml:"statuses"`
}

// or returns c, with what it does not say taken from d.
func (c RetryConfig) or(d RetryConfig) RetryConfig {
	c.Max, c.Base = cmp.Or(c.Max, d.Max), cmp.Or(c.Base, d.Base)
	c.Cap, c.Window = cmp.Or(c.Cap, d.Cap), cmp.Or(c.Window, d.Window)
	if c.Statuses == nil {
		c.Statuses = d.Statuses
	}
	return c
}

// unlike returns c without what d says as well, where a mistake is reported already.
func (c RetryConfig) unlike(d RetryConfig) RetryConfig {
	clearSame(&c.Max, d.Max)
	clearSame(&c.Base, d.Base)
	clearSame(&c.Cap, d.Cap)
	clearSame(&c.Window, d.Window)
	if slices.Equal(c.Statuses, d.Statuses) {
		c.Statuses = nil
	}
	return c
}

// hopeless are statuses of what waiting cannot mend: the request, the key or the account.
var hopeless = []int{400, 401, 402, 403, 413, 422}

// validate reports the mistakes in a rule for failed calls.
func (c RetryConfig) validate(ps *problems.List, path string) {
	if c.Max < -1 || c.Max > 100 {
		ps.Add(path+".max_retries", "%d is not -1 to 100", c.Max)
	}
	for key, d := range map[string]time.Duration{"base": c.Base, "cap": c.Cap, "window": c.Window} {
		if d < 0 {
			ps.Add(path+"."+key, "%s is negative", d)
		}
	}
	validateStatuses(ps, path+".statuses", c.Statuses)
}

// validateStatuses reports the mistakes in the statuses after which a call is tried again.
func validateStatuses(ps *problems.List, path string, statuses []int) {
	for i, s := range statuses {
		at := fmt.Sprintf("%s[%d]", path, i)
		switch {
		case s < 400 || s > 599:
			ps.Add(at, "%d is not 400 to 599", s)
		case slices.Contains(hopeless, s):
			ps.Add(at, "%d says that something is wrong with the request, the key or the account, which waiting does not mend", s)
		}
	}
}
