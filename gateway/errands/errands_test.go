package errands_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/channels"
	"parley/gateway/errands"
	"parley/gateway/roles"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/memtest"
	"parley/tools"
)

// house is a desk over a store in memory, with a clock, and people with their roles.
type house struct {
	t     *testing.T
	desk  *errands.Desk
	store sessions.Store
	now   time.Time
	roles map[string]roles.Role
	calls int
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{t: t, store: memtest.New(memtest.Every), now: parse(t, "2026-03-27T07:30:00Z"), roles: map[string]roles.Role{"1": roles.User, "2": roles.User, "7": roles.Guest, "9": roles.Admin}}
	h.desk = &errands.Desk{
		Config: errands.Config{Enabled: true}.Defaults(), MaxCost: 7, Log: slog.New(slog.DiscardHandler),
		Book: &errands.Book{Store: h.store, Now: func() time.Time { return h.now }},
		Judge: func(_ context.Context, m channels.Message) (errands.Judgement, error) {
			role, known := h.roles[m.Sender.ID]
			return errands.Judgement{Agent: "main", Role: role, Unknown: !known && m.Sender.ID != ""}, nil
		},
	}
	return h
}

func parse(t *testing.T, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func dm(id string) errands.Caller {
	return errands.Caller{Channel: "tg", Sender: channels.Sender{ID: id}, At: sessionkeys.Address{Channel: "telegram", Account: "42", Kind: sessionkeys.DM, Peer: id}}
}

func inKitchen(id string) errands.Caller {
	c := dm(id)
	c.At.Kind, c.At.Peer, c.At.Thread = sessionkeys.Group, "-1", "5"
	return c
}

// call makes a call of the tool, which has not been made before.
func (h *house) call(c errands.Caller, args string) (string, error) {
	h.calls++
	return h.callAgain(c, h.calls, args)
}

// callAgain makes the n-th call of the tool.
func (h *house) callAgain(c errands.Caller, n int, args string) (string, error) {
	h.t.Helper()
	tool, err := h.desk.Bind(c)
	if err != nil {
		h.t.Fatal(err)
	}
	set, err := tools.NewSet(tool)
	if err != nil {
		h.t.Fatal(err)
	}
	parsed, err := tools.DecodeArguments(args)
	if err != nil {
		h.t.Fatalf("%s: %v", args, err)
	}
	if err := set.Check(errands.ToolName, parsed); err != nil {
		return "", err
	}
	r, err := tool.Run(h.t.Context(), tools.Call{ID: fmt.Sprint("c", n), Name: errands.ToolName, Turn: "t", Arguments: parsed.JSON()})
	return r.Content, err
}

func (h *house) wants(c errands.Caller, args string, words ...string) string {
	h.t.Helper()
	text, err := h.call(c, args)
	said := text
	if err != nil {
		said = err.Error()
	}
	for _, w := range words {
		if !strings.Contains(said, w) {
			h.t.Errorf("%s of %s: %q, %v, want %q", args, c.Sender.ID, text, err, w)
		}
	}
	return said
}

func (h *house) errands() []errands.Errand {
	h.t.Helper()
	all, err := h.desk.Book.All(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	return all
}

// codeOf returns the code of what is to be done.
func (h *house) codeOf(task string) string {
	h.t.Helper()
	all := h.errands()
	i := slices.IndexFunc(all, func(e errands.Errand) bool { return e.Task == task })
	if i < 0 {
		h.t.Fatalf("%q is not scheduled: %+v", task, all)
	}
	return all[i].Code()
}

const daily = `{"action":"add","task":"Remind me to eat","schedule":"0 9 * * 1-5","time_zone":"Europe/Berlin"}`

// A person schedules something, sees it and removes it. Times are those on their clocks, also over a
// change: the 29th of March 2026 is one in Berlin.
func TestAPersonSchedules(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.wants(dm("1"), `{"action":"list"}`, "It is Friday 2026-03-27 07:30 (UTC).", "Nothing is scheduled here.")
	h.wants(dm("1"), daily, "Scheduled as ", "`0 9 * * 1-5`, next on Friday 2026-03-27 09:00 (Europe/Berlin): Remind me to eat")
	// The zone is now known.
	h.wants(dm("1"), `{"action":"add","task":"x","at":"2026-03-30T08:00"}`, "once, on Monday 2026-03-30 08:00 (Europe/Berlin): x")
	h.wants(dm("1"), `{"action":"add","task":"left out","at":"2026-03-29T02:30"}`, "on Sunday 2026-03-29 03:00 (Europe/Berlin)")
	h.wants(dm("1"), `{"action":"add","task":"comes twice","at":"2026-10-25T02:30"}`, "on Sunday 2026-10-25 02:30")
	h.wants(dm("1"), `{"action":"add","task":"soon","in_minutes":20}`, "on Friday 2026-03-27 08:50 (Europe/Berlin)")
	due := map[string]string{}
	for _, e := range h.errands() {
		due[e.Task] = e.Once.Format(time.RFC3339)
		if e.Person != "1" || e.Channel != "tg" || e.To != dm("1").At || !e.Made.Equal(h.now) {
			t.Errorf("kept %+v", e)
		}
	}
	for task, want := range map[string]string{"x": "2026-03-30T06:00:00Z", "left out": "2026-03-29T01:00:00Z", "comes twice": "2026-10-25T00:30:00Z", "soon": "2026-03-27T07:50:00Z"} {
		if due[task] != want {
			t.Errorf("%s is due at %s, want %s", task, due[task], want)
		}
	}
	h.now = h.now.Add(time.Hour) // what is past is not shown
	list := h.wants(dm("1"), `{"action":"list"}`, "It is Friday 2026-03-27 09:30 (Europe/Berlin)", "next on Monday 2026-03-30 09:00", "Remind me to eat")
	if strings.Contains(list, "soon") || strings.Count(list, "\n") != 4 {
		t.Errorf("listed %q", list)
	}
	code := h.codeOf("x")
	h.wants(dm("2"), fmt.Sprintf(`{"action":"remove","id":%q}`, code), "no schedule of that id")
	h.wants(dm("1"), fmt.Sprintf(`{"action":"remove","id":%q}`, strings.ToUpper(code)), "Removed "+code)
	h.wants(dm("1"), fmt.Sprintf(`{"action":"remove","id":%q}`, code), "no schedule of that id")
}

func TestWhatCannotBeScheduled(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for args, want := range map[string]string{
		`{"action":"add","schedule":"0 9 * * *"}`:                                "add needs a task",
		`{"action":"add","task":"  ","schedule":"0 9 * * *"}`:                    "add needs a task",
		`{"action":"add","task":"/new","schedule":"0 9 * * *"}`:                  "begins like a command",
		`{"action":"add","task":"x"}`:                                            "one of schedule, at and in_minutes",
		`{"action":"add","task":"x","at":"2026-03-28T09:00","in_minutes":5}`:     "one of schedule, at and in_minutes",
		`{"action":"add","task":"x","schedule":"*/5 * * * *"}`:                   "due again after 5m0s, and a schedule may be due once in 1h0m0s",
		`{"action":"add","task":"x","schedule":"0,30 9 * * 1"}`:                  "due again after 30m0s",
		`{"action":"add","task":"x","schedule":"59,0 0,23 * * *"}`:               "due again after 1m0s",
		`{"action":"add","task":"x","schedule":"0 0 31 2 *"}`:                    "never comes",
		`{"action":"add","task":"x","schedule":"@daily"}`:                        "is not five fields",
		`{"action":"add","task":"x","schedule":"0 9 * * *","time_zone":"Moon"}`:  "no time zone",
		`{"action":"add","task":"x","at":"2026-03-28T09:00","time_zone":"Moon"}`: "no time zone",
		`{"action":"add","task":"x","in_minutes":5,"time_zone":"Moon"}`:          "no time zone",
		`{"action":"add","task":"x","at":"tomorrow"}`:                            "is not a local time",
		`{"action":"add","task":"x","at":"2026-03-27T07:30"}`:                    "is not within a year from now",
		`{"action":"add","task":"x","at":"2028-03-27T07:30"}`:                    "is not within a year from now",
		`{"action":"remove"}`: "remove needs the id",
		`{"action":"add","task":"` + strings.Repeat("x", 2001) + `","schedule":"0 9 * * *"}`: "2000",
	} {
		h.wants(dm("1"), args, want)
	}
	if all := h.errands(); len(all) > 0 {
		t.Errorf("kept %+v", all)
	}
}

// (security 5.1, I05) A guest schedules nothing, nor does whoever may not talk to the bot, nor a call
// that is of no person's turn; and nothing runs where people's schedules are off.
func TestWhoMaySchedule(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.wants(dm("7"), daily, "may not schedule")
	h.wants(dm("8"), daily, "only a person's own turn can") // of an account that is not here
	h.roles["3"] = roles.None
	h.wants(dm("3"), daily, "may not schedule")
	h.desk.Config.Enabled = false
	h.wants(dm("1"), daily, "only a person's own turn can")
	h.desk.Config.Enabled = true
	unbound, err := errands.NewTool()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unbound.Run(t.Context(), tools.Call{Arguments: []byte(daily)}); err == nil || !strings.Contains(err.Error(), "only a person's own turn can") {
		t.Errorf("unbound: %v", err)
	}
	if all := h.errands(); len(all) > 0 {
		t.Errorf("kept %+v", all)
	}
	for args, want := range map[string]tools.Category{`{"action":"list"}`: tools.Read, daily: tools.Write, `{"action":"remove","id":"x"}`: tools.Write} {
		if got := unbound.Category(tools.Call{Arguments: []byte(args)}); got != want {
			t.Errorf("%s is of category %s", args, got)
		}
	}
}

// In a group everybody sees what is scheduled there, and nothing of anywhere else; an admin removes what
// others have scheduled.
func TestSchedulesOfAGroup(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.wants(dm("1"), daily, "Scheduled")
	h.wants(inKitchen("1"), `{"action":"add","task":"greet all","schedule":"0 8 * * *"}`, "Scheduled")
	list := h.wants(inKitchen("2"), `{"action":"list"}`, "greet all (another person's)")
	if strings.Contains(list, "eat") {
		t.Errorf("a group sees %q", list)
	}
	h.wants(dm("1"), `{"action":"list"}`, "greet all", "eat")
	h.wants(dm("2"), `{"action":"list"}`, "Nothing is scheduled here.")
	code := h.codeOf("greet all")
	remove := fmt.Sprintf(`{"action":"remove","id":%q}`, code)
	h.wants(inKitchen("2"), remove, "another person's")
	h.wants(dm("9"), remove, "no schedule of that id")
	h.wants(inKitchen("9"), remove, "Removed")
}

// A call that is made again, as after a crash, schedules nothing twice.
func TestACallThatIsMadeAgainSchedulesOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for range 3 {
		if text, err := h.callAgain(dm("1"), 1, `{"action":"add","task":"x","in_minutes":5}`); err != nil || !strings.Contains(text, "07:35") {
			t.Errorf("%q, %v", text, err)
		}
		h.now = h.now.Add(time.Minute)
	}
	if all := h.errands(); len(all) != 1 {
		t.Errorf("kept %+v", all)
	}
}

// A person has no more than they may have, also when they add at once; what is past counts no more.
func TestSchedulesOfAPersonAreBounded(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.desk.Config.PerPerson = 3
	var adding sync.WaitGroup
	var mu sync.Mutex
	added := 0
	for n := range 12 {
		adding.Go(func() {
			e := errands.Errand{Channel: "tg", Person: "1", To: dm("1").At, Task: "x", Schedule: "0 9 * * *", Zone: "UTC", Made: h.now}
			_, err := h.desk.Book.Add(context.Background(), e, fmt.Sprint(n), 3)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				added++
			} else if !errors.Is(err, errands.ErrTooMany) {
				t.Errorf("%v", err)
			}
		})
	}
	adding.Wait()
	if n := len(h.errands()); n != added || n > 3 {
		t.Errorf("%d are kept, and %d were added", n, added)
	}
	for range 4 {
		_, _ = h.call(dm("1"), `{"action":"add","task":"x","in_minutes":5}`)
	}
	h.wants(dm("1"), daily, "who asks has 3 schedules already")
	h.wants(dm("2"), daily, "Scheduled")
	for _, e := range h.errands() {
		if e.Person != "1" {
			continue
		}
		if err := h.desk.Book.Drop(t.Context(), e.Name); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		h.wants(dm("1"), `{"action":"add","task":"x","in_minutes":5}`, "Scheduled")
	}
	h.now = h.now.Add(6 * time.Minute)
	h.wants(dm("1"), daily, "Scheduled")
}

