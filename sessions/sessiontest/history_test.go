package sessiontest

import (
	"context"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/anishathalye/porcupine"

	"parley/sessions"
	"parley/sessions/memtest"
)

// tries is how many histories a broken store may survive. It took 1 to 5.
const tries = 60

// noticed says whether one of several histories of such stores has no order.
func noticed(t *testing.T, open func() sessions.Store, record func(h *fixture, seed uint64) (*recorder, porcupine.Model)) bool {
	t.Helper()
	for seed := range uint64(tries) {
		r, model := record(newHouse(t, open()), seed)
		if porcupine.CheckOperationsTimeout(model, r.ops, patience) == porcupine.Illegal {
			t.Logf("history %d", seed)
			return true
		}
	}
	return false
}

func ofMailboxes(h *fixture, seed uint64) (*recorder, porcupine.Model) {
	sc := newScene(h, 1+int(seed)%3)
	sc.run(seed, 4, 12)
	return &sc.recorder, mailboxModel(sc.start)
}

func ofOneClient(h *fixture, seed uint64) (*recorder, porcupine.Model) {
	sc := newScene(h, 1+int(seed)%3)
	sc.alone(seed, 96)
	return &sc.recorder, mailboxModel(sc.start)
}

func ofMarks(h *fixture, seed uint64) (*recorder, porcupine.Model) {
	p := newPost(h)
	p.run(seed, 4, 12)
	return &p.recorder, partModel()
}

func TestAHistoryShowsWhichRuleAStoreForgot(t *testing.T) {
	t.Parallel()
	for _, rule := range []memtest.Rule{
		memtest.EpochCheck, memtest.EpochGrows, memtest.LeaseCheck, memtest.TakerCheck, memtest.ReleaseCheck,
		memtest.OpenTurnOwed, memtest.AttemptCount, memtest.InboxDedupe,
	} {
		for clients, record := range map[string]func(*fixture, uint64) (*recorder, porcupine.Model){"many": ofMailboxes, "one": ofOneClient} {
			t.Run(string(rule)+" by "+clients, func(t *testing.T) {
				t.Parallel()
				if !noticed(t, func() sessions.Store { return memtest.New(rule) }, record) {
					t.Errorf("%d histories of a store without the %s have an order", tries, rule)
				}
			})
		}
	}
	t.Run(string(memtest.SendingMark), func(t *testing.T) {
		t.Parallel()
		if !noticed(t, func() sessions.Store { return memtest.New(memtest.SendingMark) }, ofMarks) {
			t.Errorf("%d histories of a store that does not compare states have an order", tries)
		}
	})
}

// tearing looks and writes in two steps, and believes the look.
type tearing struct{ sessions.Store }

func (s tearing) Advance(ctx context.Context, id string, p sessions.Progress) error {
	if p.Bodies != nil {
		return s.Store.Advance(ctx, id, p)
	}
	d, err := s.Delivery(ctx, id)
	if err != nil {
		return err
	}
	fits := d.Parts[p.Marks[0].Index].State == p.Marks[0].From
	for range 100 {
		runtime.Gosched() // somebody else looks now
	}
	err = s.Store.Advance(ctx, id, p)
	if fits {
		return nil
	}
	return err
}

// early answers a commit before it is made: the next caller's makes it.
type early struct {
	sessions.Store
	mu   sync.Mutex
	late func()
}

func (s *early) Skip(ctx context.Context, f sessions.Fence, seq uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.late != nil {
		s.late()
	}
	m, err := s.Mailbox(ctx, f.Token)
	if err != nil || m.Fence() != f {
		return s.Store.Skip(ctx, f, seq)
	}
	s.late = func() { _ = s.Store.Skip(context.WithoutCancel(ctx), f, seq) }
	return nil
}

// stale answers looks with what stood there at the look before.
type stale struct {
	sessions.Store
	mu   sync.Mutex
	seen map[string]sessions.Mailbox
}

func (s *stale) Mailbox(ctx context.Context, token string) (sessions.Mailbox, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.Store.Mailbox(ctx, token)
	if was, found := s.seen[token]; found && err == nil {
		s.seen[token], m = m, was
	} else if err == nil {
		s.seen[token] = m
	}
	return m, err
}

