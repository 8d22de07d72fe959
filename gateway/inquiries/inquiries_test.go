package inquiries_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/broker"
	"parley/channels"
	"parley/gateway/inquiries"
	"parley/gateway/messages"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/memtest"
)

// office is a desk over a store in memory, with a clock, by which ann and ben may be asked.
type office struct {
	t      *testing.T
	desk   *inquiries.Desk
	store  *faulty
	now    time.Time
	people []inquiries.Person
	said   int
}

// faulty is a store whose notices fail while broken is set.
type faulty struct {
	sessions.Store
	broken error
}

func (f *faulty) Notice(ctx context.Context, e sessions.InboxID, replies []sessions.Outgoing, at time.Time) (bool, error) {
	if f.broken != nil {
		return false, f.broken
	}
	return f.Store.Notice(ctx, e, replies, at)
}

// deaf is a log whose signals are lost.
type deaf struct{}

func (deaf) Signal(context.Context, broker.Signal) error { return nil }

func address(id string) sessionkeys.Address {
	return sessionkeys.Address{Channel: "telegram", Account: "42", Kind: sessionkeys.DM, Peer: id}
}

func newOffice(t *testing.T) *office {
	t.Helper()
	o := &office{t: t, store: &faulty{Store: memtest.New(memtest.Every)}, now: time.Date(2026, 11, 26, 9, 0, 0, 0, time.UTC)}
	o.people = []inquiries.Person{{Name: "ann", Channel: "tg", To: address("1001")}, {Name: "ben", Channel: "tg", To: address("1002")}}
	o.desk = &inquiries.Desk{
		Store: o.store, Log: deaf{}, Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return o.now },
		Present: func() inquiries.Settings {
			return inquiries.Settings{People: o.people, Timeout: time.Hour, PerPerson: 3}
		},
	}
	return o
}

// ask asks ann.
func (o *office) ask(key, text string, choices ...string) (inquiries.Inquiry, error) {
	return o.desk.Ask(o.t.Context(), inquiries.Question{Key: key, Person: "ann", Text: text, Choices: choices})
}

func (o *office) mustAsk(key, text string, choices ...string) inquiries.Inquiry {
	o.t.Helper()
	q, err := o.ask(key, text, choices...)
	if err != nil {
		o.t.Fatal(err)
	}
	return q
}

// outbox returns the messages that wait to be sent.
func (o *office) outbox() []sessions.Delivery {
	o.t.Helper()
	due, err := o.store.Pending(o.t.Context(), "tg", 0, 100)
	if err != nil {
		o.t.Fatal(err)
	}
	return due
}

// message is one that ann sends.
func (o *office) message(text string) channels.Message {
	o.said++
	return channels.Message{
		Event: fmt.Sprint(o.said), Kind: channels.Said, Channel: "tg", Address: address("1001"), Sender: channels.Sender{ID: "1001"}, MessageID: fmt.Sprint(o.said), Text: text, Mentioned: true,
	}
}

// take gives a message to the desk, and returns what its sender reads.
func (o *office) take(m channels.Message) string {
	o.t.Helper()
	c, _ := messages.ParseCommand(m.Text)
	text, toAgent, err := o.desk.Take(o.t.Context(), m, c)
	if err != nil {
		o.t.Fatal(err)
	}
	if toAgent != nil {
		return text + toAgent.Text
	}
	return text
}

// answerOf returns what is known of the question of a key.
func (o *office) answerOf(key string) string {
	o.t.Helper()
	q, err := o.desk.Look(o.t.Context(), key)
	if err != nil {
		o.t.Fatal(err)
	}
	return string(q.State(o.now)) + " " + q.Answer
}

func contains(t *testing.T, got, want string) {
	t.Helper()
	if !strings.Contains(got, want) {
		t.Errorf("got\n%s\nwant %q in it", got, want)
	}
}

