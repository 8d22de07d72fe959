package redis

import (
	"context"
	"fmt"
)

// CatchUp applies facts that were written down by processes that ended before
// they could apply them: as if it happened now, so that those whose fence does not
// hold any more are refused. It is to be called every minute or so.
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
	err = s.tail(ctx, mark, until, func(number uint64, f fact) error {
		for ; at+1 < number; at++ {
			if err := s.passed(ctx, s.client, at+1); err != nil {
				return err
			}
		}
		at = number
		held := f.Script != factVoid && f.Script != factEra && (f.Set == nil || fmt.Sprint(f.In) == *s.era.Load())
		if held {
			var err error
			if held, err = s.again(ctx, number, f, live); err != nil || held {
				return err
			}
		}
		if f.Script == factVoid || f.Script == factEra {
			return s.passed(ctx, s.client, number)
		}
		return s.voidUnlessPassed(ctx, number)
	})
	if err != nil {
		return fmt.Errorf("catch up with the facts: %w", err)
	}
	return nil
}

// voidUnlessPassed writes down that a fact was refused, unless the database is done
// with it.
func (s *Store) voidUnlessPassed(ctx context.Context, number uint64) error {
	a, err := s.run(ctx, run{script: "passed", request: mustJSON(struct {
		Fact uint64 `json:"fact"`
	}{number})})
	if err != nil || a.yes(0) {
		return err
	}
	return s.void(ctx, number)
}
