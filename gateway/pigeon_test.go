package gateway_test

import (
	"cmp"
	"errors"

	"parley/channels"
	"parley/channels/pigeontest"
	"parley/gateway/budgets"
	"parley/gateway/policy"
	"parley/gateway/settings"
	"parley/problems"
)

// pigeonConfig is one bot on a network that exists for tests only. It is all that a
// network needs beside its adapter and its row, which is in addPigeons.
type pigeonConfig struct {
	Loft   *pigeontest.Loft
	Agent  string
	Access policy.Access
}

func (p pigeonConfig) Bot(name string) settings.Account {
	known := func(id string) error {
		if id == "" {
			return errors.New("no id")
		}
		return nil
	}
	return settings.Account{
		Agent: p.Agent, Access: p.Access, BudgetPerDay: budgets.Unlimited, Waiting: policy.Waiting{}.Defaults(), Person: known, Group: known, IDKey: "loft", IDNoun: "bot",
		Open: func(e settings.Env) (channels.Channel, error) { return p.Loft.Open(name, e.Observer, e.Now), nil },
	}
}

func (p pigeonConfig) Defaults() pigeonConfig {
	p.Agent = cmp.Or(p.Agent, "main")
	return p
}

func (p pigeonConfig) Validate(_ settings.Config, _ string) error {
	if p.Loft == nil {
		return problems.At("loft", "%w: where the pigeons are", problems.ErrRequired)
	}
	return nil
}

// addPigeons registers the network through the table of networks, with these accounts.
func addPigeons(c *settings.Config, accounts map[string]pigeonConfig) {
	c.Channels.Further = append(c.Channels.Further, settings.Describe(
		settings.Network{Name: pigeontest.Network, MarksBots: true, CommandSign: pigeontest.CommandSign, Render: new(pigeontest.Channel).Render},
		func(*settings.ChannelsConfig) *map[string]pigeonConfig { return &accounts },
	))
}
