package gateway

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"

	"parley/broker"
	"parley/disks"
	"parley/findings"
	"parley/gateway/admin"
	"parley/gateway/doctor"
	"parley/gateway/listeners"
	"parley/gateway/settings"
	"parley/llm"
	"parley/sessions/redis"
	"parley/tools/sandbox"
)

// Examination sets what [Gateway.Examine] looks at beside the configuration.
type Examination struct {
	// Warnings are what is said of the configuration, each with its place.
	Warnings []string
	// Running asks the gateway that runs, which returns nil when none does; nil: none is asked.
	Running func(ctx context.Context) (*doctor.Running, error)
	// NoModels asks no provider.
	NoModels bool
	// NoServers asks no MCP server, and starts the program of none.
	NoServers bool
}

// Examine looks at everything that a gateway of this configuration stands on, and changes nothing. It
// is called in the place of Run, while another process may run the gateway.
func (g *Gateway) Examine(ctx context.Context, e Examination) ([]findings.Finding, error) {
	o := doctor.Options{
		StateDir: g.cfg.StateDir, UID: os.Geteuid(), Space: disks.SpaceAt, Now: g.o.Now,
		Warnings: e.Warnings, Running: e.Running, Channels: g.accounts.chans, PricesOf: newestPrice(g.present().cfg, g.prices.View()), Exposures: exposures(g.cfg),
	}
	if g.cfg.Broker.URL != "" {
		o.Log = func(ctx context.Context) (broker.Inspection, error) { return broker.Inspect(ctx, g.brokerOptions()) }
	}
	if g.cfg.Store.Redis.Used() {
		o.Redis = func(ctx context.Context) (redis.Inspection, error) {
			return redis.Inspect(ctx, g.cfg.Store.Redis.Options())
		}
	}
	if len(g.cfg.ProgramTools()) > 0 && g.cfg.HasRole(settings.RoleWorker) {
		o.Sandbox = func(ctx context.Context) (doctor.Sandbox, error) { return trySandbox(ctx, g.cfg) }
	}
	tracer, err := g.newTracer("")
	if err != nil {
		return nil, err
	}
	if tracer != nil {
		o.Traces = &doctor.Traces{Endpoint: tracer.Endpoint(), Examine: tracer.Examine}
	}
	if o.Models, err = g.present().modelsToExamine(e.NoModels); err != nil {
		return nil, err
	}
	rooms := examinationRooms{setup: g.setup}
	o.Servers = rooms.servers(ctx, e.NoServers)
	found := doctor.Examine(ctx, o)
	return found, rooms.close()
}

// trySandbox builds the walls, looks at them and takes them down.
func trySandbox(ctx context.Context, cfg settings.Config) (doctor.Sandbox, error) {
	c := cfg.Sandbox
	c.Getenv = os.LookupEnv
	s, err := sandbox.Open(ctx, c)
	if err != nil {
		return doctor.Sandbox{}, fmt.Errorf("open the sandbox: %w", err)
	}
	runs, why := s.Limits()
	found := doctor.Sandbox{LimitsOfRuns: runs, LimitsReason: why, Level: string(s.Level()), Backend: s.Backend(), Usable: s.Usable(), Reasons: s.Reasons(), Missing: toolsWithoutProgram(cfg)}
	if !s.Confines() {
		found.Unconfined = admin.ReachingTools(chosenHosts(cfg))
	}
	if err := s.Close(); err != nil {
		return found, fmt.Errorf("close the sandbox: %w", err)
	}
	return found, nil
}

// modelsToExamine returns the models that the configuration names, each once.
func (e *edition) modelsToExamine(unasked bool) (all []doctor.Model, err error) {
	c, limits := e.cfg, e.limits
	names := []string{c.Titles.Model, c.Context.Model, c.Transcription.Model}
	for _, a := range c.Agents {
		names = slices.Concat(names, []string{a.Model}, a.Fallbacks, a.Choices)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		provider, model, err := settings.SplitModel(name)
		if err != nil { // titles.model and its like may be none
			continue
		}
		m := doctor.Model{Name: name}
		p, ok := e.prices.Price(provider, model)
		if name == c.Transcription.Model {
			ok = ok && p.BillsAudio()
		}
		if ok && !p.Ceiling {
			m.Price = p.Source
		}
		m.Refused = !ok && limits.HasAny()
		if !unasked {
			dialled, err := e.dialer().dial(provider, model, llm.Lookup(model))
			if err != nil {
				return nil, fmt.Errorf("model %s: %w", name, err)
			}
			m.Pinger, _ = dialled.(llm.Pinger)
		}
		all = append(all, m)
	}
	return all, nil
}

// exposures returns what listens, or is used, that may have no password.
func exposures(c settings.Config) (all []doctor.Exposure) {
	if l := c.Ops.Listen; l != listeners.Off {
		all = append(all, doctor.Exposure{Kind: doctor.Metrics, Host: hostOf(l)})
	}
	b := c.Broker
	for address := range strings.SplitSeq(b.URL, ",") {
		if u, err := url.Parse(strings.TrimSpace(address)); err == nil && u.Host != "" {
			all = append(all, doctor.Exposure{Kind: doctor.NATS, Host: u.Hostname(), Guarded: b.TokenFile != "" || b.CredentialsFile != "" || u.User != nil})
		}
	}
	r := c.Store.Redis
	if u, err := url.Parse(r.URL.Reveal()); err == nil && u.Host != "" {
		_, password := u.User.Password()
		all = append(all, doctor.Exposure{Kind: doctor.Redis, Host: u.Hostname(), Guarded: r.PasswordFile != "" || password})
	}
	return all
}

// hostOf returns the host of host:port.
func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}
