package redis_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/redis"
	"parley/sessions/redis/redistest"
)

// pair is a primary with a replica that may be cut off, and a store that reaches
// whichever of them the switchboard leads to.
type pair struct {
	fixture
	store            *redis.Store
	primary, replica *redistest.Server
	board            *switchboard
	log              *facts
}

func newPair(t *testing.T, log *facts) *pair {
	t.Helper()
	p := &pair{primary: redistest.Start(t, redistest.Options{}), log: log}
	p.replica = p.primary.Replica(t)
	p.board = newSwitchboard(t, p.primary)
	p.store = p.open(t)
	p.fixture = fixture{t, p.store}
	return p
}

func (p *pair) open(t *testing.T) *redis.Store {
	t.Helper()
	o := redis.Options{URL: p.board.URL}
	if p.log != nil {
		o.Facts = p.log
	}
	return openAt(t, o)
}

// cutOff loses all that is written from now on.
func (p *pair) cutOff() {
	p.t.Helper()
	p.replica.CatchUp()
	p.replica.CutOff()
}

func (p *pair) failOver() {
	p.t.Helper()
	p.primary.Kill()
	p.replica.Promote()
	p.board.to(p.replica)
}

// live is an hour of everything that is promised; it returns the mailbox that is
// still worked on, its turn, and all tokens.
func (p *pair) live(w sessions.Worker, cut func()) (m sessions.Mailbox, open sessions.Turn, tokens []string, ids []sessionkeys.SessionID) {
	p.t.Helper()
	ctx, h := p.t.Context(), p.fixture
	m = p.take(w, "works", 1)
	open = p.fixture.open(m, 1)
	charge := sessions.Charge{Session: open.Session, Turn: open.ID, Scopes: []sessions.Scope{{Kind: "person", ID: "ann", Limit: 1000}}}
	cut()

	// Money: a call that is settled, one that is under way.
	h.ok(h.s.Reserve(ctx, m.Fence(), charge, reservation(open, 1, 300)))
	h.ok(h.s.Settle(ctx, m.Fence(), cost(reservation(open, 1, 300), 123), said("step-1")))
	h.ok(h.s.Reserve(ctx, m.Fence(), charge, reservation(open, 2, 400)))
	// A tool that has run, and a child that has not ended.
	again, err := h.s.Begin(ctx, m.Fence(), open.ID, 1, "rm")
	if err != nil || again {
		p.t.Fatal(again, err)
	}
	h.ok(h.s.Append(ctx, m.Fence(), open.ID, said("rm-result")))
	parent, err := h.s.Session(ctx, open.Session)
	h.ok(err)
	key, err := parent.Key.Child("helper")
	h.ok(err)
	child := sessions.Session{ID: sessionkeys.ChildID(parent.ID, open.ID, 1, "kid"), Key: key, Parent: parent.ID, ToolCallID: "kid", Role: "task", Policy: []byte(`{"depth":1}`), CreatedAt: noon}
	_, _, err = h.s.Spawn(ctx, m.Fence(), child)
	h.ok(err)

	// A conversation that nobody had heard of before, answered: one part was sent, and
	// one was about to be.
	n := p.take(w, "answered", 4)
	done := p.fixture.open(n, 4)
	h.ok(h.s.Preview(ctx, done.ID, sessions.ShownPreview("preview-1")))
	_, err = h.s.Finish(ctx, n.Fence(), ending(done, "ann"))
	h.ok(err)
	id := answerTo(done, "ann").ID
	h.ok(h.s.Advance(ctx, id, sessions.Progress{Bodies: [][]byte{[]byte("1"), []byte("2")}, Marks: []sessions.Mark{{From: sessions.Queued, To: sessions.Sending, At: noon}}}))
	h.ok(h.s.Advance(ctx, id, sessions.Progress{Marks: []sessions.Mark{
		{From: sessions.Sending, To: sessions.Sent, MessageID: "m1", At: noon},
		{Index: 1, From: sessions.Queued, To: sessions.Sending, At: noon},
	}}))

	// Decisions: a stop that waits, one that was obeyed, a chat that moved, and one
	// that is shut; and a notice.
	stop := sessions.Control{ID: "stop-1", Event: event("stop-1"), Token: m.Token, Key: m.Key, Kind: "stop", Through: 1, Channel: "tg", From: place("works"), Sender: "ann", At: noon}
	_, err = h.s.Request(ctx, stop)
	h.ok(err)
	o := p.take(w, "stopped", 9)
	stop.ID, stop.Event, stop.Token, stop.Key = "stop-2", event("stop-2"), o.Token, o.Key
	_, err = h.s.Request(ctx, stop)
	h.ok(err)
	h.ok(h.s.ApplyControls(ctx, o.Fence(), []string{"stop-2"}, 9, []sessions.Outgoing{{ID: "stopped", Session: o.Session, Channel: "tg", To: place("stopped"), At: noon}}))
	_, err = h.s.Move(ctx, sessions.ChatID{Channel: "telegram", Account: "bot", Peer: "old"}, "new", noon)
	h.ok(err)
	_, _, err = h.s.CloseChat(ctx, sessions.CloseRequest{ID: "shut-1", Chat: sessions.ChatID{Channel: "telegram", Account: "bot", Peer: "left"}, At: noon})
	h.ok(err)
	_, err = h.s.Notice(ctx, event("notice"), []sessions.Outgoing{{ID: "notice", Session: o.Session, Channel: "tg", To: place("works"), At: noon}}, noon)
	h.ok(err)
	c := p.take(w, "command", 1)
	answered, err := h.s.Answer(ctx, c.Fence(), sessions.Command{Seq: 1, Event: event("new"), Fresh: "fresh-1", Replies: []sessions.Outgoing{{ID: "new", Session: "fresh-1", Channel: "tg", To: place("command"), At: noon}}, At: noon})
	if err != nil || !answered {
		p.t.Fatal(answered, err)
	}
	return m, open, []string{m.Token, n.Token, o.Token, c.Token}, []sessionkeys.SessionID{m.Session, child.ID, n.Session, o.Session, "fresh-1"}
}

