package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"

	"parley/sessions"
	"parley/sessions/rules"

	goredis "github.com/redis/go-redis/v9"
)

// factLog applies what was written down and not committed.
type factLog struct {
	*database
	seen atomic.Uint64 // the last fact at the last CatchUp
}

// replayCounts counts what was done again.
type replayCounts struct{ applied, void int }

// provenFence is a fence as a fact proves it.
type provenFence struct {
	epoch int64
	base  uint64
}

// verdicts say of facts that may not have been applied whether they held.
//
// A fact held unless it is known that it did not. It is, when
//   - its refusal was written down before another era began;
//   - a later fence of its mailbox was given before it was applied: the facts of
//     that fence name the last fact that was applied by then;
//   - it carries a fence of an era that was over when it was written down.
//
// Of a refusal that was written down nowhere nobody was told, and no later owner
// has done anything: then the fact holds after all. The same goes for one that was
// written down behind an era: the replay that began the era did not see it, and
// whoever wrote it down finds out.
type verdicts struct {
	voids map[uint64]uint64        // the first refusal of a fact
	later map[string][]provenFence // by token

	eras []eraFact // in order
}

type eraFact struct {
	number uint64
	era    int64
}

func (v *verdicts) note(number uint64, f fact) {
	switch f.Script {
	case factVoid:
		if _, known := v.voids[f.Void]; !known {
			v.voids[f.Void] = number
		}
	case factEra:
		v.eras = append(v.eras, eraFact{number, f.Era})
	}
	if f.Box != nil {
		v.later[f.Box.Token] = append(v.later[f.Box.Token], provenFence{f.Box.Epoch, f.Box.Base})
	}
}

// isRefused reports whether the refusal of a fact was written down before another era
// began. An era between them is behind the mark, as the fact is.
func (v *verdicts) isRefused(number uint64) bool {
	void, is := v.voids[number]
	return is && !slices.ContainsFunc(v.eras, func(e eraFact) bool { return number < e.number && e.number < void })
}

// hasHeld reports whether a fact held, as far as the log tells.
func (v *verdicts) hasHeld(number uint64, f fact) bool {
	if f.Script == factVoid || f.Script == factEra || v.isRefused(number) {
		return false
	}
	for _, e := range v.eras {
		if e.number < number && f.Set != nil && e.era > f.In {
			return false
		}
	}
	if f.Box == nil {
		return true
	}
	for _, g := range v.later[f.Box.Token] {
		if g.epoch > f.Box.Epoch && g.base < number {
			return false
		}
	}
	return true
}

// replay begins an era in the log, and applies all facts before it that the
// database does not have. mark is the fact up to which it has all, and the log has those behind it.
func (rec *recovery) replay(ctx context.Context, h *hold, era int64, mark uint64) (done replayCounts, err error) {
	body, err := fact{Script: factEra, Era: era}.encode()
	if err != nil {
		return done, err
	}
	end, err := rec.facts.Append(ctx, "era-"+rand.Text(), body)
	if err != nil {
		return done, fmt.Errorf("write an era down: %w", err)
	}
	v := verdicts{voids: map[uint64]uint64{}, later: map[string][]provenFence{}}
	err = rec.eachLocked(ctx, h, mark, end, func(number uint64, f fact) error {
		v.note(number, f)
		return nil
	})
	if err != nil {
		return done, err
	}
	var costs []failedCosts
	err = rec.eachMissing(ctx, h, mark, end, func(number uint64, f fact) error {
		if (done.applied+done.void)%64 == 0 {
			if err := rec.setLocked(ctx, h); err != nil {
				return err
			}
		}
		held := v.hasHeld(number, f)
		if held {
			if held, err = rec.reapply(ctx, number, f, h); err != nil {
				return fmt.Errorf("apply fact %d again: %w", number, err)
			}
		}
		if held {
			done.applied++
			return nil
		}
		done.void++
		if cost := f.settlements(); cost != nil {
			costs = append(costs, failedCosts{number, *cost})
			return nil
		}
		_, err := rec.tryMarkPassed(ctx, h, number)
		return err
	})
	if err != nil {
		return done, err
	}
	for i, c := range costs {
		if i%64 == 0 {
			if err := rec.setLocked(ctx, h); err != nil {
				return done, err
			}
		}
		if err := rec.rebook(ctx, c, h); err != nil {
			return done, err
		}
	}
	return done, nil
}

// failedCosts is what calls cost of which the fact did not hold.
type failedCosts struct {
	number uint64
	fact   fact
}

// rebook books what calls cost, if nobody has booked them since.
func (fl *factLog) rebook(ctx context.Context, c failedCosts, h *hold) error {
	if _, err := fl.reapply(ctx, c.number, c.fact, h); err != nil {
		return fmt.Errorf("book what fact %d cost: %w", c.number, err)
	}
	_, err := fl.tryMarkPassed(ctx, h, c.number)
	return err
}

