package model

import (
	"maps"
	"math"
	"slices"
	"sync"
	"time"
)

// Outcome is how a request ended, as the server saw it.
type Outcome string

// Outcomes.
const (
	Complete Outcome = "complete" // everything was handed to the connection
	Cut      Outcome = "cut"      // a fault ended it early
	Aborted  Outcome = "aborted"  // the client left, or the server was stopped
	Refused  Outcome = "refused"  // an error status
	Spoiled  Outcome = "spoiled"  // status 200, but no valid answer
)

// Entry is one request on the bill.
type Entry struct {
	ID       string    `json:"id"`                // request id, as in the response header
	Message  string    `json:"message,omitempty"` // id of the message, once its head was sent
	Protocol Protocol  `json:"protocol"`
	Model    string    `json:"model,omitempty"`
	At       time.Time `json:"at"`
	Client   string    `json:"client,omitempty"` // address, without the port, from which it came
	Stream   bool      `json:"stream"`
	Outcome  Outcome   `json:"outcome"`
	Status   int       `json:"status"` // 0: no response head was sent
	Events   int       `json:"events"` // SSE events handed to the connection
	Fault    FaultKind `json:"fault,omitempty"`
	Error    string    `json:"error,omitempty"` // why it was refused

	// Reported is the last usage the client was told, nil if none; Usage is
	// what is billed, Pico what that costs in pico-dollars. Priced is false
	// when the server knows no price for the model, and Pico then 0.
	Reported *Usage `json:"reported,omitempty"`
	Usage    Usage  `json:"usage"`
	Pico     int64  `json:"pico"`
	Priced   bool   `json:"priced"`
}

// Bill is everything served since the start or the last reset. The sums are
// over all requests, also those that Entries no longer holds.
type Bill struct {
	Entries  []Entry           `json:"entries"` // in the order in which they ended
	Dropped  int64             `json:"dropped"` // oldest entries given up to bound the memory
	Open     int               `json:"open"`    // requests still being served
	Outcomes map[Outcome]int64 `json:"outcomes"`
	Usage    Usage             `json:"usage"`
	Pico     int64             `json:"pico"`
	Unpriced int64             `json:"unpriced"` // billed requests without a price
}

type ledger struct {
	prices map[string]Price
	limit  int

	mu         sync.Mutex // guards all below
	bill       Bill
	generation int
}

func newLedger(prices map[string]Price, limit int) *ledger {
	l := &ledger{prices: maps.Clone(prices), limit: limit}
	l.bill.Outcomes = map[Outcome]int64{}
	return l
}

// receipt finds an entry again, to correct it.
type receipt struct {
	generation int
	index      int64 // counted from the first entry ever
	booked     bool
}

func (l *ledger) open() receipt {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bill.Open++
	return receipt{generation: l.generation}
}

// book writes e, or corrects it if it was written before. What was opened
// before a reset leaves no trace.
func (l *ledger) book(r *receipt, e *Entry) {
	l.price(e)
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.generation != l.generation {
		return
	}
	b := &l.bill
	if !r.booked {
		r.booked, r.index = true, b.Dropped+int64(len(b.Entries))
		b.Open--
		b.Entries = append(b.Entries, *e)
		l.sum(e, 1)
		if len(b.Entries) > l.limit {
			drop := max(1, l.limit/4)
			b.Entries = append(b.Entries[:0], b.Entries[drop:]...)
			b.Dropped += int64(drop)
		}
		return
	}
	if i := r.index - b.Dropped; i >= 0 {
		l.sum(&b.Entries[i], -1)
		b.Entries[i] = *e
		l.sum(e, 1)
	}
}

func (l *ledger) price(e *Entry) {
	price, ok := l.prices[e.Model]
	e.Priced, e.Pico = ok, price.cost(e.Usage)
}

func (l *ledger) sum(e *Entry, sign int64) {
	b, u := &l.bill, e.Usage
	b.Outcomes[e.Outcome] += sign
	if b.Outcomes[e.Outcome] == 0 {
		delete(b.Outcomes, e.Outcome)
	}
	b.Usage = b.Usage.plus(Usage{
		sign * u.Input, sign * u.CacheRead, sign * u.CacheWrite5m, sign * u.CacheWrite1h, sign * u.Output, sign * u.Reasoning, sign * u.Seconds,
	})
	if sign > 0 && b.Pico > math.MaxInt64-e.Pico {
		b.Pico = math.MaxInt64
	} else {
		b.Pico += sign * e.Pico
	}
	if !e.Priced && u != (Usage{}) {
		b.Unpriced += sign
	}
}

func (l *ledger) snapshot() Bill {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.bill
	b.Entries = slices.Clone(b.Entries)
	b.Outcomes = maps.Clone(b.Outcomes)
	return b
}

func (l *ledger) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.generation++
	l.bill = Bill{Outcomes: map[Outcome]int64{}}
}