func TestAFailoverForgetsNoMoneyNoSendAndNoDecision(t *testing.T) {
	t.Parallel()
	p := newPair(t, &facts{})
	ctx := t.Context()
	ann := p.alive("ann")
	m, turn, tokens, ids := p.live(ann, p.cutOff)
	before := remember(ctx, t, p.store, ids, tokens)
	p.failOver()

	// Two processes find out at once.
	second := p.open(t)
	for _, s := range []*redis.Store{second, p.store} {
		if d := gocmp.Diff(before, remember(ctx, t, s, ids, tokens), gocmp.AllowUnexported(sessionkeys.Key{})); d != "" {
			t.Fatalf("forgotten (-before +after):\n%s", d)
		}
	}
	p.ok(p.s.Check(ctx))
	known, err := p.s.Known(ctx, event("turn-works"), event("turn-answered"), event("stop-1"), event("stop-2"), event("notice"), event("new"), event("other"))
	p.ok(err)
	if !slices.Equal(known, []bool{true, true, true, true, true, true, false}) {
		t.Errorf("events that are known: %v", known)
	}
	chat, err := p.s.Chat(ctx, sessions.ChatID{Channel: "telegram", Account: "bot", Peer: "old"})
	p.ok(err)
	left, err := p.s.Chat(ctx, sessions.ChatID{Channel: "telegram", Account: "bot", Peer: "left"})
	p.ok(err)
	if chat.Current() != "new" || !left.Closed {
		t.Errorf("chats: %+v, %+v", chat, left)
	}

	// The fences of before hold no more; the work goes on under a new one.
	p.is(p.s.Append(ctx, m.Fence(), turn.ID, said("late")), sessions.ErrFenced)
	found, err := p.s.Recover(ctx, ann, noon, 10)
	p.ok(err)
	i := slices.IndexFunc(found, func(f sessions.Mailbox) bool { return f.Token == m.Token })
	if i < 0 || found[i].Attempts != 1 || found[i].Controls != 1 {
		t.Fatalf("the work that was under way is lost: %+v", found)
	}
	resumed, err := p.s.Resume(ctx, found[i].Fence(), noon)
	p.ok(err)
	if resumed.Steps != 1 || resumed.Tries != 1 {
		t.Errorf("it goes on at step %d, try %d", resumed.Steps, resumed.Tries)
	}
	again, err := p.s.Begin(ctx, found[i].Fence(), turn.ID, 1, "rm")
	if err != nil || !again {
		t.Errorf("the tool would run twice: %v %v", again, err)
	}
	// 123 settled and 400 held of 1,000.
	err = p.s.Reserve(ctx, found[i].Fence(), sessions.Charge{Session: turn.Session, Turn: turn.ID, Scopes: []sessions.Scope{{Kind: "person", ID: "ann", Limit: 1000}}}, reservation(turn, 3, 478))
	if budget, ok := errors.AsType[*costs.BudgetError](err); !ok || budget.Spent != 523 {
		t.Errorf("the budget forgot: %v", err)
	}
	_, err = p.s.Finish(ctx, found[i].Fence(), ending(turn, "ann"))
	p.ok(err)
	p.ok(p.s.Check(ctx))
}

