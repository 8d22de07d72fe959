package sessiontest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/sessions"
)

// history lets clients use a store at once, writes down what each was told and
// when, and holds it to the models: there must be an order of the operations,
// each between its begin and its end, in which one client alone would have been
// told the same. Some have one client alone, who looks at everything behind each step:
//
//	I1 a history is the messages that were read, in order, each once;
//	I2 an epoch never decreases, and late commits are refused;
//	I3 what is owed and has no living owner is found by Recover, for who lives.
func history(t *testing.T, open opener) {
	seed := seedOf(t)
	histories, each := 12, 12
	if long() {
		histories, each = 120, 16
	}
	for i := range histories {
		t.Run(fmt.Sprintf("the operations on mailboxes have an order, history %d", i), func(t *testing.T) {
			t.Parallel()
			sc := newScene(newHouse(t, open(t)), 1+i%3)
			sc.run(seed+uint64(i), 4, each)
			sc.judge(t, mailboxModel(sc.start))
		})
	}
	for i := range histories {
		t.Run(fmt.Sprintf("one client hears what the rules say, history %d", i), func(t *testing.T) {
			t.Parallel()
			sc := newScene(newHouse(t, open(t)), 1+i%3)
			left := sc.alone(seed+uint64(i), 8*each)
			sc.judge(t, mailboxModel(sc.start))
			if len(left) > 0 {
				t.Errorf("something is still owed: %+v", left)
			}
		})
	}
	for i := range histories / 3 {
		t.Run(fmt.Sprintf("the marks of senders have an order, history %d", i), func(t *testing.T) {
			t.Parallel()
			p := newPost(newHouse(t, open(t)))
			p.run(seed+uint64(i), 4, each)
			p.judge(t, partModel())
		})
	}
}

// scene is the clients of one history and what they share: a clock, by which
// leases end, and what fences they heard of.
type scene struct {
	recorder
	h     *fixture
	start table
	peers []string
	time  atomic.Int64 // half leases since noon

	mu     sync.Mutex // guards what follows
	fences [3][]sessions.Fence
	saw    [3]shownRow // the mailboxes as somebody saw them last
}

// crew are the workers. One of a name that another has was born again: when it lives
// the other is dead. The last does what the others leave.
func crew() (all [7]life) {
	for i, nonce := range []string{"amy-1", "amy-2", "amy-3", "bob-1", "bob-2", "cat-1", "dan-1"} {
		all[i].Worker = sessions.Worker{Name: nonce[:3], Nonce: nonce}
	}
	return all
}

// newScene makes n mailboxes. The first has an open turn, which nobody owns. The first
// worker of each name lives.
func newScene(h *fixture, n int) *scene {
	h.t.Helper()
	sc := &scene{h: h, start: table{workers: crew()}}
	for i := range sc.start.workers {
		if w := &sc.start.workers[i]; strings.HasSuffix(w.Nonce, "-1") {
			h.alive(w.Worker)
			w.known, w.until = true, h.now.Add(lease).UnixMicro()
		}
	}
	for i := range n {
		peer := fmt.Sprint("box-", i)
		sc.peers = append(sc.peers, peer)
		b := &sc.start.boxes[i]
		if i == 0 {
			f, turn := h.working(peer)
			h.ok(h.s.Handover(h.ctx, f))
			b.turn, b.joined, b.last, b.since = 1, "[]", f.Nonce, h.now.UnixMicro()
			b.turns[1], b.became[1] = pastTurn{opened: true}, became{1, f}
			b.said = turn.ID + "-said "
		}
		m := h.touch(peer, 0)
		b.token, b.touched, b.read, b.epoch, b.attempts = m.Token, m.LastSeen, m.LastRead, m.Epoch, m.Attempts
		if m.Turn != nil {
			b.turnAttempts = m.Turn.Attempts
		}
		sc.saw[i] = b.row()
	}
	return sc
}

// run lets the clients do their operations, and then looks at everything, behind
// a write that is refused: a driver may have to settle first what a caller gave up
// on.
func (sc *scene) run(seed uint64, clients, each int) {
	sc.start.crowd = clients > 1
	var all sync.WaitGroup
	for client := range clients {
		all.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(client)))
			for i := range each {
				sc.step(r, client, fmt.Sprintf("m%d-%d", client, i))
			}
		})
	}
	all.Wait()
	for i := range sc.peers {
		nobody := sessions.Fence{Token: sc.start.boxes[i].token, Epoch: 1, Nonce: "nobody"}
		sc.make(clients, request{what: "skip", box: i, fence: nobody, seq: maxSeq}, arrives)
	}
	sc.look(clients)
}

