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
	metaEras     = "eras" // the number of the last era, also while there is none
	metaVersion  = "version"
	metaFacts    = "facts"
	metaOutbox   = "outbox" // the order of the last answer that was queued

	takingOver = "none" // the era while somebody takes over
)

// greet refuses a connection to a server that may lack writes.
func (s *Store) greet(ctx context.Context, cn *goredis.Conn) error {
	pipe := cn.Pipeline()
	server, meta := pipe.Info(ctx, "server"), pipe.HMGet(ctx, s.key("meta"), metaTimeline, metaEra)
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("greet the server: %w", err)
	}
	era := s.era.Load()
	if v := meta.Val(); era == nil || v[0] != infoOf(server.Val())["run_id"] || v[1] != *era {
		return errEra
	}
	return nil
}

// lockFor is how long somebody who takes over may be silent.
const lockFor = 30 * time.Second

// reconcile makes the database whole if the server is another one than before,
// or waits for whoever does, and learns its era.
func (s *Store) reconcile(ctx context.Context) error {
	select {
	case s.settle <- struct{}{}:
		defer func() { <-s.settle }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for {
		if err := s.inspect(ctx); err != nil {
			return err
		}
		t, err := s.timeline(ctx)
		if err != nil {
			return err
		}
		if t.isWhole() {
			return s.adopt(t)
		}
		got, err := s.lock(ctx)
		if err != nil {
			return fmt.Errorf("take the database over: %w", explain(err))
		}
		if got {
			if err := s.takeOver(ctx, s.me, t); err != nil {
				return fmt.Errorf("take the database over after a restart or failover: %w", err)
			}
			continue
		}
		if err := pause.For(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// lock takes the lock of who takes over. It is ours, too, when an answer was lost, or
// when the server forgot what we did under it, but not the lock.
func (s *Store) lock(ctx context.Context) (bool, error) {
	got, err := s.plain.SetNX(ctx, s.key("takeover"), s.me, lockFor).Result()
	if err != nil || got {
		return got, err
	}
	holder, err := s.plain.Get(ctx, s.key("takeover")).Result()
	if errors.Is(err, goredis.Nil) {
		return false, nil // it ended just now
	}
	return holder == s.me, err
}

// timeline is what the database and the server say of each other.
type timeline struct {
	runID, named string
	era          string
	eras         int64
	facts        uint64 // all up to this one were applied
	fresh        bool   // there is no database yet
}

func (t timeline) isWhole() bool { return t.named == t.runID && t.era != takingOver }

func (s *Store) timeline(ctx context.Context) (t timeline, err error) {
	info, err := s.info(ctx)
	if err != nil {
		return t, err
	}
	meta, err := s.plain.HGetAll(ctx, s.key("meta")).Result()
	if err != nil {
		return t, fmt.Errorf("read the database's era: %w", explain(err))
	}
	t.runID, t.named, t.era, t.fresh = info["run_id"], meta[metaTimeline], meta[metaEra], len(meta) == 0
	if v := meta[metaVersion]; !t.fresh && v != version {
		return t, fmt.Errorf("%w: the keys under %s are of version %q, this program knows %s; run a newer one, or choose another prefix", sessions.ErrDamaged, s.prefix, v, version)
	}
	if t.eras, err = parseNumber(meta[metaEras]); err != nil {
		return t, fmt.Errorf("read the database's era: %w", err)
	}
	facts, err := parseNumber(meta[metaFacts])
	t.facts = uint64(max(facts, 0))
	return t, err
}

// adopt goes on with a database that is whole.
func (s *Store) adopt(t timeline) error {
	old := s.era.Load()
	if old == nil || *old != t.era {
		s.known.begin(t.era)
	}
	if old != nil && *old != t.era {
		s.wakeMaintain()
	}
	s.era.Store(&t.era)
	return nil
}

// errLock says that somebody else takes the database over.
var errLock = errors.New("somebody else does")

// takeOver makes the database whole. It may be broken off anywhere, and be begun
// again by anybody.
func (s *Store) takeOver(ctx context.Context, me string, t timeline) (err error) {
	begun := s.now()
	if !t.fresh {
		if err := s.rewrite(ctx); err != nil {
			return err
		}
		s.log.Warn("redis: the server restarted or another one is the primary", "prefix", s.prefix, "facts", s.facts != nil)
	}
	next := t.eras + 1
	if t.fresh {
		next = 0
	} else if err := s.setLocked(ctx, me, metaEra, takingOver, metaOutbox, strconv.FormatInt(next*eraShift, 10)); err != nil {
		// Who sends answers looks behind the last that it saw: those that are queued
		// again come after all that were ever queued, or a later one would overtake them.
		return err
	}
	if t.fresh && s.facts != nil {
		last, err := s.lastEra(ctx)
		if err != nil {
			return err
		}
		next = last + 1
	}
	done := replayCounts{}
	if s.facts != nil {
		if done, err = s.replay(ctx, me, next, t.facts); err != nil {
			return err
		}
	}
	if s.facts != nil && (!t.fresh || done.applied > 0) { // the rows of facts have owners
		if err := s.evict(ctx, me); err != nil {
			return err
		}
	}
	n := strconv.FormatInt(next, 10)
	err = s.setLocked(ctx, me, metaVersion, version, metaEras, n, "epochs", strconv.FormatInt(next*eraShift, 10), metaEra, n, metaTimeline, t.runID)
	if err != nil {
		return err
	}
	if !t.fresh || done.applied > 0 {
		s.wakeMaintain()
	}
	s.log.Info("redis: the database is ready", "era", next, "facts_applied", done.applied, "facts_void", done.void, "took", s.now().Sub(begun))
	return s.plain.Del(ctx, s.key("takeover")).Err()
}

// setLocked sets fields of the database's own row if the lock is still ours, and
// holds the lock for longer.
func (s *Store) setLocked(ctx context.Context, me string, fields ...string) error {
	p := s.lockedPlan(ctx, me)
	p.do("PEXPIRE", s.key("takeover"), strconv.FormatInt(lockFor.Milliseconds(), 10))
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i] == metaOutbox { // it never goes back, also when a take-over is begun again
			p.step("s", fields[i], fields[i+1])
			continue
		}
		p.do("HSET", s.key("meta"), fields[i], fields[i+1])
	}
	err := p.commit(s.plain)
	if errors.Is(err, errChanged) {
		err = errLock
	}
	return rules.While(err, "hold the database")
}

// lockedPlan is a plan that is carried out while the lock is ours, whatever the era.
func (s *Store) lockedPlan(ctx context.Context, me string) *plan {
	r := s.reading(ctx)
	r.client, r.era, r.isView = s.plain, "", true
	p := &plan{s: s, r: r, again: true}
	p.step("k", me, "GET", s.key("takeover"))
	return p
}

// evict ends all fences: nobody knows which of them were given.
func (s *Store) evict(ctx context.Context, me string) error {
	owners, err := s.plain.SMembers(ctx, s.key("owners")).Result()
	if err != nil {
		return fmt.Errorf("list who owns mailboxes: %w", explain(err))
	}
	for _, owner := range owners {
		k, err := workerKeyNamed(owner)
		if err != nil {
			return err
		}
		for more := true; more; {
			if more, err = s.evictFrom(ctx, me, sessions.Worker(k.(rules.WorkerKey))); err != nil { //nolint:forcetypeassert // as named
				return fmt.Errorf("end the fences of worker %s: %w", owner, err)
			}
		}
	}
	return nil
}

// evictFrom ends fences of a worker, and reports whether there may be more.
func (s *Store) evictFrom(ctx context.Context, me string, w sessions.Worker) (more bool, err error) {
	if err := s.setLocked(ctx, me); err != nil {
		return false, err
	}
	p := s.lockedPlan(ctx, me)
	tx := &rules.Tx{Reader: p.r}
	n, err := rules.Evict(tx, w, pageRows)
	if err != nil || n == 0 {
		return false, err
	}
	c, err := s.changes(p.r, &tx.Set)
	if err != nil {
		return false, err
	}
	p.expectRead(sessions.Fence{}, c)
	if err := p.write(c); err != nil {
		return false, err
	}
	if err := p.commit(s.plain); errors.Is(err, errChanged) {
		return true, nil // the lock is looked at next
	} else if err != nil {
		return false, err
	}
	return n == pageRows, nil
}
