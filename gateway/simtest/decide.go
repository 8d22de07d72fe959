package simtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"parley/broker"
	"parley/channels"
	"parley/gateway/signals"
	"parley/sessions"
)

// faults are what may go wrong in a run. Each run has some of them, so that
// one does not always hide another.
type faults struct {
	refused, lost, twice, late, slow bool // operations
	crash, freeze, jump, handover    bool // processes and their clocks
	network, model, stale, deaf      bool
	copies, stops, poison, fresh     bool
	rival                            bool // a second process sends for the same account
}

func drawFaults(r *rand.Rand) (f faults) {
	for _, b := range []*bool{
		&f.refused, &f.lost, &f.twice, &f.late, &f.slow, &f.crash, &f.freeze, &f.jump, &f.handover,
		&f.network, &f.model, &f.stale, &f.deaf, &f.copies, &f.stops, &f.poison, &f.fresh, &f.rival,
	} {
		*b = r.IntN(100) < 55
	}
	return f
}

// director decides what happens next in a world: who gets on, who is killed, what people
// say.
type director struct{ *world }

func (w *world) chance(percent int) bool { return w.random.IntN(100) < percent }

// isBehind reports whether the log's server that is asked is a follower that has not
// heard of the newest messages.
func (w *world) isBehind() bool { return !w.quiet && w.faults.stale && w.chance(30) }

// decide does the next thing.
func (w director) decide() {
	type choice struct {
		weight int
		do     func()
	}
	ops := w.parkedOps()
	open := w.log.deliverable(w.chance(10))
	workers := w.processesWhere(func(p *process) bool { return p.worker && !p.frozen && !p.ending && p.busy < 4 })
	var cs []choice
	add := func(weight int, may bool, do func()) {
		if may {
			cs = append(cs, choice{weight, do})
		}
	}
	f := w.faults
	add(60, len(ops) > 0, func() { w.grant(pick(w.world, ops), false) })
	add(14, len(open) > 0 && len(workers) > 0, func() { w.deliver(pick(w.world, open), pick(w.world, workers)) })
	add(10, true, func() { w.say() })
	add(8, w.hasSignals(), func() { w.deliverSignal() })
	add(10, true, func() { w.advanceClock(pick(w.world, []time.Duration{10, 100, 300, 900, 1700})) })
	add(4, len(w.flying) > 0, func() { w.performDelayed(w.random.IntN(len(w.flying))) })
	add(3, f.copies && len(w.log.entries) > 0, func() { w.sayAgain() })
	add(2, f.stops, func() { w.requestStop() })
	add(2, f.jump, func() { w.advanceClock(pick(w.world, []time.Duration{3000, 5100, 12000})) })
	alive := w.processesWhere(func(*process) bool { return true })
	add(2, f.crash && len(alive) > 0, func() { w.crash(pick(w.world, alive)) })
	add(3, w.guesses, func() { w.guess(pick(w.world, w.procs)) })
	add(1, f.handover && len(workers) > 0, func() { w.terminate(pick(w.world, workers)) })
	cold := w.processesWhere(func(p *process) bool { return p.frozen })
	add(2, f.freeze && len(cold) < 2 && len(alive) > 0, func() { w.freeze(pick(w.world, alive)) })
	add(4, len(cold) > 0, func() { w.thaw(pick(w.world, cold)) })
	missing := w.missingProcesses()
	add(6, len(missing) > 0, func() { n := pick(w.world, missing); w.spawn(n, n[0] == 'w'); w.recordRivals() })
	add(1, f.rival && w.findProcess("d2") == nil && w.births["d2"] < 2, func() { w.spawn("d2", false); w.recordRivals() })
	total := 0
	for _, c := range cs {
		total += c.weight
	}
	n := w.random.IntN(total)
	for _, c := range cs {
		if n -= c.weight; n < 0 {
			c.do()
			return
		}
	}
}

func pick[T any](w *world, from []T) T { return from[w.random.IntN(len(from))] }

