package agent_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"parley/agent"
	"parley/costs"
	"parley/transcript"
)

// errKilled is what a journal answers when its process is to die here.
var errKilled = errors.New("killed")

// journal is a Journal in maps. What it holds survives a "crash", which is a
// journal operation that fails.
type journal struct {
	mu       sync.Mutex // guards everything
	messages []transcript.Message
	begun    map[string]bool
	held     map[string]costs.Reservation
	entries  map[string]costs.Entry
	order    []string // of entries
	steps    int
	tries    int
	finished []agent.Outcome
	limit    costs.Amount // 0: none
	reserved []costs.Amount
	asked    []transcript.RequestRecord

	ops     int
	killAt  int  // the operation that fails; 0: none
	applied bool // the change is made although the answer is lost
	closes  bool // the end of the turn interrupts what is held still, as a store does
	onOp    func(op string)
}

func newJournal(text string) *journal {
	return &journal{
		messages: []transcript.Message{{ID: "u1", Role: transcript.User, Parts: []transcript.Part{transcript.Text{Text: text}}}},
		begun:    map[string]bool{}, held: map[string]costs.Reservation{}, entries: map[string]costs.Entry{},
	}
}

// op makes a change, or dies.
func (j *journal) op(ctx context.Context, name string, change func() error) error {
	if j.onOp != nil {
		j.onOp(name)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	j.ops++
	if j.ops == j.killAt {
		if j.applied {
			if err := change(); err != nil {
				return err
			}
		}
		return fmt.Errorf("%s: %w", name, errKilled)
	}
	return change()
}

func (j *journal) Messages(ctx context.Context) (ms []transcript.Message, err error) {
	err = j.op(ctx, "messages", func() error {
		ms = slices.Clone(j.messages)
		return nil
	})
	return ms, err
}

func (j *journal) WholeHistory(ctx context.Context) ([]transcript.Message, error) {
	return j.Messages(ctx)
}

func (j *journal) Append(ctx context.Context, ms ...transcript.Message) error {
	return j.op(ctx, "append", func() error {
		j.add(ms)
		return nil
	})
}

func (j *journal) Begin(ctx context.Context, step int, callID string) (again bool, err error) {
	err = j.op(ctx, "begin", func() error {
		id := fmt.Sprint(step, " ", callID)
		again, j.begun[id] = j.begun[id], true
		return nil
	})
	return again, err
}

func (j *journal) Reserve(ctx context.Context, e costs.Estimate, a transcript.RequestRecord) (r costs.Reservation, err error) {
	err = j.op(ctx, "reserve", func() error {
		r = costs.Reservation{ID: fmt.Sprintf("%+v", e.Call), Estimate: e}
		if _, ok := j.entries[r.ID]; ok || j.held[r.ID].ID != "" {
			return fmt.Errorf("attempt %s was made before", r.ID)
		}
		if j.limit > 0 && (j.spent()+e.Upper > j.limit || !e.Priced) {
			return &costs.BudgetError{Scope: "session", Limit: j.limit, Spent: j.spent(), Need: e.Upper, Unpriced: !e.Priced}
		}
		j.reserved = append(j.reserved, e.Upper)
		j.asked = append(j.asked, a)
		j.held[r.ID] = r
		j.tries++
		return nil
	})
	return r, err
}

func (j *journal) ReserveTool(ctx context.Context, e costs.Estimate, index int) (r costs.Reservation, err error) {
	err = j.op(ctx, "reserve tool", func() error {
		for try := 1; ; try++ {
			e.Call.Attempt = costs.ToolAttempt(index, try)
			r = costs.Reservation{ID: fmt.Sprintf("%+v", e.Call), Estimate: e}
			if _, ok := j.entries[r.ID]; !ok && j.held[r.ID].ID == "" {
				break
			}
		}
		if j.limit > 0 && j.spent()+e.Upper > j.limit {
			return &costs.BudgetError{Scope: "session", Limit: j.limit, Spent: j.spent(), Need: e.Upper}
		}
		j.held[r.ID] = r
		return nil
	})
	return r, err
}

func (j *journal) Settle(ctx context.Context, s costs.Settlement, ms ...transcript.Message) error {
	return j.op(ctx, "settle", func() error { return j.book(s, ms) })
}

func (j *journal) Finish(ctx context.Context, s *costs.Settlement, o agent.Outcome, ms ...transcript.Message) error {
	return j.op(ctx, "finish", func() error {
		if s != nil {
			if err := j.book(*s, ms); err != nil {
				return err
			}
		} else {
			j.add(ms)
		}
		j.finished = append(j.finished, o)
		if j.closes {
			j.interrupt()
		}
		return nil
	})
}

func (j *journal) book(s costs.Settlement, ms []transcript.Message) error {
	if _, ok := j.held[s.Reservation.ID]; !ok {
		return fmt.Errorf("%s was not reserved", s.Reservation.ID)
	}
	if s.Entry.Amount-s.Entry.Overrun > s.Reservation.Estimate.Upper {
		return fmt.Errorf("%s: %d is above the reserved %d", s.Entry.ID, s.Entry.Amount, s.Reservation.Estimate.Upper)
	}
	delete(j.held, s.Reservation.ID)
	j.entries[s.Entry.ID] = s.Entry
	j.order = append(j.order, s.Entry.ID)
	if len(ms) > 0 && s.Entry.Call.Purpose != costs.Tool {
		j.steps, j.tries = j.steps+1, 0
	}
	j.add(ms)
	return nil
}

func (j *journal) add(ms []transcript.Message) {
	for _, m := range ms {
		if m.ID == "" {
			panic("a message without an id")
		}
		if !slices.ContainsFunc(j.messages, func(old transcript.Message) bool { return old.ID == m.ID }) {
			j.messages = append(j.messages, m)
		}
	}
}

func (j *journal) spent() (sum costs.Amount) {
	for _, e := range j.entries {
		sum += e.Amount
	}
	for _, r := range j.held {
		sum += r.Estimate.Upper
	}
	return sum
}

// resume is what a store does before another worker goes on: reservations that
// nobody settled are booked at nothing.
func (j *journal) resume(t agent.Turn) agent.Turn {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.interrupt()
	j.ops, j.killAt = 0, 0
	t.Steps, t.Tries = j.steps, j.tries
	return t
}

// interrupt books what is held at nothing.
func (j *journal) interrupt() {
	for _, id := range slices.Sorted(maps.Keys(j.held)) {
		e := j.held[id].Estimate
		j.entries[id] = costs.Entry{
			ID: id, Call: e.Call, Labels: e.Labels, Upper: e.Upper, Priced: e.Priced, State: costs.Interrupted, Outcome: "interrupted",
		}
		j.order = append(j.order, id)
		delete(j.held, id)
	}
}

func (j *journal) ledger() []costs.Entry {
	var es []costs.Entry
	for _, id := range j.order {
		es = append(es, j.entries[id])
	}
	return es
}

// results are the tool results in the history, in order.
func (j *journal) results() (rs []transcript.ToolResult) {
	for _, m := range j.messages {
		for _, p := range m.Parts {
			if r, ok := p.(transcript.ToolResult); ok {
				rs = append(rs, r)
			}
		}
	}
	return rs
}

// prices knows the scripted model.
type prices struct{}

var tariff = costs.Price{Provider: "script", Model: "scripted-1", Input: 3 * costs.USD / 1e6, Output: 15 * costs.USD / 1e6, CacheRead: 3 * costs.USD / 1e7, CacheWrite5m: 3 * costs.USD / 1e6, CacheWrite1h: 6 * costs.USD / 1e6}

func (prices) Price(provider, model string) (*costs.Price, bool) {
	p := tariff
	return &p, provider == p.Provider && model == p.Model
}

func (p prices) Cost(provider, model string, u costs.Usage) (costs.Amount, *costs.Price, error) {
	price, ok := p.Price(provider, model)
	if !ok {
		return 0, nil, costs.ErrNoPrice
	}
	a, err := price.Cost(u)
	return a, price, err
}

var (
	_ agent.Prices  = (*costs.Catalogue)(nil)
	_ agent.Journal = (*journal)(nil)
)

// sound checks what must hold of the journal of a turn that was finished.
func (j *journal) sound(t *testing.T) {
	t.Helper()
	if len(j.finished) != 1 {
		t.Errorf("finished %d times", len(j.finished))
	}
	if len(j.held) != 0 {
		t.Errorf("still reserved: %v", j.held)
	}
	if err := transcript.Check(transcript.Merge(j.messages)); err != nil {
		t.Errorf("history: %v", err)
	}
	for id, e := range j.entries {
		if !e.Priced && e.Amount != 0 || e.ID != id || e.Outcome == "" {
			t.Errorf("entry %+v", e)
		}
	}
}

func at() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

func (j *journal) Spent(ctx context.Context) (spent costs.Amount, err error) {
	err = j.op(ctx, "spent", func() error {
		spent = j.spent()
		return nil
	})
	return spent, err
}

func (j *journal) Used(ctx context.Context) (used int64, err error) {
	err = j.op(ctx, "used", func() error {
		for _, e := range j.entries {
			used += e.Usage.Total()
		}
		return nil
	})
	return used, err
}
