package gateway

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"parley/broker"
	"parley/disks"
	"parley/gateway/backup"
	"parley/gateway/presence"
	"parley/gateway/settings"
	"parley/pause"
	"parley/sessions"
	"parley/sessions/redis"
	"parley/sessions/sqlite"
	"parley/tools/sandbox"
)

// resources is what outlives all parts, and is closed after them. What was not
// opened is nil.
type resources struct {
	store sessions.Store
	size  func() (int64, error) // bytes of the store on this machine's disk
	log   *broker.Broker
	claim func() // gives back what only one process may have; see claim

	sandbox *sandbox.Sandbox // nil: no turn of this process runs programs
}

// opener opens them.
type opener struct{ *setup }

// roomEvery is how often a gateway that was started on a full disk looks again.
const roomEvery = 2 * time.Second

// signs are by what processes that share log and store see that another is there; none
// where this one is alone with one of them.
func (o resources) signs(c settings.Config) []presence.Sign {
	store, shared := o.store.(presence.Sign)
	if !shared || c.Broker.URL == "" {
		return nil
	}
	return []presence.Sign{o.log, store}
}

// openWithRoom calls open, which waits as long as a disk is full: who started the
// gateway may have no more tries, and no operator sees it.
func (op opener) openWithRoom(ctx context.Context, workspaces string) (o resources, err error) {
	if err := backup.CheckComplete(op.cfg.StateDir); err != nil { // before anything is written there
		return o, err // it says what to do
	}
	for told := false; ; told = true {
		if err = os.MkdirAll(workspaces, 0o700); err == nil {
			o, err = op.open(ctx)
		} else {
			o, err = resources{}, fmt.Errorf("make the state folder: %w", err)
		}
		if !disks.IsFull(err) || ctx.Err() != nil {
			return o, err
		}
		if !told {
			op.o.Logger.Error("start delayed: disk full", "state_dir", op.cfg.StateDir, "error", err)
		}
		if e := o.close(ctx); e != nil {
			return resources{}, errors.Join(err, e)
		}
		if pause.For(ctx, roomEvery) != nil {
			return resources{}, fmt.Errorf("%w while a disk is full: %w", ctx.Err(), err)
		}
	}
}

// open opens the store and the message log. What it returns is to be closed also
// beside an error.
func (op opener) open(ctx context.Context) (o resources, err error) {
	var opening errgroup.Group
	shared := op.cfg.Store.Redis.Used()
	if !shared {
		opening.Go(func() error { return op.openSQLite(ctx, &o) })
	}
	opening.Go(func() (err error) {
		o.log, err = broker.Open(ctx, op.brokerOptions())
		if err != nil {
			return fmt.Errorf("open the message log: %w", err)
		}
		return nil
	})
	opening.Go(func() (err error) {
		o.sandbox, err = op.openSandbox(ctx)
		return err
	})
	if err := opening.Wait(); err != nil {
		return o, err
	}
	if shared { // it reads its facts from the log
		return o, op.openRedis(ctx, &o)
	}
	o.claim, err = op.claimLog(ctx, o.log)
	return o, err
}

func (op opener) openSQLite(ctx context.Context, o *resources) error {
	store, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(op.cfg.StateDir, database), Log: op.o.Logger, Now: op.o.Now, Trace: op.o.Statement, Linger: op.o.CommitWait})
	if err != nil {
		return fmt.Errorf("open the store: %w", err)
	}
	o.store = store
	o.size = func() (int64, error) { return totalSize(store.Path(), store.Path()+"-wal") }
	if err := backup.RemoveCopy(op.cfg.StateDir); err != nil { // the store is locked, so no other process makes one
		op.o.Logger.Warn("old copy of the database still there, delete it", "error", err)
	}
	return nil
}

// openRedis opens the store that other processes share, and looks for processes
// that do not share it.
func (op opener) openRedis(ctx context.Context, o *resources) error {
	if _, err := os.Stat(filepath.Join(op.cfg.StateDir, database)); err == nil {
		op.o.Logger.Warn("SQLite database in the state folder ignored: conversations are in Redis", "state_dir", op.cfg.StateDir)
	}
	options := op.cfg.Store.Redis.Options()
	options.Facts, options.Log, options.Now = facts{o.log}, op.o.Logger, op.o.Now
	store, err := redis.Open(ctx, options)
	if err != nil {
		return fmt.Errorf("open the store: %w", err)
	}
	o.store = store
	o.size = func() (int64, error) { return 0, nil } // not on this machine
	return nil
}

// database is SQLite's file in the state folder.
const database = backup.Database

// facts is the part of the log in which a Redis store writes down what a failover
// must not forget.
type facts struct{ log *broker.Broker }

func (f facts) Append(ctx context.Context, id string, body []byte) (uint64, error) {
	return f.log.AppendFact(ctx, id, body)
}

func (f facts) After(ctx context.Context, number uint64, yield func(number uint64, body []byte) bool) error {
	return f.log.Facts(ctx, number, func(f broker.Fact) bool { return yield(f.Seq, f.Body) })
}

func (f facts) Last(ctx context.Context) (uint64, error) { return f.log.LastFact(ctx) }

// close closes what was opened, last opened first.
func (o resources) close(ctx context.Context) error {
	var errs []error
	if o.claim != nil {
		o.claim()
	}
	if o.log != nil {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		errs = append(errs, o.log.Close(end))
	}
	if o.store != nil {
		errs = append(errs, o.store.Close())
	}
	if o.sandbox != nil {
		errs = append(errs, o.sandbox.Close())
	}
	return errors.Join(errs...)
}
