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

func (p PigeonConfig) Bot(name string) Account {
	known := func(id string) error {
		if id == "" {
			return errors.New("no id")
		}
		return nil
	}
	return Account{
		Agent: p.Agent, Access: p.Access, BudgetPerDay: budgets.None, Waiting: policy.Waiting{}.Defaults(), Person: known, Group: known, IDKey: "loft", IDNoun: "bot",
		Open: func(e Env) (channels.Channel, error) { return p.Loft.Open(name, e.Observer, e.Now), nil },
	}
}

func (p PigeonConfig) Defaults() PigeonConfig {
	p.Agent = cmp.Or(p.Agent, "main")
	return p
}

func (p PigeonConfig) Validate(_ Config, _ string, add func(key, format string, args ...any), _ func(key string, err error)) {
	if p.Loft == nil {
		add("loft", "required: where the pigeons are")
	}
}

// AddPigeons registers the network through the table of networks, with these accounts.
func AddPigeons(c *Config, accounts map[string]PigeonConfig) {
	c.Channels.Further = append(c.Channels.Further, Describe(
		Network{Name: pigeontest.Network, MarksBots: true, CommandSign: pigeontest.CommandSign, Render: new(pigeontest.Channel).Render},
		func(*ChannelsConfig) *map[string]PigeonConfig { return &accounts },
	))
}
