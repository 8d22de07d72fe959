package erasure_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/broker"
	"parley/channels"
	"parley/costs"
	"parley/gateway/approvals"
	"parley/gateway/conversations"
	"parley/gateway/erasure"
	"parley/gateway/errands"
	"parley/gateway/goals"
	"parley/gateway/inquiries"
	"parley/gateway/messages"
	"parley/gateway/ongoing"
	"parley/gateway/people"
	"parley/gateway/policy"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/sqlite"
	"parley/sessions/sqlite/sqlitetest"
	"parley/transcript"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// office is a desk with its store and a clock.
type office struct {
	*erasure.Desk
	t       *testing.T
	s       *sqlite.Store
	now     time.Time
	me      sessions.Worker
	removed []sessionkeys.SessionID
	counted []string
	letters *letters
	passed  passed
}

// letters are dead letters in memory.
type letters struct{ kept []broker.DeadLetter }

func (l *letters) DeadLetters(_ context.Context, after uint64, limit int) (found []broker.DeadLetter, _ error) {
	for _, one := range l.kept {
		if one.Seq > after && len(found) < limit {
			found = append(found, one)
		}
	}
	return found, nil
}

func (l *letters) DeleteDeadLetter(_ context.Context, seq uint64) error {
	l.kept = slices.DeleteFunc(l.kept, func(one broker.DeadLetter) bool { return one.Seq == seq })
	return nil
}

// passed notes who was forgotten.
type passed map[string]bool

func (p passed) Forget(channel string, ids ...string) {
	for _, id := range ids {
		p[channel+"/"+id] = true
	}
}

func newOffice(t *testing.T) *office {
	t.Helper()
	s := sqlitetest.Open(t, t.TempDir())
	o := &office{t: t, s: s, now: noon, me: sessions.Worker{Name: "w", Nonce: "w1"}, letters: &letters{}, passed: passed{}}
	now := func() time.Time { return o.now }
	o.Desk = &erasure.Desk{
		Store: s, Logger: slog.New(slog.DiscardHandler), Now: now,
		Remove:  func(ids ...sessionkeys.SessionID) error { o.removed = append(o.removed, ids...); return nil },
		Count:   func(why string) { o.counted = append(o.counted, why) },
		Errands: &errands.Book{Store: s, Now: now}, People: &people.Book{Store: s, Now: now}, Inquiries: &inquiries.Desk{Store: s, Now: now}, Passed: o.passed, Letters: o.letters,
	}
	o.ok(s.Heartbeat(t.Context(), o.me, noon.Add(1000*time.Hour)))
	return o
}

func (o *office) ok(err error) {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
}

func direct(person string) sessionkeys.Address {
	return sessionkeys.Address{Channel: "telegram", Account: "bot", Kind: sessionkeys.DM, Peer: person}
}

func group(name string) sessionkeys.Address {
	return sessionkeys.Address{Channel: "telegram", Account: "bot", Kind: sessionkeys.Group, Peer: name}
}

// begin opens a turn that person asks for somewhere, at the present time, with one request by that
// template, and returns how it ends.
func (o *office) begin(at sessionkeys.Address, person, template string) (sessions.Turn, func()) {
	o.t.Helper()
	key, err := sessionkeys.For("helper", at)
	o.ok(err)
	return o.beginIn(key, at, person, template)
}

