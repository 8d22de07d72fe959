package settings

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"parley/channels"
	"parley/channels/signal"
	"parley/channels/slack"
	"parley/channels/telegram"
	"parley/costs"
	"parley/findings"
	"parley/gateway/budgets"
	"parley/sessionkeys"
)

// ChannelsConfig is the bot accounts, by network and by an instance name that
// becomes a label in the metrics. Instance names are unique over all networks.
type ChannelsConfig struct {
	Telegram map[string]TelegramConfig `yaml:"telegram"`
	Slack    map[string]SlackConfig    `yaml:"slack"`
	Signal   map[string]SignalConfig   `yaml:"signal"`

	// Further are networks whose accounts stand in no file. Tests add theirs.
	Further []Network
}

// Networks returns every network that accounts may be on.
func (c ChannelsConfig) Networks() []Network { return append(networks(), c.Further...) }

// networks returns every network that has an adapter. A new one is a row here, a
// field of ChannelsConfig, and a file with the type of that field.
func networks() []Network {
	return []Network{
		Describe(Network{Name: telegram.Network, MarksBots: true, Render: new(telegram.Channel).Render, Kinds: telegram.Kinds},
			func(c *ChannelsConfig) *map[string]TelegramConfig { return &c.Telegram }),
		Describe(Network{Name: slack.Network, MarksBots: true, CommandSign: slack.CommandSign, Render: new(slack.Channel).Render, Kinds: slack.Kinds},
			func(c *ChannelsConfig) *map[string]SlackConfig { return &c.Slack }),
		Describe(Network{Name: signal.Network, Render: new(signal.Channel).Render, Kinds: signal.Kinds, Disk: Config.signalJournals},
			func(c *ChannelsConfig) *map[string]SignalConfig { return &c.Signal }),
	}
}

// Network describes one chat network. All that the gateway does by network
// follows from it.
type Network struct {
	Name      string // in addresses, in session keys, and below channels in the configuration
	MarksBots bool   // it says which senders are bots
	// CommandSign is what people type before a command; empty: a slash.
	CommandSign string
	Render      func(markdown string) []channels.Body
	// Kinds are what its accounts may be found to have when somebody examines them; may be nil.
	Kinds func() []findings.Kind
	// Disk returns the folder on whose disk a process needs room because of the network, or
	// nil; may be nil.
	Disk func(c Config) *Disk

	// accounts lists the configured accounts in the order of their names, and
	// setDefaults fills in what they leave out. Both are set by Describe.
	accounts    func(c Config) []Account
	setDefaults func(c *ChannelsConfig)
}

// FindingKinds returns what accounts may be found to have, network by network.
func (c ChannelsConfig) FindingKinds() (all []findings.Kind) {
	for _, n := range c.Networks() {
		if n.Kinds != nil {
			all = append(all, n.Kinds()...)
		}
	}
	return all
}

// Disk is a folder on whose disk a process needs room, if the folder is there.
type Disk struct {
	Name   string // as readiness says it
	Metric string // as parley_dependency_up names it
	Dir    string
}

// AccountConfig is the configuration of one account of a network.
type AccountConfig[T any] interface {
	Defaults() T
	// Bot describes the account of that instance name; Describe sets its
	// Name, Path and Network.
	Bot(name string) Account
	// Validate reports the mistakes in what only this network has, as a problems.List with
	// paths below the account.
	Validate(c Config, name string) error
}

// Describe completes n by where in the configuration its accounts stand.
func Describe[T AccountConfig[T]](n Network, field func(*ChannelsConfig) *map[string]T) Network {
	n.setDefaults = func(c *ChannelsConfig) {
		all := field(c)
		*all = maps.Clone(*all)
		for name, t := range *all {
			(*all)[name] = t.Defaults()
		}
	}
	n.accounts = func(c Config) (all []Account) {
		configured := *field(&c.Channels)
		for _, name := range slices.Sorted(maps.Keys(configured)) {
			a := configured[name].Bot(name)
			a.Name, a.Network, a.Path = name, n, "channels."+n.Name+"."+name
			a.saysAgent = a.Agent != ""
			a.Agent = cmp.Or(a.Agent, c.Bindings.agentOfNetwork(n.Name))
			a.validateOwn = func() error { return configured[name].Validate(c, name) }
			all = append(all, a)
		}
		return all
	}
	return n
}

// Command returns what people type on a network for the command of that name.
func (c ChannelsConfig) Command(network, name string) string {
	for _, n := range c.Networks() {
		if n.Name == network {
			return cmp.Or(n.CommandSign, "/") + name
		}
	}
	return "/" + name
}

// Why says to a person why a call of their conversation was refused, with the commands
// as they type them.
func (c ChannelsConfig) Why(in sessionkeys.Key, e *costs.BudgetError) string {
	return budgets.Explain(e, c.Command(in.Address().Channel, "new"))
}

// Render renders Markdown as a network shows it, or as plain text where the
// network is not known.
func Render(name, markdown string) []channels.Body {
	for _, n := range networks() {
		if n.Name == name {
			return n.Render(markdown)
		}
	}
	return []channels.Body{{Text: strings.TrimSpace(markdown)}}
}

// Why says to a person why a call of their conversation was refused, with the commands
// as people type them on its network.
func Why(in sessionkeys.Key, e *costs.BudgetError) string { return ChannelsConfig{}.Why(in, e) }
