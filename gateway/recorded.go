package gateway

import (
	"fmt"
	"log/slog"

	"parley/agent"
	"parley/gateway/recording"
	"parley/gateway/settings"
	"parley/gateway/worker"
	"parley/sessions"
	"parley/tools/mcp"
)

// RecordedAgents makes the agents of a recording as this version makes them, with its
// system message and its tools, over store; but without their models.
func RecordedAgents(setup recording.Setup, store sessions.Store) (map[string]worker.Agent, error) {
	e := &edition{
		cfg: settings.Config{Agents: map[string]settings.AgentConfig{}, Subagents: setup.Subagents}, log: slog.New(slog.DiscardHandler),
		said: map[string]words{}, agents: map[string]worker.Agent{},
	}
	e.programs.log = e.log
	if c := setup.Commands; c != nil {
		e.programs.runner, e.programs.commands, e.programs.runsIn = recordedRunner{c.Inside}, c.Tools, c.Where
	}
	if b := setup.Bash; b != nil {
		e.programs.runner, e.programs.scripts, e.programs.runsIn = recordedRunner{b.Inside}, &b.Policy, b.Where
		e.programs.network = b.Network
	}
	e.cfg.Web = webAgain(setup.Web)
	e.cfg.Cron.People.Enabled = setup.Schedules
	for name, a := range setup.Agents {
		e.said[name] = words{a.Prompt, a.Instructions, a.Skills}
		e.cfg.Agents[name] = settings.AgentConfig{Model: a.Provider + "/" + a.Model, Prompt: a.Prompt, Tools: a.Tools, DoneTool: a.DoneTool}
		middleware, err := agent.MiddlewareNamed(a.Middleware)
		if err != nil {
			return nil, fmt.Errorf("agent %s of the recording: %w", name, err)
		}
		e.agents[name] = worker.Agent{
			Middleware: middleware, MaxCost: a.MaxTurnCost, MaxTurnTokens: a.MaxTurnTokens,
			MaxSteps: a.MaxSteps, MaxTokens: a.MaxTok, Window: a.Window, SeesPictures: true, // what it was shown, the recording says
			Parameters: a.Parameters,
			Prompt:     e.said[name].agent(), Env: setup.Environment,
		}
	}
	var err error
	if e.ownTools, err = e.allTools(store); err != nil {
		return nil, fmt.Errorf("make the tools for the replay: %w", err)
	}
	e.serverTools, e.toolPrices = mcp.Recorded(setup.MCP), setup.ToolPrices
	return e.agents, e.giveTools()
}
