package gateway

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
	"parley/gateway/budgets"
	"parley/sessionkeys"
)

// ChannelsConfig is the bot accounts, by network and by an instance name that
// becomes a label in the metrics. Instance names are unique over all networks.
type ChannelsConfig struct {
	Telegram map[string]TelegramConfig `yaml:"telegram"`
	Slack    map[string]SlackConfig    `yaml:"slack"`
	Signal   map[string]SignalConfig   `yaml:"signal"`

	// further are networks whose accounts stand in no file. Tests add theirs.
	further []network
}

// networks returns every network that accounts may be on.
func (c ChannelsConfig) networks() []network { return append(networks(), c.further...) }

// networks returns every network that has an adapter. A new one is a row here, a
// field of ChannelsConfig, and a file with the type of that field.
func networks() []network {
	return []network{
		describe(network{name: telegram.Network, marksBots: true, render: new(telegram.Channel).Render},
			func(c *ChannelsConfig) *map[string]TelegramConfig { return &c.Telegram }),
		describe(network{name: slack.Network, marksBots: true, commandSign: slack.CommandSign, render: new(slack.Channel).Render},
			func(c *ChannelsConfig) *map[string]SlackConfig { return &c.Slack }),
		describe(network{name: signal.Network, render: new(signal.Channel).Render, vital: Config.signalJournals},
			func(c *ChannelsConfig) *map[string]SignalConfig { return &c.Signal }),
	}
}

// network describes one chat network. All that the gateway does by network
// follows from it.
type network struct {
	name      string // in addresses, in session keys, and below channels in the configuration
	marksBots bool   // it says which senders are bots
	// commandSign is what people type before a command; empty: a slash.
	commandSign string
	render      func(markdown string) []channels.Body
	vital       func(c Config) *vital // what this process cannot work without because of it, or nil; may be nil

	// accounts lists the configured accounts in the order of their names, and
	// setDefaults fills in what they leave out. Both are set by describe.
	accounts    func(c Config) []account
	setDefaults func(c *ChannelsConfig)
}

// accountConfig is the configuration of one account of a network.
type accountConfig[T any] interface {
	defaults() T
	// account describes the account of that instance name; describe sets its
	// name, path, network and validateOwn.
	account(name string) account
	// validate reports the mistakes in what only this network has. Keys are
	// relative to the account; "" is the account itself.
	validate(c Config, name string, add func(key, format string, args ...any), check func(key string, err error))
}

// describe completes n by where in the configuration its accounts stand.
func describe[T accountConfig[T]](n network, field func(*ChannelsConfig) *map[string]T) network {
	n.setDefaults = func(c *ChannelsConfig) {
		all := field(c)
		*all = maps.Clone(*all)
		for name, t := range *all {
			(*all)[name] = t.defaults()
		}
	}
	n.accounts = func(c Config) (all []account) {
		configured := *field(&c.Channels)
		for _, name := range slices.Sorted(maps.Keys(configured)) {
			a := configured[name].account(name)
			a.name, a.network, a.path = name, n, "channels."+n.name+"."+name
			a.validateOwn = func(add func(path, format string, args ...any), check func(path string, err error)) {
				configured[name].validate(c, name,
					func(key, format string, args ...any) { add(a.at(key), format, args...) },
					func(key string, err error) { check(a.at(key), err) })
			}
			all = append(all, a)
		}
		return all
	}
	return n
}

// command returns what people type on a network for the command of that name.
func (c ChannelsConfig) command(network, name string) string {
	for _, n := range c.networks() {
		if n.name == network {
			return cmp.Or(n.commandSign, "/") + name
		}
	}
	return "/" + name
}

// why says to a person why a call of their conversation was refused, with the commands
// as they type them.
func (c ChannelsConfig) why(in sessionkeys.Key, e *costs.BudgetError) string {
	return budgets.Why(e, c.command(in.Address().Channel, "new"))
}

// Render renders Markdown as a network shows it, or as plain text where the
// network is not known.
func Render(name, markdown string) []channels.Body {
	for _, n := range networks() {
		if n.name == name {
			return n.render(markdown)
		}
	}
	return []channels.Body{{Text: strings.TrimSpace(markdown)}}
}

// Why says to a person why a call of their conversation was refused, with the commands
// as people type them on its network.
func Why(in sessionkeys.Key, e *costs.BudgetError) string { return ChannelsConfig{}.why(in, e) }
