package budgets

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"parley/costs"
	"parley/problems"
	"parley/sessions"
)

// PauseConfig says at the end of which budgets work waits for an approver, who may raise it.
type PauseConfig struct {
	// RaiseBy is by how many dollars one permission raises each budget that may be raised, by its
	// key: session, person_per_day, group_per_day, channel_per_day (which is budget_per_day of the
	// account), global_per_day and global_per_month. Empty: nobody is asked.
	RaiseBy map[string]string `yaml:"raise_by"`
	// RaiseFor is how long a raised budget holds, 1m to 24h, and not longer than its day or
	// month. Default 1h.
	RaiseFor time.Duration `yaml:"raise_for"`
}

// DefaultRaiseFor is how long a raised budget holds where nothing is said.
const DefaultRaiseFor = time.Hour

// ChannelKey is the key of an account's budget_per_day in [PauseConfig.RaiseBy].
const ChannelKey = "channel_per_day"

func (c PauseConfig) defaults() PauseConfig {
	if c.RaiseFor == 0 {
		c.RaiseFor = DefaultRaiseFor
	}
	return c
}

// raisable are the budgets that can be raised, by their keys.
func raisable() [6]struct {
	key   string
	scope sessions.Scope
} {
	return [...]struct {
		key   string
		scope sessions.Scope
	}{
		{ChannelKey, sessions.Scope{Kind: Channel}},
		{"global_per_day", sessions.Scope{Kind: Global}},
		{"global_per_month", sessions.Scope{Kind: Global, Window: costs.Month}},
		{"group_per_day", sessions.Scope{Kind: Group}},
		{"person_per_day", sessions.Scope{Kind: Person}},
		{"session", sessions.Scope{Kind: Session, Window: costs.Always}},
	}
}

// pause returns what c says about pauses, and adds what cannot be to ps.
func (c Config) pause(ps *problems.List) Pause {
	p := Pause{For: c.Pause.defaults().RaiseFor}
	if p.For < time.Minute || p.For > 24*time.Hour {
		ps.Add("pause.raise_for", "%s is not 1m to 24h", p.For)
	}
	for _, key := range slices.Sorted(maps.Keys(c.Pause.RaiseBy)) {
		path := "pause.raise_by." + key
		text := c.Pause.RaiseBy[key]
		amount, err := Parse(text)
		switch {
		case key == "turn" || key == "max_turn_cost":
			ps.Add(path, "the budget of one message is not raised: whoever writes again goes on with a new one")
		case !slices.Contains(RaisableKeys(), key):
			ps.Add(path, "no such budget: there are %s", strings.Join(RaisableKeys(), ", "))
		case err != nil || amount == 0:
			ps.Add(path, "%q is not by how many dollars it is raised, such as 5 or 0.25", text)
		case c.isOff(key):
			ps.Add(path, "budgets.%s is none, so there is nothing to raise", key)
		default:
			if p.By == nil {
				p.By = map[string]costs.Amount{}
			}
			p.By[key] = amount
		}
	}
	if !p.Offers() {
		return Pause{}
	}
	return p
}

// isOff reports whether the budget of that key is none.
func (c Config) isOff(key string) bool {
	i := slices.IndexFunc(c.fields(), func(f field) bool { return f.key == key })
	return i >= 0 && isUnlimited(c.fields()[i].text)
}

// Pause says which budgets an approver may raise, and by how much for how long.
type Pause struct {
	By  map[string]costs.Amount `json:"by,omitempty"` // by their keys in the configuration
	For time.Duration           `json:"for,omitempty"`
}

// Offers reports whether any budget may be raised.
func (p Pause) Offers() bool { return len(p.By) > 0 }

// Amount returns by how much a scope's budget may be raised; 0: it may not.
func (p Pause) Amount(kind string, w costs.Window) costs.Amount { return p.By[KeyOf(kind, w)] }

// KeyOf returns by which key the budget of a scope is configured; "": it cannot be raised.
func KeyOf(kind string, w costs.Window) string {
	for _, r := range raisable() {
		if r.scope.Kind == kind && r.scope.Window == w {
			return r.key
		}
	}
	return ""
}

// RaisableKeys returns the keys of the budgets that can be raised, in their order.
func RaisableKeys() (keys []string) {
	for _, r := range raisable() {
		keys = append(keys, r.key)
	}
	return keys
}

// ScopeOf returns the scope of a root turn that has refused, without a limit; false: it is none that
// can be raised.
func (l Limits) ScopeOf(e *costs.BudgetError, t sessions.Turn) (s sessions.Scope, ok bool) {
	switch {
	case KeyOf(e.Scope, e.Window) == "":
		return s, false
	case e.Scope == Session:
		s = l.SessionScope(t.Session)
	case e.Scope == Person:
		s = l.PersonScope(t.From, t.Sender)
	case e.Scope == Group:
		s = l.GroupScope(t.From)
	case e.Scope == Channel:
		s = l.ChannelScope(t.Channel)
	default:
		s = sessions.Scope{Kind: Global, Window: e.Window}
	}
	s.Limit = 0
	return s, true
}

// Describe says which budget ended work, for somebody who may raise it.
func Describe(e *costs.BudgetError) string {
	return fmt.Sprintf("budget: %s of %s, of which %s is used or set aside\nneeded now: up to %s", KeyOf(e.Scope, e.Window), e.Limit, e.Spent, e.Need)
}
