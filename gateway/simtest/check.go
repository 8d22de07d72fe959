package simtest

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"parley/sessionkeys"
	"parley/sessions"
	"parley/tools"
	"parley/transcript"
)

// panicOf is a process that panicked over an event.
type panicOf struct {
	by    *process
	event string
}

// checkState is what the checks remember of a run.
type checkState struct {
	texts     map[string]string                  // by event, what was said
	discarded map[string]bool                    // events that a stop passed over
	stops     map[string]bool                    // requests that were stored
	doubts    map[string]int                     // by answer: how often nobody could know whether a part arrived
	runs      map[string]int                     // of tools with side effects, by call
	panics    map[string]int                     // by event
	givenBack map[string]int                     // by event: attempts in which it panicked that were given back
	panicked  map[panicOf]bool                   // that a process panicked over an event, and did not give it back
	sessions  map[string][]sessionkeys.SessionID // by mailbox, in order
	together  bool                               // two processes sent at once
}

func newCheckState() checkState {
	return checkState{
		texts: map[string]string{}, discarded: map[string]bool{}, stops: map[string]bool{}, doubts: map[string]int{}, runs: map[string]int{},
		panics: map[string]int{}, givenBack: map[string]int{}, panicked: map[panicOf]bool{}, sessions: map[string][]sessionkeys.SessionID{},
	}
}

func (b *checkState) recordText(event, text string, _ uint64) { b.texts[event] = text }

var nowhere = context.Background()

// mailboxState is what a write to one mailbox may change.
type mailboxState struct {
	box      sessions.Mailbox
	turn     sessions.Turn
	controls []sessions.Control
	messages int
	outbox   int
}

func (w *world) mailboxState(token string) (p mailboxState) {
	p.box, _ = w.store.Mailbox(nowhere, token) // none yet: the zero one
	if p.box.Turn != nil {
		p.turn, p.box.Turn = *p.box.Turn, nil
	}
	p.controls, _ = w.store.Controls(nowhere, token)
	p.messages = w.store.Length(w.checks.sessions[token]...)
	p.outbox = w.store.Queued()
	return p
}

// perform does o and holds what it did to the rules.
func (w *world) perform(o *op) {
	w.counts[o.kind]++
	if o.kind == "finish" && o.marks {
		w.counts["hand over"]++
	}
	before := make([]mailboxState, len(w.people))
	for i, p := range w.people {
		if o.mayTouch(p) {
			before[i] = w.mailboxState(p.token)
		}
	}
	arrived := len(w.arrived)
	o.do()
	if o.kind == "handover" {
		w.recordHandover(o)
	}
	for i, p := range w.people {
		if o.mayTouch(p) {
			w.checkStep(o, p, before[i], w.mailboxState(p.token))
		}
	}
	if len(w.arrived) > arrived {
		w.checkArrival(w.arrived[len(w.arrived)-1])
	}
	if o.kind == "ack" {
		w.checkTouched()
	}
}

// mayTouch reports whether o may change the mailbox of p.
func (o *op) mayTouch(p *person) bool { return o.token == p.token || o.kind == "recover" }