// alone lets one client do n steps, some of them twice, and then the last worker do
// what is left. It returns the mailboxes that are owed something all the same.
func (sc *scene) alone(seed uint64, n int) (left []shownRow) {
	r := rand.New(rand.NewPCG(seed, 0))
	for i := range n {
		if r.IntN(5) == 0 {
			sc.time.Add(1 + r.Int64N(3))
			sc.make(0, sc.asked("heartbeat", sc.start.workers[5].Worker), arrives)
		}
		c := sc.draw(r, fmt.Sprint("m-", i))
		for range 1 + r.IntN(4)/3 {
			sc.make(0, c, arrives+fate(r.IntN(4)/3))
			sc.look(0)
		}
	}
	sc.time.Add(4)
	last := sc.start.workers[len(sc.start.workers)-1].Worker
	sc.make(0, sc.asked("heartbeat", last), arrives)
	c := sc.asked("recover", last)
	c.limit = len(sc.peers) + 1
	sc.make(0, c, arrives)
	for box := range sc.peers {
		sc.drain(box, last)
		if saw := sc.saw[box]; saw.owed() {
			left = append(left, saw)
		}
	}
	sc.make(0, c, arrives)
	return left
}

// drain opens and finishes what a mailbox is owed, each time twice.
func (sc *scene) drain(box int, by sessions.Worker) {
	for range 2 * maxSeq {
		saw := sc.saw[box]
		if !saw.owed() {
			return
		}
		c := sc.asked("finish", sessions.Worker{})
		c.box, c.turn, c.fence = box, saw.turn, sessions.Fence{Token: saw.token, Epoch: saw.epoch, Nonce: by.Nonce}
		if saw.turn == 0 {
			c.what, c.turn = "open", saw.read+1
		}
		for range 2 {
			sc.make(0, c, arrives)
		}
		sc.look(0)
	}
}

// look reads every mailbox and its history.
func (sc *scene) look(client int) {
	for box := range sc.peers {
		for _, what := range []string{"mailbox", "messages"} {
			c := sc.asked(what, sessions.Worker{})
			c.box = box
			sc.make(client, c, unheard)
		}
	}
}

func (sc *scene) now() time.Time { return noon.Add(time.Duration(sc.time.Load()) * lease / 2) }

func (sc *scene) asked(what string, by sessions.Worker) request {
	return request{what: what, by: by, now: sc.now().UnixMicro()}
}

// step is one operation of a client; after a lost answer it often tries again.
func (sc *scene) step(r *rand.Rand, client int, id string) {
	if r.IntN(8) == 0 {
		sc.time.Add(1)
	}
	c, what := sc.draw(r, id), fateOf(r)
	if c.what == "recover" && what != arrives {
		c.limit = len(sc.peers) // what was taken must not be a guess
	}
	if !sc.make(client, c, what) && r.IntN(2) == 0 {
		sc.make(client, c, arrives)
	}
}

func (sc *scene) draw(r *rand.Rand, id string) request {
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	c := sc.asked(pick("touch", "take", "take", "recover", "heartbeat", "heartbeat", "mailbox", "messages", "held", "", "", "", "", "", "", "", "", ""),
		sc.start.workers[r.IntN(len(sc.start.workers)-1)].Worker)
	c.box, c.limit, c.id = r.IntN(len(sc.peers)), 1+r.IntN(3), id
	sc.mu.Lock()
	defer sc.mu.Unlock()
	saw := sc.saw[c.box]
	c.seq = min(saw.read+uint64(r.IntN(4)), maxSeq)
	if r.IntN(60) == 0 {
		c.what = "leave"
	}
	if c.what != "" {
		return c
	}
	fs := sc.fences[c.box]
	if len(fs) == 0 {
		c.what = "take"
		return c
	}
	c.by, c.fence, c.turn = sessions.Worker{}, fs[len(fs)-1], saw.turn
	if r.IntN(4) == 0 { // who was late
		c.fence = fs[r.IntN(len(fs))]
	}
	if r.IntN(5) == 0 {
		c.turn = min(uint64(r.IntN(int(saw.read)+2)), maxSeq)
	}
	c.what = pick("skip", "append", "join", "open", "open", "finish", "finish", "reacquire", "release", "handover", "yield")
	if c.what == "open" && c.turn == 0 {
		c.turn = min(saw.read+1, maxSeq)
	}
	return c
}