// beginIn is begin in the conversation of a key, with the answer going to at.
func (o *office) beginIn(key sessionkeys.Key, at sessionkeys.Address, person, template string) (sessions.Turn, func()) {
	o.t.Helper()
	ctx := o.t.Context()
	seq := uint64(1)
	if was, err := o.s.Mailbox(ctx, key.Token()); err == nil {
		seq = was.LastSeen + 1
	}
	m, _, err := o.s.Touch(ctx, sessions.Touch{Token: key.Token(), Key: key, Seq: seq, By: o.me, Take: true, Now: o.now})
	o.ok(err)
	id := fmt.Sprintf("t-%s-%d", key.Token()[:8], seq)
	turn, _, err := o.s.Open(ctx, m.Fence(), sessions.OpenTurn{
		Turn:    sessions.Turn{ID: id, Seq: seq, Channel: "tg", From: at, Sender: person, ReceivedAt: o.now, OpenedAt: o.now},
		Message: transcript.Message{ID: id + "-m", Role: transcript.User, Parts: []transcript.Part{transcript.Text{Text: "a secret"}}, CreatedAt: o.now},
	})
	o.ok(err)
	call := costs.CallID{Turn: id, Step: 1, Attempt: 1}
	r := costs.Reservation{ID: call.String(), At: o.now, Estimate: costs.Estimate{Call: call, Upper: 700, Priced: true}}
	asked := transcript.RequestRecord{Template: template[:1], Body: func() ([]byte, error) { return []byte(template), nil }, Digest: "d"}
	o.ok(o.s.Reserve(ctx, m.Fence(), sessions.Charge{Session: turn.Session, Turn: id, Request: &asked}, r))
	o.ok(o.s.Settle(ctx, m.Fence(), costs.Settlement{Reservation: r, Entry: costs.Entry{ID: r.ID, Call: call, Amount: 5, Priced: true, State: costs.Settled, At: o.now}}))
	return turn, func() {
		o.t.Helper()
		_, err := o.s.Finish(ctx, m.Fence(), sessions.FinishTurn{Turn: id, Outcome: transcript.EndTurn, At: o.now})
		o.ok(err)
	}
}

// said is a turn that has ended.
func (o *office) said(at sessionkeys.Address, person string) sessionkeys.SessionID {
	o.t.Helper()
	turn, end := o.begin(at, person, "plain")
	end()
	return turn.Session
}

func (o *office) spent() string {
	o.t.Helper()
	all, err := o.s.Usage(o.t.Context(), sessions.UsageQuery{By: sessions.BySession})
	o.ok(err)
	return fmt.Sprintf("%+v", all)
}

func (o *office) messages(id sessionkeys.SessionID) int {
	o.t.Helper()
	ms, err := o.s.Messages(o.t.Context(), id)
	o.ok(err)
	return len(ms)
}