func TestAHistoryShowsThatStepsAreNotOneStep(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		open   func() sessions.Store
		record func(h *fixture, seed uint64) (*recorder, porcupine.Model)
	}{
		{"a mark is compared before it is made", func() sessions.Store { return tearing{memtest.New(memtest.Every)} }, ofMarks},
		{"a commit is answered before it is made", func() sessions.Store { return &early{Store: memtest.New(memtest.Every)} }, ofMailboxes},
		{"a look shows what was", func() sessions.Store {
			return &stale{Store: memtest.New(memtest.Every), seen: map[string]sessions.Mailbox{}}
		}, ofMailboxes},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if !noticed(t, c.open, c.record) {
				t.Errorf("%d histories have an order", tries)
			}
		})
	}
}

func TestALostAnswerMayHaveHappenedAtAnyLaterTimeOrNotAtAll(t *testing.T) {
	t.Parallel()
	start := table{workers: crew()}
	start.boxes[0].token = "a"
	op := func(begin, end int64, what string, seq uint64, a answer) porcupine.Operation {
		return porcupine.Operation{Input: request{what: what, seq: seq}, Call: begin, Output: a, Return: end}
	}
	saw := func(touched uint64) answer { return answer{rows: []shownRow{{token: "a", touched: touched}}} }
	lost := answer{unknown: true}
	for name, c := range map[string]struct {
		ops  []porcupine.Operation
		want porcupine.CheckResult
	}{
		"at once":                {[]porcupine.Operation{op(1, never, "touch", 3, lost), op(2, 3, "mailbox", 0, saw(3))}, porcupine.Ok},
		"later":                  {[]porcupine.Operation{op(1, never, "touch", 3, lost), op(2, 3, "mailbox", 0, saw(0)), op(4, 5, "mailbox", 0, saw(3))}, porcupine.Ok},
		"not at all":             {[]porcupine.Operation{op(1, never, "touch", 3, lost), op(2, 3, "mailbox", 0, saw(0))}, porcupine.Ok},
		"and not undone":         {[]porcupine.Operation{op(1, never, "touch", 3, lost), op(2, 3, "mailbox", 0, saw(3)), op(4, 5, "mailbox", 0, saw(0))}, porcupine.Illegal},
		"not before it began":    {[]porcupine.Operation{op(1, 2, "mailbox", 0, saw(3)), op(3, never, "touch", 3, lost)}, porcupine.Illegal},
		"an answer that came is": {[]porcupine.Operation{op(1, 2, "touch", 3, saw(3)), op(3, 4, "mailbox", 0, saw(0))}, porcupine.Illegal},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := porcupine.CheckOperationsTimeout(mailboxModel(start), c.ops, patience); got != c.want {
				t.Errorf("it is %s, should be %s", got, c.want)
			}
		})
	}
}

func TestOneSenderAtATimeHoldsAnUnmarkedSend(t *testing.T) {
	t.Parallel()
	begin := func(at int64, by string, fenced bool) porcupine.Operation {
		m := sessions.Mark{From: sessions.Queued, To: sessions.Sending, At: noon, By: by}
		return porcupine.Operation{Input: marking{mark: m}, Call: at, Output: marked{outcome: outcome{fenced: fenced}}, Return: at + 10}
	}
	for name, c := range map[string]struct {
		ops  []porcupine.Operation
		want porcupine.CheckResult
	}{
		"the second is refused":           {[]porcupine.Operation{begin(1, "ann", false), begin(2, "bob", true)}, porcupine.Ok},
		"both begin":                      {[]porcupine.Operation{begin(1, "ann", false), begin(2, "bob", false)}, porcupine.Illegal},
		"nobody may begin":                {[]porcupine.Operation{begin(1, "ann", true), begin(2, "bob", true)}, porcupine.Illegal},
		"the first repeats what he began": {[]porcupine.Operation{begin(1, "ann", false), begin(20, "ann", false)}, porcupine.Ok},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := porcupine.CheckOperationsTimeout(partModel(), c.ops, patience); got != c.want {
				t.Errorf("it is %s, should be %s", got, c.want)
			}
		})
	}
}

func TestAHistoryWithoutAnOrderIsDrawn(t *testing.T) {
	t.Parallel()
	r, model := ofMarks(newHouse(t, memtest.New(memtest.Every)), 1)
	_, info := porcupine.CheckOperationsVerbose(model, r.ops, patience)
	path, err := draw(t, model, info)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	})
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "sender-1") {
		t.Error("the page does not show the senders")
	}
}
