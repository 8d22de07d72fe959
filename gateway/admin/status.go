package admin

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"time"

	"parley/costs"
	"parley/disks"
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
	// Uncounted: the store did not answer, and Work, Outbox, Pairing, Schedules and Spend are not known.
	Uncounted bool   `json:"uncounted,omitempty"`
	Work      Work   `json:"work"`
	Outbox    Outbox `json:"outbox"`
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
	// Disk is that of the state folder.
	Disk Disk `json:"disk"`
	// PricesOf is the day of the newest price that models are reckoned by. None: every model has
	// a price of its own, or none at all.
	PricesOf time.Time `json:"prices_of,omitzero"`
	// Sandbox is what programs run in that agents start; nil: they start none.
	Sandbox *Sandbox `json:"sandbox,omitempty"`
	// Retention is how long sessions are kept; nil: for ever.
	Retention *Retention `json:"retention,omitempty"`
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
	Backend string   `json:"backend,omitempty"` // who builds them: parley or bubblewrap; empty at D
	Usable  bool     `json:"usable"`            // programs run
	Reasons []string `json:"reasons,omitempty"` // why the level is not A, and why parley does not build all
	Tools   []string `json:"tools,omitempty"`   // that run programs
	Missing []string `json:"missing,omitempty"` // those of them that are not offered, as their program is not there
	Network []string `json:"network,omitempty"` // those of them that have the machine's network
	Hosts   []Reach  `json:"hosts,omitempty"`   // those of them that reach the hosts of a list
	// Confines means that programs can be kept to a list of hosts; those of Hosts do not run
	// otherwise.
	Confines bool `json:"confines_hosts,omitempty"`

	LimitsOfRuns bool   `json:"limits_of_runs"`          // memory and processes are bounded for each run as a whole
	LimitsReason string `json:"limits_reason,omitempty"` // why they are bounded for each process instead
}

// Reach is tools and the hosts that their program reaches.
type Reach struct {
	Tools []string `json:"tools"`
	Hosts []string `json:"hosts"`
}

