// Package replay runs a recording again, offline, and says what is different.
//
//	recording ─ envelopes ─► log ─► worker ─► loop ─► outbox ─► delivery ─► channel
//	          └ answers, results of tools, times ──────┘ │
//	            requests, calls, costs, replies ◄────────┘ compared
//
// Worker, loop, sub-agents, outbox and delivery are the real ones, on a store of
// their own. What comes from outside is taken from the recording: what people
// wrote, what models answered, what tools gave. No tool runs again but those
// that start sub-agents, and nothing is sent.
//
// What the recording decides instead of the code:
//
//   - whether a failed model call is tried again, and when a turn is stopped or
//     takes too long: as it was;
//   - what budgets refuse: as it was, because what others spent meanwhile is not
//     in the recording;
//   - where a call was interrupted because its process died, the replay's worker
//     dies there too, and another takes the turn over; where the process handed
//     the turn over, it does. A crash between two calls leaves nothing to see and
//     is not repeated, and a tool that was interrupted gives its recorded result;
//   - which model call a message came before that joined a running turn: as it was;
//   - what became of files that came with messages: the model reads of them what
//     it read, and none is fetched;
//   - what was said in voice notes, and which have no words;
//   - a turn that was open at the export goes as far as the recording does;
//   - what was answered at once, as /status, is not asked again;
//   - which calls of tools cost something: as it was. A call that was cut off and made
//     again is made once;
//   - what summaries said, and titles are not found again.
//
// The clock follows the recording: each thing happens when it happened.
package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"parley/agent"
	"parley/channels"
	"parley/gateway"
	"parley/gateway/budgets"
	"parley/gateway/delivery"
	"parley/gateway/goals"
	"parley/gateway/ops"
	"parley/gateway/policy"
	"parley/gateway/recording"
	"parley/gateway/settings"
	"parley/gateway/worker"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/sqlite"
	"parley/subagents"
)

// Options is what a replay gets from the program around it.
type Options struct {
	// Current reckons with this version's price list, where it has the model;
	// default: with the prices of the recording.
	Current bool
	Logger  *slog.Logger // nil: silence
}

// ErrNotReplayable means that a recording can be read, but lacks what a replay
// needs.
var ErrNotReplayable = errors.New("the recording cannot be replayed")

// Run replays a recording with this version's system message, tools and rendering. It
// uses a temporary folder and no network. The report says what is different; an error
// that nothing could be compared.
func Run(ctx context.Context, r *recording.Recording, o Options) (_ *Report, err error) {
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
	agents, err := gateway.RecordedAgents(r.Header.Setup, store)
	if err != nil {
		return nil, err // it says whose
	}
	prices, err := recordedPrices(r, o.Current)
	if err != nil {
		return nil, err
	}
	s, err := newPlayer(parts{
		Recording: r, Store: store, Agents: agents, Prices: prices, Logger: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)),
		Workspace: func(id sessionkeys.SessionID) (string, error) {
			workspace := filepath.Join(dir, "workspaces", string(id))
			return workspace, os.MkdirAll(workspace, 0o700)
		},
	})
	if err != nil {
		return nil, err
	}
	if err := s.run(ctx); err != nil {
		return nil, err
	}
	if err := s.compare(ctx); err != nil {
		return nil, err
	}
	return s.report, nil
}

// parts is what a replay is made of.
type parts struct {
	Recording *recording.Recording
	Store     sessions.Store // empty, and the replay's own
	// Agents are those of the recording as the present program makes them,
	// without a model; their tools are replaced by recorded results.
	Agents    map[string]worker.Agent
	Prices    agent.Prices
	Workspace func(sessionkeys.SessionID) (string, error) // an empty folder
	Logger    *slog.Logger
}

// patience is how long nothing may happen before the replay is given up as stuck.
const patience = 20 * time.Second

// player is one replay.
type player struct {
	*progress
	*comparison

	o       parts
	script  *script
	log     *log
	busy    *agent.Registry
	metrics *ops.Metrics
	prompt  map[string]worker.Agent
}

