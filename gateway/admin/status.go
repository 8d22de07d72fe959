package admin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"parley/costs"
	"parley/gateway/approvals"
	"parley/gateway/budgets"
	"parley/sessions"
	"parley/tools/mcp"
	"parley/transcript"
)

// Status is how a gateway is, at one moment. It names nobody and quotes
// nothing.
type Status struct {
	Version  string    `json:"version"`
	Since    time.Time `json:"since"` // it started
	Now      time.Time `json:"now"`   // by the gateway's clock
	PID      int       `json:"pid"`
	StateDir string    `json:"state_dir"`

	Fine     bool     `json:"fine"`
	Problems []string `json:"problems"` // what is not fine, a sentence each

	Reload ReloadStatus `json:"reload"`

	Ready    bool            `json:"ready"`
	Checks   []Check         `json:"checks"`
	Channels []ChannelStatus `json:"channels"`
	Work     Work            `json:"work"`
	Outbox   Outbox          `json:"outbox"`
	// Pairing is how many strangers wait with a code to be let in.
	Pairing   int       `json:"pairing"`
	Schedules Schedules `json:"schedules"`
	Spend     Spend     `json:"spend"`
	// Recent is what became of turns and model calls in the last minutes.
	Recent Recent `json:"recent"`
	// Circuits are models that are not called at present, after failures in a row.
	Circuits []Circuit `json:"circuits"`
	// DeadLetters is how many messages were given up and wait for a person.
	DeadLetters uint64 `json:"dead_letters"`
	// DeadSince is when the oldest of them was given up.
	DeadSince time.Time `json:"dead_since,omitzero"`
	// GivenUp: among them are messages of people who may talk to the bot. Of others
	// only what nobody can read is kept, and a stranger can cause that.
	GivenUp    bool    `json:"given_up"`
	Dead       LogSize `json:"dead"` // their size
	Log        LogSize `json:"log"`
	StoreBytes int64   `json:"store_bytes"`
	// Sandbox is what programs run in that agents start; nil: they start none.
	Sandbox *Sandbox `json:"sandbox,omitempty"`
	// MCP is the servers whose tools agents may have, without what those say of their tools.
	MCP []mcp.Status `json:"mcp,omitempty"`
}

// Schedules is what agents do at set times: jobs of the configuration, and what people have scheduled.
type Schedules struct {
	Jobs    int       `json:"jobs"`          // that are enabled
	People  int       `json:"people"`        // those of them that are people's
	Next    time.Time `json:"next,omitzero"` // when the first of them is due
	Failing int       `json:"failing"`       // those of them whose last run did not end with an answer
}

// Sandbox is which walls there are around programs.
type Sandbox struct {
	Level   string   `json:"level"`             // A, all of them, to D, none
	Usable  bool     `json:"usable"`            // programs run
	Reasons []string `json:"reasons,omitempty"` // why the level is not A
	Tools   []string `json:"tools,omitempty"`   // that run programs
	Network []string `json:"network,omitempty"` // those of them that have the machine's network
}

// Check is one thing that readiness depends on.
type Check struct {
	Name    string `json:"name"`
	OK      bool   `json:"ok"`
	Problem string `json:"problem,omitempty"`
}

// ChannelStatus is one bot account.
type ChannelStatus struct {
	Name      string    `json:"name"`
	Up        bool      `json:"up"`
	Changed   time.Time `json:"changed,omitzero"`    // since when it is up, or not any more; none: since the start
	LastEvent time.Time `json:"last_event,omitzero"` // since the start; none: nothing came yet
	Elsewhere bool      `json:"elsewhere,omitempty"` // another process receives for it
	Note      string    `json:"note,omitempty"`      // what it promises less than others
}

// Work is what is being answered and what waits for it.
type Work struct {
	Running    int       `json:"running"` // conversations with an open turn
	Asked      int       `json:"asked"`   // calls that wait for a person's permission
	Waiting    int       `json:"waiting"` // conversations with a message that no turn has taken up
	WaitsSince time.Time `json:"waits_since,omitzero"`
}

// Outbox is answers on their way out.
type Outbox struct {
	Pending      int       `json:"pending"`
	PendingSince time.Time `json:"pending_since,omitzero"`
	Ambiguous    int       `json:"ambiguous"` // messages that may have arrived already
}

// Spend is what was spent today, in UTC, by everybody.
type Spend struct {
	Day     string   `json:"day"`
	Settled USD      `json:"settled_usd"`
	Held    USD      `json:"held_usd"` // for calls under way, and for those whose end nobody saw
	Budgets []Budget `json:"budgets"`
}

// Budget is a limit that holds for everybody together.
type Budget struct {
	Name  string `json:"name"`      // its path in the configuration
	Limit USD    `json:"limit_usd"` // with what it is raised by at present
	Spent USD    `json:"spent_usd"` // settled and held

	Scope sessions.Scope `json:"-"`
}

// LogSize is the message log on disk.
type LogSize struct {
	Bytes    uint64 `json:"bytes"`
	MaxBytes int64  `json:"max_bytes"` // 0: no limit
	Messages uint64 `json:"messages"`
}

