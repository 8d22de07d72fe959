package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"parley/channels"
	"parley/gateway/budgets"
	"parley/gateway/policy"
)

// account is what every bot account has, whatever its network.
type account struct {
	network      network
	name         string // of the instance
	path         string // in the configuration: channels.<network>.<name>
	agent        string
	access       policy.Access
	groupContext int // messages that were not said to the bot
	budgetPerDay string
	waiting      policy.Waiting
	reactions    channels.Reactions
	secrets      []Secret
	proxy        Secret                // of which only what authenticates is one
	person       func(id string) error // whether id can be a person's on this network
	group        func(id string) error // and a group's
	hook         string                // the key that asks for a webhook; empty: it has none

	// id names the account itself at its network, under whatever instance name;
	// empty: that is not known. idKey is the key that says it, and idNoun what it
	// is the id of.
	id, idKey, idNoun string

	// open makes the adapter. It starts nothing.
	open func(g *Gateway) (channels.Channel, error)
	// validateOwn reports mistakes in what only its network has.
	validateOwn func(add func(path, format string, args ...any), check func(path string, err error))
}

// at is the path of one of the account's keys; "" is the account itself.
func (a account) at(key string) string {
	if key == "" {
		return a.path
	}
	return a.path + "." + key
}

// lease names the lease under which one process receives and sends for the
// account. Such a name takes no plus, with which numbers begin.
func (a account) lease() string {
	return "channel." + a.network.name + "." + strings.TrimPrefix(a.id, "+")
}

// accounts are all bot accounts, by their names.
func (c Config) accounts() []account {
	var all []account
	for _, n := range c.Channels.networks() {
		all = append(all, n.accounts(c)...)
	}
	slices.SortFunc(all, func(a, b account) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.path, b.path)) })
	return all
}

// waiting is what becomes of messages that wait, by channel instance.
func (c Config) waiting() map[string]policy.Waiting {
	m := map[string]policy.Waiting{}
	for _, a := range c.accounts() {
		m[a.name] = a.waiting
	}
	return m
}

// reactions are what is put on messages, by channel instance.
func (c Config) reactions() map[string]channels.Reactions {
	m := map[string]channels.Reactions{}
	for _, a := range c.accounts() {
		if a.reactions.Any() {
			m[a.name] = a.reactions
		}
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

// validateChannels reports the mistakes in the bot accounts.
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
	var hooked []string
	for _, n := range c.Channels.networks() {
		owners := map[string]string{} // the paths of accounts by their ids
		for _, a := range n.accounts(c) {
			a.validateOwn(add, check)
			if other, twice := owners[a.id]; twice && a.id != "" {
				add(a.at(a.idKey), "the %s is that of %s already; only one may receive for it", a.idNoun, other)
			}
			owners[a.id] = a.path
			if a.hook != "" {
				hooked = append(hooked, a.at(a.hook))
			}
		}
	}
	check("webhooks", c.Webhooks.Validate())
	switch {
	case len(hooked) > 0 && c.Webhooks.Listen == "":
		add("webhooks.listen", "required for %s: where to listen for what the network brings, host:port", hooked[0])
	case len(hooked) == 0 && c.Webhooks.Listen != "":
		add("webhooks.listen", "no channel has a webhook, so nothing would be served there")
	}
}

// uses reports whether anything is done with a message that an account receives.
func (g *Gateway) uses(ctx context.Context, m channels.Message) bool { return g.intake.Uses(ctx, m) }

// heeds is a channels.Heeds of all accounts.
func (g *Gateway) heeds(ctx context.Context, m channels.Message) bool { return g.intake.Heeds(ctx, m) }

// mostGroupContext is the most messages of a group that come with a question.
const mostGroupContext = 200

var errNoGroups = errors.New("it keeps what is said in the groups of access.groups, and none is listed")

func checkGroupContext(n int, a policy.Access) error {
	switch {
	case n < 0 || n > mostGroupContext:
		return fmt.Errorf("%d is not 0 to %d", n, mostGroupContext)
	case n > 0 && len(a.Groups) == 0:
		return errNoGroups
	}
	return nil
}