func TestDelete(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	o := newOffice(t)
	turn, end := o.begin(direct("1001"), "1001", "The people here have set this goal, quoted in their words: \\\"secret\\\"")
	id := turn.Session
	key, err := sessionkeys.For("helper", direct("1001"))
	o.ok(err)
	by := erasure.Mark{By: "uid 7", Why: erasure.ByOperator}
	if _, err := o.Delete(ctx, id, by); !errors.Is(err, sessions.ErrBusy) || o.messages(id) == 0 || len(o.removed) > 0 {
		t.Fatalf("while a turn runs: %v", err)
	}
	end()

	// A question for permission that waits is in the way, and one that was decided goes.
	asked := approvals.New(o.now, time.Hour)
	asked.Token, asked.Session, asked.Channel, asked.Asker, asked.Shown = key.Token(), id, "tg", approvals.Person{ID: "1001"}, "a secret"
	asked, err = asked.Write(ctx, o.s, o.now)
	o.ok(err)
	if _, err := o.Delete(ctx, id, by); !errors.Is(err, sessions.ErrBusy) || !strings.Contains(err.Error(), "permission") {
		t.Fatalf("while permission is asked for: %v", err)
	}
	_, err = asked.Decide(approvals.Person{ID: "1001"}, false, "t2", o.now).Write(ctx, o.s, o.now)
	o.ok(err)
	goal, err := goals.Goal{}.Set("a secret", o.now).Record(id, o.now)
	o.ok(err)
	owed := costs.Entry{ID: "title", Amount: 3}
	title, err := conversations.Title{Text: "a secret", Owed: &owed}.Record(id, o.now)
	o.ok(err)
	for _, r := range []sessions.Record{goal, title} {
		_, err := o.s.WriteRecord(ctx, r)
		o.ok(err)
	}
	book := ongoing.Book{Store: o.s, Now: func() time.Time { return o.now }}
	o.ok(book.Write(ctx, id, "call", ongoing.Task{Server: "srv", ID: "7"}))
	before := o.spent()

	o.now = o.now.Add(time.Minute)
	d, err := o.Delete(ctx, id, by)
	if err != nil || d.Again || d.Mark.Messages != 1 || d.Mark.By != "uid 7" || !d.Mark.At.Equal(o.now) {
		t.Fatalf("deleted %+v: %v", d, err)
	}
	if o.messages(id) != 0 || o.spent() != before || !slices.Equal(o.removed, []sessionkeys.SessionID{id}) || !slices.Equal(o.counted, []string{"operator"}) {
		t.Errorf("%d messages are left, spent is %s after %s, removed %q, counted %q", o.messages(id), o.spent(), before, o.removed, o.counted)
	}
	if left, err := approvals.List(ctx, o.s, "", o.now); err != nil || len(left) > 0 {
		t.Errorf("of questions there is left %+v, %v", left, err)
	}
	if g, err := goals.Read(ctx, o.s, id, o.now); err != nil || g != (goals.Goal{}) {
		t.Errorf("the goal is %+v, %v", g, err)
	}
	if task, err := book.Read(ctx, id, "call"); err != nil || task.ID != "" {
		t.Errorf("of what a server does there is left %+v, %v", task, err)
	}
	left, err := conversations.ReadTitle(ctx, o.s, id, o.now)
	if err != nil || left.Text != "" || !left.IsErased() || left.Owed == nil {
		t.Errorf("of the title there is left %+v, %v", left, err)
	}
	if _, err := o.s.RequestTemplate(ctx, "T"); !errors.Is(err, sessions.ErrNotFound) {
		t.Errorf("the template with the goal: %v", err)
	}
	if label, err := conversations.Label(ctx, o.s, id, o.now); err != nil || label != "(deleted)" {
		t.Errorf("it is called %q, %v", label, err)
	}

	// A second time nothing happens, but files that were left go.
	o.now = o.now.Add(time.Minute)
	again, err := o.Delete(ctx, id, erasure.Mark{By: "uid 8", Why: erasure.ByOperator})
	if err != nil || !again.Again || again.Mark != d.Mark || len(o.removed) != 2 || len(o.counted) != 1 {
		t.Errorf("a second time: %+v, %v; removed %q, counted %q", again, err, o.removed, o.counted)
	}
}

// deaf is a log whose signals are lost.
type deaf struct{}

func (deaf) Signal(context.Context, broker.Signal) error { return nil }

