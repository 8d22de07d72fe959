package redis

import (
	"context"
	"encoding/json"
	"fmt"

	"parley/costs"
	"parley/sessionkeys"
)

// pageRows is how many rows are read at a time.
const pageRows = 200

// booking is an entry of the ledger.
type booking struct {
	no      int64 // from 1, in the order of booking
	session sessionkeys.SessionID
	entry   costs.Entry
}

// Ledger implements [sessions.Money]. yield may use the store.
func (s *Store) Ledger(ctx context.Context, id sessionkeys.SessionID, yield func(sessionkeys.SessionID, costs.Entry) bool) error {
	err := s.bookings(ctx, id, func(b booking) bool { return yield(b.session, b.entry) })
	if err != nil {
		return fmt.Errorf("read the ledger: %w", err)
	}
	return nil
}

// bookings calls yield for each entry of a session, or of all, until it returns
// false.
func (s *Store) bookings(ctx context.Context, id sessionkeys.SessionID, yield func(booking) bool) error {
	var after int64 // the number of the last entry, or how many a session had before
	for {
		bs, err := s.bookingsPage(ctx, id, after)
		if err != nil {
			return err
		}
		for _, b := range bs {
			if !yield(b) {
				return nil
			}
		}
		if len(bs) < pageRows {
			return nil
		}
		if after += pageRows; id == "" {
			after = bs[len(bs)-1].no
		}
	}
}

func (s *Store) bookingsPage(ctx context.Context, id sessionkeys.SessionID, after int64) ([]booking, error) {
	a, err := s.look(ctx, "ledger", struct {
		Session sessionkeys.SessionID `json:"session"`
		After   int64                 `json:"after"`
		Limit   int                   `json:"limit"`
	}{id, after, pageRows})
	if err != nil {
		return nil, err
	}
	prices := a.row(1)
	bs := make([]booking, len(a.list(0)))
	for i := range bs {
		if bs[i], err = readBooking(a.list(0).list(i), prices); err != nil {
			return nil, err
		}
	}
	return bs, nil
}

func readBooking(a answer, prices row) (b booking, err error) {
	if b.no, err = a.int(0); err != nil {
		return b, fmt.Errorf("number of an entry: %w", err)
	}
	b.session = sessionkeys.SessionID(a.text(1))
	at, err := a.int(2)
	if err == nil {
		err = json.Unmarshal([]byte(a.text(4)), &b.entry)
	}
	if err == nil && a.text(3) != "" {
		b.entry.Price = new(costs.Price)
		err = json.Unmarshal([]byte(prices[a.text(3)]), b.entry.Price)
	}
	if err != nil {
		return b, fmt.Errorf("entry %d: %w", b.no, err)
	}
	b.entry.At = instant(at)
	return b, nil
}
