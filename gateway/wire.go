package gateway

import (
	"context"
	"fmt"
	"net/http"

	"parley/broker"
	"parley/channels"
	"parley/gateway/admin"
	"parley/gateway/ops"
	"parley/gateway/settings"
	"parley/gateway/webhooks"
	"parley/llm"
)

// wire makes everything that needs neither disk nor network.
func (g *Gateway) wire() error {
	g.leases = map[string]string{}
	first, err := g.newEdition(g.cfg)
	if err != nil {
		return err
	}
	g.metrics = ops.NewMetrics(first.sets)
	g.channelStatus = admin.NewChannels(g.metrics, first.sets.Channels, g.o.Now)
	if g.editions, err = newEditions(g.setup, first); err != nil {
		return err
	}
	env := g.env()
	for _, a := range g.cfg.Accounts() {
		c, err := a.Open(env)
		if err != nil {
			return fmt.Errorf("%s: %w", a.Path, err)
		}
		if n, ok := c.(channels.Noted); ok {
			g.channelStatus.Note(a.Name, n.Note())
		}
		g.chans = append(g.chans, c)
		g.leases[a.Name] = a.Lease()
	}
	return nil
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

// env returns what the adapters get.
func (g *Gateway) env() settings.Env {
	return settings.Env{
		StateDir: g.cfg.StateDir, Proxy: proxyTo, Keeper: g.o.Keeper, Observer: g.channelStatus, Log: g.o.Logger, Now: g.o.Now,
		// Intake is made when the gateway runs, and no channel receives before.
		Heeds: func(ctx context.Context, m channels.Message) bool { return g.intake.Heeds(ctx, m) },
		Uses:  func(ctx context.Context, m channels.Message) bool { return g.intake.Uses(ctx, m) },
	}
}

// openWebhooks opens the listener of the webhooks, if any channel has one.
func (g *Gateway) openWebhooks(ctx context.Context) (*webhooks.Server, error) {
	hooks := map[string]http.Handler{}
	for _, c := range g.chans {
		if !g.cfg.HasRole(settings.RoleGateway) {
			break
		}
		if h, ok := c.(channels.WebhookReceiver); ok {
			if path, handler := h.Hook(); path != "" {
				hooks[path] = handler
			}
		}
	}
	return webhooks.New(ctx, g.cfg.Webhooks, hooks, g.o.Logger)
}

func (s *setup) brokerOptions() broker.Options {
	o := s.cfg.BrokerOptions()
	o.Log, o.Now = s.o.Logger, s.o.Now
	return o
}
