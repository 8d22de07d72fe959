package commands_test

import (
	"log/slog"
	"testing"
	"time"

	"parley/gateway/commands"
	"parley/gateway/errands"
	"parley/gateway/messages"
	"parley/gateway/roles"
	"parley/sessionkeys"
)

// Somebody sees what is scheduled in their chat, and removes what is theirs.
func TestSchedules(t *testing.T) {
	t.Parallel()
	t.Run("where they are off that is said", func(t *testing.T) {
		t.Parallel()
		p := newPlanner(t)
		p.desk.Errands.Config.Enabled = false
		p.says("", "Schedules are switched off here.")
		p.desk.Errands = nil
		p.says("remove abcde", "Schedules are switched off here.")
	})
	t.Run("a guest schedules nothing", func(t *testing.T) {
		t.Parallel()
		p := newPlanner(t)
		p.by.Role = roles.Guest
		p.says("", "You may talk to me here, but not schedule anything.")
		p.says("remove "+p.add("1", "tea"), "You may talk to me here, but not schedule anything.")
		p.has(1)
	})
	t.Run("where nothing is, it is said how something comes to be", func(t *testing.T) {
		t.Parallel()
		newPlanner(t).says("", "Nothing is scheduled here. Tell me what to do, and when: “remind me every weekday at 9 to look at the mail”.")
	})
	t.Run("what is no removal is answered by what there is", func(t *testing.T) {
		t.Parallel()
		p := newPlanner(t)
		code := p.add("1", "tea")
		for _, args := range []string{"remove", "drop " + code, code, "remove " + code + " please"} {
			p.says(args, "/schedules lists what is scheduled here, and “/schedules remove k3md7” removes what stands behind k3md7.")
		}
		p.has(1)
	})
	t.Run("one's own is listed and removed by its code", func(t *testing.T) {
		t.Parallel()
		p := newPlanner(t)
		tea := p.add("1", "make tea")
		p.says("", tea+": `0 9 * * 1-5`, next on Monday 2026-05-04 09:00 (UTC): make tea\n\n/schedules remove with the word that stands in front of one removes it.")
		p.says("remove zzzzz", "Nothing is scheduled here under `zzzzz`.")
		p.has(1)
		p.says("Remove `"+tea+"`.", "Done: `"+tea+"` is removed.")
		p.has(0)
		p.says("remove "+tea, "Nothing is scheduled here under `"+tea+"`.")
	})
	t.Run("another person's is not seen in direct messages", func(t *testing.T) {
		t.Parallel()
		p := newPlanner(t)
		p.says("remove "+p.add("2", "make tea"), "Nothing is scheduled here under `"+p.code+"`.")
		p.has(1)
	})
	t.Run("another person's in a group is an admin's to remove", func(t *testing.T) {
		t.Parallel()
		p := newPlanner(t)
		p.by.From.Kind, p.by.From.Peer = sessionkeys.Group, "-1"
		code := p.add("2", "make tea")
		p.says("", code+": `0 9 * * 1-5`, next on Monday 2026-05-04 09:00 (UTC): make tea (another person's)\n\n/schedules remove with the word that stands in front of one removes it.")
		p.says("remove "+code, "That is another person's, and you may not remove it.")
		p.has(1)
		p.by.Role = roles.Admin
		p.says("remove "+code, "Done: `"+code+"` is removed.")
		p.has(0)
	})
}

// planner is person 1 before a desk.
type planner struct {
	t    *testing.T
	desk *commands.Handler
	by   messages.Caller
	code string // of what was added last
}

func newPlanner(t *testing.T) *planner {
	t.Helper()
	d, s, k := desk(t)
	d.Errands = &errands.Desk{
		Config: errands.Config{Enabled: true}.Defaults(), Log: slog.New(slog.DiscardHandler),
		Book: &errands.Book{Store: s, Now: func() time.Time { return now }},
	}
	p := &planner{t: t, desk: d, by: asker(k)}
	p.by.Channel, p.by.Role = "tg", roles.User
	return p
}

// add schedules something for a person where p is, and returns its code.
func (p *planner) add(person, task string) string {
	p.t.Helper()
	e, err := p.desk.Errands.Book.Add(p.t.Context(), errands.Errand{
		Channel: "tg", Person: person, To: p.by.From, Task: task, Schedule: "0 9 * * 1-5", Zone: "UTC", Made: now,
	}, task, 9)
	if err != nil {
		p.t.Fatal(err)
	}
	p.code = e.Code()
	return p.code
}

// says checks the whole answer to /schedules with words behind it.
func (p *planner) says(args, want string) {
	p.t.Helper()
	if text, err := p.desk.Answer(p.t.Context(), p.by, messages.Command{Name: "schedules", Args: args}); err != nil || text != want {
		p.t.Errorf("/schedules %s: %q, %v, want %q", args, text, err, want)
	}
}

// has checks how much is scheduled.
func (p *planner) has(want int) {
	p.t.Helper()
	if all, err := p.desk.Errands.Book.All(p.t.Context()); err != nil || len(all) != want {
		p.t.Errorf("scheduled are %+v, %v, want %d", all, err, want)
	}
}