// processesWhere are the living processes of which is says so.
func (w *world) processesWhere(is func(*process) bool) (ps []*process) {
	for _, p := range w.procs {
		if !p.dead && !p.hasEnded() && is(p) {
			ps = append(ps, p)
		}
	}
	return ps
}

// missingProcesses are the names of processes that should run and do not.
func (w *world) missingProcesses() (names []string) {
	for _, n := range []string{"w1", "w2", "w3"} {
		if w.findProcess(n) == nil {
			names = append(names, n)
		}
	}
	if w.findProcess("d") == nil {
		names = append(names, "d1")
	}
	return names
}

// grant performs o and decides what its process hears.
func (w director) grant(o *op, calm bool) {
	f, p := w.faults, w.random.IntN(100)
	if calm {
		p = 100
	}
	if o.performed { // its answer was slow
		w.note("%s hears of %s", o.p.name, o.what)
		w.finishOp(o, o.err)
		return
	}
	switch {
	case o.kind == "send" && f.network && p < 25:
		w.sendBadly(o, p)
		return
	case o.kind == "model" && f.model && p < 5:
		w.note("%s %s: the model fails", o.p.name, o.what)
		w.finishOp(o, errLost)
		return
	case o.kind == "send" || o.kind == "model" || o.kind == "tool":
	case f.refused && p < 4:
		w.recordDisturbed(o)
		w.note("%s %s: refused", o.p.name, o.what)
		w.finishOp(o, errLost)
		return
	case f.lost && p >= 4 && p < 8:
		w.recordDisturbed(o)
		w.note("%s %s: done, and the answer is lost", o.p.name, o.what)
		w.perform(o)
		w.finishOp(o, errLost)
		return
	case f.late && p >= 8 && p < 11:
		w.recordDisturbed(o)
		w.note("%s %s: on its way, and given up", o.p.name, o.what)
		w.flying = append(w.flying, o)
		w.finishOp(o, errLost)
		return
	case f.twice && p >= 11 && p < 14:
		w.recordDisturbed(o)
		w.note("%s %s: done twice", o.p.name, o.what)
		w.perform(o)
		w.perform(o)
		w.finishOp(o, nil)
		return
	case f.slow && p >= 14 && p < 22:
		w.note("%s %s: done, and the answer is slow", o.p.name, o.what)
		w.perform(o)
		o.performed = true
		return
	}
	w.note("%s %s", o.p.name, o.what)
	w.perform(o)
	w.finishOp(o, nil)
}

// sendBadly is a send that does not simply arrive and is confirmed.
func (w director) sendBadly(o *op, p int) {
	wrong := func(k channels.ErrorKind, wait time.Duration) error {
		return &channels.Error{Kind: k, Op: "send", RetryAfter: wait, Message: "so it goes"}
	}
	switch {
	case p < 5:
		w.note("%s %s: does not arrive", o.p.name, o.what)
		w.finishOp(o, wrong(channels.Unsent, 0))
	case p < 9:
		w.note("%s %s: limited", o.p.name, o.what)
		w.finishOp(o, wrong(channels.RateLimit, 2*time.Second))
	case p < 16:
		w.recordDisturbed(o)
		w.note("%s %s: arrives, and nobody hears of it", o.p.name, o.what)
		w.perform(o)
		w.finishOp(o, wrong(channels.Ambiguous, 0))
	case p < 20:
		w.recordDisturbed(o)
		w.note("%s %s: does not arrive, and nobody knows", o.p.name, o.what)
		w.finishOp(o, wrong(channels.Ambiguous, 0))
	case p < 23:
		w.recordDisturbed(o)
		w.note("%s %s: arrives, and breaks", o.p.name, o.what)
		w.perform(o)
		w.finishOp(o, errors.New("something broke"))
	default:
		w.note("%s %s: refused for good", o.p.name, o.what)
		w.finishOp(o, wrong(channels.Refused, 0))
	}
}

