// Package doctor examines what a gateway stands on, and changes nothing: its folder, its disk, its
// channels, its models, its MCP servers, the message log, the store, the sandbox, the clock, and who can
// reach it.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"parley/broker"
	"parley/channels"
	"parley/disks"
	"parley/findings"
	"parley/llm"
	"parley/sessions/redis"
	"parley/tools/mcp"
)

// Options is what is examined. What is nil is not there.
type Options struct {
	StateDir string
	UID      int // of the user that examines
	Space    func(dir string) (disks.Space, error)
	Now      func() time.Time

	// Warnings are what check-config warns of, each with its place.
	Warnings []string
	// Running asks the gateway that runs. It returns nil when none does.
	Running func(ctx context.Context) (*Running, error)

	Channels  []channels.Channel
	Models    []Model
	PricesOf  time.Time // of the newest price in use; zero: none is
	Exposures []Exposure
	Log       func(ctx context.Context) (broker.Inspection, error) // nil: it is embedded
	Redis     func(ctx context.Context) (redis.Inspection, error)  // nil: the store is SQLite
	Sandbox   func(ctx context.Context) (Sandbox, error)           // nil: no programs run
	Traces    *Traces                                              // nil: there are none
	Servers   []MCPServer
}

// MCPServer is a server whose tools agents may have.
type MCPServer struct {
	Name, Where string
	// Examine looks how it is, when no gateway runs that knows it; nil: it is not looked at.
	Examine func(ctx context.Context) (mcp.Status, error)
}

// Traces is where traces are sent.
type Traces struct {
	Endpoint string
	Examine  func(ctx context.Context) error // returns why it does not take them
}

// Running is what a gateway that runs says of itself.
type Running struct {
	PID      int
	Version  string
	Problems []string
	Sandbox  *Sandbox // nil: it runs no programs
	Servers  []mcp.Status
}

// Sandbox is which walls there are around programs.
type Sandbox struct {
	Level      string // A to D
	Backend    string // who builds them: parley or bubblewrap; empty at D
	Usable     bool
	Reasons    []string
	Missing    []string // tools whose program is not on this machine
	Unconfined []string // tools that have a list of hosts, to which programs cannot be kept

	LimitsOfRuns bool   // memory and processes are bounded for each run as a whole
	LimitsReason string // why they are bounded for each process instead
}

// Model is a configured model.
type Model struct {
	Name    string     // provider/model
	Pinger  llm.Pinger // nil: it is not asked
	Price   string     // where its price is from; empty: it has none
	Refused bool       // it has no price and a budget applies
}

// Exposure is an address of something that may have no password.
type Exposure struct {
	Kind    ExposureKind
	Host    string // empty: every address of this machine
	Guarded bool
}

// ExposureKind is what stands at an address.
type ExposureKind int

// Kinds of exposure.
const (
	Metrics ExposureKind = iota // what ops.listen serves
	NATS                        // a server of the message log
	Redis                       // that of the store
)

// Beyond these a finding is one.
const (
	maxOffset = 5 * time.Second // clocks in heads of HTTP have whole seconds
	oldPrices = 180 * 24 * time.Hour
	fullParts = 90 // of a hundred, of the memory of Redis
)

// examineWithin bounds each part that asks a network.
const examineWithin = 45 * time.Second

// Examine returns what was found, in the order of the parts. It changes nothing.
func Examine(ctx context.Context, o Options) []findings.Finding {
	found, goOn := o.examineState()
	if !goOn {
		return found
	}
	running, more := o.examineRunning(ctx)
	found = append(found, more...)
	found = append(found, o.examineDisk()...)
	for _, w := range o.Warnings {
		place, text, ok := strings.Cut(w, ": ")
		if !ok {
			place, text = "configuration", w
		}
		found = append(found, configWarning.At(place, "%s", text))
	}
	found = append(found, o.examineExposure()...)

	clocks := &clocks{}
	parts := []func(context.Context) []findings.Finding{
		func(ctx context.Context) []findings.Finding { return o.examineLog(ctx) },
		func(ctx context.Context) []findings.Finding { return o.examineStore(ctx, clocks) },
		func(ctx context.Context) []findings.Finding { return o.examineSandbox(ctx, running) },
		o.examineTraces,
	}
	for _, c := range o.Channels {
		if e, ok := c.(channels.Examiner); ok {
			parts = append(parts, e.Examine)
		}
	}
	for _, m := range o.Models {
		parts = append(parts, func(ctx context.Context) []findings.Finding { return m.examine(ctx, o.Now, clocks) })
	}
	for _, s := range o.Servers {
		parts = append(parts, func(ctx context.Context) []findings.Finding { return s.examine(ctx, running) })
	}
	results := make([][]findings.Finding, len(parts))
	var wg sync.WaitGroup
	for i, part := range parts {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, examineWithin)
			defer cancel()
			results[i] = part(ctx)
		})
	}
	wg.Wait()
	for _, r := range results {
		found = append(found, r...)
	}
	if !o.PricesOf.IsZero() && o.Now().Sub(o.PricesOf) > oldPrices {
		found = append(found, pricesOld.At("prices", "the newest is of %s", o.PricesOf.Format(time.DateOnly)))
	}
	return append(found, clocks.examine()...)
}

// examineState looks at the state folder. It is false when nothing else is to be looked at.
func (o Options) examineState() (found []findings.Finding, goOn bool) {
	info, err := os.Stat(o.StateDir)
	if errors.Is(err, fs.ErrNotExist) {
		return []findings.Finding{stateNew.At(o.StateDir, "not there yet")}, true
	}
	if err != nil {
		return []findings.Finding{stateBroken.At(o.StateDir, "%v", err)}, false
	}
	if !info.IsDir() {
		return []findings.Finding{stateBroken.At(o.StateDir, "it is no folder")}, false
	}
	if owner, ok := ownerOf(o.StateDir, info); ok && owner != o.UID {
		return []findings.Finding{stateOwner.At(o.StateDir, "it belongs to user %d, and this is user %d", owner, o.UID)}, false
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return []findings.Finding{stateShared.At(o.StateDir, "its mode is %04o", mode)}, true
	}
	return []findings.Finding{stateFolder.At(o.StateDir, "mode %04o, of user %d", info.Mode().Perm(), o.UID)}, true
}

// ownerOf returns the user whose a state folder is; false: nobody's yet. One of root is that of whoever
// has files in it: the mounted volume of a container is root's, and what is in it is not.
func ownerOf(dir string, info fs.FileInfo) (uid int, ok bool) {
	if uid, ok = uidOf(info); !ok || uid != 0 {
		return uid, ok
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return uid, true
	}
	for _, e := range entries {
		if inside, err := e.Info(); err == nil && e.Name() != "lost+found" {
			return uidOf(inside)
		}
	}
	return uid, false
}

// uidOf returns the owner of a file; false: the system does not say it.
func uidOf(info fs.FileInfo) (int, bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(s.Uid), true
}

func (o Options) examineDisk() []findings.Finding {
	dir := o.StateDir
	if _, err := os.Stat(dir); err != nil {
		return nil // it is not there yet, or that is said
	}
	space, err := o.Space(dir)
	switch {
	case err != nil:
		return []findings.Finding{diskUnknown.At(dir, "%v", err)}
	case space.IsLow():
		return []findings.Finding{diskLow.At(dir, "%d MiB of %d MiB are free", space.Free>>20, space.Size>>20)}
	}
	return []findings.Finding{diskSpace.At(dir, "%d MiB of %d MiB are free", space.Free>>20, space.Size>>20)}
}