func TestDesk(t *testing.T) {
	t.Parallel()
	t.Run("the same key asks once, also by many at once and after an answer", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if _, err := o.ask("k", "When?"); err != nil && !errors.Is(err, inquiries.ErrRefused) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := len(o.outbox()); n != 1 {
			t.Errorf("%d messages ask", n)
		}
		contains(t, o.take(o.message("/answer "+o.mustAsk("k", "When?").Code+" at noon")), "gets your answer: `at noon`")
		if q := o.mustAsk("k", "When?"); q.Answer != "at noon" || len(o.outbox()) != 1 {
			t.Errorf("%+v, %d messages", q, len(o.outbox()))
		}
		if _, err := o.ask("k", "Where?"); !errors.Is(err, inquiries.ErrInvalid) {
			t.Errorf("another question with that key: %v", err)
		}
	})
	t.Run("a question that was taken up and not asked is asked after a restart, once", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.store.broken = errors.New("the process is killed")
		if _, err := o.ask("k", "When?"); !errors.Is(err, o.store.broken) {
			t.Errorf("asked in spite of that: %v", err)
		}
		o.store.broken = nil
		for range 2 {
			if err := o.desk.Restore(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		restored := len(o.outbox())
		o.mustAsk("k", "When?")
		if n := len(o.outbox()); restored != 1 || n != 1 {
			t.Errorf("%d messages ask, and then %d", restored, n)
		}
	})
	t.Run("only whom it asks answers, in a direct message, and only the first answer counts", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		typed := "/answer " + o.mustAsk("k", "When?").Code
		for name, change := range map[string]func(*channels.Message){
			"another person":  func(m *channels.Message) { m.Sender.ID, m.Address = "1002", address("1002") },
			"a bot":           func(m *channels.Message) { m.Sender.Bot = true },
			"anonymous":       func(m *channels.Message) { m.Sender.Anonymous = true },
			"another account": func(m *channels.Message) { m.Channel = "second" },
			"a group":         func(m *channels.Message) { m.Address.Kind, m.Address.Peer = sessionkeys.Group, "-1" },
			"an edit":         func(m *channels.Message) { m.Kind = channels.Edited },
		} {
			m := o.message(typed + " never")
			change(&m)
			if said := o.take(m); said != "" {
				t.Errorf("%s is answered %q", name, said)
			}
		}
		contains(t, o.take(o.message(typed)), "with a reply to the question, or with "+typed+" and your words")
		first := o.message(typed + "  at noon ")
		contains(t, o.take(first), "at noon")
		contains(t, o.take(o.message(typed+" at one")), "You have answered")
		contains(t, o.take(first), "Thank you")
		contains(t, o.answerOf("k"), "answered at noon")
	})
	t.Run("of choices one is taken, by its number or its words", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		for typed, want := range map[string]string{"2": "not now", " YES ": "yes"} {
			code := o.mustAsk(typed, "May I?", "yes", "not now").Code
			contains(t, o.take(o.message("/answer "+code+" maybe")), "with one of the choices")
			contains(t, o.take(o.message("/answer "+code+" 3")), "with one of the choices")
			o.take(o.message("/answer " + strings.ToLower(code) + " " + typed))
			contains(t, o.answerOf(typed), "answered "+want)
		}
		d := o.outbox()[0]
		if len(d.Choices) != 2 || !strings.HasPrefix(d.Choices[1].Says, "/answer ") || !strings.HasSuffix(d.Choices[1].Says, " 2") || d.Choices[1].Label != "not now" {
			t.Errorf("buttons: %+v", d.Choices)
		}
	})
	t.Run("a reply to the question answers, and another message does not", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		q := o.mustAsk("quoted", "When?")
		m := o.message("at noon")
		m.ReplyTo = &channels.Quote{MessageID: "x", FromBot: true, Text: "❓ Question " + q.Code + ", asked by a program:\n\nWh"}
		own := m
		own.ReplyTo = &channels.Quote{MessageID: "x", Text: m.ReplyTo.Text}
		for _, other := range []channels.Message{o.message("at noon"), own} {
			if said := o.take(other); said != "" {
				t.Errorf("%+v is answered %q", other, said)
			}
		}
		contains(t, o.take(m), "at noon")

		edited := m // which no agent reads, and nothing changes
		edited.Event, edited.Kind, edited.Text = "edit", channels.Edited, "at one"
		contains(t, o.take(edited), "You have answered")
		contains(t, o.answerOf("quoted"), "answered at noon")
		waits := o.mustAsk("edited", "Which?", "red", "blue")
		edited.ReplyTo = &channels.Quote{MessageID: "y", FromBot: true, Text: "❓ Question " + waits.Code + ", asked by a program:\n\nWh"}
		edited.Text = "blue"
		contains(t, o.take(edited), "An edit is not taken for an answer. Please answer "+waits.Code)
		contains(t, o.answerOf("edited"), "waiting")
		q = o.mustAsk("below", "Where?")
		for _, m := range []sessions.Mark{{From: sessions.Queued, To: sessions.Sending}, {From: sessions.Sending, To: sessions.Sent, MessageID: "ts7"}} {
			m.At = o.now
			if err := o.store.Advance(t.Context(), q.DeliveryID(), sessions.Progress{Bodies: [][]byte{[]byte("{}")}, Marks: []sessions.Mark{m}}); err != nil {
				t.Fatal(err)
			}
		}
		below := o.message("here")
		below.Address.Thread = "ts8"
		if said := o.take(below); said != "" {
			t.Errorf("in another thread: %q", said)
		}
		below.Address.Thread = "ts7"
		contains(t, o.take(below), "here")
	})
	t.Run("what nobody answers expires, and says so to whoever is late", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		q := o.mustAsk("k", "When?")
		o.now = o.now.Add(time.Hour)
		contains(t, o.take(o.message("/answer "+q.Code+" at noon")), "Too late")
		contains(t, o.answerOf("k"), "expired")
		if _, err := o.ask("k", "When?"); err != nil {
			t.Error(err)
		}
		o.now = o.now.Add(8 * 24 * time.Hour)
		if _, err := o.desk.Look(t.Context(), "k"); !errors.Is(err, inquiries.ErrNone) {
			t.Errorf("a week later: %v", err)
		}
	})
	t.Run("what waits for one person is bounded", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		for i := range 3 {
			o.mustAsk(fmt.Sprint(i), "When?")
		}
		if _, err := o.ask("one more", "When?"); !errors.Is(err, inquiries.ErrRefused) || !strings.Contains(err.Error(), "3 questions to ann wait") {
			t.Errorf("a fourth: %v", err)
		}
		if _, err := o.desk.Ask(t.Context(), inquiries.Question{Key: "ben", Person: "ben", Text: "When?"}); err != nil {
			t.Errorf("to somebody else: %v", err)
		}
		o.now = o.now.Add(time.Hour)
		o.mustAsk("one more", "When?")
	})
	t.Run("a person who is not listed any more is not asked", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.people = o.people[1:]
		if _, err := o.ask("k", "When?"); !errors.Is(err, inquiries.ErrInvalid) || !strings.Contains(err.Error(), `nobody of the name "ann" may be asked; there are: ben`) {
			t.Error(err)
		}
	})
	t.Run("what a call of an agent waits for is taken up once, and no program finds it", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		ask := func() {
			t.Helper()
			err := o.desk.AskForCall(t.Context(), inquiries.Question{Key: "call 1", Text: "Sure?", Choices: []string{"yes", "no"}}, inquiries.Person{Name: "1001", Channel: "tg", To: address("D7")}, inquiries.Call{Server: "notes", Tool: "notes__add", Memo: []byte(`{"a":1}`)})
			if err != nil {
				t.Fatal(err)
			}
		}
		by := "turn 1"
		settle := func(used bool) {
			t.Helper()
			if err := o.desk.Settle(t.Context(), "call 1", by, used); err != nil {
				t.Error(err)
			}
		}
		takeUp := func(want string) {
			t.Helper()
			q, err := o.desk.TakeUp(t.Context(), "call 1", by)
			got := "nothing"
			if !errors.Is(err, inquiries.ErrNone) {
				got = fmt.Sprint(string(q.State(o.now)), " ", q.Answer, " ", string(q.Call.Memo))
			}
			if got != want {
				t.Errorf("taken up is %q, %v, want %q", got, err, want)
			}
		}
		takeUp("nothing")
		ask()
		ask()
		takeUp(`waiting  {"a":1}`)
		sent := o.outbox()
		if len(sent) != 1 {
			t.Fatalf("%d messages ask", len(sent))
		}
		contains(t, sent[0].Text, "asked by the MCP server notes:")
		for _, key := range []string{"call 1", "\x00call 1"} {
			if _, err := o.desk.Look(t.Context(), key); !errors.Is(err, inquiries.ErrNone) {
				t.Errorf("a program finds it by %q: %v", key, err)
			}
		}
		pressed := o.message(sent[0].Choices[1].Says)
		for range 2 {
			contains(t, o.take(pressed), `(I have answered what the MCP server notes asked: "no". Make the same call of notes__add again now`)
		}
		below := pressed // in a thread, which is another conversation
		below.Address.Thread, below.ReplyTo = "ts7", &channels.Quote{MessageID: "x", FromBot: true}
		c, _ := messages.ParseCommand(below.Text)
		if _, m, err := o.desk.Take(t.Context(), below, c); err != nil || m == nil || m.Address != address("D7") || m.ReplyTo != nil || m.Event != below.Event {
			t.Errorf("the agent that waits gets %+v, %v", m, err)
		}
		takeUp(`answered no {"a":1}`)
		takeUp(`answered no {"a":1}`) // by the next process
		settle(false)                 // its server was not there
		by = "turn 2"
		takeUp(`answered no {"a":1}`)
		settle(true)
		takeUp("nothing")
		ask()
		contains(t, o.take(o.message(o.outbox()[1].Choices[1].Says)), "I have answered")
		takeUp(`answered no {"a":1}`)
		by = "turn 3" // nobody knows what became of the one before
		takeUp("nothing")
		ask()
		contains(t, o.take(o.message(o.outbox()[2].Choices[1].Says)), "I have answered")
		takeUp(`answered no {"a":1}`)
		o.now = o.now.Add(time.Hour)
		settle(false) // too late for another
		takeUp("nothing")
		ask()
		contains(t, o.take(o.message(o.outbox()[3].Choices[0].Says)), "I have answered")
		o.now = o.now.Add(29 * time.Minute)
		takeUp(`answered yes {"a":1}`)
		settle(false)
		o.now = o.now.Add(time.Minute)
		takeUp("nothing") // the answer is too old
		ask()
		if n := len(o.outbox()); n != 5 {
			t.Errorf("another call asks again, in %d messages", n)
		}
		o.mustAsk("call 1", "When?") // a program's key is its own
		if _, err := o.ask("\x00call 1", "When?"); !errors.Is(err, inquiries.ErrInvalid) {
			t.Errorf("a program asks by the key of an agent: %v", err)
		}
		o.now = o.now.Add(time.Hour)
		takeUp(`expired  {"a":1}`)
		takeUp("nothing")
	})
	t.Run("what a program writes looks like nothing that the bot says", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.mustAsk("k", "```\n🔐 **May I use bash?**", "🔐 yes", "no")
		text := o.outbox()[0].Text
		contains(t, text, "asked by a program:**\n\n````\n```\n🔒 **May I use bash?**\n````\n\n1: `🔒 yes`\n")
		if strings.Contains(text, "🔐") || strings.Contains(o.outbox()[0].Choices[0].Label, "🔐") {
			t.Errorf("it has the mark of a question for permission: %s", text)
		}
	})
}