func TestWithoutALogAFailoverForgetsAndTheRestGoesOn(t *testing.T) {
	t.Parallel()
	p := newPair(t, nil)
	ann := p.alive("ann")
	m, turn, _, _ := p.live(ann, p.cutOff)
	p.failOver()
	s, err := p.s.Session(t.Context(), m.Session)
	p.ok(err)
	if s.Own != 0 || s.Held != 0 {
		t.Fatalf("the replica was not cut off: %+v", s)
	}
	_, err = p.s.Finish(t.Context(), m.Fence(), ending(turn, "ann"))
	p.ok(err)
	p.ok(p.s.Check(t.Context()))
}

// frozen writes the end of a turn down, and is frozen before the database hears
// of it.
func (p *pair) frozen(m sessions.Mailbox, turn sessions.Turn) {
	p.t.Helper()
	ctx, cancel := context.WithCancel(p.t.Context())
	p.log.fail = func([]byte) error { cancel(); return context.Canceled }
	if _, err := p.s.Finish(ctx, m.Fence(), ending(turn, "frozen")); !errors.Is(err, context.Canceled) {
		p.t.Fatal(err)
	}
	p.log.fail = nil
}

func (p *pair) queued() (ids []string) {
	p.t.Helper()
	ds, err := p.s.Pending(p.t.Context(), "tg", 0, 100)
	p.ok(err)
	for _, d := range ds {
		ids = append(ids, d.ID)
	}
	return ids
}

func TestWhatALaterOwnerOvertookIsNotAppliedByAFailover(t *testing.T) {
	t.Parallel()
	for name, finished := range map[string]bool{"who finished": true, "who only began": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPair(t, &facts{})
			ctx := t.Context()
			m := p.take(p.alive("ann"), "one", 1)
			turn := p.fixture.open(m, 1)
			p.cutOff()
			p.frozen(m, turn)
			other := p.open(t) // another process
			h := fixture{t, other}
			h.ok(other.Leave(ctx, m.Owner))
			n := h.take(h.alive("bob"), "one", 1)
			_, err := other.Resume(ctx, n.Fence(), noon)
			h.ok(err)
			_, err = other.Begin(ctx, n.Fence(), turn.ID, 1, "rm")
			h.ok(err)
			want := []string(nil)
			if finished {
				_, err = other.Finish(ctx, n.Fence(), ending(turn, "bob"))
				h.ok(err)
				want = []string{answerTo(turn, "bob").ID}
			}
			p.failOver()
			if got := p.queued(); !slices.Equal(got, want) {
				t.Fatalf("answers %v, want %v", got, want)
			}
			got, err := p.s.Turn(ctx, turn.ID)
			p.ok(err)
			if (got.State == sessions.Done) != finished {
				t.Fatalf("%+v", got)
			}
			p.ok(p.s.Check(ctx))
		})
	}
}

