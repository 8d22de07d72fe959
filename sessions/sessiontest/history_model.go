package sessiontest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"

	"parley/sessions"
)

// table is the whole of what histories are about: a few mailboxes, and who
// lives. It is a value, so that a step is a changed copy and two are compared
// with ==. The mailboxes are one state and not a partition each, because Recover
// and Yield look at all of them.
type table struct {
	boxes   [3]slot // those without a token are not there
	workers [7]life
	crowd   bool // others ask beside each request
}

// maxSeq is the highest message of a mailbox.
const maxSeq = 24

// slot is a mailbox of a history.
type slot struct {
	token         string
	touched, read uint64
	owner         sessions.Worker
	last          string // nonce of who owned it last
	epoch, prior  int64
	attempts      int
	turn          uint64 // the message that opened the open turn; 0: none is open
	turnAttempts  int
	joined        string               // what joined the open turn
	since         int64                // µs: since when it waits
	said          string               // message ids, each with a space behind it
	turns         [maxSeq + 1]pastTurn // by the message that opened them
	became        [maxSeq + 1]became   // what each message did
}

// pastTurn is what is known of a turn.
type pastTurn struct {
	opened, done, released bool
	by                     sessions.Fence
}

// became is the turn that a message opened or joined, and under which fence; the zero
// value: none.
type became struct {
	turn uint64
	by   sessions.Fence
}

type life struct {
	sessions.Worker
	until       int64
	known, gone bool
}

// request is what a client asks.
type request struct {
	what  string
	box   int
	by    sessions.Worker
	fence sessions.Fence
	seq   uint64
	turn  uint64 // the message that opened it
	now   int64  // µs
	limit int
	id    string // of a message
}

// answer is what it was told; unknown when it was not.
type answer struct {
	unknown, fenced, refused, yes bool
	rows                          []shownRow
	said                          string
}

// shownRow is a mailbox as its readers see it.
type shownRow struct {
	token         string
	touched, read uint64
	owner         sessions.Worker
	epoch         int64
	attempts      int
	turn          uint64
	turnAttempts  int
	joined        string
}

func (r shownRow) owed() bool { return r.touched > r.read || r.turn != 0 }

func (a answer) equal(o answer) bool {
	return a.fenced == o.fenced && a.refused == o.refused && a.yes == o.yes && a.said == o.said && slices.Equal(a.rows, o.rows)
}

// index is where a mailbox stands among the rows; behind them all when it does not.
func (a answer) index(token string) int {
	if i := slices.IndexFunc(a.rows, func(r shownRow) bool { return r.token == token }); i >= 0 {
		return i
	}
	return len(a.rows)
}

func (a answer) has(token string) bool { return a.index(token) < len(a.rows) }

func (b *slot) fence() sessions.Fence {
	return sessions.Fence{Token: b.token, Epoch: b.epoch, Nonce: b.owner.Nonce}
}

func (b *slot) holds(f sessions.Fence) bool { return f.Nonce != "" && f == b.fence() }

// gaveUp reports whether f was the last fence, and nobody took the mailbox since.
func (b *slot) gaveUp(f sessions.Fence) bool {
	return f.Nonce != "" && b.owner.Nonce == "" && f == sessions.Fence{Token: b.token, Epoch: b.epoch, Nonce: b.last}
}

func (b *slot) giveUp() { b.last, b.owner, b.prior = b.owner.Nonce, sessions.Worker{}, 0 }

func (b *slot) owed() bool { return b.touched > b.read || b.turn != 0 }

func (b *slot) attempt(n int) {
	b.attempts = max(0, b.attempts+n)
	if b.turn != 0 {
		b.turnAttempts = max(0, b.turnAttempts+n)
	}
}

func (b *slot) take(w sessions.Worker) {
	b.owner, b.prior = w, 0
	b.epoch++
	b.attempt(1)
}