// Beyond these a gateway is not fine.
const (
	failedParts = 10 // of a hundred: of the turns of the last minutes
	longWait    = 5 * time.Minute
	fullParts   = 90 // of a hundred: of the log
	usedParts   = 95 // of a budget, because a call must fit into what is left
)

func (s *Server) status(r *http.Request) (any, error) {
	ctx := r.Context()
	now := s.o.Now().UTC()
	st := Status{
		Version: s.o.Version, Since: s.started.UTC(), Now: now, PID: os.Getpid(), StateDir: s.o.StateDir,
		Channels: s.o.Channels.Status(), Problems: []string{},
	}
	ready, report := s.o.Ready(ctx)
	st.Ready = ready
	for _, name := range slices.Sorted(maps.Keys(report)) {
		c := Check{Name: name, OK: report[name] == "ok"}
		if !c.OK {
			c.Problem = report[name]
		}
		st.Checks = append(st.Checks, c)
	}
	st.Recent, st.Circuits, st.Reload = s.o.Recent(), s.o.Circuits(), s.o.Reloaded()
	if s.o.Sandbox != nil {
		st.Sandbox = s.o.Sandbox()
	}
	st.MCP = s.serversInBrief()
	if err := errors.Join(s.countWork(ctx, &st), s.checkDeadLetters(ctx, &st)); err != nil {
		return nil, err
	}
	st.assess()
	return st, nil
}

// countWork asks the store and the log.
func (s *Server) countWork(ctx context.Context, st *Status) error {
	b, err := s.o.Store.Backlog(ctx)
	if err != nil {
		return err
	}
	asked, err := approvals.Waiting(ctx, s.o.Store, st.Now)
	if err != nil {
		return err
	}
	if err := s.countSchedules(ctx, st); err != nil {
		return err
	}
	st.Work = Work{Running: b.Running, Asked: asked, Waiting: b.Waiting, WaitsSince: b.WaitsSince}
	st.Outbox = Outbox{Pending: b.Pending, PendingSince: b.PendingSince, Ambiguous: b.Ambiguous}
	settled, held, err := s.o.Store.Spent(ctx, budgets.Limits{}.DayScope(), st.Now)
	if err != nil {
		return err
	}
	st.Spend = Spend{Day: st.Now.Format(time.DateOnly), Settled: USD(settled), Held: USD(held), Budgets: []Budget{}}
	for _, limit := range s.o.Budgets() {
		if limit.Scope.Limit == 0 {
			continue
		}
		if s.o.Raised != nil {
			more, err := s.o.Raised(ctx, limit.Scope, st.Now)
			if err != nil {
				return err
			}
			if limit.Scope.Limit, err = limit.Scope.Limit.Add(more); err != nil {
				return fmt.Errorf("add up the budget %s: %w", limit.Name, err)
			}
		}
		limit.Limit = USD(limit.Scope.Limit)
		settled, held, err := s.o.Store.Spent(ctx, limit.Scope, st.Now)
		if err != nil {
			return err
		}
		sum, err := costs.SumOf(settled, held)
		if err != nil {
			return fmt.Errorf("add up the budget %s: %w", limit.Name, err)
		}
		limit.Spent = USD(sum)
		st.Spend.Budgets = append(st.Spend.Budgets, limit)
	}
	stats, err := s.o.Log.Stats(ctx)
	if err != nil {
		// A log that does not answer is what readiness tells, with the reason.
		st.Problems = append(st.Problems, "the message log does not say how full it is: "+err.Error())
	}
	st.DeadLetters = stats.DeadLetters
	st.Dead = LogSize{Bytes: stats.DeadBytes, MaxBytes: stats.DeadMaxBytes, Messages: stats.DeadLetters}
	st.Log = LogSize{Bytes: stats.Bytes, MaxBytes: stats.MaxBytes, Messages: stats.Messages}
	st.StoreBytes, err = s.o.StoreSize()
	return err
}

// countSchedules asks for the codes that wait, and for the jobs.
func (s *Server) countSchedules(ctx context.Context, st *Status) error {
	asking, err := s.o.People.Requests(ctx, "")
	if _, err = passUnreadable(err); err != nil {
		return err
	}
	st.Pairing = len(asking)
	jobs, err := s.o.Jobs(ctx)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		d, err := s.describeJob(ctx, j)
		if err != nil {
			return err
		}
		if d.State == JobOff {
			continue
		}
		if d.Person != "" && d.Next.IsZero() && d.State == JobIdle { // it is past
			continue
		}
		c := &st.Schedules
		c.Jobs++
		if d.Person != "" {
			c.People++
		}
		if !d.Next.IsZero() && (c.Next.IsZero() || d.Next.Before(c.Next)) {
			c.Next = d.Next
		}
		if d.Last != nil && !slices.Contains([]string{"", string(transcript.EndTurn), string(transcript.Done)}, d.Last.Outcome) {
			c.Failing++
		}
	}
	return nil
}

// lettersJudged is how many dead letters are looked at, the oldest first.
const lettersJudged = 50

