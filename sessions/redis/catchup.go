package redis

import (
	"context"
	"fmt"

	"parley/sessions/rules"
)

// CatchUp applies facts that were written down by processes that ended before
// they could apply them: as if it happened now, so that those whose fence does not
// hold any more are refused, but for what their calls cost. It is to be called every
// minute or so.
func (s *Store) CatchUp(ctx context.Context) error {
	if s.facts == nil {
		return nil
	}
	mark, err := s.Applied(ctx)
	if err != nil {
		return fmt.Errorf("catch up with the facts: %w", err)
	}
	last, err := s.facts.Last(ctx)
	if err != nil {
		return fmt.Errorf("catch up with the facts: %w", err)
	}
	at, until := mark, s.seen.Swap(last)
	err = s.eachFact(ctx, mark, until, func(number uint64, f fact) error {
		for ; at+1 < number; at++ {
			if err := s.tryMarkPassed(ctx, s.client, at+1); err != nil {
				return err
			}
		}
		at = number
		if f.Script == factVoid || f.Script == factEra {
			return s.tryMarkPassed(ctx, s.client, number)
		}
		if done, err := s.isApplied(ctx, s.client, *s.era.Load(), number); err != nil || done {
			return err
		}
		if f.Set == nil || fmt.Sprint(f.In) == *s.era.Load() {
			if held, err := s.reapply(ctx, number, f, live); err != nil || held {
				return err
			}
		}
		if cost := f.settlements(); cost != nil {
			if err := s.rebook(ctx, failedCosts{number, *cost}, live); err != nil {
				return err
			}
		}
		return s.writeVoid(ctx, number)
	})
	return rules.While(err, "catch up with the facts")
}