func (b *slot) row() shownRow {
	return shownRow{
		token: b.token, touched: b.touched, read: b.read, owner: b.owner, epoch: b.epoch, attempts: b.attempts,
		turn: b.turn, turnAttempts: b.turnAttempts, joined: b.joined,
	}
}

func (t *table) life(w sessions.Worker) *life {
	for i := range t.workers {
		if t.workers[i].Worker == w {
			return &t.workers[i]
		}
	}
	return &life{}
}

func (t *table) alive(w sessions.Worker, now int64) bool {
	l := t.life(w)
	return l.known && !l.gone && l.until > now
}

// rank is 0 for what a dead worker left, which goes first.
func (b *slot) rank() int {
	if b.owner.Nonce != "" {
		return 0
	}
	return 1
}

// unattended are the mailboxes, but for those of nonce, that are owed work and
// have no living owner, in the order in which they are taken.
func (t *table) unattended(nonce string, now int64) (found []*slot) {
	for i := range t.boxes {
		b := &t.boxes[i]
		if b.token != "" && b.owed() && (b.owner.Nonce == "" || b.owner.Nonce != nonce && !t.alive(b.owner, now)) {
			found = append(found, b)
		}
	}
	slices.SortStableFunc(found, func(a, b *slot) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.since, b.since))
	})
	return found
}

// does makes the call as if nobody else were there. Where the contract leaves
// open which of several mailboxes comes first, it is as the client heard.
func (t *table) does(c request, heard answer) answer {
	b := &t.boxes[c.box]
	switch c.what {
	case "touch", "take":
		return t.touch(b, c)
	case "recover":
		return t.recover(c, heard)
	case "heartbeat", "leave":
		return t.live(c)
	case "mailbox":
		return answer{rows: []shownRow{b.row()}}
	case "messages":
		return answer{said: b.said}
	case "held":
		return t.held(c)
	case "reacquire":
		return t.reacquire(b, c)
	case "release", "handover", "yield":
		return t.letGo(b, c, heard)
	}
	return b.commit(c)
}

func (t *table) touch(b *slot, c request) answer {
	if c.seq > b.touched {
		if !b.owed() {
			b.since = c.now
		}
		b.touched = c.seq
	}
	got := c.what == "take" && b.owed() && b.owner != c.by && !t.alive(b.owner, c.now) && t.alive(c.by, c.now)
	if got {
		b.take(c.by)
	}
	return answer{yes: got, rows: []shownRow{b.row()}}
}

func (t *table) recover(c request, heard answer) (a answer) {
	if t.life(c.by).gone {
		return answer{fenced: true}
	}
	if !t.alive(c.by, c.now) {
		return answer{}
	}
	found := t.unattended(c.by.Nonce, c.now)
	if t.crowd { // some may have come since it looked, or have been taken
		found = slices.DeleteFunc(found, func(b *slot) bool { return !heard.has(b.token) })
		slices.SortStableFunc(found, func(a, b *slot) int { return cmp.Compare(heard.index(a.token), heard.index(b.token)) })
	}
	slices.SortStableFunc(found, func(a, b *slot) int {
		if t.crowd || a.rank() == b.rank() && (a.rank() == 0 || a.since == b.since) {
			return cmp.Compare(heard.index(a.token), heard.index(b.token))
		}
		return 0 // they are in order
	})
	for _, b := range found[:min(len(found), c.limit)] {
		b.take(c.by)
		a.rows = append(a.rows, b.row())
	}
	return a
}

func (t *table) live(c request) answer {
	l := t.life(c.by)
	switch {
	case c.what == "leave":
		l.known, l.gone = true, true
		return answer{}
	case l.gone:
		return answer{fenced: true}
	}
	for i := range t.workers {
		if o := &t.workers[i]; o.known && o.Name == l.Name && o.Nonce != l.Nonce {
			o.gone = true
		}
	}
	l.known, l.until = true, max(l.until, c.now+lease.Microseconds())
	return answer{}
}

