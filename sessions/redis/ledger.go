package redis

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/rules"
)

// ledger is what calls cost, and its sums.
type ledger struct{ *connection }

// pageRows is how many rows are read at a time.
const pageRows = 200

// booking is an entry of the ledger.
type booking struct {
	no      int64 // from 1, in the order of booking
	session sessionkeys.SessionID
	entry   costs.Entry
}

// Ledger implements [sessions.Money]. yield may use the store.
func (lg ledger) Ledger(ctx context.Context, id sessionkeys.SessionID, yield func(sessionkeys.SessionID, costs.Entry) bool) error {
	err := lg.bookings(ctx, id, func(b booking) bool { return yield(b.session, b.entry) })
	return rules.While(err, "read the ledger")
}

// bookings calls yield for each entry of a session, or of all, until it returns
// false.
func (lg ledger) bookings(ctx context.Context, id sessionkeys.SessionID, yield func(booking) bool) error {
	var after int64 // the number of the last entry, or how many a session had before
	return rules.Pages(pageRows, func() ([]booking, error) { return lg.bookingsPage(ctx, id, after) }, func(b booking) bool {
		if after++; id == "" {
			after = b.no
		}
		return yield(b)
	})
}

func (lg ledger) bookingsPage(ctx context.Context, id sessionkeys.SessionID, after int64) ([]booking, error) {
	rows := newRead("XRANGE", lg.key("ledger"), "(0-"+strconv.FormatInt(after, 10), "+", "COUNT", strconv.Itoa(pageRows))
	if id != "" {
		rows = newRead("LRANGE", lg.key("entries:"+string(id)), strconv.FormatInt(after, 10), strconv.FormatInt(after+pageRows-1, 10)).
			each(lg.entry())
	}
	a, err := lg.query(ctx, rows, newRead("LRANGE", lg.key("prices"), "0", "-1"))
	if err != nil {
		return nil, err
	}
	found, prices := a.list(0), a.list(1)
	if id != "" {
		found = nil
		err := a.list(0).eachName(func(no string, entries answer) error {
			if len(entries.list(0)) == 0 {
				return damaged("entry %s of session %s is missing", no, id)
			}
			found = append(found, entries.list(0).at(0))
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	bs := make([]booking, len(found))
	for i := range bs {
		if bs[i], err = readBooking(found.list(i), prices); err != nil {
			return nil, err
		}
	}
	return bs, nil
}

// entry reads the rows of the ledger that numbers name.
func (ks keyspace) entry() read { return newRead("XRANGE", ks.key("ledger"), "0-", "0-").at(3, 4) }

// readBooking reads a row of the ledger; prices are all that rows name by number, nil:
// they do not matter.
func readBooking(a answer, prices answer) (b booking, err error) {
	f := a.row(1)
	err = f.read([]string{"session", "entry"}, []any{&b.session, &b.entry})
	if err == nil { // the entry has another time
		err = errors.Join(f.read([]string{"at"}, []any{&b.entry.At}), rules.Load(&b.no, strings.TrimPrefix(a.text(0), "0-")))
	}
	if err == nil && prices != nil && f["price"] != "" {
		err = rules.Load(&b.entry.Price, prices.text(int(f.int("price"))))
	}
	return b, rules.While(err, "entry %s", a.text(0))
}

// Totals implements [sessions.Money].
func (lg ledger) Totals(ctx context.Context) ([]sessions.Total, error) {
	ts, _, err := lg.totals(ctx)
	return ts, rules.While(err, "read the totals")
}

// totals are those of the ledger up to its entry last, the last there is.
func (lg ledger) totals(ctx context.Context) (ts []sessions.Total, last int64, err error) {
	a, err := lg.query(ctx, newRead("HGETALL", lg.key("total:amount")), newRead("HGETALL", lg.key("total:calls")), newRead("HGETALL", lg.key("total:unknown")),
		newRead("XREVRANGE", lg.key("ledger"), "+", "-", "COUNT", "1"))
	if err == nil {
		last, err = parseNumber(strings.TrimPrefix(a.list(3).list(0).text(0), "0-"))
	}
	if err != nil {
		return nil, 0, err
	}
	amounts, calls, unknown := a.row(0), a.row(1), a.row(2)
	for labels := range amounts {
		var t sessions.Total
		if err := (answer{labels, amounts[labels], calls[labels], unknown[labels]}).load(&t.Labels, &t.Amount, &t.Calls, &t.Unknown); err != nil {
			return nil, 0, fmt.Errorf("read a total: %w", err)
		}
		ts = append(ts, t)
	}
	slices.SortFunc(ts, func(a, b sessions.Total) int {
		return cmp.Or(
			cmp.Compare(a.Labels.Provider, b.Labels.Provider), cmp.Compare(a.Labels.Model, b.Labels.Model),
			cmp.Compare(a.Labels.Channel, b.Labels.Channel), cmp.Compare(a.Labels.Purpose, b.Labels.Purpose),
		)
	})
	return ts, last, nil
}

// settlement is what was stored of an open call by an earlier version: an interrupted
// entry for it.
type settlement struct {
	Entry string `json:"entry"`
}

// storedEntry is an entry without what stands beside it.
type storedEntry struct {
	costs.Entry
	Price *costs.Price `json:"price,omitempty"`
	At    *int         `json:"at,omitempty"`
}

// usageEntry is what usage sums up of an entry.
type usageEntry struct {
	sessions.Usage // of one call
	labels         costs.Labels
}

func usedOf(e costs.Entry) usageEntry {
	u := sessions.Usage{
		Amount: e.Amount, Calls: 1, Input: e.Usage.Input, CacheRead: e.Usage.CacheRead,
		CacheWrite: e.Usage.CacheWrite5m + e.Usage.CacheWrite1h, Output: e.Usage.Output, Reasoning: e.Usage.Reasoning,
	}
	if !e.Priced {
		u.Unpriced = 1
	}
	if e.State == costs.Interrupted {
		u.Interrupted = 1
	}
	return usageEntry{u, e.Labels}
}

// usedColumns are texts; the session and its agent come behind them.
func usedColumns(e costs.Entry) []string {
	u := usedOf(e)
	var cs []string
	for _, n := range numbersOf(&u.Usage) {
		cs = append(cs, strconv.FormatInt(*n, 10))
	}
	return append(cs, u.labels.Provider, u.labels.Model, u.labels.Channel, string(u.labels.Purpose))
}

// numbersOf are the sums of usage but for its calls, in the order in which they are
// stored.
func numbersOf(u *sessions.Usage) []*int64 {
	return []*int64{
		(*int64)(&u.Amount), &u.Unpriced, &u.Interrupted, &u.Input, &u.CacheRead, &u.CacheWrite, &u.Output, &u.Reasoning,
	}
}

// readUsed reads usedColumns, and what the scripts added to them.
func readUsed(body string) (u usageEntry, session, agent string, err error) {
	var cs []string
	if err := json.Unmarshal([]byte(body), &cs); err != nil {
		return u, "", "", fmt.Errorf("decode what was used: %w", err)
	}
	u.Calls = 1
	numbers := numbersOf(&u.Usage)
	if len(cs) != len(numbers)+6 {
		return u, "", "", fmt.Errorf("what was used has %d columns", len(cs))
	}
	for i, n := range numbers {
		if *n, err = strconv.ParseInt(cs[i], 10, 64); err != nil {
			return u, "", "", fmt.Errorf("decode what was used: %w", err)
		}
	}
	cs = cs[len(numbers):]
	u.labels = costs.Labels{Provider: cs[0], Model: cs[1], Channel: cs[2], Purpose: costs.Purpose(cs[3])}
	return u, cs[4], cs[5], nil
}