// What an MCP server asked during a call goes with the session of the call, and so do the answer and the
// message that asked, which has to be sent before.
func TestDeleteTakesWhatServersAsked(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	o := newOffice(t)
	id, other := o.said(direct("1001"), "1001"), o.said(direct("1002"), "1002")
	desk := &inquiries.Desk{
		Store: o.s, Log: deaf{}, Logger: slog.New(slog.DiscardHandler), Now: o.Now,
		Present: func() inquiries.Settings { return inquiries.Settings{Timeout: time.Hour, PerPerson: 3} },
	}
	for person, session := range map[string]sessionkeys.SessionID{"1001": id, "1002": other} {
		o.ok(desk.AskForCall(ctx, inquiries.Question{Key: person, Text: "a secret?", Choices: []string{"a secret", "no"}},
			inquiries.Person{Name: person, Channel: "tg", To: direct(person)}, inquiries.Call{Session: session, Server: "notes", Memo: []byte(`"a secret"`)}))
	}
	q, err := desk.TakeUp(ctx, "1001", "t1")
	o.ok(err)
	by := erasure.Mark{By: "uid 7", Why: erasure.ByOperator}
	if _, err := o.Delete(ctx, id, by); !errors.Is(err, sessions.ErrBusy) {
		t.Errorf("before the question is sent: %v", err)
	}
	asked, err := o.s.Delivery(ctx, q.DeliveryID())
	o.ok(err)
	sent := func(from, to sessions.SendState) {
		o.ok(o.s.Advance(ctx, asked.ID, sessions.Progress{Bodies: [][]byte{[]byte(`"a secret"`)}, Marks: []sessions.Mark{{From: from, To: to, MessageID: "7", At: o.now}}}))
	}
	sent(sessions.Queued, sessions.Sending)
	sent(sessions.Sending, sessions.Sent)
	answer := channels.Message{Event: "e1", Kind: channels.Said, Channel: "tg", Address: direct("1001"), Sender: channels.Sender{ID: "1001"}, Text: asked.Choices[0].Says}
	c, _ := messages.ParseCommand(answer.Text)
	if _, m, err := desk.Take(ctx, answer, c); err != nil || m == nil {
		t.Fatalf("answered: %+v, %v", m, err)
	}

	_, err = o.Delete(ctx, id, by)
	o.ok(err)
	if _, err := desk.TakeUp(ctx, "1001", "t2"); !errors.Is(err, inquiries.ErrNone) {
		t.Errorf("the answer is left: %v", err)
	}
	left, err := o.s.Delivery(ctx, q.DeliveryID())
	if err != nil || left.Text != "" || len(left.Choices) > 0 || len(left.Parts[0].Body) > 0 {
		t.Errorf("of the question there is left %+v, %v", left, err)
	}
	if _, err := desk.TakeUp(ctx, "1002", "t2"); err != nil {
		t.Errorf("that of another session: %v", err)
	}
}

func TestRetainDeletesWhatIsOldByTheClock(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	old := make([]sessionkeys.SessionID, 53)
	for i := range old {
		old[i] = o.said(direct(fmt.Sprint("old-", i)), "p")
	}
	busy, _ := o.begin(direct("busy"), "p", "plain")
	o.now = noon.Add(time.Hour)
	young := o.said(direct("young"), "p")
	before := o.spent()

	ctx, cancel := context.WithCancel(t.Context())
	ticks, ended := make(chan time.Time), make(chan error, 1)
	keep := make(chan time.Duration, 1)
	go func() { ended <- o.Retain(ctx, func() time.Duration { return <-keep }, ticks) }()
	keep <- 0 // for ever
	ticks <- o.now
	keep <- 90 * time.Minute // nothing is as old
	ticks <- o.now
	if n := o.Expired(); n != 0 {
		t.Errorf("%d were deleted too early", n)
	}
	keep <- 30 * time.Minute
	ticks <- o.now
	if n := o.Expired(); n != 50 {
		t.Errorf("at the first time %d were deleted, not 50", n)
	}
	keep <- 30 * time.Minute
	ticks <- o.now
	keep <- 30 * time.Minute
	ticks <- o.now
	cancel()
	keep <- 0
	o.ok(<-ended)
	if n := o.Expired(); n != len(old) {
		t.Errorf("%d were deleted, not %d", n, len(old))
	}
	for _, id := range old {
		if o.messages(id) != 0 {
			t.Fatalf("session %s has messages", id)
		}
	}
	if o.messages(young) != 1 || o.messages(busy.Session) != 1 || o.spent() != before {
		t.Errorf("young %d, busy %d, spent %s after %s", o.messages(young), o.messages(busy.Session), o.spent(), before)
	}
	m, ok, err := erasure.Read(t.Context(), o.s, old[0], o.now)
	if err != nil || !ok || m.Why != erasure.ByAge || !strings.Contains(m.String(), "by the retention of the configuration") {
		t.Errorf("the mark is %v, %v", m, err)
	}
}

// slow is a store in which something happens between the listing of old sessions and what follows.
type slow struct {
	*sqlite.Store
	meanwhile func()
}

func (s slow) Stale(ctx context.Context, before time.Time, limit int) ([]sessionkeys.SessionID, error) {
	old, err := s.Store.Stale(ctx, before, limit)
	s.meanwhile()
	return old, err // it is the store
}