// held lists what a worker owns, in the order of the tokens.
func (t *table) held(c request) (a answer) {
	for i := range t.boxes {
		if b := &t.boxes[i]; b.token != "" && b.owner == c.by {
			a.rows = append(a.rows, b.row())
		}
	}
	slices.SortFunc(a.rows, func(a, b shownRow) int { return cmp.Compare(a.token, b.token) })
	return a
}

func (t *table) reacquire(b *slot, c request) answer {
	again := b.prior != 0 && b.prior == c.fence.Epoch && b.epoch == b.prior+1 && b.owner.Nonce == c.fence.Nonce
	if !again {
		if !b.holds(c.fence) || t.life(b.owner).gone {
			return answer{fenced: true}
		}
		b.prior = b.epoch
		b.epoch++
		b.attempt(1)
	}
	return answer{rows: []shownRow{b.row()}}
}

// letGo is release, handover and yield.
func (t *table) letGo(b *slot, c request, heard answer) (a answer) {
	defer func() {
		if c.what == "release" && !a.fenced {
			a.rows = []shownRow{b.row()}
		}
	}()
	switch {
	case b.gaveUp(c.fence):
		return answer{yes: c.what != "handover"}
	case !b.holds(c.fence):
		return answer{fenced: true}
	}
	switch c.what {
	case "release":
		if b.owed() {
			return answer{}
		}
		b.attempts = 0
		b.giveUp()
		return answer{yes: true}
	case "yield":
		others := t.unattended(c.fence.Nonce, c.now)
		if t.crowd && !heard.yes || !t.crowd && len(others) == 0 {
			return answer{}
		}
		last := int64(0)
		for _, o := range others {
			if o.owner.Nonce == "" {
				last = max(last, o.since)
			}
		}
		b.since = max(c.now, last+1) // clocks differ
		a.yes = true
	}
	b.attempt(-1)
	b.giveUp()
	return a
}

// commit returns a write under a fence that concerns the mailbox alone.
func (b *slot) commit(c request) answer {
	t, held := &b.turns[c.turn], b.holds(c.fence)
	switch {
	case c.what == "finish":
		return b.finish(c, t, held)
	case !held:
		return answer{fenced: true}
	case c.what == "open":
		return b.open(c, t)
	case c.what == "join":
		return b.join(c)
	case c.what == "skip":
		b.skip(c.seq)
		return answer{}
	case !t.opened:
		return answer{refused: true}
	case t.done:
		return answer{fenced: true}
	}
	b.say(c.id)
	return answer{}
}

// say adds a message that is not there yet.
func (b *slot) say(id string) {
	if !strings.Contains(" "+b.said, " "+id+" ") {
		b.said += id + " "
	}
}

func (b *slot) pass(seq uint64) {
	if seq > b.read {
		b.read, b.touched = seq, max(b.touched, seq)
	}
}

func (b *slot) skip(seq uint64) {
	if seq > b.read && b.turn == 0 {
		b.attempts = 1
	}
	b.pass(seq)
}

// open opens the turn of message c.turn.
func (b *slot) open(c request, t *pastTurn) answer {
	switch {
	case t.opened && !t.done: // its answer was lost
	case b.became[c.turn] != became{}: // it joined another, or its turn is over
		b.skip(c.turn)
		return answer{}
	case b.turn != 0:
		return answer{refused: true}
	default:
		*t, b.became[c.turn] = pastTurn{opened: true}, became{c.turn, c.fence}
		b.turn, b.turnAttempts, b.joined = c.turn, max(1, b.attempts), "[]"
		b.pass(c.turn)
		b.say(turnID(b.token, c.turn) + "-said")
	}
	return answer{yes: true, rows: []shownRow{{turn: b.turn, turnAttempts: b.turnAttempts, joined: b.joined}}}
}

