package simtest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels"
	"parley/gateway/messages"
	"parley/gateway/policy"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/memtest"
)

// Options is one run.
type Options struct {
	Seed  uint64
	Steps int // decisions before the quiet end; 0: some hundred, by the seed

	Without  memtest.Rule // a rule that the store leaves out
	AckFirst bool         // deliveries are confirmed before they are touched
}

// Result is what became of a run.
type Result struct {
	Seed      uint64
	Violation string   // what must hold and did not; empty: all held
	Trace     []string // every decision of the scheduler
	Counts    map[string]int
}

// Run returns one schedule of a few conversations over worker and delivery
// processes. The same options give the same schedule, see the package comment.
func Run(t *testing.T, o Options) (r Result) {
	t.Helper()
	synctest.Test(t, func(*testing.T) { r = newWorld(o).run() })
	return r
}

// world is all there is besides the processes. One goroutine, the scheduler,
// decides and performs; mu guards what processes touch by themselves.
type world struct {
	population

	o       Options
	random  *rand.Rand
	faults  faults
	busy    policy.WhileBusy
	guesses bool // workers are taken for dead, rightly and wrongly
	began   time.Time
	step    int
	quiet   bool

	store   *memtest.Store
	log     *stream
	arrived []arrival
	procs   []*process
	births  map[string]int
	flying  []*op // given up by who asked, and yet to be performed

	checks  checkState
	trace   []string
	counts  map[string]int
	problem string // guarded by mu

	mu      sync.Mutex
	parked  []*op
	signals map[signalKey]bool
	names   map[string]string // of turns, for the trace
}

type signalKey struct{ topic, body string }

// person is one conversation.
type person struct {
	name, token string
	key         sessionkeys.Key
	said        int
	stops       int
}

// population is who speaks.
type population struct {
	people []*person
	single bool // all conversations are of one person, of whom one turn runs at a time
	whole  bool // who sends also works, as one binary does
}

func newWorld(o Options) *world {
	w := &world{
		o: o, random: rand.New(rand.NewPCG(o.Seed, 1)), began: time.Now(), // a schedule
		store: memtest.New(o.Without), births: map[string]int{}, counts: map[string]int{},
		signals: map[signalKey]bool{}, names: map[string]string{}, checks: newCheckState(),
	}
	w.log = &stream{w: w}
	w.faults = drawFaults(w.random)
	w.single = o.Seed%3 == 0
	w.whole = o.Seed%2 == 0
	w.guesses = o.Seed%5 == 2 // not drawn: seeds that are known give what they gave
	w.busy = pick(w, []policy.WhileBusy{policy.Queue, policy.Queue, policy.Steer, policy.Steer, policy.Collect, policy.Interrupt})
	if w.o.Steps == 0 {
		w.o.Steps = 60 + w.random.IntN(240)
	}
	for _, name := range []string{"a", "b", "c"} {
		k, err := sessionkeys.For("main", address(name))
		if err != nil {
			w.fail("a key: %v", err)
		}
		w.people = append(w.people, &person{name: name, token: k.Token(), key: k})
	}
	return w
}

// fail keeps the first thing that went wrong.
func (w *world) fail(format string, a ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.problem == "" {
		w.problem = fmt.Sprintf(format, a...)
	}
}

func (w *world) hasFailed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.problem != ""
}

func (w *world) note(format string, a ...any) {
	w.trace = append(w.trace, fmt.Sprintf("%4d %7s ", w.step, time.Since(w.began).Round(time.Millisecond))+fmt.Sprintf(format, a...))
}

func (w *world) run() Result {
	defer w.releaseAll()
	w.note("while busy: %s; one person: %t; one binary: %t; guesses: %t", w.busy, w.single, w.whole, w.guesses)
	for i, name := range []string{"w1", "w2", "w3"} {
		if i > 0 {
			time.Sleep(137 * time.Millisecond) // so that no two tick at once
		}
		w.spawn(name, true)
	}
	w.spawn("d1", false)
	for w.step < w.o.Steps && !w.hasFailed() {
		synctest.Wait()
		if w.giveUpEnded() {
			continue
		}
		w.step++
		director{w}.decide()
		w.checkInvariants()
	}
	if !w.hasFailed() {
		w.settle()
	}
	if !w.hasFailed() {
		auditor{w}.audit()
	}
	if w.problem != "" {
		w.note("VIOLATION %s", w.problem)
	}
	return Result{Seed: w.o.Seed, Violation: w.problem, Trace: w.trace, Counts: w.counts}
}

// releaseAll lets every process go, so that the bubble can end. It panics when one does not end,
// because with it the bubble would never.
func (w *world) releaseAll() {
	for _, p := range w.procs {
		p.kill()
	}
	late := time.NewTimer(10 * time.Minute)
	defer late.Stop()
	for _, p := range w.procs {
		select {
		case <-p.ended:
		case <-late.C:
			panic(fmt.Sprintf("seed %d: %s does not end\n%s", w.o.Seed, p.name, strings.Join(w.trace, "\n")))
		}
	}
}