// What is due runs only if its person may schedule there then, with the bounds of the configuration; if
// not, it is gone.
func TestWhatRunsOfASchedule(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(h *house)
		runs   bool
		kept   int
	}{
		"as it was":                      {func(*house) {}, true, 1},
		"of who is an admin by now":      {func(h *house) { h.roles["1"] = roles.Admin }, true, 1},
		"of who is a guest by now":       {func(h *house) { h.roles["1"] = roles.Guest }, false, 0},
		"of who is shut out by now":      {func(h *house) { h.roles["1"] = roles.None }, false, 0},
		"of an account that is not here": {func(h *house) { delete(h.roles, "1") }, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			h.desk.Config.Tools = []string{"write_file"}
			h.wants(dm("1"), daily, "Scheduled")
			c.change(h)
			jobs, err := h.desk.Jobs(t.Context())
			if err != nil || len(jobs) != 1 {
				t.Fatalf("jobs %+v, %v", jobs, err)
			}
			at, err := h.desk.Job(t.Context(), jobs[0].Name)
			if err != nil || (at.Name != "") != c.runs {
				t.Errorf("taken up as %+v, %v", at, err)
			}
			due, ok, err := h.desk.Resolve(t.Context(), jobs[0])
			if err != nil || ok != c.runs || len(h.errands()) != c.kept {
				t.Errorf("due: %v, %v; kept %+v", ok, err, h.errands())
			}
			if c.runs && (due.Person != "1" || due.AllowAdmin || !slices.Equal(due.Tools, []string{"write_file"}) || due.MaxIterations != 10 || due.MaxCost != 7 || due.Key != at.Key || due.To != dm("1").At || due.Key.Address() == dm("1").At) {
				t.Errorf("due is %+v", due)
			}
		})
	}
}

