package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"parley/costs"
	"parley/sessions"
	"parley/sessions/rules"
)

// Usage implements [sessions.Queries]. The ledger only grows, so what is read in
// pages is one state of it when what was booked since the first page is left out.
func (lg ledger) Usage(ctx context.Context, q sessions.UsageQuery) ([]sessions.Usage, error) {
	sums := usageSums{}
	group, err := groupOf(q.By)
	if err == nil && q.Tree != "" {
		err = lg.useTree(ctx, q, group, sums)
	} else if err == nil {
		err = lg.useAll(ctx, q, group, sums)
	}
	if err != nil {
		return nil, fmt.Errorf("sum up the ledger: %w", err)
	}
	return sums.sorted(q.By), nil
}

// place is where and when an entry was booked.
type place struct {
	session, agent string
	at             time.Time
}

// groupOf returns what the group of an entry is.
func groupOf(by sessions.Grouping) (func(u usageEntry, p place) string, error) {
	switch by {
	case sessions.ByModel:
		return func(u usageEntry, _ place) string { return u.labels.Provider + "/" + u.labels.Model }, nil
	case sessions.ByChannel:
		return func(u usageEntry, _ place) string { return u.labels.Channel }, nil
	case sessions.ByAgent:
		return func(_ usageEntry, p place) string { return p.agent }, nil
	case sessions.ByPurpose:
		return func(u usageEntry, _ place) string { return string(u.labels.Purpose) }, nil
	case sessions.ByDay:
		return func(_ usageEntry, p place) string { return costs.Day.Name(p.at) }, nil
	case sessions.BySession:
		return func(_ usageEntry, p place) string { return p.session }, nil
	}
	return nil, errors.New("nothing is grouped by " + string(by))
}

// usageSums are the groups by name.
type usageSums map[string]*sessions.Usage

func (us usageSums) add(group string, u usageEntry) error {
	g := us[group]
	if g == nil {
		g = &sessions.Usage{Group: group}
		us[group] = g
	}
	g.Calls += u.Calls
	adds := numbersOf(&u.Usage)
	for i, sum := range numbersOf(g) {
		n, err := costs.Amount(*sum).Add(costs.Amount(*adds[i])) // tokens overflow as money does
		if err != nil {
			return fmt.Errorf("group %q: %w", group, err)
		}
		*sum = int64(n)
	}
	return nil
}

func (us usageSums) sorted(by sessions.Grouping) []sessions.Usage {
	var all []sessions.Usage
	for _, u := range us {
		all = append(all, *u)
	}
	rules.SortUsage(all, by)
	return all
}

// usedRows is how many entries are read at a time to be summed up.
const usedRows = 1000

// useAll reads in the order of time, from the bounds of the question on.
func (lg ledger) useAll(ctx context.Context, q sessions.UsageQuery, group func(usageEntry, place) string, sums usageSums) error {
	from, to := "-", "+"
	if !q.Since.IsZero() {
		from = "[" + timeOrder(q.Since)
	}
	if !q.Until.IsZero() {
		to = "(" + timeOrder(q.Until)
	}
	last, err := lg.lastBooked(ctx)
	if err != nil {
		return err
	}
	return lg.eachUsed(ctx, from, to, last, func(u usageEntry, p place) error { return sums.add(group(u, p), u) })
}

// lastBooked is the number of the last entry.
func (lg ledger) lastBooked(ctx context.Context) (int64, error) {
	_, last, err := lg.totals(ctx)
	return last, err
}

// eachUsed calls f for the entries between two bounds of their order that were
// booked up to number last.
func (lg ledger) eachUsed(ctx context.Context, from, to string, last int64, f func(usageEntry, place) error) error {
	var wrong error
	err := rules.Pages(usedRows, func() ([]string, error) {
		a, err := lg.query(ctx, newRead("ZRANGE", lg.key("used"), from, to, "BYLEX", "LIMIT", "0", strconv.Itoa(usedRows)))
		return a.texts(0), err
	}, func(member string) bool {
		from, wrong = "("+member, useMember(member, last, f)
		return wrong == nil
	})
	return cmp.Or(err, wrong)
}

// orderWidth is how long an order is.
const orderWidth = 20

// useMember reads one that the commit script made: order, number, columns.
func useMember(m string, last int64, f func(usageEntry, place) error) error {
	if len(m) < orderWidth {
		return fmt.Errorf("%q is no entry", m)
	}
	no, columns, _ := strings.Cut(m[orderWidth:], ":")
	n, err := parseNumber(no)
	if err != nil {
		return fmt.Errorf("number of an entry: %w", err)
	}
	if n > last {
		return nil
	}
	at, err := timeOf(m[:orderWidth])
	if err != nil {
		return err
	}
	u, session, agent, err := readUsed(columns)
	if err != nil {
		return err
	}
	return f(u, place{session, agent, at})
}

// useTree reads all entries of a session and its descendants.
func (lg ledger) useTree(ctx context.Context, q sessions.UsageQuery, group func(usageEntry, place) string, sums usageSums) error {
	last, err := lg.lastBooked(ctx)
	if err != nil {
		return err
	}
	tree, err := directory(lg).tree(ctx, q.Tree)
	if errors.Is(err, sessions.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, node := range tree {
		if err := lg.useNode(ctx, node, last, q, group, sums); err != nil {
			return err
		}
	}
	return nil
}

func (lg ledger) useNode(ctx context.Context, node sessions.Session, last int64, q sessions.UsageQuery, group func(usageEntry, place) string, sums usageSums) error {
	var failed error
	err := lg.bookings(ctx, node.ID, func(b booking) bool {
		at := b.entry.At
		if b.no > last {
			return false
		}
		if !q.Since.IsZero() && micros(at) < micros(q.Since) || !q.Until.IsZero() && micros(at) >= micros(q.Until) {
			return true
		}
		u := usedOf(b.entry)
		failed = sums.add(group(u, place{string(node.ID), node.Key.Agent(), at}), u)
		return failed == nil
	})
	return cmp.Or(err, failed)
}