func TestWhatNobodyOvertookHolds(t *testing.T) {
	t.Parallel()
	p := newPair(t, &facts{})
	m := p.take(p.alive("ann"), "one", 1)
	turn := p.fixture.open(m, 1)
	p.cutOff()
	p.frozen(m, turn)
	p.failOver()
	if got := p.queued(); !slices.Equal(got, []string{answerTo(turn, "frozen").ID}) {
		t.Fatalf("answers %v", got)
	}
}

func TestAnAnswerThatWasLostIsFoundByTheNextWrite(t *testing.T) {
	t.Parallel()
	p := newPair(t, &facts{})
	m := p.take(p.alive("ann"), "one", 1)
	turn := p.fixture.open(m, 1)
	p.frozen(m, turn)
	done, err := p.s.Finish(t.Context(), m.Fence(), ending(turn, "frozen"))
	if err != nil || !done.Released {
		t.Fatal(done, err)
	}
	if got := p.queued(); len(got) != 1 {
		t.Fatalf("answers %v", got)
	}
}

func TestARestartedServerGoesOn(t *testing.T) {
	t.Parallel()
	p := newPair(t, &facts{})
	ann := p.alive("ann")
	m, turn, tokens, ids := p.live(ann, func() {})
	before := remember(t.Context(), t, p.store, ids, tokens)
	p.primary.Restart()
	if d := gocmp.Diff(before, remember(t.Context(), t, p.store, ids, tokens), gocmp.AllowUnexported(sessionkeys.Key{})); d != "" {
		t.Fatal(d)
	}
	p.is(p.s.Append(t.Context(), m.Fence(), turn.ID, said("late")), sessions.ErrFenced)
}

func TestTwoFailoversInARowForgetNothing(t *testing.T) {
	t.Parallel()
	p := newPair(t, &facts{})
	ctx := t.Context()
	ann := p.alive("ann")
	_, _, tokens, ids := p.live(ann, p.cutOff)
	p.failOver()
	found, err := p.s.Recover(ctx, ann, noon, 10)
	p.ok(err)
	third := p.replica.Replica(t)
	third.CutOff()
	for _, m := range found {
		if m.Turn != nil {
			p.ok(p.s.Append(ctx, m.Fence(), m.Turn.ID, said("after the first")))
		}
	}
	before := remember(ctx, t, p.store, ids, tokens)
	p.primary, p.replica = p.replica, third
	p.failOver()
	if d := gocmp.Diff(before, remember(ctx, t, p.store, ids, tokens), gocmp.AllowUnexported(sessionkeys.Key{})); d != "" {
		t.Fatal(d)
	}
	p.ok(p.s.Check(ctx))
}

func TestATakeOverThatWasBrokenOffIsBegunAgain(t *testing.T) {
	t.Parallel()
	p := newPair(t, &facts{})
	ann := p.alive("ann")
	_, _, tokens, ids := p.live(ann, p.cutOff)
	before := remember(t.Context(), t, p.store, ids, tokens)
	p.failOver()
	// Somebody began and died.
	c := raw(t, p.replica)
	p.ok(c.HSet(t.Context(), "parley:meta", "era", "none").Err())
	p.ok(c.Set(t.Context(), "parley:takeover", "dead", 50*time.Millisecond).Err())
	if d := gocmp.Diff(before, remember(t.Context(), t, p.store, ids, tokens), gocmp.AllowUnexported(sessionkeys.Key{})); d != "" {
		t.Fatal(d)
	}
}

