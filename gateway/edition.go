package gateway

import (
	"log/slog"
	"maps"
	"slices"

	"parley/agent"
	"parley/costs"
	"parley/gateway/budgets"
	"parley/gateway/commands"
	"parley/gateway/errands"
	"parley/gateway/inquiries"
	"parley/gateway/intake"
	"parley/gateway/ops"
	"parley/gateway/policy"
	"parley/gateway/prices"
	"parley/gateway/schedule"
	"parley/gateway/settings"
	"parley/gateway/worker"
	"parley/problems"
	"parley/subagents"
	"parley/tools"
)

// edition is everything that follows from one configuration and may be another one while
// the gateway runs. It is built whole, and then never changed: a reload puts another in its
// place. Who works takes one and goes on with it: intake for an event, a worker for a turn
// with all its sub-agents, a command for its answer.
//
// What is made once, at the start, reads the configuration of [setup].
type edition struct {
	cfg           settings.Config
	log           *slog.Logger
	limits        budgets.Limits
	jobs          map[string]schedule.Job // by name
	asked         inquiries.Settings      // whom programs may ask
	said          map[string]words        // by agent
	agents        map[string]worker.Agent // by name
	transcription *agent.Transcription    // nil: nobody listens to voice notes
	sets          ops.LabelSets
	prices        *prices.View

	programs    programTools
	ownTools    *tools.Set              // all but those of MCP servers
	toolPrices  map[string]costs.Amount // of a call, by the names of the tools
	serverTools []tools.Tool            // of MCP servers, which may be others while the edition is in force

	// What needs the store and the log; see equip.
	commands commands.Handler
	errands  *errands.Desk
	arrivals intake.Settings
	turns    worker.Settings
}

// newEdition makes what needs neither disk nor network. A mistake in the configuration is
// returned as problems.List.
func (s *setup) newEdition(cfg settings.Config) (*edition, error) {
	cfg.Files.Private = cfg.PrivatePaths()
	e := &edition{cfg: cfg, log: s.o.Logger, sets: ops.LabelSets{Version: s.o.Version, Tools: cfg.ToolNames(), PricedTools: slices.Sorted(maps.Keys(cfg.ToolPrices())), Depth: max(cfg.Subagents.MaxDepth, 1)}}
	e.jobs, e.asked = cfg.JobsByName(), cfg.Inquiries()
	for _, a := range cfg.Accounts() {
		e.sets.Channels = append(e.sets.Channels, a.Name)
	}
	var err error
	if e.limits, err = limitsOf(cfg); err != nil {
		return nil, err
	}
	reads := promptReader{cfg: cfg, log: s.o.Logger, clean: s.redactor.Clean}
	if e.said, err = reads.all(); err != nil {
		return nil, err
	}
	if err := e.wireAgents(); err != nil {
		return nil, err
	}
	if err := e.wireTranscription(); err != nil {
		return nil, problems.List{{Path: "transcription", Err: err}}
	}
	return e, nil
}

// present returns the edition in force.
func (es *editions) present() *edition { return es.current.Load() }

// withPrices returns e with other prices, which is all that it has otherwise.
func (e *edition) withPrices(v *prices.View) *edition {
	c := *e
	c.prices, c.turns.Loop.Prices = v, v
	if c.turns.Children != nil {
		children := *c.turns.Children
		children.Loop.Prices = v
		c.turns.Children = &children
	}
	return &c
}

// warn tells the operator what of e may not be meant.
func (e *edition) warn() {
	e.warnUnpriced(e.prices)
	e.warnWindows()
	e.warnRoots()
	e.warnProxies()
	e.warnNetwork()
}

// commandAccounts returns the bot accounts as commands know them.
func commandAccounts(c settings.Config) map[string]commands.Account {
	m := map[string]commands.Account{}
	for _, a := range c.Accounts() {
		m[a.Name] = commands.Account{Access: a.Access, CheckPerson: a.Person}
	}
	return m
}

// sources returns the bot accounts as intake knows them.
func (e *edition) sources() map[string]intake.Source {
	m := map[string]intake.Source{}
	for _, a := range e.cfg.Accounts() {
		if _, ok := e.cfg.Agents[a.Agent]; !ok {
			// The account was taken out of the configuration, with its agent, and is there until
			// a restart: whoever wrote to it would wait for nothing.
			a.Access = policy.Access{}
		}
		m[a.Name] = intake.Source{
			Bound: e.cfg.Bindings.Bound(a), Network: a.Network.Name, Access: a.Access, MarksBots: a.Network.MarksBots, CommandSign: a.Network.CommandSign, GroupContext: a.GroupContext,
		}
	}
	return m
}

// subagent returns what a sub-agent of that agent's name runs on.
func (e *edition) subagent(name string) (subagents.Agent, bool) {
	a, ok := e.agents[name]
	if !ok {
		return subagents.Agent{}, false
	}
	return subagents.Agent{
		Model: a.Model, Fallbacks: a.Fallbacks, MaxTokens: a.MaxTokens, Window: a.Window, Prompt: *a.Prompt,
		Parameters: a.Parameters, Retry: a.Retry, ToolTimeout: a.ToolTimeout, ToolOutput: a.ToolOutput,
		Middleware: a.Middleware, MaxTurnTokens: a.MaxTurnTokens,
	}, true
}

// takeServerTools puts an edition into force whose agents have the tools that MCP servers have
// now.
func (es *editions) takeServerTools(offered func() []tools.Tool) {
	es.reloading.Lock()
	defer es.reloading.Unlock()
	e := *es.present()
	now := offered()
	if sameTools(now, e.serverTools) {
		return
	}
	e.agents = maps.Clone(e.agents)
	e.serverTools = now
	if err := e.giveTools(); err != nil {
		es.o.Logger.Error("tools of MCP servers not given to the agents, the previous ones stay", "error", err)
		return
	}
	e.turns.Agents = e.agents
	es.current.Store(&e)
}