// giveUpEnded answers one operation whose caller waits no longer, as a driver
// does: with what is left of it done, not done, or done later.
func (w *world) giveUpEnded() bool {
	for _, o := range w.parkedOps() {
		if o.ctx.Err() == nil {
			continue
		}
		w.recordDisturbed(o)
		how := "not done"
		if !o.performed {
			switch n := w.random.IntN(3); {
			case o.kind == "model" || o.kind == "tool" || n == 0:
			case n == 1 || w.quiet:
				how = "done"
				w.perform(o)
			default:
				how = "on its way"
				w.flying = append(w.flying, o)
			}
		}
		w.note("%s %s: nobody waits any more, %s", o.p.name, o.what, how)
		w.finishOp(o, o.ctx.Err())
		return true
	}
	return false
}

// performDelayed performs what was on its way.
func (w director) performDelayed(i int) {
	o := w.flying[i]
	w.flying = slices.Delete(w.flying, i, i+1)
	w.note("late: %s %s", o.p.name, o.what)
	w.perform(o)
}

// deliver gives a wake-up to a worker.
func (w *world) deliver(e *entry, p *process) {
	if p == nil {
		return
	}
	e.tries++
	w.mu.Lock()
	e.with = append(e.with, p)
	p.busy++
	w.mu.Unlock()
	w.note("deliver %s@%d to %s", w.personName(e.Token), e.Seq, p.name)
	p.take <- broker.WakeUp{Token: e.Token, Key: e.Key, Seq: e.Seq, Tries: e.tries}
}

// say is a person's next message, or a queued command.
func (w director) say() {
	p := pick(w.world, w.people)
	if p.said >= 12 {
		return
	}
	p.said++
	verbs := []string{"hello", "hello", "hello", "long", "look", "strike"}
	if w.faults.poison && w.chance(8) {
		verbs = []string{"poison"}
	}
	event := fmt.Sprintf("%s%d", p.name, p.said)
	text := event + " " + pick(w.world, verbs)
	if w.faults.fresh && w.chance(8) {
		text = pick(w.world, []string{"/new", "/new", "/resume 1", "/resume 2"})
	}
	w.publish(p, event, event, text)
}

func (w *world) publish(p *person, id, event, text string) {
	m := channels.Message{
		Event: event, Kind: channels.Said, Channel: channel, MessageID: "m-" + event, Text: text, Mentioned: true,
		Address: address(p.name), Sender: channels.Sender{ID: w.sender(p)}, ReceivedAt: time.Now(),
	}
	seq := w.log.publish(broker.Envelope{ID: id, Token: p.token, Key: p.key.String(), Body: encodeBody(m)})
	w.checks.recordText(event, text, seq)
	w.note("%s says %q, @%d", p.name, text, seq)
}

// sayAgain is a copy of an event that the log's window of ids has forgotten.
func (w director) sayAgain() {
	e := pick(w.world, w.log.entries)
	for _, p := range w.people {
		if p.token == e.Token {
			w.counts["copies"]++
			var m channels.Message
			_ = json.Unmarshal(e.Body, &m) // body made it
			w.publish(p, fmt.Sprintf("%s copy %d", e.event, w.counts["copies"]), e.event, m.Text)
		}
	}
}

// requestStop is a person's /stop: what was said until now is to be dropped. The
// request may be on its way for a while.
func (w director) requestStop() {
	p := pick(w.world, w.people)
	if p.stops >= 3 {
		return
	}
	p.stops++
	id := fmt.Sprintf("stop-%s%d", p.name, p.stops)
	c := sessions.Control{
		ID: id, Event: sessions.InboxID{Channel: address(p.name).Channel, Account: "42", Chat: p.name, Event: id},
		Token: p.token, Key: p.key, Kind: "stop", Through: w.log.lastSeq(p.token), Channel: channel, From: address(p.name), Sender: w.sender(p), At: time.Now(),
	}
	o := &op{kind: "request", what: "/stop " + id, token: p.token, p: &process{w: w.world, name: p.name}}
	o.do = func() {
		added, err := w.store.Request(nowhere, c)
		if err != nil || !added {
			w.fail("a request to stop was not stored: %v, %v", added, err)
		}
		w.checks.stops[id] = true
		b, _ := json.Marshal(signals.Control{Token: p.token}) // one string
		w.mu.Lock()
		w.signals[signalKey{signals.ControlTopic, string(b)}] = true
		w.mu.Unlock()
	}
	w.note("%s says /stop, through %d", p.name, c.Through)
	w.flying = append(w.flying, o)
}