// tryMarkPassed notes that there is nothing to do for a fact. Returns true if the database
// was done with it already: it applied the fact, or passed it over.
func (db *database) tryMarkPassed(ctx context.Context, h *hold, number uint64) (before bool, err error) {
	p := &plan{db: db, r: db.reading(ctx), hold: h}
	a, err := db.evaluate(ctx, db.clientFor(h), p.request(number))
	if err == nil && a.text(0) == "era" {
		err = errEra
	}
	if err == nil && a.text(0) == "lock" {
		err = errLock
	}
	return err == nil && a.text(0) == "before", rules.While(err, "pass fact %d over", number)
}

// eraOf is the era that calls of a client are for; empty: any, for who takes over.
func (conn *connection) eraOf(c *goredis.Client) string {
	if c == conn.plain {
		return ""
	}
	return *conn.era.Load()
}

// markPassed notes that there is nothing to do for a fact, after a failover once the
// database is ready again. It returns what tryMarkPassed does.
func (db *database) markPassed(ctx context.Context, number uint64) (before bool, err error) {
	for {
		before, err := db.tryMarkPassed(ctx, nil, number)
		if !errors.Is(err, errEra) {
			return before, err
		}
		if err := db.reconcile(ctx); err != nil {
			return false, err
		}
	}
}

// isApplied reports whether the database is done with a fact.
func (fl *factLog) isApplied(ctx context.Context, c *goredis.Client, era string, number uint64) (bool, error) {
	_, a, err := fl.runReads(ctx, c, era, []read{
		newRead("HGET", fl.key("meta"), metaFacts), newRead("ZSCORE", fl.key("facts"), strconv.FormatUint(number, 10)),
	})
	if err != nil {
		return false, fmt.Errorf("look for fact %d: %w", number, err)
	}
	mark, err := a.int(0)
	return number <= uint64(max(mark, 0)) || a.at(1) != nil, err
}

// clientFor is the client by which changes are committed under a hold; nil: by everybody.
func (conn *connection) clientFor(h *hold) *goredis.Client {
	if h != nil {
		return conn.plain
	}
	return conn.client
}

// eachMissing is eachFact for facts that the database may lack. Numbers between them
// that were never given are passed over.
func (fl *factLog) eachMissing(ctx context.Context, h *hold, mark, end uint64, do func(number uint64, f fact) error) error {
	last := mark
	return fl.eachFact(ctx, mark, end, func(number uint64, f fact) error {
		for last++; last < number; last++ {
			if _, err := fl.tryMarkPassed(ctx, h, last); err != nil {
				return err
			}
		}
		return do(number, f)
	})
}

// eachFact calls do for the facts behind mark, up to end.
func (fl *factLog) eachFact(ctx context.Context, mark, end uint64, do func(number uint64, f fact) error) error {
	var failed error
	err := fl.facts.After(ctx, mark, func(number uint64, body []byte) bool {
		if number > end {
			return false
		}
		f, err := readFact(body)
		if err != nil {
			failed = fmt.Errorf("%w: fact %d cannot be read: %w", sessions.ErrDamaged, number, err)
			return false
		}
		failed = do(number, f)
		return failed == nil
	})
	if failed != nil {
		return failed
	}
	return rules.While(err, "read the facts")
}

// renewEvery is after how many facts the process that takes over renews its lock while it
// only reads them.
const renewEvery = 1024

// eachLocked is eachFact for the process that takes over. It renews the lock, so that the
// lock outlives a log of any length.
func (rec *recovery) eachLocked(ctx context.Context, h *hold, mark, end uint64, do func(number uint64, f fact) error) error {
	count := 0
	return rec.eachFact(ctx, mark, end, func(number uint64, f fact) error {
		if count%renewEvery == 0 {
			if err := rec.setLocked(ctx, h); err != nil {
				return err
			}
		}
		count++
		return do(number, f)
	})
}

// lastEra is the highest era in the log behind a fact; -1: there is none.
func (rec *recovery) lastEra(ctx context.Context, h *hold, mark uint64) (era int64, err error) {
	last, err := rec.facts.Last(ctx)
	if err != nil {
		return 0, fmt.Errorf("ask for the last fact: %w", err)
	}
	era = -1
	err = rec.eachLocked(ctx, h, mark, last, func(_ uint64, f fact) error {
		if f.Script == factEra {
			era = max(era, f.Era)
		}
		return nil
	})
	return era, err
}

// checkLog says whether the log has all that the database may lack.
func (fl *factLog) checkLog(ctx context.Context, mark uint64) error {
	last, err := fl.facts.Last(ctx)
	if err != nil {
		return fmt.Errorf("ask for the last fact: %w", err)
	}
	if last < mark {
		return damaged("the log of facts ends at %d, and the database has facts up to %d: the log was replaced or lost its end; give it its data back", last, mark)
	}
	first := uint64(0)
	err = fl.facts.After(ctx, 0, func(number uint64, _ []byte) bool {
		first = number
		return false
	})
	if err != nil {
		return fmt.Errorf("read the first fact: %w", err)
	}
	if first > mark+1 {
		return damaged("the database has facts up to %d, and the log begins with %d: what is between is forgotten; to start with none, take the log away too", mark, first)
	}
	return nil
}

// Applied returns the fact up to which the database has all. Older ones may be pruned
// when no failover can lose them any more.
func (fl *factLog) Applied(ctx context.Context) (uint64, error) {
	t, err := fl.timeline(ctx)
	return t.facts, err
}
