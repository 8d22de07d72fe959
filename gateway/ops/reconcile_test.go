package ops_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"parley/costs"
	"parley/gateway/ops"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/sqlite"
	"parley/transcript"
)

// day is a simulated day of a gateway: sub-agents of three levels, tools that cost money,
// attempts that fail and are repeated, streams that break, calls that nobody settles, and
// restarts. (I7)
type day struct {
	t     *testing.T
	r     *rand.Rand
	path  string
	store *sqlite.Store
	m     *ops.Metrics
	turns int
	ends  map[string]int // how often calls ended in which way
	now   time.Time
}

// start opens the store and exports it, as a process does.
func (d *day) start() {
	d.t.Helper()
	s, err := sqlite.Open(d.t.Context(), sqlite.Options{Path: d.path})
	if err != nil {
		d.t.Fatal(err)
	}
	d.store, d.m = s, ops.NewMetrics(sets())
	if err := d.m.Register(ops.NewCosts(s, sets())); err != nil {
		d.t.Fatal(err)
	}
}

func (d *day) ok(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// turn runs one turn of a chat: its own calls, and those of descendants of
// every level. Sometimes the process ends before the turn does.
func (d *day) turn() {
	d.t.Helper()
	d.turns++
	d.now = d.now.Add(3 * time.Minute)
	ctx := d.t.Context()
	w := sessions.Worker{Name: "w", Nonce: fmt.Sprint("n", d.turns)}
	d.ok(d.store.Heartbeat(ctx, w, d.now.Add(time.Minute)))
	key, err := sessionkeys.For("main", sessionkeys.Address{
		Channel: "telegram", Account: "bot", Kind: sessionkeys.DM, Peer: fmt.Sprint(d.turns % 7),
	})
	d.ok(err)
	m, got, err := d.store.Touch(ctx, sessions.Touch{Token: key.Token(), Key: key, Seq: uint64(d.turns), By: w, Take: true, Now: d.now})
	d.ok(err)
	if !got {
		d.t.Fatal("the mailbox has an owner")
	}
	f := m.Fence()
	if m.Turn != nil { // of a process that was killed
		_, err := d.store.Resume(ctx, f, d.now)
		d.ok(err)
		d.finish(f, m.Turn.ID)
	}
	id := fmt.Sprint("t", d.turns)
	t, _, err := d.store.Open(ctx, f, sessions.OpenTurn{
		Turn:    sessions.Turn{ID: id, Seq: uint64(d.turns), Channel: "telegram", From: key.Address(), ReceivedAt: d.now, OpenedAt: d.now},
		Message: transcript.Message{ID: id + "-q", Role: transcript.User, Parts: []transcript.Part{transcript.Text{Text: "?"}}, CreatedAt: d.now},
	})
	d.ok(err)
	parent, err := d.store.Session(ctx, t.Session)
	d.ok(err)
	step := 0
	for depth := range 4 {
		if depth > 0 {
			parent = d.spawn(f, parent, id, depth)
		}
		for range 1 + d.r.IntN(3) {
			step++
			if !d.call(f, parent.ID, t.ID, depth, step) {
				return // killed: the turn stays open
			}
		}
	}
	d.finish(f, t.ID)
}

func (d *day) spawn(f sessions.Fence, parent sessions.Session, turn string, depth int) sessions.Session {
	d.t.Helper()
	k, err := parent.Key.Child("main")
	d.ok(err)
	c, _, err := d.store.Spawn(d.t.Context(), f, sessions.Session{
		ID: sessionkeys.ChildID(parent.ID, turn, depth, "call"), Key: k, Parent: parent.ID, ToolCallID: "call", Role: "task", CreatedAt: d.now,
	})
	d.ok(err)
	return c
}

// call makes the attempts of one model call; false: the process was killed.
func (d *day) call(f sessions.Fence, session sessionkeys.SessionID, turn string, depth, step int) bool {
	d.t.Helper()
	model := sets().Models[d.r.IntN(4)]
	l := costs.Labels{Provider: model.Provider, Model: model.Model, Channel: "telegram", Purpose: costs.RootTurn}
	switch {
	case d.r.IntN(4) == 0: // a call of a tool
		l = costs.Labels{Provider: costs.ToolProvider, Model: []string{"t1", "t9"}[d.r.IntN(2)], Channel: "telegram", Purpose: costs.Tool}
	case depth > 0:
		l.Purpose = costs.Subagent
	}
	for attempt := 1; ; attempt++ {
		c := costs.CallID{Turn: turn, Step: step, Attempt: attempt, Purpose: l.Purpose}
		upper := costs.Amount(d.r.Int64N(1e12))
		r := costs.Reservation{ID: fmt.Sprintf("%s/%d/%d/%d", turn, depth, step, attempt), At: d.now, Estimate: costs.Estimate{Call: c, Labels: l, Upper: upper, Priced: true}}
		d.ok(d.store.Reserve(d.t.Context(), f, sessions.Charge{Session: session, Turn: turn}, r))
		e := costs.Entry{
			ID: r.ID, Call: c, Labels: l, Amount: costs.Amount(d.r.Int64N(int64(upper) + 1)), Priced: true, State: costs.Settled, Outcome: "ok",
			Usage: costs.Usage{Input: 10, Output: 3, Source: costs.Reported}, At: d.now,
		}
		how := []string{"answered", "failed", "broken", "killed"}[[]int{0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 2, 3}[d.r.IntN(12)]]
		d.ends[how]++
		switch how {
		case "killed":
			return false
		case "failed":
			e.Amount, e.Outcome = 0, "overloaded"
		case "broken": // estimated, and booked to its lower bound
			e.Outcome, e.State, e.Upper, e.Usage.Source = "network", costs.Interrupted, upper, costs.Estimated
		}
		st := costs.Settlement{Reservation: r, Entry: e}
		for range 1 + d.r.IntN(2) { // also after an answer that was lost
			d.ok(d.store.Settle(d.t.Context(), f, st))
		}
		if how == "answered" {
			return true
		}
	}
}

func (d *day) finish(f sessions.Fence, turn string) {
	d.t.Helper()
	_, err := d.store.Finish(d.t.Context(), f, sessions.FinishTurn{Turn: turn, Outcome: transcript.EndTurn, At: d.now})
	d.ok(err)
}

// compare wants the ledger and the scrape to be the same, label by label.
func (d *day) compare() costs.Amount {
	d.t.Helper()
	rows := map[string]costs.Amount{}
	var total costs.Amount
	d.ok(d.store.Ledger(d.t.Context(), "", func(_ sessionkeys.SessionID, e costs.Entry) bool {
		l := e.Labels
		if l.Purpose == costs.Tool {
			rows["channel="+l.Channel+",tool="+l.Model] += e.Amount
		} else {
			rows["agent_kind="+string(l.Purpose)+",channel="+l.Channel+",model="+l.Model+",provider="+l.Provider] += e.Amount
		}
		total += e.Amount
		return true
	}))
	exported := gather(d.t, d.m)
	for _, s := range slices.Concat(exported["parley_llm_cost_usd_total"], exported["parley_tool_cost_usd_total"]) {
		if s.value != rows[s.labels].Dollars() {
			d.t.Errorf("after turn %d, %s: exported %v, booked %v", d.turns, s.labels, s.value, rows[s.labels].Dollars())
		}
		delete(rows, s.labels)
	}
	for labels := range rows {
		d.t.Errorf("after turn %d, %s is not exported", d.turns, labels)
	}
	return total
}

func TestAfterADayWithRestartsAndSubagentsTheExportIsTheLedger(t *testing.T) {
	t.Parallel()
	d := &day{
		t: t, r: rand.New(rand.NewPCG(7, 11)), path: filepath.Join(t.TempDir(), "parley.db"), ends: map[string]int{},
		now: time.Date(2026, 3, 14, 0, 0, 0, 0, time.UTC),
	}
	d.start()
	var last costs.Amount
	turns := 40
	if os.Getenv("PARLEY_LONG") != "" { // make test-long
		turns = 100 // each reads the whole ledger again
	}
	for range turns {
		d.turn()
		total := d.compare()
		if total < last {
			t.Fatalf("after turn %d the ledger shrank", d.turns)
		}
		last = total
		if d.r.IntN(10) == 0 {
			d.ok(d.store.Close())
			d.start()
			if d.compare() != total {
				t.Errorf("a restart after turn %d changed the sum", d.turns)
			}
		}
	}
	d.ok(d.store.Check(t.Context()))
	d.ok(d.store.Close())
	for _, how := range []string{"answered", "failed", "broken", "killed"} {
		if d.ends[how] < 10 {
			t.Errorf("only %d calls were %s", d.ends[how], how)
		}
	}
}