// checkStep holds one step of a mailbox to the rules.
func (w *world) checkStep(o *op, p *person, was, is mailboxState) {
	a, b := was.box, is.box
	if b.Session != "" && !slices.Contains(w.checks.sessions[p.token], b.Session) {
		w.checks.sessions[p.token] = append(w.checks.sessions[p.token], b.Session)
	}
	if o.fence != nil && o.fence.Token == p.token && (a.Owner.Nonce != o.fence.Nonce || a.Epoch != o.fence.Epoch) && !reflect.DeepEqual(was, is) {
		w.fail("I3: %s, stale, changed mailbox %s: %s; before: %s", o.what, p.name, describeMailbox(b), describeMailbox(a))
	}
	if b.Epoch < a.Epoch {
		w.fail("I2: the epoch of %s fell from %d to %d", p.name, a.Epoch, b.Epoch)
	}
	if b.Owner != a.Owner && b.Owner.Nonce != "" {
		if b.Epoch <= a.Epoch {
			w.fail("I2: %s took mailbox %s without a higher epoch", b.Owner.Nonce, p.name)
		}
		// Of leases alone the checks believe the store: they are the store's.
		if a.Owner.Nonce != "" && w.store.Lives(a.Owner, time.Now()) {
			w.fail("I2: %s took mailbox %s from %s, who lives", b.Owner.Nonce, p.name, a.Owner.Nonce)
		}
		if !w.store.Lives(b.Owner, o.now) {
			w.fail("I2: %s took mailbox %s and did not live", b.Owner.Nonce, p.name)
		}
	}
	if a.Owner.Nonce != "" && b.Owner.Nonce == "" {
		owed := b.LastSeen > b.LastRead || is.turn.ID != "" || b.Controls > 0
		if owed && o.kind != "handover" && o.kind != "yield" {
			w.fail("I3: %s left mailbox %s to nobody with work owed: %s", o.what, p.name, describeMailbox(b))
		}
	}
	if b.LastRead < a.LastRead {
		w.fail("I1: mailbox %s was read back from %d to %d", p.name, a.LastRead, b.LastRead)
	}
	if is.turn.ID != was.turn.ID && was.turn.ID != "" && is.turn.ID != "" {
		w.fail("I2: mailbox %s has another open turn beside %s", p.name, w.partName(was.turn.ID))
	}
	w.checkPassed(o, p, a.LastRead, b.LastRead)
	if is.messages != was.messages {
		w.checkHistory(p)
	}
}

// checkPassed says of every message that was read what became of it.
func (w *world) checkPassed(o *op, p *person, from, to uint64) {
	for seq := from + 1; seq <= to; seq++ {
		e := w.log.entryAt(seq)
		if e == nil || e.Token != p.token {
			continue
		}
		known, _ := w.store.Known(nowhere, inboxID(p, e.event))
		switch {
		case known[0]:
		case o.kind == "applycontrols":
			w.checks.discarded[e.event] = true
		case w.log.isDeadLettered(e.event):
		default:
			w.fail("I1: %s passed over %s, which is nobody's answer", o.what, e.event)
		}
	}
}

func inboxID(p *person, event string) sessions.InboxID {
	a := address(p.name)
	return sessions.InboxID{Channel: a.Channel, Account: a.Account, Chat: a.Peer, Event: event}
}

// checkHistory holds the messages of each session of a person to the order of the stream,
// each once.
func (w *world) checkHistory(p *person) {
	seen := map[string]bool{}
	for _, id := range w.checks.sessions[p.token] {
		last := uint64(0) // of this session: an earlier one may go on behind a later one
		ms, _ := w.store.Messages(nowhere, id)
		for _, m := range ms {
			if m.Role != transcript.User {
				continue
			}
			turn, err := w.store.Turn(nowhere, strings.TrimSuffix(m.ID, "-user"))
			if opens := err == nil; opens && turn.Seq <= last {
				w.fail("I1: %s stands behind a later message", m.Text())
			} else if opens {
				last = turn.Seq
			}
			for _, event := range eventsOf(m) {
				if seen[event] {
					w.fail("I1: %s stands twice in the history", event)
				}
				seen[event] = true
			}
		}
	}
}

// eventsOf are the messages of a person that m was made of.
func eventsOf(m transcript.Message) (events []string) {
	for line := range strings.Lines(m.Text()) {
		event, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		events = append(events, event)
	}
	return events
}

// checkTouched: what was confirmed is known of.
func (w *world) checkTouched() {
	for _, e := range w.log.entries {
		if m, err := w.store.Mailbox(nowhere, e.Token); e.acked && (err != nil || m.LastSeen < e.Seq) {
			w.fail("I3: message %s@%d is confirmed and nobody knows of it: a wake-up is lost", w.personName(e.Token), e.Seq)
		}
	}
}

// checkInvariants is what must hold between any two steps.
func (w *world) checkInvariants() {
	now := time.Now()
	found := w.store.Unattended(now)
	for _, m := range w.mailboxes() {
		owed := m.LastSeen > m.LastRead || m.Turn != nil || m.Controls > 0
		if owed && (m.Owner.Nonce == "" || !w.store.Lives(m.Owner, time.Now())) && !slices.Contains(found, m.Token) {
			w.fail("I3: mailbox %s is owed work that nobody finds: %s", w.personName(m.Token), describeMailbox(m))
		}
	}
	w.mu.Lock()
	running := map[string]string{}
	var twice string
	for _, o := range w.parked {
		if (o.kind == "model" || o.kind == "tool") && o.token != "" {
			k := o.p.name + " " + o.token
			if running[k] != "" {
				twice = fmt.Sprintf("I2: %s runs %s and %s at once", o.p.name, running[k], o.what)
			}
			running[k] = o.what
		}
	}
	w.mu.Unlock()
	if twice != "" {
		w.fail("%s", twice)
	}
	for _, p := range w.procs {
		if p.hasEnded() {
			if s := p.endProblem(); s != "" {
				w.fail("%s", s)
			}
		}
	}
}

