package settings

import (
	"cmp"
	"time"

	"parley/channels"
	"parley/gateway/activity"
	"parley/gateway/budgets"
	"parley/gateway/policy"
)

// Common is what the configuration of every bot account has, whatever its network.
type Common struct {
	Agent  string        `yaml:"agent"` // which agent answers where no binding says another; default as the network's binding says, else main
	Access policy.Access `yaml:"access"`
	// BudgetPerDay is what may be spent on everything that comes by this
	// account, an amount of dollars or none. Default none.
	BudgetPerDay string `yaml:"budget_per_day"`
	// WhileBusy is what becomes of what a person says while a turn of theirs
	// runs: steer, queue, collect or interrupt. Default steer.
	WhileBusy policy.WhileBusy `yaml:"while_busy"`
	// Debounce is how long a person must be quiet before what they sent is taken
	// up, as one. Default 0: at once.
	Debounce time.Duration `yaml:"debounce"`
	// DebounceMax is the longest such wait in all. Default: five times Debounce.
	DebounceMax time.Duration `yaml:"debounce_max"`
	// Reactions are put on what people write: one while a turn works on it, another when
	// it was answered; emoji, or their names where the network has such. Default: none.
	Reactions channels.Reactions `yaml:"reactions"`
	// Activity is how much of what a turn does is shown while it runs.
	Activity activity.Config `yaml:"activity"`
}

// account returns what c says of an account.
func (c Common) account() Account {
	return Account{
		Agent: c.Agent, Access: c.Access, BudgetPerDay: c.BudgetPerDay, Waiting: c.waiting(), Reactions: c.Reactions, Activity: c.Activity,
	}
}

// waiting is what becomes of messages that wait.
func (c Common) waiting() policy.Waiting {
	return policy.Waiting{WhileBusy: c.WhileBusy, Debounce: c.Debounce, DebounceMax: c.DebounceMax}
}

func (c Common) withDefaults() Common {
	c.WhileBusy = c.waiting().Defaults().WhileBusy
	c.Activity = c.Activity.Defaults()
	c.BudgetPerDay = cmp.Or(c.BudgetPerDay, budgets.Unlimited)
	return c
}

// options returns what the adapter of an account gets from e.
func (e Env) options(name string) channels.Common {
	return channels.Common{Name: name, Observer: e.Observer, Log: e.Log, Now: e.Now}
}
