package commands_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"parley/agent/pressure"
	"parley/channels"
	"parley/costs"
	"parley/gateway/approvals"
	"parley/gateway/budgets"
	"parley/gateway/commands"
	"parley/gateway/conversations"
	"parley/gateway/errands"
	"parley/gateway/goals"
	"parley/gateway/messages"
	"parley/gateway/people"
	"parley/gateway/policy"
	"parley/gateway/preferences"
	"parley/gateway/roles"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
)

// meanwhile is a store in which another process changes people just before a record is read or written.
type meanwhile struct {
	sessions.Store
	reads, writes int    // how many of the kind come before; less than none: none is waited for
	kind          string // of the record
	does          func(people.Store)
}

func (m *meanwhile) await(kind string, left *int) {
	if kind != m.kind {
		return
	}
	if *left == 0 {
		m.does(m.Store)
	}
	*left--
}

func (m *meanwhile) Record(ctx context.Context, id sessions.RecordID, at time.Time) (sessions.Record, error) {
	m.await(id.Kind, &m.reads)
	return m.Store.Record(ctx, id, at)
}

func (m *meanwhile) WriteRecord(ctx context.Context, r sessions.Record) (int64, error) {
	m.await(r.ID.Kind, &m.writes)
	return m.Store.WriteRecord(ctx, r)
}

// failing is a store that goes away after so many calls.
type failing struct {
	sessions.Store
	left int
}

func (f *failing) call() error {
	f.left--
	if f.left < 0 {
		return errAway
	}
	return nil
}

func (f *failing) Mailbox(ctx context.Context, token string) (m sessions.Mailbox, err error) {
	if err = f.call(); err == nil {
		m, err = f.Store.Mailbox(ctx, token)
	}
	return m, err
}

func (f *failing) Session(ctx context.Context, id sessionkeys.SessionID) (s sessions.Session, err error) {
	if err = f.call(); err == nil {
		s, err = f.Store.Session(ctx, id)
	}
	return s, err
}

func (f *failing) Tree(ctx context.Context, id sessionkeys.SessionID) (tree []sessions.Session, err error) {
	if err = f.call(); err == nil {
		tree, err = f.Store.Tree(ctx, id)
	}
	return tree, err
}

func (f *failing) Messages(ctx context.Context, id sessionkeys.SessionID) (ms []transcript.Message, err error) {
	if err = f.call(); err == nil {
		ms, err = f.Store.Messages(ctx, id)
	}
	return ms, err
}

func (f *failing) MessagesAfter(ctx context.Context, id sessionkeys.SessionID, after, limit int) (ms []transcript.Message, err error) {
	if err = f.call(); err == nil {
		ms, err = f.Store.MessagesAfter(ctx, id, after, limit)
	}
	return ms, err
}

func (f *failing) TurnsOf(ctx context.Context, id sessionkeys.SessionID) (ts []sessions.Turn, err error) {
	if err = f.call(); err == nil {
		ts, err = f.Store.TurnsOf(ctx, id)
	}
	return ts, err
}

func (f *failing) Spent(ctx context.Context, s sessions.Scope, at time.Time) (settled, held costs.Amount, err error) {
	if err = f.call(); err == nil {
		settled, held, err = f.Store.Spent(ctx, s, at)
	}
	return settled, held, err
}

func (f *failing) Record(ctx context.Context, id sessions.RecordID, at time.Time) (r sessions.Record, err error) {
	if err = f.call(); err == nil {
		r, err = f.Store.Record(ctx, id, at)
	}
	return r, err
}

func (f *failing) Records(ctx context.Context, kind, prefix string, at time.Time, yield func(sessions.Record) bool) error {
	if err := f.call(); err != nil {
		return err
	}
	return f.Store.Records(ctx, kind, prefix, at, yield)
}

func (f *failing) WriteRecord(ctx context.Context, r sessions.Record) (revision int64, err error) {
	if err = f.call(); err == nil {
		revision, err = f.Store.WriteRecord(ctx, r)
	}
	return revision, err
}

func (f *failing) DropRecord(ctx context.Context, id sessions.RecordID, revision int64) error {
	if err := f.call(); err != nil {
		return err
	}
	return f.Store.DropRecord(ctx, id, revision)
}