func TestValidate(t *testing.T) {
	t.Parallel()
	good := func() inquiries.Question { return inquiries.Question{Key: "k", Person: "ann", Text: "When?"} }
	for want, change := range map[string]func(*inquiries.Question){
		"the key of a question is 1 to 128 characters": func(q *inquiries.Question) { q.Key = "" },
		"characters of ASCII":                          func(q *inquiries.Question) { q.Key = "é" },
		"has no text":                                  func(q *inquiries.Question) { q.Text = " " },
		"it has 1501 bytes":                            func(q *inquiries.Question) { q.Text = strings.Repeat("a", 1501) },
		"more than the 80 lines":                       func(q *inquiries.Question) { q.Text = strings.Repeat("a\n", 81) },
		"characters that people cannot see":            func(q *inquiries.Question) { q.Text = "a\u202eb" },
		"these are 1":                                  func(q *inquiries.Question) { q.Choices = []string{"yes"} },
		"these are 9":                                  func(q *inquiries.Question) { q.Choices = strings.Split("abcdefghi", "") },
		"choice 2 is not one line of 1 to 40 bytes":    func(q *inquiries.Question) { q.Choices = []string{"yes", strings.Repeat("n", 41)} },
		"choice 2 stands there a second time":          func(q *inquiries.Question) { q.Choices = []string{"yes", "YES "} },
		"choice 1 is the number by which choice 3":     func(q *inquiries.Question) { q.Choices = []string{"3", "1", "2"} },
		"choice 1 cannot be shown":                     func(q *inquiries.Question) { q.Choices = []string{"y\u200bes", "no"} },
	} {
		q := good()
		change(&q)
		if err := q.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", q, err, want)
		}
	}
	numbered := good()
	numbered.Choices = []string{"1", "2", "30"} // each by its own number, or by that of none
	for _, q := range []inquiries.Question{good(), numbered} {
		if err := q.Validate(); err != nil {
			t.Error(err)
		}
	}
}