// checkDeadLetters says since when dead letters wait, and whether they are anybody's.
func (s *Server) checkDeadLetters(ctx context.Context, st *Status) error {
	if st.DeadLetters == 0 {
		return nil
	}
	oldest, err := s.o.Log.DeadLetters(ctx, 0, lettersJudged)
	if err != nil {
		return err
	}
	for i, l := range oldest {
		if i == 0 {
			st.DeadSince = l.At.UTC()
		}
		st.GivenUp = st.GivenUp || l.Reason != "unreadable"
	}
	return nil
}

// assess says what is not fine. Dead letters that a stranger can cause are not among it.
func (st *Status) assess() {
	not := func(format string, a ...any) { st.Problems = append(st.Problems, fmt.Sprintf(format, a...)) }
	for _, c := range st.Checks {
		if !c.OK {
			not("%s: %s", c.Name, c.Problem)
		}
	}
	if !st.Ready && len(st.Problems) == 0 {
		not("the gateway is not ready")
	}
	if r := st.Reload; r.Problem != "" {
		not("the configuration was not reloaded %s ago, and the one of %s holds; with these mistakes the gateway would not start again: %s",
			st.Now.Sub(r.At).Round(time.Second), r.Since.UTC().Format(time.RFC3339), firstLine(r.Problem))
	} else if r.PricesWrong {
		not("the changed list of prices was not taken; the log says why (prices not reloaded)")
	}
	for _, c := range st.Channels {
		if !c.Up && !c.Elsewhere {
			since := ""
			if !c.Changed.IsZero() {
				since = " for " + st.Now.Sub(c.Changed).Round(time.Second).String()
			}
			not("the channel %s is not connected%s; the log says why (channel=%s)", c.Name, since, c.Name)
		}
	}
	for _, c := range st.Circuits {
		again := "a call tries it now"
		if !c.Probing {
			again = "the next call tries it"
			if wait := c.Until.Sub(st.Now); wait > 0 {
				again = "a call tries it again in " + wait.Round(time.Second).String()
			}
		}
		not("%s/%s is not called for %s, after %s in a row, the last with %s; %s; %s", c.Provider, c.Model,
			st.Now.Sub(c.Since).Round(time.Second), plural(c.Failures, "failure"), c.Reason, again, remedy(RecentModel{Provider: c.Provider, LastError: c.Reason}))
	}
	for _, m := range st.Recent.Models {
		if m.isFailing() {
			not("%s/%s fails: %d of %s in the last %d minutes, the last with %s %s ago; %s", m.Provider, m.Model, m.Failed, plural(m.Calls, "call"),
				st.Recent.Minutes, m.LastError, st.Now.Sub(m.LastErrorAt).Round(time.Second), remedy(m))
		}
	}
	if r := st.Recent; r.FailedTurns*100 > r.Turns*failedParts {
		not("%d of %s in the last %d minutes failed, and people were told so; the log says why (turn ended early)", r.FailedTurns, plural(r.Turns, "turn"), r.Minutes)
	}
	if b := st.Sandbox; b != nil && !b.Usable {
		not("programs cannot be walled in on this machine, so no agent has the tools that run some (%s): %s", strings.Join(b.Tools, ", "), strings.Join(b.Reasons, "; "))
	}
	st.assessServers(not)
	if st.GivenUp {
		not("%s given up, the oldest %s ago; see why with parley dead-letters ls, then redeliver or drop them",
			givenUpPhrase(st.DeadLetters), st.Now.Sub(st.DeadSince).Round(time.Second))
	}
	if w := st.Work; w.Waiting > 0 && st.Now.Sub(w.WaitsSince) > longWait {
		not("a conversation waits for %s", st.Now.Sub(w.WaitsSince).Round(time.Second))
	}
	if o := st.Outbox; o.Pending > 0 && st.Now.Sub(o.PendingSince) > longWait {
		not("an answer waits for %s to be sent", st.Now.Sub(o.PendingSince).Round(time.Second))
	}
	if l := st.Log; l.MaxBytes > 0 && l.Bytes >= uint64(l.MaxBytes)/100*fullParts {
		not("the message log is nearly full: when it is, nothing new is accepted (broker.max_bytes)")
	}
	if l := st.Dead; l.MaxBytes > 0 && l.Bytes >= uint64(l.MaxBytes)/100*usedParts {
		not("the dead letters are nearly full: when they are, a message that cannot be answered holds up its conversation (parley dead-letters ls)")
	}
	for _, b := range st.Spend.Budgets {
		if b.Limit > 0 && b.Spent >= b.Limit/100*usedParts {
			not("the budget %s is used up or nearly: %s of %s", b.Name, b.Spent, b.Limit)
		}
	}
	st.Fine = len(st.Problems) == 0
}

// firstLine returns the first line of a text, and how many more there are.
func firstLine(text string) string {
	first, rest, more := strings.Cut(text, "\n")
	if more {
		first += fmt.Sprintf(" (and %s)", plural(strings.Count(rest, "\n")+1, "more line"))
	}
	return first
}