// recordModelCall notes a model call.
func (w *world) recordModelCall(p *process, event, verb string) {
	if verb != "poison" {
		return
	}
	w.checks.panics[event]++
	w.checks.panicked[panicOf{p, event}] = true
	// A worker that ends, because it is asked to or loses its lease, gives back what it holds
	// with its attempt, also what it had just panicked over.
	if n := w.checks.panics[event]; n > attempts+w.checks.givenBack[event] {
		w.fail("I5: %s was taken up %d times", event, n)
	}
}

// recordHandover notes that a process has given back a mailbox over whose message it may just
// have panicked.
func (w *world) recordHandover(o *op) {
	i := slices.IndexFunc(w.people, func(p *person) bool { return p.token == o.token })
	if i < 0 {
		return
	}
	for over := range w.checks.panicked {
		if over.by == o.p && strings.HasPrefix(over.event, w.people[i].name) {
			w.checks.givenBack[over.event]++
			delete(w.checks.panicked, over)
		}
	}
}

// recordToolRun notes that a tool ran.
func (w *world) recordToolRun(t *tool, c tools.Call) {
	if t.name != "strike" {
		return
	}
	w.checks.runs[c.ID]++
	if w.checks.runs[c.ID] > 1 {
		w.fail("I4: %s ran twice", c.ID)
	}
}

// recordDisturbed notes that an operation did not end as its process must believe.
func (w *world) recordDisturbed(o *op) {
	if o.kind == "send" || o.marks {
		w.checks.doubts[o.answerID]++
	}
}

// recordRivals notes that a process which sends begins while answers are on their
// way, or beside another one: it cannot know of them.
func (w *world) recordRivals() {
	ds, _ := w.store.Pending(nowhere, channel, 0, 1000)
	for _, d := range ds {
		w.checks.doubts[d.ID]++
	}
	if len(w.processesWhere(func(p *process) bool { return p.sends })) > 1 {
		w.checks.together = true
	}
}

// checkArrival holds what stands in a chat to the rules: a part once, more
// only with a mark and a reason, and answers in their order.
func (w *world) checkArrival(a arrival) {
	id, _, _ := strings.Cut(a.part, "/")
	d, err := w.store.Delivery(nowhere, id)
	if err != nil {
		w.fail("I4: %s was sent and is nobody's answer", a.part)
		return
	}
	plain, marked := 0, 0
	for _, x := range w.arrived {
		switch {
		case x.part != a.part:
		case x.repeat:
			marked++
		default:
			plain++
		}
	}
	first := plain+marked == 1
	switch {
	case plain > 1:
		w.fail("I4: %s arrived %d times without a mark", w.partName(a.part), plain)
	case plain+marked > 1 && w.checks.doubts[id] == 0 && !w.checks.together:
		w.fail("I4: %s arrived %d times, and nothing was ever in doubt", w.partName(a.part), plain+marked)
	case marked > w.checks.doubts[id] && !w.checks.together:
		w.fail("I4: %s was repeated %d times for %d doubts", w.partName(a.part), marked, w.checks.doubts[id])
	}
	if !first {
		return
	}
	for _, x := range w.arrived[:len(w.arrived)-1] {
		other, _, _ := strings.Cut(x.part, "/")
		o, err := w.store.Delivery(nowhere, other)
		if err == nil && x.chat == a.chat && o.Order > d.Order && !hasFailedPart(d) {
			w.fail("I4: %s arrived after %s, which was queued later", w.partName(a.part), w.partName(x.part))
		}
	}
}

func hasFailedPart(d sessions.Delivery) bool {
	return slices.ContainsFunc(d.Parts, func(p sessions.Part) bool { return p.State == sessions.Failed })
}