func TestSweepLeavesWhatSomebodyWentOnWithMeanwhile(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	used, old := o.said(direct("1001"), "1001"), o.said(direct("1002"), "1002")
	o.now = noon.Add(time.Hour)
	before := o.now.Add(-time.Minute)
	o.Store = slow{o.s, func() { o.said(direct("1001"), "1001") }}
	n, err := o.Sweep(t.Context(), before)
	if err != nil || n != 1 || o.messages(used) != 2 || o.messages(old) != 0 {
		t.Errorf("deleted %d, %v: %d messages are left of the one that was used, %d of the old one", n, err, o.messages(used), o.messages(old))
	}
}

func TestForget(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	o := newOffice(t)
	ann := erasure.Person{Channel: "tg", ID: "1001"}
	own, kitchen := o.said(direct("1001"), "1001"), o.said(group("kitchen"), "1001")
	others, garden := o.said(direct("1002"), "1002"), o.said(group("garden"), "1002")
	book := &people.Book{Store: o.s, Now: func() time.Time { return o.now }}
	for _, id := range []string{"1001", "1002"} {
		_, err := book.Allow(ctx, "tg", id, "", people.By{})
		o.ok(err)
		_, err = o.Errands.(*errands.Book).Add(ctx, errands.Errand{Channel: "tg", Person: id, To: direct(id), Task: "a secret", Schedule: "0 9 * * *", Zone: "UTC", Made: o.now}, "x", 5)
		o.ok(err)
		key, err := sessionkeys.For("helper", direct(id))
		o.ok(err)
		o.letters.kept = append(o.letters.kept, broker.DeadLetter{Seq: uint64(len(o.letters.kept) + 1), Key: key.String()})
	}
	_, err := o.s.WriteRecord(ctx, sessions.Record{ID: sessions.RecordID{Kind: "inquiry", Key: "q"}, Body: []byte(`{"id": "q", "channel": "tg", "to": {"channel": "telegram", "account": "bot", "kind": "dm", "peer": "1001"}, "text": "a secret"}`), At: o.now})
	o.ok(err)
	before := o.spent()
	if t1, err := o.Find(ctx, erasure.Person{Channel: "tg", ID: "77"}); err != nil || !t1.IsUnknown() {
		t.Errorf("of nobody: %+v, %v", t1, err)
	}
	found, err := o.Find(ctx, ann)
	if err != nil || !slices.Equal(found.Direct, []sessionkeys.SessionID{own}) || !slices.Equal(found.Groups, []sessionkeys.SessionID{kitchen}) || found.Schedules != 1 || found.Questions != 1 || found.Letters != 1 || !found.LetIn {
		t.Fatalf("found %+v, %v", found, err)
	}
	if gone, err := erasure.IsForgotten(ctx, o.s, ann, o.now, o.now); gone || err != nil {
		t.Errorf("forgotten before: %v, %v", gone, err)
	}

	o.now = o.now.Add(time.Minute)
	f, err := o.Forget(ctx, ann, false, erasure.Mark{By: "uid 7"})
	if err != nil || f.Sessions != 1 || len(f.Busy) > 0 || o.messages(own) != 0 || o.messages(kitchen) != 1 {
		t.Fatalf("forgot %+v, %v", f, err)
	}
	f, err = o.Forget(ctx, ann, true, erasure.Mark{By: "uid 7"}) // what is left
	if err != nil || f.Sessions != 1 || f.Schedules+f.Questions+f.Letters != 0 || f.LetIn || o.messages(kitchen) != 0 {
		t.Fatalf("with groups it forgot %+v, %v", f, err)
	}
	decided, err := book.Decisions(ctx, "tg")
	o.ok(err)
	kept, err := o.Errands.(*errands.Book).All(ctx)
	o.ok(err)
	if len(decided) != 1 || decided[0].ID != "1002" || len(kept) != 1 || kept[0].Person != "1002" || len(o.letters.kept) != 1 || !o.passed["tg/1001"] || o.messages(others) != 1 || o.messages(garden) != 1 {
		t.Errorf("left are %+v, %+v, %+v; of others %d and %d messages", decided, kept, o.letters.kept, o.messages(others), o.messages(garden))
	}
	if o.spent() != before {
		t.Errorf("spent was %s and is %s", before, o.spent())
	}
	for at, want := range map[time.Time]bool{noon: true, o.now.Add(time.Second): false} { // who comes back is known again
		if gone, err := erasure.IsForgotten(ctx, o.s, ann, at, o.now); gone != want || err != nil {
			t.Errorf("of what they did at %s: %v, %v", at, gone, err)
		}
	}
}

