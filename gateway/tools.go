package gateway

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"parley/gateway/errands"
	"parley/gateway/messages"
	"parley/gateway/settings"
	"parley/sessions"
	"parley/subagents"
	"parley/subagents/overview"
	"parley/tools"
	"parley/tools/files"
	"parley/tools/skills"
)

// attachTools gives the agents their tools: those that the operator named, or all.
func (e *edition) attachTools(store sessions.Store) error {
	if err := e.checkRoots(); err != nil {
		return err
	}
	var err error
	if e.ownTools, err = e.allTools(store); err != nil {
		return fmt.Errorf("make the tools: %w", err)
	}
	e.toolPrices = e.cfg.ToolPrices()
	return e.giveTools()
}

// giveTools gives the agents the gateway's own tools, and those of MCP servers.
func (e *edition) giveTools() error {
	all, err := e.ownTools.With(e.serverTools...)
	if err != nil {
		return fmt.Errorf("make the tools: %w", err)
	}
	return e.shareTools(all.WithPrices(e.toolPrices))
}

// shareTools gives each agent those of all that its configuration names, and the tool that
// ends a turn if it asks for it.
func (e *edition) shareTools(all *tools.Set) error {
	done, err := tools.NewDone()
	if err != nil {
		return fmt.Errorf("make the tools: %w", err)
	}
	for name, a := range e.agents {
		c := e.cfg.Agents[name]
		a.Tools = all
		if c.Tools != nil {
			a.Tools = all.Only(c.Tools...)
		}
		if c.DoneTool {
			if a.Tools, err = a.Tools.With(done); err != nil {
				return fmt.Errorf("make the tools of agent %s: %w", name, err)
			}
		}
		if len(e.said[name].skills) == 0 {
			a.Tools = a.Tools.Without(skills.ToolName)
		}
		e.agents[name] = a
	}
	return nil
}

// allTools makes the tools of settings.Config.ToolNames; those for sub-agents when there may be
// some.
func (e *edition) allTools(store sessions.Store) (*tools.Set, error) {
	all, err := files.All(e.cfg.Files)
	if err != nil {
		return nil, err
	}
	look, err := overview.New(overview.Options{
		Store: store, Log: e.log,
		Model:  e.commands.SessionModel,
		Agents: e.startableAgents, ResultBytes: e.resultBytes(),
		Left: func(ctx context.Context, s sessions.Session, turn string) (string, error) {
			t, err := store.Turn(ctx, turn)
			if err != nil {
				return "", err
			}
			return e.commands.RemainingBudget(ctx, messages.Caller{Token: t.Token, From: t.From, Sender: t.Sender}, s, "who asks")
		},
	})
	if err != nil {
		return nil, err
	}
	send, err := files.NewSender(e.cfg.Files)
	if err != nil {
		return nil, err
	}
	all = append(all, send.Tool())
	shelf, err := files.NewShelf(e.cfg.Files)
	if err != nil {
		return nil, err
	}
	skill, err := skills.Tool(shelf, func(agent string) []skills.Skill { return e.said[agent].skills })
	if err != nil {
		return nil, err
	}
	bash, err := e.programs.bashTool()
	if err != nil {
		return nil, err
	}
	folder, err := e.programs.folderTool()
	if err != nil {
		return nil, err
	}
	internet, err := webTools(e.cfg.Web, e.sets.Version)
	if err != nil {
		return nil, err
	}
	commands, err := e.programs.commandTools()
	if err != nil {
		return nil, err
	}
	var errand []tools.Tool
	if e.cfg.Cron.People.Enabled {
		t, err := errands.NewTool()
		if err != nil {
			return nil, err
		}
		errand = append(errand, t)
	}
	return tools.NewSet(slices.Concat(all, look, subagents.Tools(e.cfg.Subagents), []tools.Tool{skill}, bash, folder, commands, internet, errand)...)
}

// resultBytes is how much of a tool's result a request holds; 0: any number.
func (e *edition) resultBytes() int {
	if e.cfg.Context.Off {
		return 0
	}
	return e.cfg.Context.Filled().ResultBytes
}

// startableAgents returns the agents that a session may start: another of its own kind,
// and those that the operator names. A child says how deep it may go in its own
// row; what it is shown here holds for the present configuration.
func (e *edition) startableAgents(s sessions.Session) []overview.Agent {
	own, c := s.Key.Agent(), e.cfg.Subagents
	if a, ok := e.agents[own]; !ok || s.Depth >= c.MaxDepth {
		return nil
	} else if _, ok := a.Tools.Lookup(subagents.SpawnName); !ok {
		return nil
	}
	some := []overview.Agent{{Name: own, Model: e.cfg.Agents[own].Model, About: "when agent is left out"}}
	for _, name := range c.Agents {
		if name != own {
			some = append(some, overview.Agent{Name: name, Model: e.cfg.Agents[name].Model})
		}
	}
	return some
}

// checkRoots refuses a further root of the file tools that leads by a link to where the state is:
// Validate sees the text only.
func (e *edition) checkRoots() error {
	state, err := filepath.EvalSymlinks(e.cfg.StateDir)
	if err != nil {
		return fmt.Errorf("find the state folder: %w", err)
	}
	for _, list := range e.cfg.Files.Roots() {
		for i, root := range list.Paths {
			key := fmt.Sprintf("files.%s[%d]", list.Key, i)
			leads, err := filepath.EvalSymlinks(root)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				e.log.Warn("extra root not found", "key", key, "path", root)
			case err != nil:
				return fmt.Errorf("%s: %w", key, err)
			case settings.Overlap(leads, state):
				return fmt.Errorf("%s: %s leads to %s, which and the state folder lie in each other", key, root, leads)
			}
		}
	}
	return nil
}

// warnRoots names the further roots that hold far more than an operator may think.
func (e *edition) warnRoots() {
	home, _ := os.UserHomeDir()
	for _, i := range e.cfg.Files.WideRoots(home) {
		e.log.Warn("extra root is wide: every conversation may read all of it but what is denied",
			"key", fmt.Sprintf("files.extra_roots[%d]", i), "path", e.cfg.Files.ExtraRoots[i])
	}
	for _, i := range e.cfg.Files.WideWritableRoots(home) {
		e.log.Warn("writable root is wide: every conversation may change all of it but what is denied",
			"key", fmt.Sprintf("files.writable_roots[%d]", i), "path", e.cfg.Files.WritableRoots[i])
	}
}

// Gate decides what a tool may do in a conversation: what reads and what
// writes in the session's own workspace runs, everything else a person has to
// allow. (F03, K03)
func Gate() tools.Gate { return tools.InteractiveGate(denyUnattended) }

// denyUnattended denies: no chat can carry a question for permission yet.
func denyUnattended(_ context.Context, _ tools.Tool, c tools.Call) (tools.Verdict, error) {
	return tools.Verdict{Decision: tools.Deny, Reason: fmt.Sprintf(
		"this call of %s needs a person's approval, which cannot be asked for in this chat; it was not run. Do it in another way, or say what the person can do",
		strings.ToValidUTF8(c.Name, "\uFFFD"))}, nil
}
