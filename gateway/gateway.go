// Package gateway builds the house from a configuration and keeps it running
// until its context ends.
//
//	cfg := gateway.Config{…}
//	g, err := gateway.New(cfg.Defaults(), gateway.Options{Logger: log})
//	err = g.Run(ctx)
//
// One message's path: an adapter (channels) offers it to intake, which decides
// who is answered and publishes it to the log (broker); a worker touches the
// conversation's mailbox, becomes its actor, opens a turn in the store
// (sessions) and runs the loop (agent); the end of the turn puts the answer
// into the outbox, from which delivery sends it. It is the only package that
// knows every adapter and store by name.
package gateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"parley/agent"
	"parley/broker"
	"parley/channels"
	"parley/costs"
	"parley/gateway/commands"
	"parley/gateway/delivery"
	"parley/gateway/intake"
	"parley/gateway/ops"
	"parley/gateway/worker"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/sqlite"
)

// GCPercent is a good target of the garbage collector (debug.SetGCPercent) for
// a process that does nothing but run a gateway: a turn leaves much behind and
// little lives long. Against the default of 100 it takes a fifth off the
// processor time of a turn, and adds about 20 MB under load, none when idle.
const GCPercent = 200

// Options is what a gateway gets from the program around it.
type Options struct {
	Logger  *slog.Logger // nil: silence
	Version string
	Now     func() time.Time // nil: time.Now

	// Delivered, if set, is called when an answer has been sent. It must not
	// block for long.
	Delivered func(Answer)
}

// Answer is an answer that was sent, for programs that run a gateway and show
// what it does.
type Answer struct {
	ID      string
	Turn    string // empty: the answer of a command
	Chat    string // the network's id of the chat
	Parts   int    // messages it took
	Session string
	Folder  string       // the session's workspace
	Cost    costs.Amount // what the session and its descendants cost by now
}

// Gateway is one process's part of parley. Make one with New, run it once.
type Gateway struct {
	cfg     Config
	o       Options
	prices  *costs.Catalogue
	agents  map[string]worker.Agent
	metrics *ops.Metrics
	sets    ops.Sets
	chans   []channels.Channel
	started chan struct{}
	ops     *ops.Server
}

// New checks the configuration and wires what needs no disk and no network; it
// starts nothing. A mistake in the configuration is returned as Problems.
func New(cfg Config, o Options) (*Gateway, error) {
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
	prices, err := costs.Embedded()
	if err != nil {
		return nil, fmt.Errorf("read the price catalogue: %w", err)
	}
	g := &Gateway{cfg: cfg, o: o, prices: prices, started: make(chan struct{})}
	if err := g.wire(); err != nil {
		return nil, err
	}
	return g, nil
}

// Started is closed when the gateway takes messages.
func (g *Gateway) Started() <-chan struct{} { return g.started }

// OpsAddr is where the operator's listener is, host:port, or "" when there is
// none. It is known once Started is closed.
func (g *Gateway) OpsAddr() string {
	select {
	case <-g.started:
		return g.ops.Addr()
	default:
		return ""
	}
}

// Run opens the store and the log, and works until ctx ends. Then the channels
// stop taking, running turns end or are handed over, queued answers are sent
// for a while, and everything is closed, last opened first. It returns nil
// after an orderly end, and what failed otherwise.
func (g *Gateway) Run(ctx context.Context) (err error) {
	log := g.o.Logger
	if err := os.MkdirAll(g.cfg.StateDir, 0o700); err != nil {
		return fmt.Errorf("make the state folder: %w", err)
	}
	store, b, shut, err := g.open(ctx)
	defer func() { err = errors.Join(err, shut()) }()
	if err != nil {
		return err
	}
	generation, err := g.reconcile(ctx, store, b)
	if err != nil {
		return fmt.Errorf("compare the store with the message log: %w", err)
	}
	g.ops, err = ops.New(ctx, g.cfg.Ops, g.metrics, log,
		ops.Check{Name: "message log", Test: func(context.Context) error {
			if ok, why := b.Healthy(); !ok {
				return errors.New(why) //nolint:err113 // the watchdog's own words
			}
			return nil
		}},
		ops.Check{Name: "store", Test: func(ctx context.Context) error {
			_, _, err := store.Generation(ctx)
			return err
		}},
	)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.ops.Close()) }()
	if err := g.metrics.Register(ops.NewCosts(store, g.sets)); err != nil {
		return fmt.Errorf("export the ledger: %w", err)
	}
	w, err := worker.New(worker.Options{
		Config: g.cfg.Worker, Me: g.identity(), Generation: generation, Log: b, Store: store, Agents: g.agents,
		Loop: agent.Loop{
			Prices: priceTable{g.cfg.Providers, g.prices}, Retry: g.cfg.Retry.policy(),
			Redact: g.redactor(), Now: g.o.Now, Log: log,
		},
		Busy: &agent.Service{}, Workspace: g.workspace, Observer: g.metrics, Logger: log, Now: g.o.Now,
	})
	if err != nil {
		return err
	}
	in := &intake.Intake{
		Sources: g.sources(), Log: b, Book: store, Observer: g.metrics, Logger: log, Now: g.o.Now,
		Desk: &commands.Desk{Store: store, Now: g.o.Now, Model: func(agent string) string { return g.cfg.Agents[agent].Model }},
	}
	out := delivery.New(delivery.Options{
		Store: store, Log: b, Channels: g.chans, Observer: g.metrics, Logger: log, Now: g.o.Now, Wait: wait,
		Delivered: g.delivered(ctx, store),
	})
	return g.live(ctx, in, w, out, b, store)
}

