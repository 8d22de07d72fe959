// Package gateway assembles parley from its settings and keeps it running until its
// context ends.
//
//	cfg := settings.Config{…}
//	g, err := gateway.New(cfg.Defaults(), gateway.Options{Logger: log})
//	err = g.Run(ctx)
//
// One message's path: an adapter (channels) offers it to intake, which decides
// who is answered and publishes it to the log (broker); a worker touches the
// conversation's mailbox, becomes its actor, opens a turn in the store
// (sessions) and runs the loop (agent); the end of the turn puts the answer
// into the outbox, from which delivery sends it. It is the only package that
// knows every part and store by name; the networks are in the table of package settings.
package gateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"parley/agent"
	"parley/costs"
	"parley/gateway/admin"
	"parley/gateway/approvals"
	"parley/gateway/delivery"
	"parley/gateway/documents"
	"parley/gateway/erasure"
	"parley/gateway/fates"
	"parley/gateway/inquiries"
	"parley/gateway/intake"
	"parley/gateway/messages"
	"parley/gateway/ops"
	"parley/gateway/page"
	"parley/gateway/people"
	"parley/gateway/redaction"
	"parley/gateway/settings"
	"parley/gateway/webhooks"
	"parley/gateway/worker"
	"parley/pause"
	"parley/sessions"
)

// Options is what a gateway gets from the program around it.
type Options struct {
	Logger  *slog.Logger // nil: silence
	Version string
	Now     func() time.Time // nil: time.Now

	// Next reads the configuration again, for a reload. nil: only the files that it names are
	// read again. Locate, if set, says where in it the mistakes of an error stand.
	Next   func() (settings.Config, error)
	Locate func(error) error
	// Level, if set, is that of Logger, and is set when a reload changes it.
	Level *slog.LevelVar
	// Look ticks when a gateway that watches its configuration is to look at it; nil: every
	// few seconds.
	Look <-chan time.Time

	// ParsePrices reads the content of the file of prices; nil: as JSON.
	ParsePrices func(name string, data []byte) (*costs.Catalogue, error)

	// Delivered, if set, is called when an answer has been sent. It must not
	// block for long.
	Delivered func(Answer)
	// Keeper is a program, with its first arguments, that runs the program which the rest
	// of them are, and ends it in order when this process was killed: a channel that runs a
	// program starts it so. None: the next gateway ends it.
	Keeper []string
	// PDFExtractor is a program, with its first arguments, that calls [ExtractPDF] with
	// the rest of them. None: PDFs that people send are not read as text.
	PDFExtractor []string
	// Statement, if set, is called with the text of each statement that SQLite runs, without its
	// values, for who counts what a turn costs; by several goroutines at once. It must not block.
	Statement func(query string)
	// CommitWait is how long a commit of SQLite waits for the first write of a turn that has begun
	// meanwhile; 0: as the store does.
	CommitWait time.Duration
	// Subagent, if set, is called when a sub-agent begins and when it has ended,
	// by several of them at once. It must not block for long.
	Subagent func(Subagent)
	// NewWorkspace, if set, is called with the folder of a conversation when it was
	// made, before a turn runs in it; by several conversations at once.
	NewWorkspace func(folder string)
}

// setup is what a gateway was made with. It never changes, and all parts have it.
type setup struct {
	cfg     settings.Config // what may change of it while the gateway runs is in the edition
	o       Options
	metrics *ops.Metrics
	// redactor stands at every exit: the log, chats, what operators read, what tools
	// return.
	redactor *redaction.Redactor
}

// Gateway is one process's part of parley. Make one with New, run it once.
type Gateway struct {
	*setup
	*editions
	traces     traces // as opened
	accounts   *accounts
	people     *people.Book    // as opened
	raises     *raises         // as opened
	schedules  *schedules      // as opened
	erasure    *erasure.Desk   // as opened
	passed     *fates.Book     // as opened: the messages of which no turn is made
	inquiries  *inquiries.Desk // as opened
	servers    *servers        // as opened; nil: there are no MCP servers
	started    chan struct{}
	startedAt  time.Time     // set before Started is closed
	ended      chan struct{} // closed when Run has returned
	ops        *ops.Server
	admin      *admin.Server
	page       *page.Server
	hooks      *webhooks.Server
	workspaces *workspaces
	exports    atomic.Bool // this process is the one that exports the cost
}

// New checks the configuration and wires what needs no disk and no network; it
// starts nothing. A mistake in the configuration is returned as problems.List.
func New(cfg settings.Config, o Options) (*Gateway, error) {
	cfg = cfg.Defaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	g := &Gateway{setup: &setup{cfg: cfg, o: o, redactor: redaction.New(secretsOf(cfg)...)}, started: make(chan struct{}), ended: make(chan struct{})}
	g.o.Logger = g.redactor.Logger(o.Logger)
	g.workspaces = newWorkspaces(cfg, g.o)
	if err := g.wire(); err != nil {
		return nil, err
	}
	return g, nil
}

// Started returns a channel that is closed when the gateway takes messages.
func (g *Gateway) Started() <-chan struct{} { return g.started }

// OpsAddr returns where the operator's listener is, host:port, or "" when there is
// none. It is known once Started is closed.
func (g *Gateway) OpsAddr() string {
	select {
	case <-g.started:
		return g.ops.Addr()
	default:
		return ""
	}
}

// WebhooksAddr returns where networks bring their events, host:port, or "" when there
// is no such listener. It is known once Started is closed.
func (g *Gateway) WebhooksAddr() string {
	select {
	case <-g.started:
		return g.hooks.Addr()
	default:
		return ""
	}
}