func newPlayer(o parts) (*player, error) {
	sc, err := newScript(o.Recording)
	if err != nil {
		return nil, err
	}
	s := &player{
		progress: newProgress(sc), comparison: &comparison{store: o.Store, script: sc, report: &Report{Header: o.Recording.Header}},
		o: o, script: sc, log: newLog(), busy: &agent.Registry{}, metrics: ops.NewMetrics(ops.LabelSets{}), prompt: map[string]worker.Agent{},
	}
	for name, a := range o.Agents {
		setup, ok := o.Recording.Header.Setup.Agents[name]
		if !ok {
			continue
		}
		a.Model = &model{s: s, provider: setup.Provider, name: setup.Model}
		a.Fallbacks, a.Choices = s.recordedModels(setup.Fallbacks...), s.recordedModels(setup.Choices...)
		if setup.Summariser != nil {
			a.Summariser = &s.recordedModels(*setup.Summariser)[0]
		}
		a.Tools = s.replaceTools(a.Tools)
		s.prompt[name] = a
	}
	for _, sess := range o.Recording.Sessions {
		k, err := sessionkeys.Parse(sess.Key)
		if err != nil {
			return nil, fmt.Errorf("%w: session %s: %w", ErrNotReplayable, sess.ID, err)
		}
		if _, ok := s.prompt[k.Agent()]; !ok {
			return nil, fmt.Errorf("%w: its agent %q was not configured any more when it was exported", ErrNotReplayable, k.Agent())
		}
	}
	return s, nil
}

// recordedModels returns models of the setup as they answer in the replay.
func (s *player) recordedModels(fs ...recording.Fallback) (all []agent.Fallback) {
	for _, f := range fs {
		all = append(all, agent.Fallback{
			Model:  &model{s: s, provider: f.Provider, name: f.Model},
			Window: f.Window, MaxTokens: f.MaxTok, Parameters: f.Parameters, Vision: true, // what it was shown, the recording says
		})
	}
	return all
}

// newLoop is how turns run.
func (s *player) newLoop() agent.Loop {
	return agent.Loop{
		Pressure: s.o.Recording.Header.Setup.Context, Circuit: recordedCircuit{s.script},
		Prices: s.o.Prices, Retry: recordedRetry{}, Gate: gateway.Gate(), Why: settings.Why, ReadPicture: blankPicture, Transcription: s.newTranscription(), ToolOutput: 1 << 30, Now: s.clock,
		Wait: func(ctx context.Context, _ time.Duration) error { return context.Cause(ctx) }, Log: s.o.Logger,
	}
}

// newWorker makes the worker of one life.
func (s *player) newWorker(ctx context.Context, l *workerRun) (*worker.Worker, error) {
	loop := s.newLoop()
	setup := s.o.Recording.Header.Setup
	reach := goals.Config{Off: true}
	if setup.Goals != nil {
		reach = *setup.Goals
	}
	children, err := subagents.New(subagents.Options{
		Settings: subagents.Settings{Config: setup.Subagents, Loop: loop, Agents: func(name string) (subagents.Agent, bool) {
			a, ok := s.prompt[name]
			if !ok {
				return subagents.Agent{}, false
			}
			return subagents.Agent{
				Model: a.Model, Fallbacks: a.Fallbacks, MaxTokens: a.MaxTokens, Window: a.Window, Parameters: a.Parameters, Prompt: *a.Prompt,
				Middleware: a.Middleware, MaxTurnTokens: a.MaxTurnTokens,
			}, true
		}},
		Store: l, Busy: s.busy, Observer: s.metrics, Now: s.clock, Logger: s.o.Logger,
	})
	if err != nil {
		return nil, fmt.Errorf("%w: its setup: %w", ErrNotReplayable, err)
	}
	return worker.New(worker.Options{
		Config:   policy.Turns{Turns: 4, Lease: 100 * 365 * 24 * time.Hour, TurnTimeout: time.Hour, Grace: 1, Attempts: 1 << 20},
		Identity: sessions.Worker{Name: "replay", Nonce: l.nonce}, Generation: s.o.Recording.Header.Generation,
		Log: s.log, Store: l, Settings: worker.Settings{Agents: s.prompt, Loop: loop, Attachments: s, Goals: reach, Approvals: setup.Approvals.Defaults(), Access: s.access(), PrivateQuestions: s.privateQuestions(), Jobs: s.jobs(), Limits: budgets.Limits{Pause: setup.Pause}}, Subagents: children, Busy: s.busy,
		Workspace: s.workspaces(ctx), CheckFolder: func(string, string) error { return nil }, MessageText: messageText, NewRequest: s.newRequest, Observer: s.metrics, Logger: s.o.Logger, Now: s.clock,
	})
}

// newDelivery makes what brings answers back.
func (s *player) newDelivery() *delivery.Delivery {
	var all []channels.Channel
	for name, network := range s.script.channels {
		all = append(all, &channel{s: s, name: name, network: network})
	}
	return delivery.New(delivery.Options{
		Store: s.o.Store, Log: s.log, Channels: all, Files: blankFiles{s.script}, Observer: s.metrics, Logger: s.o.Logger, Now: s.clock,
		Wait: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	})
}