// hasSignals reports whether somebody has said something that was not delivered. Who says it may be
// woken by a timer, which comes before nothing that the director does.
func (w director) hasSignals() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.signals) > 0
}

// deliverSignal brings a signal to one who listens, or loses it.
func (w director) deliverSignal() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.signals) == 0 {
		return false
	}
	keys := make([]signalKey, 0, len(w.signals))
	for k := range w.signals {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b signalKey) int { return strings.Compare(a.topic+a.body, b.topic+b.body) })
	k := keys[0]
	if !w.quiet {
		k = pick(w.world, keys)
	}
	delete(w.signals, k)
	if w.faults.deaf && !w.quiet && w.chance(40) {
		w.note("a signal to %s is lost", k.topic)
		return true
	}
	for _, p := range w.procs {
		if ear := p.handlers[k.topic]; ear != nil && !p.dead && !p.hasEnded() {
			select {
			case ear <- broker.Signal{Topic: k.topic, Body: json.RawMessage(k.body)}:
				w.note("signal to %s: %s", p.name, k.topic)
			default: // its queue is full
			}
		}
	}
	return true
}

// advanceClock lets time go by: so many milliseconds.
func (w *world) advanceClock(ms time.Duration) {
	d := ms * time.Millisecond
	w.note("%s pass", d)
	time.Sleep(d)
}

// crash ends a process at once. What it had asked for may still be done.
func (w director) crash(p *process) {
	w.note("%s dies", p.name)
	w.mu.Lock()
	var mine []*op
	for _, o := range w.parked {
		if o.p == p && !o.performed && o.kind != "model" && o.kind != "tool" {
			mine = append(mine, o)
		}
	}
	w.mu.Unlock()
	slices.SortStableFunc(mine, func(a, b *op) int { return strings.Compare(a.what, b.what) })
	for _, o := range mine {
		w.recordDisturbed(o)
		if w.chance(40) {
			w.flying = append(w.flying, o)
		}
	}
	w.counts["crashes"]++
	p.kill()
}

// guess has somebody take p for dead, rightly or wrongly: its lease is ended, and others are
// told that there is work.
func (w director) guess(p *process) {
	name, _, _ := strings.Cut(p.name, "#")
	id := sessions.Worker{Name: name, Nonce: p.name}
	until, err := w.store.Lease(nowhere, id)
	if err != nil {
		return // it is no worker, or has left
	}
	owed, ended, err := w.store.EndLease(nowhere, id, until, time.Now())
	if err != nil {
		w.fail("the lease of %s was not ended: %v", p.name, err)
	}
	if !ended {
		return // it was over
	}
	what := "wrongly"
	if p.dead || p.hasEnded() {
		what = "rightly"
	}
	w.note("%s is %s taken for dead, with %d mailboxes", p.name, what, owed)
	w.counts["guessed "+what]++
	if owed > 0 {
		b, _ := json.Marshal(signals.Work{From: "the judge"}) // one string
		w.mu.Lock()
		defer w.mu.Unlock()
		w.signals[signalKey{signals.WorkTopic, string(b)}] = true
	}
}

// terminate asks a worker to end; another one of its name starts later.
func (w director) terminate(p *process) {
	w.note("%s is asked to end", p.name)
	w.counts["leaves"]++
	p.ending = true
	p.stop()
}

func (w director) freeze(p *process) {
	w.note("%s freezes", p.name)
	w.counts["freezes"]++
	w.mu.Lock()
	p.frozen = true
	w.mu.Unlock()
}

func (w *world) thaw(p *process) {
	w.mu.Lock()
	was := p.frozen
	p.frozen = false
	w.mu.Unlock()
	if was {
		w.note("%s thaws", p.name)
	}
}
