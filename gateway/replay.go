package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"parley/agent/prompt"
	"parley/gateway/commands"
	"parley/gateway/recording"
	"parley/gateway/replay"
	"parley/gateway/worker"
	"parley/llm"
	"parley/sessionkeys"
	"parley/sessions/sqlite"
)

// ReplayOptions is what a replay gets from the program around it.
type ReplayOptions struct {
	// Current reckons with this version's price list, where it has the model;
	// default: with the prices of the recording.
	Current bool
	Logger  *slog.Logger // nil: silence
}

// Replay runs a recording again, offline, as package replay describes it, with
// this version's system message, tools and rendering. It uses a temporary
// folder and no network. The report says what is different; an error that
// nothing could be compared.
func Replay(ctx context.Context, r *recording.Recording, o ReplayOptions) (_ *replay.Report, err error) {
	dir, err := os.MkdirTemp("", "parley-replay-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the replay: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	store, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(dir, "parley.db")})
	if err != nil {
		return nil, fmt.Errorf("make a store for the replay: %w", err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	agents, err := replayed(r, store)
	if err != nil {
		return nil, err
	}
	prices, err := recordedPrices(r, o.Current)
	if err != nil {
		return nil, err
	}
	return replay.Run(ctx, replay.Options{
		Recording: r, Store: store, Agents: agents, Prices: prices, Gate: gate(), Render: render, Logger: o.Logger,
		Workspace: func(id sessionkeys.SessionID) (string, error) {
			workspace := filepath.Join(dir, "workspaces", string(id))
			return workspace, os.MkdirAll(workspace, 0o700)
		},
	})
}

// replayed are the agents of a recording as this version makes them.
func replayed(r *recording.Recording, store *sqlite.Store) (map[string]worker.Agent, error) {
	setup := r.Header.Setup
	g := &Gateway{cfg: Config{Agents: map[string]AgentConfig{}, Subagents: setup.Subagents}, agents: map[string]worker.Agent{}}
	for name, a := range setup.Agents {
		g.cfg.Agents[name] = AgentConfig{Model: a.Provider + "/" + a.Model, Prompt: a.Prompt, Tools: a.Tools}
		g.agents[name] = worker.Agent{
			MaxSteps: a.MaxSteps, MaxTokens: a.MaxTok, Sees: true, // what it was shown, the recording says
			Prompt: func(key sessionkeys.Key, now time.Time) []llm.SystemBlock { return prompt.Build(a.Prompt, key, now) },
		}
	}
	all, err := g.builtin(store, &commands.Desk{})
	if err != nil {
		return nil, fmt.Errorf("make the tools for the replay: %w", err)
	}
	for name, a := range g.agents {
		a.Tools = all
		if named := g.cfg.Agents[name].Tools; named != nil {
			a.Tools = all.Only(named...)
		}
		g.agents[name] = a
	}
	return g.agents, nil
}
