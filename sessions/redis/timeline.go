package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"parley/pause"
	"parley/sessions"
	"parley/sessions/rules"
	"parley/wake"

	goredis "github.com/redis/go-redis/v9"
)

// A server that restarted, or a replica that was promoted, may lack the last
// writes. Either has another run id than the one that the database names as its
// own, and a client finds out when it connects: nothing is read or written on a
// connection before greet has compared the two. Whoever finds a difference takes
// the database over: it applies the facts that are missing, ends all fences, and
// names the new run id. Meanwhile scripts are refused, because the era in the
// database is none; afterwards it is another one, and each client asks for it.

// version is of the keys and what is in them.
const version = "1"

// eraShift makes room for the epochs, and for the answers, of an era.
const eraShift = 1 << 32

const (
	metaTimeline = "timeline" // run id of the server that the database was last made whole on
	metaEra      = "era"
	metaEras     = "eras" // the number of the last era that was begun, also of one that is not ready
	metaVersion  = "version"
	metaFacts    = "facts"
	metaOutbox   = "outbox" // the order of the last answer that was queued
	metaUntold   = "untold" // the era since whose beginning Maintain owes a call of forgot

	takingOver = "none" // the era while somebody takes over
)

// greet refuses a connection to a server that may lack writes.
func (conn *connection) greet(ctx context.Context, cn *goredis.Conn) error {
	pipe := cn.Pipeline()
	server, meta := pipe.Info(ctx, "server"), pipe.HMGet(ctx, conn.key("meta"), metaTimeline, metaEra)
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("greet the server: %w", err)
	}
	era := conn.era.Load()
	if v := meta.Val(); era == nil || v[0] != infoOf(server.Val())["run_id"] || v[1] != *era {
		return errEra
	}
	return nil
}

// recovery makes the database whole after a restart or failover of the server, and keeps
// it so.
type recovery struct {
	*factLog
	me     string        // whoever takes over has the lock under this name
	settle chan struct{} // held by who looks what became of the server
	forgot wake.Signal   // holds one when the database may have forgotten; see Maintain
}

// lockFor is how long somebody who takes over may be silent.
const lockFor = 30 * time.Second

