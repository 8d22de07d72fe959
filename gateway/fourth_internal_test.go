package gateway

import (
	"cmp"
	"errors"

	"parley/channels"
	"parley/channels/pigeontest"
	"parley/gateway/budgets"
	"parley/gateway/policy"
)

// PigeonConfig is one bot on a network that exists for tests only. It is all that a
// network needs beside its adapter and its row, which is in AddPigeons.
type PigeonConfig struct {
	Loft   *pigeontest.Loft
	Agent  string
	Access policy.Access
}

func (p PigeonConfig) account(name string) account {
	known := func(id string) error {
		if id == "" {
			return errors.New("no id")
		}
		return nil
	}
	return account{
		agent: p.Agent, access: p.Access, budgetPerDay: budgets.None, waiting: policy.Waiting{}.Defaults(), person: known, group: known, idKey: "loft", idNoun: "bot",
		open: func(g *Gateway) (channels.Channel, error) { return p.Loft.Open(name, g.watched, g.o.Now), nil },
	}
}

func (p PigeonConfig) defaults() PigeonConfig {
	p.Agent = cmp.Or(p.Agent, "main")
	return p
}

func (p PigeonConfig) validate(_ Config, _ string, add func(key, format string, args ...any), _ func(key string, err error)) {
	if p.Loft == nil {
		add("loft", "required: where the pigeons are")
	}
}

// AddPigeons registers the network through the table of networks, with these accounts.
func AddPigeons(c *Config, accounts map[string]PigeonConfig) {
	c.Channels.further = append(c.Channels.further, describe(
		network{name: pigeontest.Network, marksBots: true, commandSign: pigeontest.CommandSign, render: new(pigeontest.Channel).Render},
		func(*ChannelsConfig) *map[string]PigeonConfig { return &accounts },
	))
}