// join adds message c.seq to the open turn.
func (b *slot) join(c request) answer {
	is := became{c.turn, c.fence}
	switch {
	case c.turn == 0 || c.turn != b.turn:
		return answer{fenced: true}
	case b.became[c.seq] == is: // its answer was lost
		return answer{yes: true}
	case b.became[c.seq] != became{}:
		b.skip(c.seq)
		return answer{}
	}
	b.became[c.seq] = is
	b.joined = strings.ReplaceAll(strings.TrimSuffix(b.joined, "]")+fmt.Sprintf(" %d]", c.seq), "[ ", "[")
	b.pass(c.seq)
	b.say(fmt.Sprintf("%s-joined-%d", turnID(b.token, c.turn), c.seq))
	return answer{yes: true}
}

func (b *slot) finish(c request, t *pastTurn, held bool) answer {
	switch {
	case held && !t.opened:
		return answer{refused: true}
	case t.done && t.by == c.fence && (t.released || held): // its answer was lost
		return answer{yes: t.released, rows: []shownRow{b.row()}}
	case !held || t.done:
		return answer{fenced: true}
	}
	b.say(turnID(b.token, c.turn) + "-answer")
	b.turn, b.turnAttempts, b.joined, b.attempts = 0, 0, "", 1
	t.done, t.by, t.released = true, c.fence, !b.owed()
	if t.released {
		b.giveUp()
		b.attempts = 0
	}
	return answer{yes: t.released, rows: []shownRow{b.row()}}
}

// mailboxModel begins with start. An answer that was lost allows everything: its
// operation never returns, so that it may be put at any later moment, or behind
// all that was seen, which is as if it never were.
func mailboxModel(start table) porcupine.Model {
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{start} },
		Step: func(state, input, output any) (next []any) {
			t, c, heard := state.(table), input.(request), output.(answer)
			for _, perhaps := range t.possible(c, heard) {
				after := t
				if said := after.does(c, perhaps); heard.unknown || said.equal(heard) {
					next = append(next, after)
				}
			}
			return next
		},
		DescribeOperation: func(input, output any) string { return fmt.Sprint(input, " -> ", output) },
		DescribeState: func(state any) string {
			s := ""
			for _, b := range state.(table).boxes {
				if b.token != "" {
					s += fmt.Sprintf("%+v; ", b)
				}
			}
			return s
		},
	}
	return model.ToModel()
}

// possible are what the client may have heard: where it was not told, and its request may have
// been answered in several ways, each of them.
func (t *table) possible(c request, heard answer) []answer {
	switch {
	case !t.crowd || !heard.unknown:
	case c.what == "yield":
		return []answer{{yes: true}, {}}
	case c.what == "recover":
		all := []answer{{}}
		for _, b := range t.unattended(c.by.Nonce, c.now) {
			for _, a := range all {
				all = append(all, answer{rows: append(slices.Clone(a.rows), b.row())})
			}
		}
		return all
	}
	return []answer{heard}
}

func (c request) String() string {
	s := fmt.Sprintf("%s of box %d", c.what, c.box)
	if c.by.Nonce != "" {
		s += " by " + c.by.Nonce
	}
	if c.fence.Nonce != "" {
		s += fmt.Sprintf(" as %s/%d", c.fence.Nonce, c.fence.Epoch)
	}
	return s + fmt.Sprintf(" seq %d turn %d %s at %d", c.seq, c.turn, c.id, c.now/1e6)
}

func (a answer) String() string {
	switch {
	case a.unknown:
		return "?"
	case a.fenced:
		return "fenced"
	case a.refused:
		return "refused"
	}
	s := fmt.Sprint(a.yes, " ", a.said)
	for _, r := range a.rows {
		s += fmt.Sprintf("%d/%d %s/%d turn %d%s tried %d/%d; ", r.read, r.touched, r.owner.Nonce, r.epoch, r.turn, r.joined, r.attempts, r.turnAttempts)
	}
	return s
}
