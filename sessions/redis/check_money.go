package redis

import (
	"cmp"
	"context"
	"fmt"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
)

// wrongSums is the finding of money that does not add up.
const wrongSums = "sums that do not add up"

// checkMoney looks whether the sums of sessions are those of their entries and
// reservations, and of all below them.
func (ch checker) checkMoney(ctx context.Context, f *findings) error {
	err := ch.each(ctx, "ids", func(id string) error { return ch.checkTree(ctx, id, f) })
	if err != nil {
		return fmt.Errorf("look through the sums of sessions: %w", err)
	}
	return ch.checkTotals(ctx, f)
}

// checkTree looks at a root session, in one state with all below it.
func (ch checker) checkTree(ctx context.Context, id string, f *findings) error {
	parent, err := ch.query(ctx, newRead("HGET", ch.key("sess:"+id), "parent"))
	if err != nil || parent.text(0) != "" {
		return err
	}
	a, err := ch.query(ctx, ch.below(id, sessionkeys.MaxDepth, ch.moneyReads)...)
	if err != nil {
		return err
	}
	if _, err := checkSums(id, a, f); err != nil {
		return err
	}
	return ch.checkRank(ctx, id, a.list(0).text(1), f)
}

// moneyReads read the sums of a session, its entries, and what its calls hold.
func (ks keyspace) moneyReads(id string) []read {
	return []read{
		newRead("HMGET", ks.key("sess:"+id), "own", "subtree", "held", "unpriced").at(2),
		newRead("LRANGE", ks.key("entries:"+id), "0", "-1").at(2).each(ks.entry()),
		newRead("SMEMBERS", ks.key("holds:"+id)).at(2).each(newRead("HGET", ks.key("call:"), "held").at(2)),
	}
}

// sums are those of a session.
type sums struct{ own, subtree, held, unpriced costs.Amount }

// checkSums compares the sums of a session that moneyReads read, and of all below it,
// with what they are made of. It returns what they should be.
func checkSums(id string, a answer, f *findings) (is sums, err error) {
	err = a.list(1).eachName(func(no string, rows answer) error {
		if len(rows.list(0)) == 0 {
			f.add(wrongSums, fmt.Sprintf("entry %s of %s is missing", no, id))
			return nil
		}
		b, err := readBooking(rows.list(0).list(0), nil)
		if err != nil {
			return err
		}
		if !b.entry.Priced {
			is.unpriced++
		}
		return add(&is.own, b.entry.Amount)
	})
	if err != nil {
		return is, err
	}
	err = a.list(2).eachName(func(_ string, call answer) error {
		held, err := readAmount(call.text(0))
		if err != nil {
			return err
		}
		return add(&is.held, held)
	})
	if err != nil {
		return is, err
	}
	is.subtree = is.own
	err = a.list(3).eachName(func(kid string, found answer) error {
		below, err := checkSums(kid, found, f)
		is.unpriced += below.unpriced
		return cmp.Or(err, add(&is.subtree, below.subtree), add(&is.held, below.held))
	})
	for i, one := range []struct {
		what string
		want costs.Amount
	}{{"own cost", is.own}, {"the subtree", is.subtree}, {"what is held", is.held}, {"calls without a price", is.unpriced}} {
		if got := a.list(0).text(i); got != amountText(one.want) {
			f.add(wrongSums, fmt.Sprintf("%s of %s is %s, not %s", one.what, id, got, amountText(one.want)))
		}
	}
	return is, err
}

func add(sum *costs.Amount, n costs.Amount) (err error) {
	*sum, err = sum.Add(n)
	return err
}

// checkRank looks whether a root session stands where its cost is looked for.
func (ch checker) checkRank(ctx context.Context, id, subtree string, f *findings) error {
	for {
		a, err := ch.query(ctx, newRead("HGET", ch.key("sess:"+id), "subtree"),
			newRead("ZSCORE", ch.key("dear"), fmt.Sprintf("%0*s", amountWidth, subtree)+id))
		if err != nil {
			return err
		}
		if now := a.text(0); now != subtree { // it was charged meanwhile
			subtree = now
			continue
		}
		if a.at(1) == nil {
			f.add(wrongSums, fmt.Sprintf("the place by cost of %s is missing", id))
		}
		return nil
	}
}

// checkTotals compares the totals with the ledger as it was at one moment.
func (ch checker) checkTotals(ctx context.Context, f *findings) error {
	ts, last, err := ledger{ch.connection}.totals(ctx)
	if err != nil {
		return fmt.Errorf("read the totals: %w", err)
	}
	sums := map[costs.Labels]sessions.Total{}
	err = ledger{ch.connection}.eachUsed(ctx, "-", "+", last, func(u usageEntry, _ place) (err error) {
		t := sums[u.labels]
		t.Labels, t.Calls, t.Unknown = u.labels, t.Calls+1, t.Unknown+u.Unpriced
		t.Amount, err = t.Amount.Add(u.Amount)
		sums[u.labels] = t
		return err
	})
	if err != nil {
		return fmt.Errorf("sum up the ledger: %w", err)
	}
	for _, t := range ts {
		if t != sums[t.Labels] {
			f.add(wrongSums, fmt.Sprintf("the total of %s/%s", t.Labels.Provider, t.Labels.Model))
		}
		delete(sums, t.Labels)
	}
	for l := range sums {
		f.add(wrongSums, fmt.Sprintf("the total of %s/%s is missing", l.Provider, l.Model))
	}
	return nil
}
