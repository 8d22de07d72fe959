package redis

import (
	"cmp"
	"context"
	"fmt"

	"parley/sessions/rules"
)

// CatchUp applies facts that were written down by processes that ended before
// they could apply them: as if it happened now, so that those whose fence does not
// hold any more are refused, but for what their calls cost. It is to be called every
// minute or so.
func (fl *factLog) CatchUp(ctx context.Context) error {
	if fl.facts == nil {
		return nil
	}
	mark, err := fl.Applied(ctx)
	last, failed := fl.facts.Last(ctx)
	if err := cmp.Or(err, failed); err != nil {
		return fmt.Errorf("catch up with the facts: %w", err)
	}
	err = fl.eachMissing(ctx, fl.client, mark, fl.seen.Swap(last), func(number uint64, f fact) error {
		if f.Script == factVoid || f.Script == factEra {
			return fl.tryMarkPassed(ctx, fl.client, number)
		}
		if done, err := fl.isApplied(ctx, fl.client, *fl.era.Load(), number); err != nil || done {
			return err
		}
		if f.Set == nil || fmt.Sprint(f.In) == *fl.era.Load() {
			if held, err := fl.reapply(ctx, number, f, live); err != nil || held {
				return err
			}
		}
		if cost := f.settlements(); cost != nil {
			if err := fl.rebook(ctx, failedCosts{number, *cost}, live); err != nil {
				return err
			}
		}
		return fl.writeVoid(ctx, number)
	})
	return rules.While(err, "catch up with the facts")
}