// settle is the quiet end: nothing fails any more, and everything that is owed
// must come to its end in a time that no back-off exceeds.
func (w *world) settle() {
	w.note("quiet")
	w.quiet = true
	for _, p := range w.procs {
		w.thaw(p)
	}
	for len(w.flying) > 0 {
		director{w}.performDelayed(0)
	}
	w.recordRivals()
	last := w.step // at which time passed
	for limit := time.Now().Add(30 * time.Minute); !w.hasFailed(); {
		synctest.Wait()
		w.step++
		if w.step-last > 5000 {
			w.fail("I5: work without an end in one moment")
		}
		if w.giveUpEnded() || w.stepCalmly() {
			w.checkInvariants()
			continue
		}
		if w.isDone() {
			return
		}
		if time.Now().After(limit) {
			w.fail("I5: half an hour after the last fault: %s", w.describeOwed())
			return
		}
		time.Sleep(250 * time.Millisecond)
		last = w.step
	}
}

// stepCalmly does one thing that is to be done, and says whether there was one.
func (w *world) stepCalmly() bool {
	if ops := w.parkedOps(); len(ops) > 0 {
		director{w}.grant(ops[0], true)
		return true
	}
	for i, name := range []string{"w1", "w2", "w3"} {
		if w.findProcess(name) == nil {
			w.spawn(name, i < 3)
			return true
		}
	}
	if w.findProcess("d") == nil {
		w.spawn("d1", false)
		return true
	}
	for _, e := range w.log.deliverable(false) {
		w.deliver(e, w.findProcess("w1"))
		return true
	}
	return director{w}.deliverSignal()
}

// isDone reports whether nothing is owed to anybody.
func (w *world) isDone() bool { return w.describeOwed() == "" }

// describeOwed returns what is.
func (w *world) describeOwed() string {
	var owes []string
	if es := w.log.deliverable(true); len(es) > 0 {
		owes = append(owes, fmt.Sprintf("%d messages are not confirmed", len(es)))
	}
	for _, m := range w.mailboxes() {
		if m.HasWork() || w.store.Lives(m.Owner, time.Now()) { // one that a dead worker left with nothing owed may lie
			owes = append(owes, fmt.Sprintf("mailbox %s: %s", w.personName(m.Token), describeMailbox(m)))
		}
	}
	ds, _ := w.store.Pending(nowhere, channel, 0, 1000)
	for _, d := range ds {
		owes = append(owes, "answer "+w.partName(d.ID)+" is not sent")
	}
	return strings.Join(owes, "; ")
}

// sender is who speaks in the conversation p.
func (p *population) sender(in *person) string {
	if p.single {
		return "single"
	}
	return in.name
}

// findProcess returns the living one of that name, or that begins so; nil: none.
func (w *world) findProcess(name string) *process {
	for _, p := range slices.Backward(w.procs) {
		if strings.HasPrefix(p.name, name) && !p.dead && !p.hasEnded() {
			return p
		}
	}
	return nil
}

// encodeBody returns what a person says, as the log keeps it.
func encodeBody(m channels.Message) json.RawMessage {
	b, err := json.Marshal(m)
	if err != nil {
		panic(err) // a struct of strings
	}
	return b
}

// eventIn returns the name of the message in a body.
func (*world) eventIn(b json.RawMessage) string {
	var m struct {
		Event string `json:"event"`
	}
	_ = json.Unmarshal(b, &m) // body made it
	return m.Event
}

// personName is the person whose mailbox it is.
func (p *population) personName(token string) string {
	for _, one := range p.people {
		if one.token == token {
			return one.name
		}
	}
	return "?"
}

// tokenOf is the mailbox of an event: its name begins with the person's.
func (p *population) tokenOf(event string) string {
	for _, one := range p.people {
		if strings.HasPrefix(event, one.name) {
			return one.token
		}
	}
	return ""
}

// partName returns an answer's or a part's id for people.
func (w *world) partName(id string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	base, rest, _ := strings.Cut(id, "/")
	prefix := ""
	if id, ok := messages.ParseID(base); ok {
		base, prefix = id.About, messages.ID{Kind: id.Kind}.String()
	}
	if n, ok := w.names[base]; ok {
		base = n
	} else if len(base) > 10 {
		base = base[:10]
	}
	if rest != "" {
		rest = "/" + rest
	}
	return prefix + base + rest
}

func (w *world) mailboxes() (ms []sessions.Mailbox) {
	_ = w.store.Mailboxes(nowhere, func(m sessions.Mailbox) bool {
		ms = append(ms, m)
		return true
	})
	return ms
}

func describeMailbox(m sessions.Mailbox) string {
	turn := "-"
	if m.Turn != nil {
		turn = fmt.Sprintf("%d/%d", m.Turn.Seq, m.Turn.Attempts)
	}
	return fmt.Sprintf("touched %d read %d owner %s epoch %d attempts %d turn %s controls %d", m.LastSeen, m.LastRead, m.Owner.Nonce, m.Epoch, m.Attempts, turn, m.Controls)
}