// The server fails over once more while facts are applied again: the next one lacks those that
// the first has by then, and none of them may be passed over.
func TestATakeOverDoesNotGoOnAtAnotherServer(t *testing.T) {
	t.Parallel()
	p := newPair(t, &facts{})
	ctx := t.Context()
	_, _, tokens, ids := p.live(p.alive("ann"), p.cutOff)
	before := remember(ctx, t, p.store, ids, tokens)
	p.failOver()
	third := p.replica.Replica(t)
	c := raw(t, p.replica)
	isCut, isKilled, mark := false, false, uint64(0)
	p.log.next = func(number uint64) {
		if isKilled {
			return
		}
		meta := c.HMGet(ctx, "parley:meta", "era", "facts").Val()
		switch {
		case !isCut && meta[0] == "none": // the lock is there, and no fact is applied yet
			third.CatchUp()
			third.CutOff()
			isCut, mark = true, number-1
		case isCut && number == mark+2 && meta[1] == strconv.FormatUint(mark+1, 10): // it was reserved, and is not settled
			p.replica.Kill()
			third.Promote()
			p.board.to(third)
			isKilled = true
		}
	}
	if d := gocmp.Diff(before, remember(ctx, t, p.store, ids, tokens), gocmp.AllowUnexported(sessionkeys.Key{})); d != "" {
		t.Fatalf("forgotten (-before +after):\n%s", d)
	}
	if lock := raw(t, third).Exists(ctx, "parley:takeover").Val(); !isKilled || lock != 0 {
		t.Errorf("another server took its place: %v; %d locks are left", isKilled, lock)
	}
	p.ok(p.s.Check(ctx))
}

func TestALogThatCannotTellWhatIsMissingIsDamage(t *testing.T) {
	t.Parallel()
	for name, log := range map[string]redis.Facts{
		"another log":            &facts{},
		"one that lost its head": beheaded{&facts{bodies: make([][]byte, 1000)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPair(t, &facts{})
			p.live(p.alive("ann"), p.cutOff)
			p.failOver()
			refused(t, redis.Options{URL: p.board.URL, Facts: log}, sessions.ErrDamaged.Error(), "log")
		})
	}
}

// beheaded is a log whose first 990 facts are gone.
type beheaded struct{ *facts }

func (b beheaded) After(ctx context.Context, number uint64, yield func(uint64, []byte) bool) error {
	return b.facts.After(ctx, max(number, 990), yield)
}

func TestFactsOfProcessesThatEndedAreAppliedLater(t *testing.T) {
	t.Parallel()
	p := newPair(t, &facts{})
	ctx := t.Context()
	m := p.take(p.alive("ann"), "one", 1)
	one := p.fixture.open(m, 1)
	p.frozen(m, one)
	n := p.take(m.Owner, "two", 1)
	two := p.fixture.open(n, 1)
	p.frozen(n, two)
	other := p.open(t)
	p.ok(other.Leave(ctx, n.Owner))
	fixture{t, other}.take(fixture{t, other}.alive("bob"), "two", 1) // overtakes the second
	for range 2 {
		p.ok(other.CatchUp(ctx))
	}
	if got := p.queued(); !slices.Equal(got, []string{answerTo(one, "frozen").ID}) {
		t.Fatalf("answers %v", got)
	}
	applied, err := other.Applied(ctx)
	p.ok(err)
	p.ok(other.CatchUp(ctx))
	if last, _ := p.log.Last(ctx); applied < last-1 {
		t.Fatalf("applied %d of %d", applied, last)
	}
}

func TestAFactMayBeLarge(t *testing.T) {
	t.Parallel()
	p := newPair(t, &facts{})
	m := p.take(p.alive("ann"), "one", 1)
	turn := p.fixture.open(m, 1)
	p.cutOff()
	large := said("large")
	text := make([]byte, 100_000)
	for i := range text {
		text[i] = 'a' + byte(i%26)
	}
	large.ID = string(text)
	p.ok(p.s.Append(t.Context(), m.Fence(), turn.ID, large))
	if last := p.log.bodies[len(p.log.bodies)-1]; len(last) > 10_000 {
		t.Errorf("it is written down in %d bytes", len(last))
	}
	p.failOver()
	ms, err := p.s.Messages(t.Context(), turn.Session)
	p.ok(err)
	if len(ms) != 2 || ms[1].ID != large.ID {
		t.Fatalf("%d messages", len(ms))
	}
}

