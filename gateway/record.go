package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"parley/agent"
	"parley/gateway/admin"
	"parley/gateway/people"
	"parley/gateway/recording"
	"parley/gateway/worker"
	"parley/sessions"
)

// recordingSource returns what sessions are exported by.
func recordingSource(es *editions, opened resources, book *people.Book, mcpServers *servers) *recording.Source {
	return &recording.Source{
		Store: opened.store, Log: opened.log, Version: es.o.Version, TurnID: worker.TurnID, Redact: es.redactor.Clean, Now: es.o.Now, Price: es.prices.Price,
		Generation: func(ctx context.Context) (string, error) {
			name, _, err := opened.log.Generation(ctx)
			return name, err
		},
		Agents: func(name string) (recording.Agent, bool) {
			e := es.present()
			a, ok := e.cfg.Agents[name]
			if !ok {
				return recording.Agent{}, false
			}
			m, said := e.agents[name].Model, e.said[name]
			return recording.Agent{
				Provider: m.Provider(), Model: m.Name(), Family: familiesOf(e.cfg)[m.Provider()], Prompt: a.Prompt,
				MaxSteps: a.MaxIterations, MaxTok: a.MaxTokens, Window: a.Window, Tools: a.Tools, DoneTool: a.DoneTool,
				Middleware: a.Middleware, MaxTurnCost: a.MaxTurnCostAmount(), MaxTurnTokens: a.MaxTurnTokens,
				Parameters: e.agents[name].Parameters, Fallbacks: e.recorded(e.agents[name].Fallbacks), Choices: e.recorded(e.agents[name].Choices),
				Summariser:   e.recordedSummariser(name),
				Instructions: said.instructions, Skills: said.skills,
			}, true
		},
		Setup: func(ctx context.Context) (recording.Setup, error) {
			e := es.present()
			named, err := recordedRoles(ctx, e.cfg, book)
			if err != nil {
				return recording.Setup{}, err
			}
			jobs, err := e.recordedJobs(ctx)
			return recording.Setup{
				Subagents: e.cfg.Subagents.Defaults(), Context: e.cfg.Context, Goals: &e.cfg.Goals, Bash: e.programs.recordedShell(), Environment: e.cfg.Bash.Variables(), Web: recordedWeb(e.cfg.Web), Commands: e.programs.recordedCommands(), MCP: mcpServers.record(), ToolPrices: e.toolPrices,
				Approvals: e.cfg.Approvals, Approvers: named.approvers, PrivateQuestions: recordedQuestions(e.cfg), Guests: named.guests, Pause: e.limits.Pause, Jobs: jobs, Schedules: e.cfg.Cron.People.Enabled,
			}, err
		},
	}
}

// restoreSession makes a session of a recording.
func restoreSession(ctx context.Context, store sessions.Store, r io.Reader, token string, now func() time.Time) (admin.Restored, error) {
	recorded, err := recording.Read(r)
	if errors.Is(err, recording.ErrUnreadable) {
		return admin.Restored{}, &admin.Error{Kind: admin.Invalid, Message: err.Error()}
	}
	if err != nil {
		return admin.Restored{}, err // it says what was read
	}
	made, err := recording.Restore(ctx, store, recorded, token, now())
	switch {
	case errors.Is(err, recording.ErrNoConversation):
		return admin.Restored{}, &admin.Error{Kind: admin.NotFound, Message: fmt.Sprintf(
			"nobody has written here in the exported conversation, %s: name a session of the one that it is for", recorded.Header.Key)}
	case errors.Is(err, recording.ErrNoMessages):
		return admin.Restored{}, &admin.Error{Kind: admin.Invalid, Message: err.Error()}
	}
	return admin.Restored(made), err // it names the session
}

// recorded returns models as a recording has them.
func (e *edition) recorded(ms []agent.Fallback) (all []recording.Fallback) {
	for _, f := range ms {
		all = append(all, recording.Fallback{
			Provider: f.Model.Provider(), Model: f.Model.Name(), Family: familiesOf(e.cfg)[f.Model.Provider()],
			MaxTok: f.MaxTokens, Window: f.Window, Parameters: f.Parameters,
		})
	}
	return all
}

// recordedSummariser returns the model that is asked for an agent's summaries, as a recording
// has it; nil: its own.
func (e *edition) recordedSummariser(name string) *recording.Fallback {
	f := e.agents[name].Summariser
	if f == nil {
		return nil
	}
	return &e.recorded([]agent.Fallback{*f})[0]
}
