package gateway

import (
	"parley/broker"
	"parley/gateway/ops"
	"parley/llm"
)

// wire makes everything that needs neither disk nor network.
func (g *Gateway) wire() error {
	first, err := g.newEdition(g.cfg)
	if err != nil {
		return err
	}
	g.metrics = ops.NewMetrics(first.sets)
	if g.editions, err = newEditions(g.setup, first); err != nil {
		return err
	}
	g.accounts, err = newAccounts(g.setup, first.sets.Channels)
	return err
}

// newCircuits makes what keeps calls away from models that do not work.
func (es *editions) newCircuits() *llm.Circuits {
	c := es.cfg.Circuit
	return &llm.Circuits{
		Failures: c.Failures, Cooldown: c.Cooldown, NoneBackoff: c.NoneBackoff, Now: es.o.Now,
		Changed: func(s llm.CircuitStatus) {
			es.metrics.SetCircuit(s)
			about := []any{"provider", s.Provider, "model", s.Model}
			switch s.State {
			case llm.CircuitOpen:
				es.o.Logger.Warn("model is not called any more until it may work again", append(about, "until", s.Until, "failures", s.Failures, "error", s.Last)...)
			case llm.CircuitProbing:
				es.o.Logger.Info("model is tried again", about...)
			case llm.CircuitClosed:
				es.o.Logger.Info("model works again", about...)
			}
		},
	}
}

func (s *setup) brokerOptions() broker.Options {
	o := s.cfg.BrokerOptions()
	o.Log, o.Now = s.o.Logger, s.o.Now
	return o
}
