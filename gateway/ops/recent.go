package ops

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"parley/gateway/outcomes"
	"parley/llm"
	"parley/sessionkeys"
)

// RecentFor is how far back Recent looks: this minute and those before it.
const RecentFor = recentMinutes * time.Minute

const recentMinutes = 10

// Recent is what became of turns and model calls of this process in the last minutes,
// for an operator who asks and has no Prometheus.
type Recent struct {
	Turns       int
	FailedTurns int           // whoever asked was told that it went wrong
	Models      []ModelRecent // those that were called, by their names
	// LedgerErrors are rows of the ledger that could not be written at once.
	LedgerErrors int
	// Lost is how many accepted messages this process found missing since it started, the last
	// of them at LostAt.
	Lost   int
	LostAt time.Time
	// Failures are the last turns of this process that ended early, the latest first, and at most
	// [MaxFailures].
	Failures []FailedTurn
}

// MaxFailures is how many turns that ended early are remembered.
const MaxFailures = 50

// FailedTurn is a turn that ended with an error, at its time limit, or at a budget.
type FailedTurn struct {
	At      time.Time
	Turn    string
	Session sessionkeys.SessionID
	Channel string
	Outcome string // error, timeout or budget
}

// ModelRecent is what became of the calls of one model. A call that parley gave up
// itself is not among them.
type ModelRecent struct {
	ModelName

	Calls, Failed int       // each attempt counts
	LastError     llm.Kind  // of the failed ones; empty: none failed
	LastErrorAt   time.Time // zero: none failed
}

// recorder keeps what happened, minute by minute. Its methods may be called
// concurrently.
type recorder struct {
	mu      sync.Mutex // guards the rest
	minutes [recentMinutes]minute
	lost    int // since the start
	lostAt  time.Time
	early   []FailedTurn // the latest last
}

type minute struct {
	began  time.Time
	turns  int
	failed int
	ledger int
	models map[ModelName]ModelRecent
}

// currentMinute returns the minute that runs. The caller holds mu.
func (r *recorder) currentMinute(at time.Time) *minute {
	began := at.Truncate(time.Minute)
	m := &r.minutes[began.Unix()/60%recentMinutes]
	if !m.began.Equal(began) {
		*m = minute{began: began, models: map[ModelName]ModelRecent{}}
	}
	return m
}

// recordTurn notes how a turn ended: outcome is its value in the metrics.
func (r *recorder) recordTurn(t outcomes.Turn, outcome string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	m := r.currentMinute(now)
	m.turns++
	if outcome == "error" || outcome == "timeout" {
		m.failed++
	}
	if outcome == "ok" || outcome == "cancelled" {
		return
	}
	r.early = append(r.early, FailedTurn{At: now, Turn: t.Turn, Session: t.Session, Channel: t.Channel, Outcome: outcome})
	if more := len(r.early) - MaxFailures; more > 0 {
		r.early = slices.Delete(r.early, 0, more)
	}
}

func (r *recorder) recordLedgerError() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.currentMinute(time.Now()).ledger++
}

func (r *recorder) recordLost(n int) {
	if n <= 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost, r.lostAt = r.lost+n, time.Now()
}

func (r *recorder) recordCall(n ModelName, err *llm.Error) {
	if err != nil && err.Kind == llm.Canceled {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at := time.Now()
	m := r.currentMinute(at)
	c := m.models[n]
	c.ModelName = n
	c.Calls++
	if err != nil {
		c.Failed++
		c.LastError, c.LastErrorAt = err.Kind, at
	}
	m.models[n] = c
}

func (r *recorder) sum() (all Recent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all.Lost, all.LostAt = r.lost, r.lostAt
	all.Failures = slices.Clone(r.early)
	slices.Reverse(all.Failures)
	oldest := time.Now().Truncate(time.Minute).Add(-RecentFor)
	models := map[ModelName]ModelRecent{}
	for _, m := range r.minutes {
		if !m.began.After(oldest) {
			continue
		}
		all.Turns += m.turns
		all.FailedTurns += m.failed
		all.LedgerErrors += m.ledger
		for n, c := range m.models {
			sum := models[n]
			sum.ModelName = n
			sum.Calls += c.Calls
			sum.Failed += c.Failed
			if c.LastErrorAt.After(sum.LastErrorAt) {
				sum.LastError, sum.LastErrorAt = c.LastError, c.LastErrorAt
			}
			models[n] = sum
		}
	}
	all.Models = slices.SortedFunc(maps.Values(models), func(a, b ModelRecent) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Model, b.Model))
	})
	return all
}

// Recent returns what happened in this process in the last minutes.
func (m *Metrics) Recent() Recent { return m.recent.sum() }
