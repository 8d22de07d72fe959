package gateway

import (
	"fmt"

	"parley/agent/prompt"
	"parley/gateway/commands"
	"parley/gateway/recording"
	"parley/gateway/settings"
	"parley/gateway/worker"
	"parley/sessions"
)

// RecordedAgents makes the agents of a recording as this version makes them, with its
// system message and its tools, over store; but without their models.
func RecordedAgents(setup recording.Setup, store sessions.Store) (map[string]worker.Agent, error) {
	g := &Gateway{cfg: settings.Config{Agents: map[string]settings.AgentConfig{}, Subagents: setup.Subagents}, agents: map[string]worker.Agent{}}
	recorded := map[string]words{}
	for name, a := range setup.Agents {
		recorded[name] = words{a.Prompt, a.Instructions, a.Skills}
		g.cfg.Agents[name] = settings.AgentConfig{Model: a.Provider + "/" + a.Model, Prompt: a.Prompt, Tools: a.Tools, DoneTool: a.DoneTool}
		g.agents[name] = worker.Agent{
			MaxSteps: a.MaxSteps, MaxTokens: a.MaxTok, Window: a.Window, SeesPictures: true, // what it was shown, the recording says
			Parameters: a.Parameters,
			Prompt:     func() prompt.Agent { return g.prompts.agent(name) },
		}
	}
	g.prompts.current.Store(&recorded)
	all, err := g.builtinTools(store, &commands.Handler{})
	if err != nil {
		return nil, fmt.Errorf("make the tools for the replay: %w", err)
	}
	return g.agents, g.shareTools(all)
}