// learn notes what somebody was told of mailboxes, and of their fences.
func (sc *scene) learn(rows []shownRow, fences bool) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	for _, row := range rows {
		for i := range sc.peers {
			if sc.start.boxes[i].token != row.token {
				continue
			}
			sc.saw[i] = row
			if fences && row.owner.Nonce != "" {
				sc.fences[i] = append(sc.fences[i], sessions.Fence{Token: row.token, Epoch: row.epoch, Nonce: row.owner.Nonce})
			}
		}
	}
}

// make asks the store, and says whether the answer came.
func (sc *scene) make(client int, c request, what fate) bool {
	var a answer
	return sc.do(sc.h.ctx, client, c, what, func(ctx context.Context) (err error) {
		a, err = sc.ask(ctx, c)
		return err
	}, func(o outcome) any {
		if o != (outcome{}) {
			return answer{unknown: o.unknown, fenced: o.fenced, refused: o.refused}
		}
		sc.learn(a.rows, what != unheard && (a.yes || c.what == "recover" || c.what == "reacquire"))
		return a
	})
}

func (sc *scene) ask(ctx context.Context, c request) (a answer, err error) {
	s, b := sc.h.s, sc.start.boxes[c.box]
	now := time.UnixMicro(c.now).UTC()
	one := func(m sessions.Mailbox) []shownRow { return []shownRow{rowOf(m)} }
	var m sessions.Mailbox
	switch c.what {
	case "touch", "take":
		k := keyOf(sc.h.t, sc.peers[c.box])
		m, a.yes, err = s.Touch(ctx, sessions.Touch{Token: b.token, Key: k, Seq: c.seq, By: c.by, Take: c.what == "take", Now: now})
		a.rows = one(m)
	case "recover":
		ms, err := s.Recover(ctx, c.by, now, c.limit)
		for _, m := range ms {
			a.rows = append(a.rows, rowOf(m))
		}
		return a, err
	case "heartbeat":
		err = s.Heartbeat(ctx, c.by, now.Add(lease))
	case "leave":
		err = s.Leave(ctx, c.by)
	case "mailbox":
		m, err = s.Mailbox(ctx, b.token)
		a.rows = one(m)
	case "held":
		ms, err := s.Held(ctx, c.by)
		for _, m := range ms {
			a.rows = append(a.rows, rowOf(m))
		}
		return a, err
	case "open":
		var t sessions.Turn
		if t, a.yes, err = s.Open(ctx, c.fence, opening(c.fence, c.turn)); a.yes {
			a.rows = []shownRow{{turn: t.Seq, turnAttempts: t.Attempts, joined: fmt.Sprint(t.Joined)}}
		}
	case "join":
		j := joined(turnID(b.token, c.turn), c.seq, 0)
		j.Events = []sessions.InboxID{event(turnID(b.token, c.seq))}
		a.yes, err = s.Join(ctx, c.fence, j)
	case "finish":
		var done sessions.Finished
		done, err = s.Finish(ctx, c.fence, ending(turnID(b.token, c.turn)))
		a.yes, a.rows = done.Released, one(done.Mailbox)
	case "reacquire":
		m, err = s.Reacquire(ctx, c.fence, now)
		a.rows = one(m)
	case "release":
		m, a.yes, err = s.Release(ctx, c.fence)
		a.rows = one(m)
	case "handover":
		err = s.Handover(ctx, c.fence)
	case "yield":
		a.yes, err = s.Yield(ctx, c.fence, now)
	case "skip":
		err = s.Skip(ctx, c.fence, c.seq)
	case "append":
		err = s.Append(ctx, c.fence, turnID(b.token, c.turn), said(c.id, c.id))
	case "messages":
		a.said, err = saidIn(ctx, s, b.token)
	default:
		err = fmt.Errorf("nobody knows how to %s", c.what)
	}
	return a, err
}

func saidIn(ctx context.Context, s sessions.Store, token string) (ids string, err error) {
	m, err := s.Mailbox(ctx, token) // whose session never changes here
	if err != nil {
		return "", err
	}
	ms, err := s.Messages(ctx, m.Session)
	for _, m := range ms {
		ids += m.ID + " "
	}
	return ids, err
}

func rowOf(m sessions.Mailbox) shownRow {
	r := shownRow{token: m.Token, touched: m.LastSeen, read: m.LastRead, owner: m.Owner, epoch: m.Epoch, attempts: m.Attempts}
	if m.Turn != nil {
		r.turn, r.turnAttempts, r.joined = m.Turn.Seq, m.Turn.Attempts, fmt.Sprint(m.Turn.Joined)
	}
	return r
}