// What is under way is left, and doing it again goes on. That somebody is shut out stays.
func TestForgetGoesOn(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	o := newOffice(t)
	turn, end := o.begin(direct("1001"), "1001", "plain")
	_, err := (&people.Book{Store: o.s, Now: o.Now}).Deny(ctx, "tg", "1001", people.By{})
	o.ok(err)
	ann := erasure.Person{Channel: "tg", ID: "1001"}
	f, err := o.Forget(ctx, ann, true, erasure.Mark{By: "uid 7"})
	if err != nil || len(f.Busy) != 1 || f.Sessions != 0 || o.messages(turn.Session) != 1 {
		t.Fatalf("while a turn runs: %+v, %v", f, err)
	}
	end()
	f, err = o.Forget(ctx, ann, true, erasure.Mark{By: "uid 7"})
	if err != nil || len(f.Busy) != 0 || f.Sessions != 1 || !f.ShutOut {
		t.Fatalf("after it: %+v, %v", f, err)
	}
	p, err := (&people.Book{Store: o.s, Now: o.Now}).Decisions(ctx, "tg")
	if err != nil || len(p) != 1 || p[0].Ruling != policy.ShutOut {
		t.Errorf("decided is %+v, %v", p, err)
	}
}

// Only the access decision says that two ids are one person, and it is deleted at once: what is left
// is found all the same, by either of them.
func TestForgetGoesOnWithTheOtherID(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ again, name string }{{"+4915550001001", "named as before"}, {"uuid", "named by the other id"}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			o := newOffice(t)
			_, err := o.s.WriteRecord(ctx, sessions.Record{
				ID: sessions.RecordID{Kind: "person", Key: "tg/uuid"}, At: o.now,
				Body: []byte(`{"id": "uuid", "alias": "+4915550001001", "ruling": "allowed"}`),
			})
			o.ok(err)
			turn, end := o.begin(direct("uuid"), "uuid", "plain")
			kitchen := o.said(group("kitchen"), "uuid")
			f, err := o.Forget(ctx, erasure.Person{Channel: "tg", ID: "+4915550001001"}, false, erasure.Mark{By: "uid 7"})
			if err != nil || !f.LetIn || len(f.Busy) != 1 || len(f.Groups) != 1 || f.Sessions != 0 {
				t.Fatalf("while a turn runs: %+v, %v", f, err)
			}
			end()
			again := erasure.Person{Channel: "tg", ID: c.again}
			f, err = o.Forget(ctx, again, false, erasure.Mark{By: "uid 7"})
			if err != nil || f.LetIn || f.Sessions != 1 || o.messages(turn.Session) != 0 {
				t.Fatalf("after it: %+v, %v", f, err)
			}
			f, err = o.Forget(ctx, again, true, erasure.Mark{By: "uid 7"})
			if err != nil || f.Sessions != 1 || o.messages(kitchen) != 0 {
				t.Fatalf("with groups: %+v, %v", f, err)
			}
			kept := 0
			o.ok(o.s.Records(ctx, "forgetting", "", o.now, func(sessions.Record) bool { kept++; return true }))
			if kept != 0 {
				t.Errorf("%d records of its ids are kept when all is deleted", kept)
			}
		})
	}
}
