package faulttest

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley/costs"
	"parley/runtest"
	"parley/simulators/model"
	"parley/simulators/telegram"
)

// The bot of every run.
const (
	Token    = "4200000001:AAtestAAtestAAtestAAtestAAtestAAtest"
	Username = "parley_bot"
)

// Lease is how long a worker that says nothing keeps its conversations: longer
// than any process of a run waits for its turn on a busy machine, since one that
// lost its conversations while it lived would do nothing wrong. Who is killed is
// followed at once by who bears its name.
const Lease = time.Minute

// Options shape a run. The zero value is the standard load on the embedded
// engine, and nothing goes wrong.
type Options struct {
	Engine Engine // default: Embedded
	Shape  Shape
	// Seed of load and faults. 0: PARLEY_SEED, or else a random one. It is logged.
	Seed uint64
	// Webhook makes Telegram bring what is said; default: the gateway polls.
	Webhook bool
	// Config is what the configuration has besides, or instead: top-level keys
	// with their values as YAML in one line.
	Config map[string]string
	// Lease is how long a worker that says nothing keeps its conversations; 0: the
	// constant of that name.
	Lease time.Duration
	// Fallback gives the agent a second model, of another provider, which answers where the first
	// does not.
	Fallback bool
	// Clock lets the row move the clock of all processes, see SetClock.
	Clock bool
	// Expect is a violation that must be found, in a row that takes a promise
	// away to show that it would be seen; the others are then not looked at, and
	// Drive gives up soon. Empty: none may be found.
	Expect Kind
	// Brain stands before the load's; nil: the load's alone.
	Brain func(l *Workload) model.Brain
}

// Run is a load on processes of the real binary between two simulators. One
// goroutine uses it.
type Run struct {
	// What happens in it, and the counterparts, whose books are checked.
	Workload *Workload
	Telegram *telegram.Server
	Model    *model.Server
	// TelegramLine and ModelLine are the processes' only way to the two.
	TelegramLine, ModelLine *Proxy
	// Base is what the processes share.
	Base *Base
	// Rand draws the row's own faults; it is seeded.
	Rand *rand.Rand
	// Plans are the faults of fault points, and Pace is how much people may say.
	Plans Plans
	Pace  Pace
	Dir   string

	t     testing.TB
	o     Options
	id    string
	hooks string // where the gateway's webhooks listen
	slots []*slot
	fresh holdings // what a process holds that has just started

	// The slots of jobs after the one moment and until the other are to have run.
	jobsFrom, jobsThrough time.Time
	jobsEnded             atomic.Bool

	faults faultLog
}

