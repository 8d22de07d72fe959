package gateway

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"parley/channels"
	"parley/gateway/admin"
	"parley/gateway/intake"
	"parley/gateway/settings"
	"parley/gateway/webhooks"
)

// accounts are the bot accounts of this process, each with its channel.
type accounts struct {
	*setup
	chans  []channels.Channel
	leases map[string]string // by instance
	status *admin.Channels
	intake *intake.Intake // set before any channel receives
}

// newAccounts makes the channels, which do nothing yet. names are all instances of the configuration.
func newAccounts(s *setup, names []string) (*accounts, error) {
	as := &accounts{setup: s, leases: map[string]string{}, status: admin.NewChannels(s.metrics, names, s.o.Now)}
	env := as.env()
	for _, a := range s.cfg.Accounts() {
		c, err := a.Open(env)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.Path, err)
		}
		if n, ok := c.(channels.Noted); ok {
			as.status.Note(a.Name, n.Note())
		}
		as.chans = append(as.chans, c)
		as.leases[a.Name] = a.Lease()
	}
	return as, nil
}

// env returns what the adapters get.
func (as *accounts) env() settings.Env {
	return settings.Env{
		StateDir: as.cfg.StateDir, Proxy: proxyTo, Keeper: as.o.Keeper, Observer: as.status, Log: as.o.Logger, Now: as.o.Now,
		// Intake is made when the gateway runs, and no channel receives before.
		Heeds: func(ctx context.Context, m channels.Message) bool { return as.intake.Heeds(ctx, m) },
		Uses:  func(ctx context.Context, m channels.Message) bool { return as.intake.Uses(ctx, m) },
	}
}

// openWebhooks opens the listener of the webhooks, if any channel has one.
func (as *accounts) openWebhooks(ctx context.Context) (*webhooks.Server, error) {
	hooks := map[string]http.Handler{}
	for _, c := range as.chans {
		if !as.cfg.HasRole(settings.RoleGateway) {
			break
		}
		if h, ok := c.(channels.WebhookReceiver); ok {
			if path, handler := h.Hook(); path != "" {
				hooks[path] = handler
			}
		}
	}
	return webhooks.New(ctx, as.cfg.Webhooks, hooks, as.o.Logger)
}

// linked returns those of the configured accounts that this process has and that are looked after
// through it, by their names.
func (as *accounts) linked(configured []settings.Account) map[string]admin.NamedAccount {
	all := map[string]admin.NamedAccount{}
	for _, a := range configured {
		i := slices.IndexFunc(as.chans, func(c channels.Channel) bool { return c.Name() == a.Name })
		if i < 0 || !as.cfg.HasRole(settings.RoleGateway) {
			continue
		}
		if l, ok := as.chans[i].(channels.LinkedAccount); ok {
			all[a.Name] = admin.NamedAccount{LinkedAccount: l, Network: a.Network.Name, Account: a.ID, Listed: a.Access.Groups}
		}
	}
	return all
}