// Run opens the store and the log, and works until ctx ends. Then the channels
// stop taking, running turns end or are handed over, queued answers are sent
// for a while, and everything is closed, last opened first. It returns nil
// after an orderly end, and what failed otherwise.
func (g *Gateway) Run(ctx context.Context) (err error) {
	defer close(g.ended)
	log := g.o.Logger
	defer func() { err = g.redactor.CleanError(err); g.logEnd(err) }()
	opened, err := opener{g.setup}.openWithRoom(ctx, g.workspaces.dir)
	defer func() { err = errors.Join(err, opened.close(ctx)) }()
	if err != nil {
		return err
	}
	store, b := opened.store, opened.log
	kept := &storage{store: store, log: b, logger: log, now: g.o.Now, countLost: g.metrics.CountLost}
	stands, err := kept.reconcile(ctx)
	if err != nil {
		return fmt.Errorf("compare the store with the message log: %w", err)
	}
	health := newHealthChecks(g.setup, kept, g.workspaces.dir)
	checks := append(health.readinessChecks(), deadLetterCheck(b))
	g.ops, err = ops.New(ctx, g.cfg.Ops, g.metrics, log, checks...)
	if err != nil {
		return err
	}
	g.ops.Redact = g.redactor.Clean
	g.ops.Notes = g.noteReport
	defer func() { err = errors.Join(err, g.ops.Close()) }()
	g.hooks, err = g.accounts.openWebhooks(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.hooks.Close()) }()
	tracer, err := g.newTracer(stands.generation)
	if err != nil {
		return err
	}
	g.traces = traces{tracer, b}
	questions := &approvals.Desk{Store: store, Now: g.o.Now}
	if err := g.openInquiries(ctx, opened); err != nil {
		return err
	}
	g.people = &people.Book{Store: store, Now: g.o.Now, Count: g.metrics.AccessChanged}
	g.raises = &raises{g.present, store, g.people}
	g.schedules = &schedules{g.setup, g.present, store, g.traces.queue("schedule"), g.people}
	if g.servers, err = openServers(ctx, g.editions, opened, g.inquiries); err != nil {
		return err
	}
	g.passed = &fates.Book{Store: store, Process: g.name(), Log: log, Now: g.o.Now}
	g.erasure = g.newEraser(opened)
	g.equipment = &equipment{
		setup: g.setup, opened: opened, accounts: g.accounts, circuits: g.circuits, people: g.people, questions: questions, passed: g.passed,
		raises: g.raises, schedules: g.schedules, servers: g.servers, texts: documents.NewReader(g.o.PDFExtractor, log),
	}
	if err := g.equipment.equip(g.present()); err != nil {
		return err
	}
	busy := &agent.Registry{}
	children, err := g.newSubagentRunner(store, busy)
	if err != nil {
		return err
	}
	out := delivery.New(delivery.Options{
		Store: store, Log: b, Channels: g.accounts.chans, Files: b, Observer: g.metrics, Logger: log, Now: g.o.Now, Wait: pause.For,
		Redactor: g.redactor, Delivered: answerObserver(ctx, g.o, g.workspaces, store), Attempted: g.traces.deliveries(),
	})
	in := &intake.Intake{
		Passed:  g.passed,
		Present: func() *intake.Settings { return &g.present().arrivals }, Commands: commandDesk{g.present},
		Log: g.traces.queue("intake"), Store: store, People: g.people, Questions: questions, Inquiries: g.inquiries, Observer: g.metrics, Logger: log, Now: g.o.Now,
		Refused: tellRefused(g.o, b),
	}
	w, err := worker.New(worker.Options{
		Config: g.cfg.Worker, Identity: sessions.Worker{Name: g.name(), Nonce: rand.Text()}, Generation: stands.generation, AmbiguousThrough: stands.ambiguousThrough, Log: g.traces.queue("worker"), Signs: opened.signs(g.cfg), Store: ops.MeteredStore{Store: store, Metrics: g.metrics},
		Present: func() *worker.Settings { return &g.present().turns }, Subagents: children,
		Busy: busy, Workspace: g.workspaces.make, Observer: g.metrics, Logger: log, Now: g.o.Now,
		Command: g.cfg.Channels.Command,
		Handoff: func(channel string) worker.Handoff { return out.Handoff(channel) },
		Watcher: g.traces.turns(), PassOver: in.PassOver,
	})
	if err != nil {
		return err
	}
	if err := g.registerExports(opened, w, checks); err != nil {
		return err
	}
	g.accounts.intake = in
	g.admin, err = g.openAdmin(ctx, opened, in)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.admin.Close()) }()
	if g.page, err = g.openPage(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.page.Close()) }()
	return g.runRoles(ctx, in, w, out, kept, health)
}

// logEnd writes the last line of the log: that all is closed of what was started, and what failed.
// Of a gateway that could not start there is none: Run's error says it.
func (g *Gateway) logEnd(err error) {
	select {
	case <-g.started:
	default:
		return
	}
	about := []any{"version", g.o.Version, "ran_for", g.o.Now().Sub(g.startedAt).Round(time.Second)}
	if err != nil {
		g.o.Logger.Error("gateway ended", append(about, "error", err)...)
		return
	}
	g.o.Logger.Info("gateway ended", about...)
}

// name returns what this process is called.
func (s *setup) name() string {
	host, _ := os.Hostname()
	return cmp.Or(s.cfg.Name, host, "parley")
}

// commandDesk answers commands by the edition in force.
type commandDesk struct{ present func() *edition }

// Answer implements [intake.Commands].
func (d commandDesk) Answer(ctx context.Context, by messages.Caller, c messages.Command) (string, error) {
	return d.present().commands.Answer(ctx, by, c)
}
