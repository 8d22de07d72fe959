package redis

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"parley/costs"
	"parley/sessionkeys"
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
