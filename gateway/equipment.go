package gateway

import (
	"context"
	"io"
	"maps"
	"slices"

	"parley/agent"
	"parley/channels"
	"parley/gateway/approvals"
	"parley/gateway/attachments"
	"parley/gateway/commands"
	"parley/gateway/documents"
	"parley/gateway/fates"
	"parley/gateway/intake"
	"parley/gateway/people"
	"parley/gateway/policy"
	"parley/gateway/settings"
	"parley/gateway/worker"
	"parley/llm"
	"parley/subagents"
	"parley/tools/files"
)

// equipment is what editions stand on: the store, the log, and what is made with them.
type equipment struct {
	*setup
	opened    resources
	accounts  *accounts
	circuits  *llm.Circuits
	people    *people.Book
	questions *approvals.Desk
	passed    *fates.Book // the messages of which no turn is made
	raises    *raises
	schedules *schedules
	servers   *servers
	texts     *documents.Reader // of files that people send
	sentFiles attachments.Quota // what people sent today
}

// equip completes e, which has its prices, with what stands on the store and the log.
func (q *equipment) equip(e *edition) error {
	store, book := q.opened.store, q.people
	e.commands = commands.Handler{
		Store: store, Limits: e.limits, Raised: q.raises.of, Now: q.o.Now, Ladder: e.ladder, Menu: e.menu, Works: func(model string) bool { return works(q.circuits, model) }, Log: e.log, Goals: !e.cfg.Goals.Off, People: book, Questions: q.questions, Accounts: commandAccounts(e.cfg), Fates: fateSource(q.opened, q.passed, q.o.Now),
	}
	var err error
	if e.errands, err = q.schedules.newErrandDesk(e); err != nil {
		return err
	}
	e.commands.Errands = e.errands
	e.programs = newProgramTools(e.cfg, q.opened.sandbox, e.log, q.redactor)
	e.serverTools = q.servers.tools()
	if err := e.attachTools(store); err != nil {
		return err
	}
	sends, err := q.outgoingFiles(e.cfg)
	if err != nil {
		return err
	}
	e.arrivals = intake.Settings{Sources: e.sources(), Agents: slices.Sorted(maps.Keys(e.cfg.Agents)), Limits: e.cfg.Limits}
	loop := agent.Loop{
		Circuit: q.circuits, Names: &llm.TemplateNames{}, Digests: llm.NewDigests(), Patience: e.cfg.Circuit.Patience, Preparation: e.cfg.Worker.ContextPrepTimeout,
		Prices: e.prices, Retry: retriesOf(e.cfg), Gate: Gate(), Why: e.cfg.Channels.Why, Transcription: e.transcription,
		Pressure: e.cfg.Context, Redact: q.redactor.Clean, Now: q.o.Now, Log: q.o.Logger,
	}
	e.turns = worker.Settings{
		Agents: e.agents, Loop: loop, Files: sends, Attachments: q.newImporter(e),
		Children: &subagents.Settings{Config: e.cfg.Subagents, Agents: e.subagent, Loop: loop},
		Limits:   e.limits, Waiting: e.cfg.WaitingByChannel(), Reactions: e.cfg.ReactionsByChannel(), Activity: e.cfg.ActivityByChannel(),
		Goals:            e.cfg.Goals,
		Approvals:        e.cfg.Approvals,
		PrivateQuestions: e.cfg.PrivateQuestionsByChannel(),
		Jobs:             e.jobs,
		Errands:          e.errands,
		Access:           e.cfg.AccessByChannel(),
		ChoicePerSession: e.cfg.Session.ChoicePerSession(),
		TurnTimeout:      e.cfg.Worker.TurnTimeout, Attempts: e.cfg.Worker.Attempts,
		Authorize: func(ctx context.Context, m channels.Message, chat ...string) (policy.Verdict, error) {
			return intake.Reauthorize(ctx, book, e.arrivals.Sources, m, chat...)
		},
		Standing: book.Standing, ReadAhead: book.ReadAhead, Approvers: book.HasApprover,
		AgentFor: func(m channels.Message, chat ...string) string {
			return e.arrivals.Sources[m.Channel].Bound.AgentFor(m, chat...)
		},
	}
	return nil
}

// newImporter brings the files that came with messages.
func (q *equipment) newImporter(e *edition) *attachments.Importer {
	return &attachments.Importer{
		Config: e.cfg.Attachments, Log: q.opened.log, Files: e.cfg.Files, Count: q.metrics.CountAttachment, Logger: q.o.Logger, Now: q.o.Now, Around: worker.FormatQuotes,
		Transcribes: e.transcription != nil, Command: e.cfg.Channels.Command,
		Texts: q.texts, Quota: &q.sentFiles,
		Space: attachments.Space{MaxBytes: max(0, e.cfg.Workspaces.MaxBytes), MaxFiles: max(0, e.cfg.Workspaces.MaxFiles)},
	}
}

// outgoingFiles returns how turns send files into their chats.
func (q *equipment) outgoingFiles(cfg settings.Config) (*worker.Files, error) {
	s, err := files.NewSender(cfg.Files)
	if err != nil {
		return nil, err
	}
	s.Screen = func(content io.Reader) io.Reader { return q.redactor.Screen(content, files.ErrSecret) }
	largest := map[string]int64{}
	for _, c := range q.accounts.chans {
		largest[c.Name()] = 0
		if f, ok := c.(channels.FileSender); ok {
			largest[c.Name()] = f.LargestFile()
		}
	}
	return &worker.Files{Sender: s, Store: q.opened.log, Largest: func(channel string) (int64, bool) {
		limit, known := largest[channel]
		return limit, known
	}}, nil
}