// What cannot be stored or read ends no call with an answer, so that it is made again.
func TestAFaultOfTheStoreLeavesTheCallOpen(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 4; n++ {
		h := newHouse(t)
		f := &faulty{Store: h.store, at: n}
		h.desk.Book.Store = f
		_, err := h.callAgain(dm("1"), 1, `{"action":"add","task":"x","at":"2026-03-28T09:00"}`)
		if !errors.Is(err, tools.ErrUnfinished) {
			t.Errorf("operation %d fails: %v", n, err)
		}
		if text, err := h.callAgain(dm("1"), 1, `{"action":"add","task":"x","at":"2026-03-28T09:00"}`); err != nil || len(h.errands()) != 1 {
			t.Errorf("operation %d failed, and then %q, %v, %+v", n, text, err, h.errands())
		}
	}
}

// faulty is a store of which one operation fails after it was done.
type faulty struct {
	errands.Store
	n, at int
}

var errDown = errors.New("down")

func (f *faulty) fail() error {
	if f.n++; f.n == f.at {
		return errDown
	}
	return nil
}

func (f *faulty) Record(ctx context.Context, id sessions.RecordID, now time.Time) (sessions.Record, error) {
	if err := f.fail(); err != nil {
		return sessions.Record{}, err
	}
	return f.Store.Record(ctx, id, now)
}