// makeWhole makes the database whole if the server is another one than before,
// or waits for whoever does, and learns its era.
func (rec *recovery) makeWhole(ctx context.Context) error {
	select {
	case rec.settle <- struct{}{}:
		defer func() { <-rec.settle }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for {
		if err := rec.inspect(ctx); err != nil {
			return err
		}
		t, err := rec.timeline(ctx)
		if err != nil {
			return err
		}
		if t.isWhole() {
			return rec.adopt(t)
		}
		got, err := rec.lock(ctx)
		if err != nil {
			return fmt.Errorf("take the database over: %w", explain(err))
		}
		if got {
			err := rec.takeOver(ctx, rec.me)
			if err == nil {
				continue
			}
			if !errors.Is(err, errLock) {
				return fmt.Errorf("take the database over after a restart or failover: %w", err)
			}
			rec.log.Warn("redis: takeover broken off", "prefix", rec.prefix, "error", err)
		}
		if err := pause.For(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// lock takes the lock of who takes over. It is ours, too, when an answer was lost, or
// when the server forgot what we did under it, but not the lock.
func (rec *recovery) lock(ctx context.Context) (bool, error) {
	got, err := rec.plain.SetNX(ctx, rec.key("takeover"), rec.me, lockFor).Result()
	if err != nil || got {
		return got, err
	}
	holder, err := rec.plain.Get(ctx, rec.key("takeover")).Result()
	if errors.Is(err, goredis.Nil) {
		return false, nil // it ended just now
	}
	return holder == rec.me, err
}

// timeline is what the database and the server say of each other.
type timeline struct {
	runID, named string
	era          string
	eras         int64
	facts        uint64 // all up to this one were applied
	fresh        bool   // there is no database yet
	untold       bool   // nobody has told the database yet what it forgot
}

func (t timeline) isWhole() bool { return t.named == t.runID && t.era != takingOver }

func (conn *connection) timeline(ctx context.Context) (t timeline, err error) {
	info, err := conn.info(ctx)
	if err != nil {
		return t, err
	}
	meta, err := conn.plain.HGetAll(ctx, conn.key("meta")).Result()
	if err != nil {
		return t, fmt.Errorf("read the database's era: %w", explain(err))
	}
	t.runID, t.named, t.era, t.fresh = info["run_id"], meta[metaTimeline], meta[metaEra], len(meta) == 0
	if v := meta[metaVersion]; !t.fresh && v != version {
		return t, fmt.Errorf("%w: the keys under %s are of version %q, this program knows %s; run a newer one, or choose another prefix", sessions.ErrDamaged, conn.prefix, v, version)
	}
	t.untold = meta[metaUntold] != ""
	if t.eras, err = parseNumber(meta[metaEras]); err != nil {
		return t, fmt.Errorf("read the database's era: %w", err)
	}
	facts, err := parseNumber(meta[metaFacts])
	t.facts = uint64(max(facts, 0))
	return t, err
}

// adopt goes on with a database that is whole.
func (rec *recovery) adopt(t timeline) error {
	old := rec.era.Load()
	if old == nil || *old != t.era {
		rec.known.begin(t.era)
	}
	rec.era.Store(&t.era)
	if old == nil && t.untold || old != nil && *old != t.era {
		rec.forgot.Send()
	}
	return nil
}

// errLock means that a take-over may not go on: another process has the lock, or another
// server answers.
var errLock = errors.New("takeover lock lost, or taken at another server")

// hold is what the process that takes the database over proves with each write: that it has
// the lock, at the server that it made out. The client greets nobody then, and would carry the
// rest of a replay over to the next server, which may lack the beginning.
type hold struct{ me, server string }

// takeOver makes the database whole, if nobody has while the lock was waited for. It may be
// broken off anywhere, and be begun again by anybody.
func (rec *recovery) takeOver(ctx context.Context, me string) (err error) {
	begun := rec.now()
	t, err := rec.timeline(ctx)
	if err != nil {
		return err
	}
	if t.isWhole() {
		return rec.unlock(ctx)
	}
	if !t.fresh {
		if err := rec.rewrite(ctx); err != nil {
			return err
		}
		rec.log.Warn("redis: server restarted or failed over", "prefix", rec.prefix, "facts", rec.facts != nil)
	}
	h := &hold{me, t.runID}
	next, err := rec.nextEra(ctx, h, t)
	if err != nil {
		return err
	}
	// Who sends answers looks behind the last that it saw: those that are queued
	// again come after all that were ever queued, or a later one would overtake them.
	//
	// The number of the era is written before the replay passes its fact over: nextEra
	// does not look for eras in the log before the mark, so a replica that has the mark
	// must have the number too.
	n := strconv.FormatInt(next, 10)
	err = rec.setLocked(ctx, h, metaVersion, version, metaEras, n, metaEra, takingOver, metaOutbox, strconv.FormatInt(next*eraShift, 10))
	if err != nil {
		return err
	}
	done := replayCounts{}
	if rec.facts != nil {
		if done, err = rec.replay(ctx, h, next, t.facts); err != nil {
			return err
		}
	}
	if rec.facts != nil && (!t.fresh || done.applied > 0) { // the rows of facts have owners
		if err := rec.evict(ctx, h); err != nil {
			return err
		}
	}
	ready := []string{"epochs", strconv.FormatInt(next*eraShift, 10), metaEra, n, metaTimeline, t.runID}
	if !t.fresh || done.applied > 0 {
		ready = append(ready, metaUntold, n)
	}
	if err := rec.setLocked(ctx, h, ready...); err != nil {
		return err
	}
	rec.log.Info("redis: database ready", "era", next, "facts_applied", done.applied, "facts_void", done.void, "duration", rec.now().Sub(begun))
	return rec.unlock(ctx)
}

func (rec *recovery) unlock(ctx context.Context) error {
	return rec.plain.Del(ctx, rec.key("takeover")).Err() // takeOver's caller does
}

// nextEra returns the number of an era that never was. The database may have lost the one that
// ended: a replica that was cut off before that began does not know of it. But the log of facts
// does, or at least this process, if it was one of it.
func (rec *recovery) nextEra(ctx context.Context, h *hold, t timeline) (next int64, err error) {
	if !t.fresh {
		next = t.eras + 1
	}
	if own := rec.era.Load(); own != nil {
		n, err := parseNumber(*own)
		if err != nil {
			return 0, fmt.Errorf("read the era: %w", err)
		}
		next = max(next, n+1)
	}
	if rec.facts == nil {
		return next, nil
	}
	if err := rec.checkLog(ctx, t.facts); err != nil {
		return 0, err
	}
	last, err := rec.lastEra(ctx, h, t.facts)
	return max(next, last+1), err
}

// setLocked sets fields of the database's own row if the lock is still ours, and
// holds the lock for longer.
func (rec *recovery) setLocked(ctx context.Context, h *hold, fields ...string) error {
	p := rec.lockedPlan(ctx, h)
	p.do("PEXPIRE", rec.key("takeover"), strconv.FormatInt(lockFor.Milliseconds(), 10))
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i] == metaOutbox { // it never goes back, also when a take-over is begun again
			p.step("s", fields[i], fields[i+1])
			continue
		}
		p.do("HSET", rec.key("meta"), fields[i], fields[i+1])
	}
	return rules.While(p.commit(rec.plain), "hold the database")
}

// lockedPlan is a plan that is carried out while h holds, whatever the era.
func (rec *recovery) lockedPlan(ctx context.Context, h *hold) *plan {
	r := rec.reading(ctx)
	r.client, r.era, r.isView = rec.plain, "", true
	return &plan{db: rec.database, r: r, hold: h}
}

// evict ends all fences: nobody knows which of them were given.
func (rec *recovery) evict(ctx context.Context, h *hold) error {
	owners, err := rec.plain.SMembers(ctx, rec.key("owners")).Result()
	if err != nil {
		return fmt.Errorf("list who owns mailboxes: %w", explain(err))
	}
	for _, owner := range owners {
		k, err := workerKeyNamed(owner)
		if err != nil {
			return err
		}
		for more := true; more; {
			if more, err = rec.evictFrom(ctx, h, sessions.Worker(k.(rules.WorkerKey))); err != nil { // as named
				return fmt.Errorf("end the fences of worker %s: %w", owner, err)
			}
		}
	}
	return nil
}

// evictFrom ends fences of a worker, and reports whether there may be more.
func (rec *recovery) evictFrom(ctx context.Context, h *hold, w sessions.Worker) (more bool, err error) {
	if err := rec.setLocked(ctx, h); err != nil {
		return false, err
	}
	p := rec.lockedPlan(ctx, h)
	tx := &rules.Tx{Reader: p.r}
	n, err := rules.Evict(tx, w, pageRows)
	if err != nil || n == 0 {
		return false, err
	}
	c, err := rec.changes(p.r, &tx.Set)
	if err != nil {
		return false, err
	}
	p.expectRead(sessions.Fence{}, c)
	if err := p.write(c); err != nil {
		return false, err
	}
	if err := p.commit(rec.plain); errors.Is(err, errChanged) {
		return true, nil
	} else if err != nil {
		return false, err
	}
	return n == pageRows, nil
}