// furnished returns a desk with something to say to each command, over the store behind f.
func furnished(t *testing.T) (*commands.Handler, *failing, messages.Caller) {
	t.Helper()
	d, s, k := desk(t)
	l := newLife(t, s, k, time.Hour)
	l.leave(l.say("earlier", time.Hour))
	root := l.say("now", time.Minute)
	child, err := k.Child("task")
	l.must(err)
	l.touch()
	_, _, err = s.Spawn(t.Context(), l.fence, sessions.Session{ID: "c", Key: child, Parent: root, Role: "task", Title: "job", CreatedAt: now})
	l.must(err)
	f := &failing{Store: s, left: 1000}
	clock := func() time.Time { return now }
	d.Store, d.Goals, d.Limits = f, true, budgets.Limits{Session: costs.USD, Person: costs.USD}
	d.Menu = func(string) preferences.Menu {
		return preferences.Menu{Own: "a/one", Models: []string{"a/one", "b/two"}}
	}
	d.Ladder = func(string, string) pressure.Ladder { return pressure.Ladder{Window: 1000} }
	d.Raised = func(context.Context, sessions.Scope, time.Time) (costs.Amount, error) { return costs.USD, f.call() }
	d.People, d.Accounts = &people.Book{Store: f, Now: clock}, accountOf(policy.Access{People: []string{"1", "5"}, Roles: policy.RoleLists{Owner: []string{"1"}}})
	d.Questions = &approvals.Desk{Store: f, Now: clock}
	d.Errands = &errands.Desk{Config: errands.Config{Enabled: true}.Defaults(), Book: &errands.Book{Store: f, Now: clock}, Log: slog.New(slog.DiscardHandler)}
	by := asker(k)
	by.Channel, by.Role, by.Event = "tg", roles.Owner, "e"
	return d, f, by
}

func TestWhicheverLookFailsTheDeskMakesNothingUp(t *testing.T) {
	t.Parallel()
	for _, c := range []messages.Command{
		{Name: "status"},
		{Name: "cost"},
		{Name: "agents"},
		{Name: "goal"},
		{Name: "sessions"},
		{Name: "model"},
		{Name: "provider"},
		{Name: "approvals"},
		{Name: "access"},
		{Name: "access", Args: "allow 9"},
		{Name: "access", Args: "deny 9"},
		{Name: "access", Args: "allow 5"},
		{Name: "access", Args: "allow 66"},
		{Name: "pair", Args: "code"},
		{Name: "schedules"},
		{Name: "schedules", Args: "remove code"},
	} {
		t.Run(c.Name+" "+c.Args, func(t *testing.T) {
			t.Parallel()
			d, f, by := furnished(t)
			book := &people.Book{Store: f, Now: d.Now}
			code, _, err := book.Ask(t.Context(), "tg", channels.Sender{ID: "8"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err = book.Deny(t.Context(), "tg", "66", people.By{}); err != nil {
				t.Fatal(err)
			}
			e, err := d.Errands.Book.Add(t.Context(), errands.Errand{Channel: "tg", Person: "1", To: by.From, Task: "tea", Schedule: "0 9 * * *", Zone: "UTC", Made: now}, "m", 9)
			if err != nil {
				t.Fatal(err)
			}
			switch c.Args {
			case "code":
				c.Args = code
			case "remove code":
				c.Args = "remove " + e.Code()
			}
			for calls := 0; ; calls++ {
				f.left = calls
				text, err := d.Answer(t.Context(), by, c)
				if err == nil && text != "" && calls > 0 {
					return
				}
				if !errors.Is(err, errAway) || text != "" || calls > 50 {
					t.Fatalf("without a store after %d calls: %q, %v", calls, text, err)
				}
			}
		})
	}
}

// All that is kept of a conversation is in one answer, and what is raised is left beside what is spent.
func TestTheDeskSaysAllThatIsKept(t *testing.T) {
	t.Parallel()
	d, f, by := furnished(t)
	keep := func(r sessions.Record, err error) {
		t.Helper()
		if err == nil {
			_, err = f.WriteRecord(t.Context(), r)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	m, err := f.Mailbox(t.Context(), by.Token)
	if err != nil {
		t.Fatal(err)
	}
	keep(conversations.Title{Text: "tea"}.Record(m.Session, now))
	keep(goals.Goal{}.Set("bake bread", now).Record(m.Session, now))
	keep(preferences.Choice{Model: "b/two"}.Record(by.Token, now))
	for name, want := range map[string]string{
		"status": "A message is waiting for its turn.\nModel: b/two, chosen here\nTitle: `tea`\nThis conversation has 1 message and has cost $0.00.\nGoal: `bake bread`\nContext: 🟢 about 5 of 1k tokens (1 %)",
		"cost":   "This conversation: $0.00\nWith its sub-agents: $0.00\nHere today (UTC): $0.00\nLeft (days are UTC): $2.00 of $2.00 for this conversation, $2.00 of $2.00 for you today\n\nSub-agents, each by itself and with those below it:\n\n- `job`: $0.00, $0.00",
		"agents": "Sub-agents of this conversation, costs by themselves and with those below them:\n\n- `job`: is about to start, depth 1, 0.0 s, 0 model calls, $0.00, $0.00",
		"answer": "Under that code no program asks you anything.",
	} {
		if text, err := d.Answer(t.Context(), by, messages.Command{Name: name}); err != nil || text != want {
			t.Errorf("/%s: %q, %v, want %q", name, text, err, want)
		}
	}
}