func (f *faulty) WriteRecord(ctx context.Context, r sessions.Record) (int64, error) {
	n, err := f.Store.WriteRecord(ctx, r)
	return n, errors.Join(err, f.fail())
}

func (f *faulty) Records(ctx context.Context, kind, prefix string, now time.Time, yield func(sessions.Record) bool) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.Store.Records(ctx, kind, prefix, now, yield)
}

// What is past counts for nobody's own bound, so of one person only the latest of it are kept: who has
// something done every minute does not take the room of all the others.
func TestWhatIsPastOfOnePersonLeavesRoomForOthers(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for minute := range 8 {
		for n := range 10 {
			h.wants(dm("1"), fmt.Sprintf(`{"action":"add","task":"%d of %d","in_minutes":1}`, n, minute), "Scheduled")
		}
		h.now = h.now.Add(time.Minute)
	}
	h.wants(dm("1"), `{"action":"add","task":"the last","in_minutes":1}`, "Scheduled")
	all := h.errands()
	if len(all) != 21 {
		t.Errorf("%d errands are kept, want the one that waits and 20 that are past", len(all))
	}
	for _, e := range all {
		if h.now.Sub(e.Once) > time.Minute {
			t.Errorf("kept is %q of %s, and later ones are not", e.Task, e.Once)
		}
	}
}

// A call that is made again after a crash says the time also when that is over.
func TestACallThatIsMadeAgainLateSaysWhenItWas(t *testing.T) {
	t.Parallel()
	for name, args := range map[string]string{
		"by minutes":  `{"action":"add","task":"x","in_minutes":5}`,
		"by the hour": `{"action":"add","task":"x","at":"2026-03-27T07:35"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			first, err := h.callAgain(dm("1"), 1, args)
			h.now = h.now.Add(time.Hour)
			again, failed := h.callAgain(dm("1"), 1, args)
			if err != nil || failed != nil || again != first || !strings.Contains(again, "once, on Friday 2026-03-27 07:35 (UTC)") {
				t.Errorf("scheduled: %q, %v; an hour later %q, %v", first, err, again, failed)
			}
		})
	}
}