func TestAFactThatHeldIsNotVoidWhenItIsSentAgainTooLate(t *testing.T) {
	t.Parallel()
	p := newPair(t, &facts{})
	ctx := t.Context()
	m := p.take(p.alive("ann"), "one", 1)
	turn := p.fixture.open(m, 1)
	p.ok(p.s.Append(ctx, m.Fence(), turn.ID, said("held")))
	before, err := p.log.Last(ctx)
	p.ok(err)
	p.ok(p.s.Handover(ctx, m.Fence()))
	p.log.same = before // the client sends the last script once more
	p.is(p.s.Append(ctx, m.Fence(), turn.ID, said("held")), sessions.ErrFenced)

	if after, _ := p.log.Last(ctx); after != before {
		t.Fatalf("%d facts after %d", after, before)
	}
}

func TestWhatTheRowKnowsToBeOvertakenIsNotApplied(t *testing.T) {
	t.Parallel()
	p := newPair(t, &facts{})
	m := p.take(p.alive("ann"), "one", 1)
	turn := p.fixture.open(m, 1)
	p.frozen(m, turn)
	p.ok(p.s.Leave(t.Context(), m.Owner))
	p.take(p.alive("bob"), "one", 1) // and writes nothing down
	p.cutOff()
	p.failOver()
	if got := p.queued(); got != nil {
		t.Fatalf("answers %v", got)
	}
}

func TestWhatHeldBeforeALaterOwnerCameHolds(t *testing.T) {
	t.Parallel()
	p := newPair(t, &facts{})
	ctx := t.Context()
	m := p.take(p.alive("ann"), "one", 1)
	turn := p.fixture.open(m, 1)
	p.cutOff()
	p.ok(p.s.Append(ctx, m.Fence(), turn.ID, said("first")))
	p.ok(p.s.Handover(ctx, m.Fence()))
	n := p.take(p.alive("bob"), "one", 1)
	p.ok(p.s.Append(ctx, n.Fence(), turn.ID, said("second")))
	p.failOver()
	ms, err := p.s.Messages(ctx, turn.Session)
	p.ok(err)
	if len(ms) != 3 || ms[1].ID != "first" || ms[2].ID != "second" {
		t.Fatalf("%d messages: %+v", len(ms), ms)
	}
}

// The end of a turn is applied by the failover; before who wrote it hears of that,
// somebody else takes the mailbox. The answer must not carry the new fence: who
// goes on with it works beside its owner.
func TestWhoseEndAFailoverAppliedDoesNotGetTheNextOwnersFence(t *testing.T) {
	t.Parallel()
	for _, again := range []string{"the same call", "a second call"} {
		t.Run(again, func(t *testing.T) {
			t.Parallel()
			p := newPair(t, &facts{})
			ctx := t.Context()
			m := p.take(p.alive("ann"), "one", 1)
			turn := p.fixture.open(m, 1)
			p.try(m.Owner, "one", 2) // more is owed: the end does not release it
			p.cutOff()
			var bobs sessions.Mailbox
			taken := func() {
				p.failOver()
				h := fixture{t, p.open(t)} // another process; it takes the database over
				bobs = h.take(h.alive("bob"), "one", 2)
			}
			if again == "the same call" {
				p.log.then = taken
			} else {
				p.frozen(m, turn)
				taken()
			}
			got, err := p.s.Finish(ctx, m.Fence(), ending(turn, "frozen"))
			if err == nil && !got.Released && got.Mailbox.Fence() == bobs.Fence() {
				t.Fatalf("ann was given bob's fence: %+v", got.Mailbox.Fence())
			}
			p.is(err, sessions.ErrFenced)
			if got := p.queued(); !slices.Equal(got, []string{answerTo(turn, "frozen").ID}) {
				t.Fatalf("answers %v", got)
			}
			// Nor does a later failover take the end back.
			third := p.replica.Replica(t)
			third.CutOff()
			_, err = p.s.Finish(ctx, m.Fence(), ending(turn, "frozen"))
			p.is(err, sessions.ErrFenced)
			p.primary, p.replica = p.replica, third
			p.failOver()
			ended, err := p.s.Turn(ctx, turn.ID)
			p.ok(err)
			if ended.State != sessions.Done {
				t.Fatalf("%+v", ended)
			}
			p.ok(p.s.Check(ctx))
		})
	}
}
