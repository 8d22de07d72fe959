package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"parley/agent/pressure"
	"parley/agent/prompt"
	"parley/broker"
	"parley/channels"
	"parley/gateway/admin"
	"parley/gateway/ops"
	"parley/gateway/prices"
	"parley/gateway/settings"
	"parley/gateway/webhooks"
	"parley/gateway/worker"
	"parley/llm"
	"parley/problems"
)

// wire makes everything that needs neither disk nor network.
func (g *Gateway) wire() error {
	g.leases = map[string]string{}
	g.sets.Version = g.o.Version
	g.sets.Tools = settings.ToolNames()
	g.sets.Depth = max(g.cfg.Subagents.MaxDepth, 1)
	accounts := g.cfg.Accounts()
	for _, a := range accounts {
		g.sets.Channels = append(g.sets.Channels, a.Name)
	}
	if err := g.readPrompts(); err != nil {
		return err
	}
	if err := g.wireAgents(); err != nil {
		return err
	}
	var err error
	if g.transcription, err = g.newTranscription(g.dialer()); err != nil {
		return problems.List{{Path: "transcription", Err: err}}
	}
	g.metrics = ops.NewMetrics(g.sets)
	g.channelStatus = admin.NewChannels(g.metrics, g.sets.Channels, g.o.Now)
	g.metrics.CountReload(true, g.o.Now())
	if g.prices, err = prices.Open(prices.Options{
		Config: g.cfg.Prices, Families: familiesOf(g.cfg), Fixed: g.cfg.Transcription.FixedPrices(), Parse: g.o.ParsePrices,
		Observer: g.metrics, Log: g.o.Logger, Now: g.o.Now,
	}); err != nil {
		return problems.List{{Path: "prices.file", Err: err}}
	}
	g.circuits = g.newCircuits()
	g.metrics.SetPricesDate(g.prices.View().Newest())
	g.warnUnpriced()
	g.warnWindows()
	env := g.env()
	for _, a := range accounts {
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

func (g *Gateway) dialer() dialer { return dialer{g.cfg.Providers, g.cfg.Worker.Turns} }

// wireAgents makes the agents with their models.
func (g *Gateway) wireAgents() error {
	models := g.dialer()
	g.agents = map[string]worker.Agent{}
	for _, name := range slices.Sorted(maps.Keys(g.cfg.Agents)) {
		a := g.cfg.Agents[name]
		m, sees, err := models.model(a)
		if err != nil {
			return problems.List{{Path: "agents." + name + ".model", Err: err}}
		}
		g.agents[name] = worker.Agent{
			Model: m, MaxSteps: a.MaxIterations, MaxTokens: a.MaxTokens, Window: a.Window, SeesPictures: sees,
			Parameters: a.Parameters(), ToolTimeout: a.ToolTimeout, ToolOutput: a.ToolOutput,
			Prompt: func() prompt.Agent { return g.prompts.agent(name) },
		}
		g.noteModel(m, a.Window)
		if err := g.wireFallbacks(name, a); err != nil {
			return err
		}
	}
	return nil
}

// wireFallbacks opens the models that an agent falls back to.
func (g *Gateway) wireFallbacks(name string, a settings.AgentConfig) error {
	answers := g.agents[name]
	chain := []ops.ModelName{nameOf(answers.Model)}
	for i, f := range g.cfg.FallbacksOf(a) {
		b, err := g.dialer().fallback(a, f)
		if err != nil {
			return problems.List{{Path: fmt.Sprintf("agents.%s.fallbacks[%d]", name, i), Err: err}}
		}
		answers.Fallbacks = append(answers.Fallbacks, b)
		g.noteModel(b.Model, b.Window)
		to := nameOf(b.Model)
		for _, from := range chain {
			g.sets.Fallbacks = append(g.sets.Fallbacks, [2]ops.ModelName{from, to})
		}
		chain = append(chain, to)
	}
	g.agents[name] = answers
	return nil
}

func nameOf(m llm.Model) ops.ModelName {
	return ops.ModelName{Provider: m.Provider(), Model: m.Name()}
}

// noteModel notes a model of an agent, with the window that the operator gives it; 0: none.
func (g *Gateway) noteModel(m llm.Model, window int) {
	n := nameOf(m)
	if !slices.Contains(g.sets.Models, n) {
		g.sets.Models = append(g.sets.Models, n)
	}
	g.noteWindow(n, cmp.Or(window, llm.Lookup(m.Name()).Window))
}

// modelNow names an agent's model, and says so when that is not called at present.
func (g *Gateway) modelNow(name string) string {
	said := g.cfg.Agents[name].Model
	for _, c := range g.circuits.Open() {
		if c.Provider+"/"+c.Model == said {
			return said + " (does not work at the moment)"
		}
	}
	return said
}

// newCircuits makes what keeps calls away from models that do not work.
func (g *Gateway) newCircuits() *llm.Circuits {
	c := g.cfg.Circuit
	return &llm.Circuits{
		Failures: c.Failures, Cooldown: c.Cooldown, NoneBackoff: c.NoneBackoff, Now: g.o.Now,
		Changed: func(s llm.CircuitStatus) {
			g.metrics.SetCircuit(s)
			about := []any{"provider", s.Provider, "model", s.Model}
			switch s.State {
			case llm.CircuitOpen:
				g.o.Logger.Warn("model is not called any more until it may work again", append(about, "until", s.Until, "failures", s.Failures, "error", s.Last)...)
			case llm.CircuitProbing:
				g.o.Logger.Info("model is tried again", about...)
			case llm.CircuitClosed:
				g.o.Logger.Info("model works again", about...)
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

// retries are the rules for failed calls, by the provider's name.
type retries map[string]llm.Retry

// retriesOf returns the rule of each provider.
func retriesOf(c settings.Config) retries {
	rs := retries{}
	for name, p := range c.Providers {
		r := p.Retry
		rs[name] = llm.Retry{Max: r.Max, Base: r.Base, Cap: r.Cap, Window: r.Window, Statuses: r.Statuses}
	}
	return rs
}

// Next decides as the rule of the provider does at which the call failed; see [llm.Retry].
func (rs retries) Next(attempt int, elapsed time.Duration, err error) (time.Duration, bool) {
	var provider string
	if e, ok := errors.AsType[*llm.Error](err); ok {
		provider = e.Provider
	}
	return rs[provider].Next(attempt, elapsed, err)
}

func (g *Gateway) brokerOptions() broker.Options {
	o := g.cfg.BrokerOptions()
	o.Log, o.Now = g.o.Logger, g.o.Now
	return o
}

// ladder is the window of an agent's model, as its turns use it; the zero value: it is
// not watched.
func (g *Gateway) ladder(agent string) pressure.Ladder {
	a, ok := g.agents[agent]
	if !ok || g.cfg.Context.Off {
		return pressure.Ladder{}
	}
	info := llm.Lookup(a.Model.Name())
	return g.cfg.Context.Ladder(cmp.Or(a.Window, info.Window), cmp.Or(a.MaxTokens, info.MaxOutput))
}

// noteWindow notes how many tokens a model takes: the fewest, where agents differ.
func (g *Gateway) noteWindow(n ops.ModelName, tokens int) {
	if g.sets.Windows == nil {
		g.sets.Windows = map[ops.ModelName]int{}
	}
	if known, ok := g.sets.Windows[n]; !ok || tokens < known {
		g.sets.Windows[n] = tokens
	}
}

// warnWindows names the agents of whose model nobody knows how many tokens it takes: their
// conversations are kept shorter than they may have to be.
func (g *Gateway) warnWindows() {
	for _, name := range slices.Sorted(maps.Keys(g.agents)) {
		a := g.agents[name]
		if a.Window == 0 && llm.Lookup(a.Model.Name()).Source == "" && !g.cfg.Context.Off {
			g.o.Logger.Warn("model window unknown, assuming 8192 tokens: set agents."+name+".window", "agent", name, "model", g.cfg.Agents[name].Model, "window", llm.DefaultWindow)
		}
		for _, f := range a.Fallbacks {
			if f.Window == 0 && llm.Lookup(f.Model.Name()).Source == "" && !g.cfg.Context.Off {
				g.o.Logger.Warn("model window unknown, assuming 8192 tokens: set window under providers."+f.Model.Provider()+".models",
					"agent", name, "model", f.Model.Provider()+"/"+f.Model.Name(), "window", llm.DefaultWindow)
			}
		}
	}
}