// open opens the store and the message log, side by side. shut closes what was
// opened, also beside an error.
func (g *Gateway) open(ctx context.Context) (store *sqlite.Store, b *broker.Broker, shut func() error, err error) {
	var opening errgroup.Group
	opening.Go(func() (err error) {
		store, err = sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(g.cfg.StateDir, "parley.db"), Log: g.o.Logger})
		if err != nil {
			return fmt.Errorf("open the store: %w", err)
		}
		return nil
	})
	opening.Go(func() (err error) {
		b, err = broker.Open(ctx, g.brokerOptions())
		if err != nil {
			return fmt.Errorf("open the message log: %w", err)
		}
		return nil
	})
	err = opening.Wait()
	return store, b, func() error {
		var errs []error
		if b != nil {
			end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
			defer cancel()
			errs = append(errs, b.Close(end))
		}
		if store != nil {
			errs = append(errs, store.Close())
		}
		return errors.Join(errs...)
	}, err
}

// live runs the parts. They end one after another: first what takes messages,
// then what answers them, then what sends the answers, then what watches.
func (g *Gateway) live(ctx context.Context, in *intake.Intake, w *worker.Worker, out *delivery.Delivery, b *broker.Broker, store *sqlite.Store) error {
	failed, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	sending, stopSending := context.WithCancel(context.WithoutCancel(ctx))
	defer stopSending()
	watching, stopWatching := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWatching()

	var takers, workers, senders, watchers errgroup.Group
	part := func(ctx context.Context, group *errgroup.Group, name string, run func(context.Context) error) {
		group.Go(func() error {
			err := run(ctx)
			if err == nil || ctx.Err() != nil && errors.Is(err, ctx.Err()) {
				return nil
			}
			err = fmt.Errorf("%s: %w", name, err)
			fail(err)
			return err
		})
	}
	part(watching, &watchers, "ops", g.ops.Run)
	part(watching, &watchers, "message log", b.Watch)
	part(watching, &watchers, "janitor", func(ctx context.Context) error { return g.sweep(ctx, b, store) })
	part(sending, &senders, "delivery", out.Run)
	part(failed, &workers, "worker", w.Run)
	part(failed, &takers, "channels", func(ctx context.Context) error { return g.receive(ctx, in.Accept) })

	g.ops.SetReady(true)
	close(g.started)
	g.o.Logger.Info("started", "version", g.o.Version, "ops", g.ops.Addr(), "state", g.cfg.StateDir)
	<-failed.Done()
	g.ops.SetReady(false)
	g.o.Logger.Info("ending")

	errs := []error{takers.Wait(), workers.Wait()}
	stopSending()
	errs = append(errs, senders.Wait())
	stopWatching()
	errs = append(errs, watchers.Wait())
	return errors.Join(errs...)
}

// receive runs every channel. One whose account cannot go on is logged and the
// others go on; when none is left that is an error.
func (g *Gateway) receive(ctx context.Context, accept channels.Accept) error {
	errs := make([]error, len(g.chans))
	var group sync.WaitGroup
	for i, c := range g.chans {
		group.Go(func() {
			err := c.Receive(ctx, accept)
			if err != nil && ctx.Err() == nil {
				g.o.Logger.Error("a channel cannot go on", "channel", c.Name(), "error", err)
			}
			errs[i] = err
		})
	}
	group.Wait()
	if ctx.Err() == nil {
		return fmt.Errorf("no channel is left: %w", errors.Join(errs...))
	}
	return nil
}

func (g *Gateway) delivered(ctx context.Context, store sessions.Store) func(sessions.Delivery) {
	if g.o.Delivered == nil {
		return nil
	}
	return func(d sessions.Delivery) {
		a := Answer{ID: d.ID, Turn: d.Turn, Chat: d.To.Peer, Parts: len(d.Parts), Session: string(d.Session)}
		if d.Session != "" {
			a.Folder = g.workspacePath(d.Session)
			s, err := store.Session(context.WithoutCancel(ctx), d.Session)
			if err != nil {
				g.o.Logger.Warn("looking up a session", "error", err)
			}
			a.Cost = s.Subtree
		}
		g.o.Delivered(a)
	}
}

func (g *Gateway) identity() sessions.Worker {
	host, _ := os.Hostname()
	return sessions.Worker{Name: cmp.Or(g.cfg.Name, host, "parley"), Nonce: rand.Text()}
}

func (g *Gateway) sources() map[string]intake.Source {
	m := map[string]intake.Source{}
	for name, t := range g.cfg.Channels.Telegram {
		m[name] = intake.Source{Agent: t.Agent, Access: t.Access}
	}
	return m
}

// workspace makes a session's own folder.
func (g *Gateway) workspace(id sessionkeys.SessionID) (string, error) {
	dir := g.workspacePath(id)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make a workspace: %w", err)
	}
	return dir, nil
}

func (g *Gateway) workspacePath(id sessionkeys.SessionID) string {
	return filepath.Join(g.cfg.StateDir, "workspaces", string(id))
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
