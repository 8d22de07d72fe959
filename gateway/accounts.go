package gateway

import (
	"cmp"
	"maps"
	"slices"

	"parley/channels"
	"parley/gateway/budgets"
	"parley/gateway/intake"
	"parley/gateway/worker"
)

// account is what every bot account has, whatever its network.
type account struct {
	name         string // of the instance
	path         string // in the configuration: channels.telegram.main
	agent        string
	access       intake.Access
	budgetPerDay string
	waiting      worker.Waiting
	secrets      []Secret
	person       func(id string) error // whether id can be a person's on this network
	group        func(id string) error // and a group's

	// lease names the account itself, so that one process receives and sends
	// for it, under whatever instance name.
	lease string
	// open makes the adapter. It starts nothing.
	open func(g *Gateway) (channels.Channel, error)
}

// accounts are all bot accounts, by their names.
func (c Config) accounts() []account {
	var all []account
	for name, t := range c.Channels.Telegram {
		all = append(all, t.account(name))
	}
	for name, s := range c.Channels.Slack {
		all = append(all, s.account(name))
	}
	for name, s := range c.Channels.Signal {
		all = append(all, s.account(name))
	}
	slices.SortFunc(all, func(a, b account) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.path, b.path)) })
	return all
}

// waiting is what becomes of messages that wait, by channel instance.
func (c Config) waiting() map[string]worker.Waiting {
	m := map[string]worker.Waiting{}
	for _, a := range c.accounts() {
		m[a.name] = a.waiting
	}
	return m
}

// validate is what holds for an account of any network.
func (a account) validate(agents map[string]AgentConfig, add func(path, format string, args ...any), check func(path string, err error)) {
	if !instanceName.MatchString(a.name) {
		add(a.path, "an instance name is %s", instanceName)
	}
	if _, ok := agents[a.agent]; !ok {
		add(a.path+".agent", "there is no agent %q; %s", a.agent, have(agents))
	}
	check(a.path+".access", a.access.Validate(a.person, a.group))
	_, err := budgets.Parse(a.budgetPerDay)
	check(a.path+".budget_per_day", err)
	check(a.path, a.waiting.Validate())
}

// validateChannels is the part of Validate that knows the networks.
func (c Config) validateChannels(add func(path, format string, args ...any), check func(path string, err error)) {
	all := c.accounts()
	if len(all) == 0 {
		add("channels", "required: no bot account is configured")
	}
	named := map[string]string{}
	for _, a := range all {
		if other, twice := named[a.name]; twice {
			add(a.path, "the instance name is that of %s already: names are unique over all networks", other)
		}
		named[a.name] = a.path
		a.validate(c.Agents, add, check)
	}
	hooked := append(c.validateTelegram(add, check), c.validateSlack(add, check)...)
	c.validateSignal(add, check)
	check("webhooks", c.Webhooks.Validate())
	switch {
	case len(hooked) > 0 && c.Webhooks.Listen == "":
		add("webhooks.listen", "required for %s: where to listen for what the network brings, host:port", hooked[0])
	case len(hooked) == 0 && c.Webhooks.Listen != "":
		add("webhooks.listen", "no channel has a webhook, so nothing would be served there")
	}
}

// named are the names of a network's accounts, in their order.
func named[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }
