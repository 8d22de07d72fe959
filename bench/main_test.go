package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"syscall"
	"testing"
	"time"

	simsignal "parley/simulators/signal"
)

// planVar holds the plan of a process that is a system under test. Without it
// the binary is an ordinary test binary.
const planVar = "PARLEY_BENCH_PLAN"

// plan is what a system under test is told.
type plan struct {
	System   string
	Telegram string // the Bot API's root
	Model    string // the model's root
	Chat     bool   // it is asked by Chat Completions, and not by the Messages API
	Dir      string // for what must survive
	Turns    int    // how many turns may run at once; 0: parley's default
	Profile  string // file for a CPU profile, beside which one of allocations is written; empty: none

	// What follows is parley's alone.
	Name      string        // of the process; empty: bench
	Roles     []string      // nil: all
	Log       string        // address of a message log; empty: inside
	Replicas  int           // of each of its messages
	Redis     string        // address of the store; empty: SQLite
	Relaxed   bool          // the message log inside is not synced at each message
	WhileBusy string        // empty: parley's default
	Grace     time.Duration // 0: parley's default
	Window    int           // of the model, in tokens; 0: 200,000
	Signed    bool          // the model is told which process asks, see signature
	Slack     string        // the Web API's root, instead of Telegram
	SignalCLI string        // the program, instead of Telegram
}

// token is the bot's.
const token = "4200000001:AAbenchAAbenchAAbenchAAbenchAAbench"

// systems are what can be measured, from the least to the most.
var systems = []string{"naked", "durable", "parley"}

// relaxed is parley whose message log is synced once a second.
const relaxed = "relaxed"

// isReady is what a system says, as a line, when it is about to take messages.
const isReady = "ready"

func TestMain(m *testing.M) {
	if os.Getenv(simsignal.WorldVariable) != "" {
		os.Exit(simsignal.Main(os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
	}
	if raw, ok := os.LookupEnv(planVar); ok {
		if err := serve(raw); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// The simulators share the cores with what is measured, and their memory is not counted.
	debug.SetGCPercent(800)
	os.Exit(m.Run())
}

// serve is a system under test. It ends when it is asked to, and when whoever
// started it is gone.
func serve(raw string) error {
	var p plan
	if err := json.Unmarshal([]byte(raw), &p); err != nil {
		return fmt.Errorf("read the plan: %w", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	if p.Profile == "" {
		return runSystem(ctx, p)
	}
	return profiled(p.Profile, func() error { return runSystem(ctx, p) })
}

// profiled writes a CPU profile of run into file, and what run allocated into one beside it.
func profiled(file string, run func() error) (err error) {
	runtime.MemProfileRate = 32 << 10 // one turn allocates about that a few times
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := pprof.StartCPUProfile(f); err != nil {
		return err
	}
	err = run()
	pprof.StopCPUProfile()
	allocs, createErr := os.Create(strings.TrimSuffix(file, ".pprof") + ".allocs.pprof")
	if createErr != nil {
		return errors.Join(err, createErr)
	}
	return errors.Join(err, pprof.Lookup("allocs").WriteTo(allocs, 0), allocs.Close())
}

// runSystem runs the system under test until ctx ends.
func runSystem(ctx context.Context, p plan) error {
	ready := func() { fmt.Println(isReady) }
	switch p.System {
	case "naked":
		return newBot(p, nil).run(ctx, ready)
	case "durable":
		j, err := openJournal(p.Dir)
		if err != nil {
			return err
		}
		defer func() { _ = j.close() }()
		return newBot(p, j).run(ctx, ready)
	case "parley", relaxed:
		return runParley(ctx, p, ready)
	}
	return fmt.Errorf("there is no system %q", p.System)
}