func (o Options) examineRunning(ctx context.Context) (*Running, []findings.Finding) {
	if o.Running == nil {
		return nil, nil
	}
	r, err := o.Running(ctx)
	switch {
	case err != nil:
		return nil, []findings.Finding{gatewayMute.At("gateway", "%v", err)}
	case r == nil:
		return nil, []findings.Finding{gatewayStopped.At("gateway", "none runs on %s", o.StateDir)}
	case len(r.Problems) == 0:
		return r, []findings.Finding{gatewayRunning.At("gateway", "process %d, parley %s", r.PID, r.Version)}
	}
	var found []findings.Finding
	for _, p := range r.Problems {
		found = append(found, gatewayProblem.At("gateway", "%s", p))
	}
	return r, found
}

func (o Options) examineSandbox(ctx context.Context, running *Running) []findings.Finding {
	if o.Sandbox == nil {
		return nil
	}
	where := "this process"
	var s Sandbox
	if running != nil && running.Sandbox != nil {
		s, where = *running.Sandbox, "the gateway that runs"
	} else {
		var err error
		if s, err = o.Sandbox(ctx); err != nil {
			return []findings.Finding{sandboxNone.At("sandbox", "%v", err)}
		}
	}
	found := []findings.Finding{s.find(where)}
	if s.Usable && len(s.Missing) > 0 {
		found = append(found, sandboxMissing.At("sandbox", "as %s sees it: %s", where, strings.Join(s.Missing, ", ")))
	}
	if s.Usable && len(s.Unconfined) > 0 {
		found = append(found, sandboxHosts.At("sandbox", "level %s, as %s sees it: %s", s.Level, where, strings.Join(s.Unconfined, ", ")))
	}
	return found
}

// find returns the finding about the walls of the sandbox; where names the process that has seen them.
func (s Sandbox) find(where string) findings.Finding {
	why := strings.Join(s.Reasons, "; ")
	if s.Usable {
		where += ", with limits for " + s.limited()
	}
	switch {
	case !s.Usable:
		return sandboxNone.At("sandbox", "as %s sees it: %s", where, why)
	case s.Level == "D":
		return sandboxHost.At("sandbox", "level D, as %s sees it", where)
	case s.Level != "A":
		return sandboxWeaker.At("sandbox", "level %s%s, as %s sees it: %s", s.Level, s.by(), where, why)
	}
	if why != "" {
		why = ": " + why
	}
	return sandboxFull.At("sandbox", "level A%s, as %s sees it%s", s.by(), where, why)
}

// limited says what limits hold for.
func (s Sandbox) limited() string {
	if s.LimitsOfRuns {
		return "each run"
	}
	return "each process (" + s.LimitsReason + ")"
}

// by names who builds the walls where it is not parley.
func (s Sandbox) by() string {
	if s.Backend == "" || s.Backend == "parley" {
		return ""
	}
	return " by " + s.Backend
}

// clocks collects what the clocks of servers say. Its methods may be called concurrently.
type clocks struct {
	mu  sync.Mutex // guards what follows
	all []clock
}

type clock struct {
	of     string
	offset time.Duration // of ours against theirs
}

// note notes what a server said of the time, in an answer that took so long and came at now.
func (c *clocks) note(of string, theirs, now time.Time, took time.Duration) {
	if theirs.IsZero() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	offset := now.Sub(theirs)
	switch { // somewhere in the time that the answer took, or in the second that it names
	case offset > took+time.Second:
		offset -= took
	case offset >= 0:
		offset = 0
	}
	c.all = append(c.all, clock{of, offset})
}

// examine says whether ours agrees with them. One server whose clock is wrong is not ours.
func (c *clocks) examine() []findings.Finding {
	c.mu.Lock()
	defer c.mu.Unlock()
	var off, right []string
	for _, one := range c.all {
		if one.offset.Abs() > maxOffset {
			off = append(off, fmt.Sprintf("%s against %s", one.offset.Round(time.Second), one.of))
		} else {
			right = append(right, one.of)
		}
	}
	switch {
	case len(off) > len(right):
		return []findings.Finding{clockOffset.At("clock", "%s", strings.Join(off, ", "))}
	case len(right) > 0:
		return []findings.Finding{clockRight.At("clock", "within %s of %s", maxOffset, strings.Join(right, ", "))}
	}
	return nil
}
