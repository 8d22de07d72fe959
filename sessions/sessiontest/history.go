package sessiontest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/sessions"
)

// history lets clients use a store at once, writes down what each was told and
// when, and holds it to the models: there must be an order of the operations,
// each between its begin and its end, in which one client alone would have been
// told the same.
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
	h     *house
	start table
	peers []string
	time  atomic.Int64 // half leases since noon

	fencesMu sync.Mutex
	fences   [3][]sessions.Fence
}

// crew are the workers. The second is the first, born again: when it lives the
// other is dead.
func crew() [4]life {
	return [4]life{
		{Worker: sessions.Worker{Name: "amy", Nonce: "amy-1"}},
		{Worker: sessions.Worker{Name: "amy", Nonce: "amy-2"}},
		{Worker: sessions.Worker{Name: "bob", Nonce: "bob-1"}},
		{Worker: sessions.Worker{Name: "cat", Nonce: "cat-1"}},
	}
}

// newScene makes n mailboxes. The first has an open turn, which nobody owns. All
// workers live but the second.
func newScene(h *house, n int) *scene {
	h.t.Helper()
	sc := &scene{h: h, start: table{workers: crew()}}
	for i := range sc.start.workers {
		if w := &sc.start.workers[i]; w.Nonce != "amy-2" {
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
			b.turn, b.last, b.since = turn.ID, f.Nonce, h.now.UnixMicro()
			b.said = opening(f, 1).Message.ID + " "
		}
		m := h.touch(peer, 0)
		b.token, b.touched, b.read, b.epoch, b.attempts = m.Token, m.Touched, m.Read, m.Epoch, m.Attempts
		if m.Turn != nil {
			b.turnAttempts = m.Turn.Attempts
		}
	}
	return sc
}

// run lets the clients do their operations, and then looks at everything, behind
// a write that is refused: a driver may have to settle first what a caller gave up
// on.
func (sc *scene) run(seed uint64, clients, each int) {
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
		sc.make(clients, request{what: "skip", box: i, fence: nobody, seq: 99}, arrives)
		sc.make(clients, request{what: "mailbox", box: i}, arrives)
		sc.make(clients, request{what: "messages", box: i}, arrives)
	}
}

func (sc *scene) now() time.Time { return noon.Add(time.Duration(sc.time.Load()) * lease / 2) }

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
	c := request{
		box: r.IntN(len(sc.peers)), by: sc.start.workers[r.IntN(len(sc.start.workers))].Worker, now: sc.now().UnixMicro(),
		seq: uint64(r.IntN(8)), limit: 1 + r.IntN(3), id: id,
	}
	c.what = pick("touch", "take", "take", "take", "recover", "heartbeat", "heartbeat", "heartbeat", "mailbox", "messages", "fenced", "fenced", "fenced", "fenced", "fenced")
	if r.IntN(40) == 0 {
		c.what = "leave"
	}
	if c.what != "fenced" {
		return c
	}
	var known bool
	if c.fence, known = sc.known(r, c.box); !known {
		c.what = "take"
		return c
	}
	c.by = sessions.Worker{}
	commit := "skip"
	if sc.start.boxes[c.box].turn != "" {
		commit = "append"
	}
	c.what = pick(commit, commit, commit, "reacquire", "release", "handover", "yield")
	return c
}

// known is a fence of the mailbox that somebody heard of, mostly the newest.
func (sc *scene) known(r *rand.Rand, box int) (sessions.Fence, bool) {
	sc.fencesMu.Lock()
	defer sc.fencesMu.Unlock()
	fs := sc.fences[box]
	switch {
	case len(fs) == 0:
		return sessions.Fence{}, false
	case r.IntN(4) == 0:
		return fs[r.IntN(len(fs))], true
	}
	return fs[len(fs)-1], true
}

func (sc *scene) learn(rows []shownRow) {
	sc.fencesMu.Lock()
	defer sc.fencesMu.Unlock()
	for _, row := range rows {
		for i := range sc.peers {
			if b := sc.start.boxes[i]; b.token == row.token && row.owner.Nonce != "" {
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
	}, func(unknown, fenced bool) any {
		switch {
		case unknown:
			return answer{unknown: true}
		case fenced:
			return answer{fenced: true}
		case a.yes || c.what == "recover" || c.what == "reacquire":
			sc.learn(a.rows)
		}
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
		err = s.Append(ctx, c.fence, b.turn, said(c.id, c.id))
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
	r := shownRow{token: m.Token, touched: m.Touched, read: m.Read, owner: m.Owner, epoch: m.Epoch, attempts: m.Attempts}
	if m.Turn != nil {
		r.turn, r.turnAttempts = m.Turn.ID, m.Turn.Attempts
	}
	return r
}