// ReachingTools returns the tools of a list.
func ReachingTools(all []Reach) (names []string) {
	for _, r := range all {
		names = append(names, r.Tools...)
	}
	return names
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

// Disk is how much room there is.
type Disk struct {
	FreeBytes int64 `json:"free_bytes"`
	Bytes     int64 `json:"bytes"` // 0: not known
}

func (desk statusDesk) status(r *http.Request) (any, error) {
	ctx := r.Context()
	now := desk.o.Now().UTC()
	st := Status{
		Version: desk.o.Version, Since: desk.started.UTC(), Now: now, PID: os.Getpid(), StateDir: desk.o.StateDir,
		Channels: desk.o.Channels.Status(), Problems: []string{},
	}
	ready, report := desk.o.Ready(ctx)
	st.Ready = ready
	for _, name := range slices.Sorted(maps.Keys(report)) {
		c := Check{Name: name, OK: report[name] == "ok"}
		if !c.OK {
			c.Problem = report[name]
		}
		st.Checks = append(st.Checks, c)
	}
	st.Recent, st.Circuits, st.Reload = desk.o.Recent(), desk.o.Circuits(), desk.o.Reloaded()
	if desk.o.Sandbox != nil {
		st.Sandbox = desk.o.Sandbox()
	}
	st.MCP, st.Retention = serverDesk{desk.o}.serversInBrief(), treeDesk{desk.o}.retention()
	desk.measure(ctx, &st)
	if err := desk.countWork(ctx, &st); err != nil {
		st.Uncounted, st.Work, st.Outbox, st.Pairing, st.Schedules = true, Work{}, Outbox{}, 0, Schedules{}
		st.Spend = Spend{Day: now.Format(time.DateOnly), Budgets: []Budget{}}
		st.Problems = append(st.Problems, "what waits, is scheduled and is spent is not known, because the store does not say it: "+err.Error())
	}
	st.assess()
	return st, nil
}

// storeWait is how long the store may take to say all that a status has of it.
const storeWait = 20 * time.Second

// countWork asks the store.
func (desk statusDesk) countWork(ctx context.Context, st *Status) error {
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	b, err := desk.o.Store.Backlog(ctx)
	if err != nil {
		return err
	}
	asked, err := approvals.Waiting(ctx, desk.o.Store, st.Now)
	unreadable, err := passUnreadable(err)
	if err != nil {
		return err
	}
	if unreadable != "" {
		st.Problems = append(st.Problems, "of what waits for permission something cannot be read: "+unreadable)
	}
	if err := desk.countSchedules(ctx, st); err != nil {
		return err
	}
	st.Work = Work{Running: b.Running, Asked: asked, Waiting: b.Waiting, WaitsSince: b.WaitsSince}
	st.Outbox = Outbox{Pending: b.Pending, PendingSince: b.PendingSince, Ambiguous: b.Ambiguous}
	settled, held, err := desk.o.Store.Spent(ctx, budgets.Limits{}.DayScope(), st.Now)
	if err != nil {
		return err
	}
	st.Spend = Spend{Day: st.Now.Format(time.DateOnly), Settled: USD(settled), Held: USD(held), Budgets: []Budget{}}
	for _, limit := range desk.o.Budgets() {
		if limit.Scope.Limit == 0 {
			continue
		}
		if desk.o.Raised != nil {
			more, err := desk.o.Raised(ctx, limit.Scope, st.Now)
			if err != nil {
				return err
			}
			if limit.Scope.Limit, err = limit.Scope.Limit.Add(more); err != nil {
				return fmt.Errorf("add up the budget %s: %w", limit.Name, err)
			}
		}
		limit.Limit = USD(limit.Scope.Limit)
		settled, held, err := desk.o.Store.Spent(ctx, limit.Scope, st.Now)
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
	return nil
}

// measure asks the log and the disk, and how old the prices are. What does not answer is a problem,
// and the rest is known.
func (desk statusDesk) measure(ctx context.Context, st *Status) {
	if desk.o.PricesOf != nil {
		st.PricesOf = desk.o.PricesOf().UTC()
	}
	if space, err := disks.SpaceAt(desk.o.StateDir); err == nil { // else a check says so
		st.Disk = Disk{FreeBytes: space.Free, Bytes: space.Size}
	}
	stats, err := desk.o.Log.Stats(ctx)
	if err != nil {
		// A log that does not answer is what readiness tells, with the reason.
		st.Problems = append(st.Problems, "the message log does not say how full it is: "+err.Error())
	}
	st.DeadLetters = stats.DeadLetters
	st.Dead = LogSize{Bytes: stats.DeadBytes, MaxBytes: stats.DeadMaxBytes, Messages: stats.DeadLetters}
	st.Log = LogSize{Bytes: stats.Bytes, MaxBytes: stats.MaxBytes, Messages: stats.Messages}
	if err := desk.checkDeadLetters(ctx, st); err != nil {
		st.Problems = append(st.Problems, "the dead letters cannot be read: "+err.Error())
	}
	if st.StoreBytes, err = desk.o.StoreSize(); err != nil {
		st.Problems = append(st.Problems, "the size of the store is not known: "+err.Error())
	}
}

// countSchedules asks for the codes that wait, and for the jobs.
func (desk statusDesk) countSchedules(ctx context.Context, st *Status) error {
	asking, err := desk.o.People.Requests(ctx, "")
	if _, err = passUnreadable(err); err != nil {
		return err
	}
	st.Pairing = len(asking)
	jobs, err := desk.o.Jobs(ctx)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		d, err := jobDesk{desk.o}.describeJob(ctx, j)
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
func (desk statusDesk) checkDeadLetters(ctx context.Context, st *Status) error {
	if st.DeadLetters == 0 {
		return nil
	}
	oldest, err := desk.o.Log.DeadLetters(ctx, 0, lettersJudged)
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
