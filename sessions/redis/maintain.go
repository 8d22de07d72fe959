package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/pause"
	"parley/sessions/rules"
)

// maxRewrites is how often a server is asked for a rewrite that fails.
const maxRewrites = 3

// rewrite has a server that restarted write its append-only file anew, and waits
// for it. Redis (7.0 at least) drops the unfinished half of a script's writes
// from memory when it loads a file that was cut by a kill, but not from the file
// when the cut is in the middle of a command; at the start after that, the half
// would be the beginning of the first script that was written behind it. So
// nothing may be written behind it: nobody has yet, because every client greets
// the server first.
func (rec *recovery) rewrite(ctx context.Context) error {
	for asked := 0; ; {
		info, err := rec.info(ctx)
		if err != nil {
			return err
		}
		busy := info["aof_rewrite_in_progress"] == "1" || info["aof_rewrite_scheduled"] == "1"
		switch {
		case info["aof_enabled"] != "1":
			return nil
		case busy:
			// The lock must not end; a single command writes nothing that is half.
			if err := rec.plain.PExpire(ctx, rec.key("takeover"), lockFor).Err(); err != nil {
				return fmt.Errorf("hold the database: %w", explain(err))
			}
			if err := pause.For(ctx, 10*time.Millisecond); err != nil {
				return err
			}
			continue
		case info["aof_last_bgrewrite_status"] == "ok" && (asked > 0 || info["aof_rewrites"] != "0" && info["aof_rewrites"] != ""):
			return nil // one since it started is enough
		case asked == maxRewrites:
			return errors.New("the server cannot rewrite its append-only file (BGREWRITEAOF); its log says why, mostly that the disk is full")
		}
		asked++
		err = rec.plain.BgRewriteAOF(ctx).Err()
		if ctx.Err() != nil {
			return explain(err)
		}
		if err != nil {
			now, infoErr := rec.info(ctx)
			if infoErr != nil {
				return infoErr
			}
			if now["aof_rewrite_in_progress"] != "1" && now["aof_rewrite_scheduled"] != "1" {
				rec.log.Warn("redis: BGREWRITEAOF is refused; run redis-check-aof --fix before each start of the server, or a write that a kill cut in two may come back in part", "err", err)
				return nil
			}
		}
	}
}

const (
	catchUpEvery = time.Minute
	forgotAgain  = time.Second // when forgot failed
)

// Maintain looks after the database until ctx ends. It applies what processes that
// ended left in the log of facts, and calls forgot after each restart or failover
// of the server, also one that this store found when it was opened, and one after
// which the processes that found it ended before forgot returned nil: what is no
// fact, such as which messages wait, may be lost then, and is to be told again.
// forgot is called again until it returns nil.
//
// It returns nil. One goroutine calls it.
func (rec *recovery) Maintain(ctx context.Context, forgot func(context.Context) error) error {
	tick := time.NewTicker(catchUpEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := rec.CatchUp(ctx); err != nil && ctx.Err() == nil {
				rec.log.Warn("redis: apply what others left in the log of facts", "error", err)
			}
		case <-rec.forgot:
			for err := rec.tell(ctx, forgot); err != nil; err = rec.tell(ctx, forgot) {
				if ctx.Err() != nil {
					return nil
				}
				rec.log.Error("redis: tell the database what it forgot", "error", err)
				if pause.For(ctx, forgotAgain) != nil {
					return nil
				}
			}
		}
	}
}

// tell calls forgot, and then deletes the note by which a take-over says that it is owed,
// unless another take-over has written its own meanwhile.
func (rec *recovery) tell(ctx context.Context, forgot func(context.Context) error) error {
	a, err := rec.query(ctx, newRead("HGET", rec.key("meta"), metaUntold))
	if err != nil {
		return fmt.Errorf("look what the database is to be told: %w", err)
	}
	if err := forgot(ctx); err != nil {
		return err
	}
	p := &plan{db: rec.database, r: rec.reading(ctx)}
	p.step("k", a.text(0), "HGET", rec.key("meta"), metaUntold)
	p.do("HDEL", rec.key("meta"), metaUntold)
	err = p.commit(rec.client)
	if errors.Is(err, errChanged) {
		err = nil // it is not there, or belongs to another take-over
	}
	return rules.While(err, "note that the database was told")
}