// Open starts the simulators and what the engine needs. Nothing of parley runs
// before Start.
func Open(t testing.TB, o Options) *Run {
	t.Helper()
	if o.Engine.Open == nil {
		o.Engine = Embedded()
	}
	if o.Seed == 0 {
		o.Seed = drawSeed(t)
	}
	if o.Lease == 0 {
		o.Lease = Lease
	}
	t.Logf("seed %d: PARLEY_SEED=%d repeats the load and the faults of this row", o.Seed, o.Seed)
	load, draws := NewWorkload(o.Shape, o.Seed), rand.New(rand.NewPCG(o.Seed, 0xfa17)) // it must repeat
	r := &Run{
		t: t, o: o, Dir: t.TempDir(), Workload: load, Rand: draws, Plans: Plans{rand: draws},
		id: fmt.Sprintf("%d-%d", os.Getpid(), rand.Uint64()), Pace: Pace{questions: load.Questions(), rounds: 4},
	}
	t.Cleanup(r.keepLogs)
	brain := model.Brain(r.Workload.Brain)
	if o.Brain != nil {
		brain = o.Brain(r.Workload)
	}
	tg, err := telegram.New(telegram.Options{
		Seed: o.Seed, WebhookRetry: 10 * time.Millisecond, Keep: 1 << 20, Pace: limitsPace,
		Bots: []telegram.Bot{{Token: Token, Username: Username, Name: "parley", CanReadAllGroupMessages: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Telegram = tg
	r.Model = model.New(model.Options{Brain: brain, Prices: modelPrices(t), Window: o.Shape.Window, MaxRequests: 1 << 20, MaxRecorded: 1 << 30})
	runtest.Serve(t, r.Telegram, r.Model)
	r.TelegramLine = NewProxy(t, strings.TrimPrefix(tg.URL(), "http://"))
	r.ModelLine = NewProxy(t, strings.TrimPrefix(r.Model.URL(), "http://"))
	if o.Webhook {
		r.hooks = freeAddr(t)
	}
	if o.Clock {
		r.SetClock(0)
	}
	r.Base = o.Engine.Open(t, r.Dir)
	for i := range max(o.Engine.Processes, 1) {
		r.slots = append(r.slots, &slot{r: r, number: i})
	}
	return r
}

func drawSeed(t testing.TB) uint64 {
	t.Helper()
	text := os.Getenv("PARLEY_SEED")
	if text == "" {
		return rand.Uint64() // any will do
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("PARLEY_SEED: %v", err)
	}
	return n
}

// modelPrices are those that the gateway knows for the simulated model.
func modelPrices(t testing.TB) map[string]model.Price {
	t.Helper()
	c, err := costs.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	p, ok := c.Price("demo", "demo")
	if !ok {
		t.Fatal("the demonstration model has no price")
	}
	return map[string]model.Price{"demo": {
		Input: int64(p.Input), Output: int64(p.Output), CacheRead: int64(p.CacheRead),
		CacheWrite5m: int64(p.CacheWrite5m), CacheWrite1h: int64(p.CacheWrite1h),
	}}
}

// limitsPace is how many times Telegram's limits hold, on both sides.
const limitsPace = 200

// window is that of the agent's models.
func (r *Run) window() int { return cmp.Or(r.o.Shape.Window, 200_000) }

// reserve is the provider of the fall-back.
const reserve = "reserve"

// writeConfig writes the configuration of process number i, which reaches Telegram and
// the model at these addresses, and returns its path.
func (r *Run) writeConfig(i int, tg, llm string) (string, error) {
	webhook := ""
	if r.o.Webhook {
		webhook = fmt.Sprintf(", webhook: {url: http://%s, max_connections: 8}", r.hooks)
	}
	all := map[string]string{
		"name":      fmt.Sprintf("process-%d", i),
		"channels":  fmt.Sprintf("{telegram: {tg: {token: %q, api_url: http://%s, access: {everyone: true%s%s}, while_busy: queue, activity: %s, pace: %d%s}}}", Token, tg, r.Workload.groups(), r.Workload.approvers(), r.Workload.activity(), limitsPace, webhook),
		"providers": fmt.Sprintf("{sim: {kind: anthropic, base_url: http://%s, prices: demo}}", llm),
		"agents":    fmt.Sprintf("{main: {model: sim/demo, window: %d, max_tokens: 1000, tools: [read_file, write_file, edit_file, sessions_spawn%s]}}", r.window(), r.Workload.scripts()),
		"bash":      fmt.Sprintf("{enabled: %t}", r.Workload.Shape.Scripts),
		"cron":      r.Workload.jobs(),
		"titles":    r.Workload.titles(),
		"goals":     r.Workload.goals(),
		"context":   r.Workload.context(),
		"subagents": "{max_concurrent: 64}",
		// A turn that was killed many times is not poison here.
		"worker": fmt.Sprintf("{turns: 64, attempts: 1000, lease: %s, grace: %s}", r.o.Lease, r.o.Lease),
		"retry":  "{base: 200ms}",
		"limits": "{person_per_minute: -1, person_burst: -1, group_per_minute: -1, queue: -1}",
		// What killed calls may have cost stays held all day.
		"budgets": "{turn: 1000, session: 10000, person_per_day: 100000, group_per_day: 100000, global_per_day: 1000000}",
		"ops":     `{listen: "127.0.0.1:0"}`,
		// At this level it is told which messages were not changed, see unasked.
		"log": "{format: json, level: debug}",
	}
	if r.jobsEnded.Load() {
		all["cron"] = "{}"
	}
	if r.o.Fallback {
		all["providers"] = fmt.Sprintf("{sim: {kind: anthropic, base_url: http://%[1]s, prices: demo}, %[2]s: {kind: anthropic, base_url: http://%[1]s, prices: demo, models: [{name: demo, window: %[3]d, max_tokens: 1000}]}}", llm, reserve, r.window())
		all["agents"] = strings.Replace(all["agents"], "model: sim/demo,", "model: sim/demo, fallbacks: ["+reserve+"/demo],", 1)
		all["circuit"] = "{failures: -1, patience: 1ms}" // one refusal is enough, and the last model is asked until it answers
	}
	if r.o.Webhook {
		listen := r.hooks
		if i > 0 { // Telegram's way leads to the first
			listen = "127.0.0.1:0"
		}
		all["webhooks"] = fmt.Sprintf("{listen: %q}", listen)
	}
	maps.Copy(all, r.o.Config)
	text := r.Base.Config(i)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		text += key + ": " + all[key] + "\n"
	}
	path := filepath.Join(r.Dir, fmt.Sprintf("process-%d.yaml", i))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("write the configuration: %w", err)
	}
	return path, nil
}
