package schedule_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/broker"
	"parley/channels"
	"parley/gateway/messages"
	"parley/gateway/schedule"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/memtest"
)

// queue is a log that keeps what was published, once by each id.
type queue struct {
	all  []broker.Envelope
	fail error
}

func (q *queue) Publish(_ context.Context, e broker.Envelope) (uint64, error) {
	if q.fail != nil {
		return 0, q.fail
	}
	q.all = append(q.all, e)
	return uint64(len(q.all)), nil
}

// ids returns the ids of what was published, each once.
func (q *queue) ids() (ids []string) {
	for _, e := range q.all {
		if !slices.Contains(ids, e.ID) {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// slots returns the times of day for which runs were queued, in order.
func (q *queue) slots(t *testing.T) (times []string) {
	t.Helper()
	for _, e := range q.all {
		var m channels.Message
		if err := json.Unmarshal(e.Body, &m); err != nil {
			t.Fatal(err)
		}
		times = append(times, m.SentAt.UTC().Format("15:04"))
	}
	return times
}

// world is a store, a log and a clock, with jobs that a test may change.
type world struct {
	t     *testing.T
	queue *queue
	store sessions.Store
	now   time.Time
	jobs  []schedule.Job
	said  bytes.Buffer
	slots map[string]int
}

func newWorld(t *testing.T, jobs ...schedule.Job) *world {
	t.Helper()
	return &world{t: t, queue: &queue{}, store: memtest.New(memtest.Every), jobs: jobs, now: parse(t, "2026-05-04T07:30:00Z"), slots: map[string]int{}}
}

func (w *world) CountJobRuns(outcome string, n int) { w.slots[outcome] += n }

// start returns the scheduler of a process that starts.
func (w *world) start() *schedule.Scheduler {
	return &schedule.Scheduler{
		Jobs: func() []schedule.Job { return w.jobs }, Log: w.queue, Store: w.store, Observer: w,
		Logger: slog.New(slog.NewTextHandler(&w.said, nil)), Now: func() time.Time { return w.now },
	}
}

// at sets the clock.
func (w *world) at(clock string) { w.now = parse(w.t, "2026-05-04T"+clock+":00Z") }

// want checks for which times of day runs were queued.
func (w *world) want(times ...string) {
	w.t.Helper()
	if got := w.queue.slots(w.t); !slices.Equal(got, times) {
		w.t.Errorf("runs were queued for %v, want %v; the log says %s", got, times, w.said.String())
	}
}

func job(t testing.TB, change ...func(*schedule.Job)) schedule.Job {
	t.Helper()
	j := schedule.Job{
		Name: "morning", Timing: timing(t, "0 * * * *", ""), Prompt: "say good morning", Channel: "tg", Misfire: schedule.Skip, Enabled: true,
		To: sessionkeys.Address{Channel: "telegram", Account: "42", Kind: sessionkeys.Group, Peer: "-1001"},
	}
	var err error
	if j.Key, err = schedule.KeyFor("main", j.Name, j.To); err != nil {
		t.Fatal(err)
	}
	for _, c := range change {
		c(&j)
	}
	return j
}

func misfire(m schedule.Misfire) func(*schedule.Job) { return func(j *schedule.Job) { j.Misfire = m } }

// K04: what is queued for a slot is a message of the job's own conversation, to its address.
func TestSchedulerQueuesAMessageForASlot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, job(t))
	s := w.start()
	if wait := s.Look(t.Context()); wait != 10*time.Second {
		t.Errorf("looks again after %s", wait)
	}
	w.want() // a job that is new has missed nothing
	w.at("07:59")
	w.now = w.now.Add(55 * time.Second)
	if wait := s.Look(t.Context()); wait != 5*time.Second {
		t.Errorf("looks again after %s, five seconds before a slot", wait)
	}
	w.at("08:00")
	for range 5 {
		s.Look(t.Context())
	}
	w.want("08:00")
	e, j := w.queue.all[0], w.jobs[0]
	var m channels.Message
	if err := json.Unmarshal(e.Body, &m); err != nil {
		t.Fatal(err)
	}
	if m.Address != j.To || m.Job != "morning" || m.Text != j.Prompt || !messages.ForBot(m) || messages.Conversation(m) != j.Key.Address() ||
		e.Token != j.Key.Token() || e.ID != messages.EventID(m) || j.Key.Address().Thread == "" {
		t.Errorf("queued %+v in %s", m, e.Key)
	}
}

// A slot is the same message whoever queues it, and however often.
func TestASlotIsQueuedOnce(t *testing.T) {
	t.Parallel()
	t.Run("by two processes", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, job(t))
		a, b := w.start(), w.start()
		a.Look(t.Context())
		b.Look(t.Context())
		for _, clock := range []string{"08:00", "09:00", "10:00"} {
			w.at(clock)
			a.Look(t.Context())
			b.Look(t.Context())
		}
		if ids := w.queue.ids(); len(ids) != 3 {
			t.Errorf("three slots are %d messages", len(ids))
		}
	})
	t.Run("by a process that dies before it could write it down", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, job(t))
		w.start().Look(t.Context())
		w.at("08:00")
		dying := w.start()
		dying.Store = deaf{w.store}
		dying.Look(t.Context())
		w.now = w.now.Add(time.Minute)
		w.start().Look(t.Context())
		w.want("08:00", "08:00")
		if ids := w.queue.ids(); len(ids) != 1 {
			t.Errorf("a slot is %d messages", len(ids))
		}
	})
	t.Run("after a clock that was set back", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, job(t))
		s := w.start()
		s.Look(t.Context())
		for _, clock := range []string{"08:00", "09:00", "07:59", "08:00", "09:00"} {
			w.at(clock)
			s.Look(t.Context())
		}
		if ids := w.queue.ids(); len(ids) != 2 {
			t.Errorf("two slots are %d messages", len(ids))
		}
	})
}

// deaf is a store in which nothing can be written.
type deaf struct{ sessions.Store }

func (deaf) WriteRecord(context.Context, sessions.Record) (int64, error) {
	return 0, errors.New("the disk is full")
}

func TestAfterAnOutageTheJobSaysWhatRuns(t *testing.T) {
	t.Parallel()
	for m, want := range map[schedule.Misfire][]string{
		schedule.Skip: nil, schedule.Once: {"12:00"}, schedule.All: {"08:00", "09:00", "10:00", "11:00", "12:00"},
	} {
		w := newWorld(t, job(t, misfire(m)))
		w.start().Look(t.Context())
		w.at("12:30")
		w.start().Look(t.Context())
		w.want(want...)
		if n := 5 - len(want); w.slots["missed"] != n || n > 0 && !strings.Contains(w.said.String(), "because=missed") {
			t.Errorf("%s: %v were counted; %s", m, w.slots, w.said.String())
		}
	}
}

// What cannot be queued is tried again, and then runs.
func TestSchedulerTriesAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, job(t))
	s := w.start()
	s.Look(t.Context())
	w.at("08:00")
	w.queue.fail = errors.New("no room")
	s.Look(t.Context())
	w.queue.fail = nil
	w.now = w.now.Add(10 * time.Second)
	s.Look(t.Context())
	w.want("08:00")
}

// While a run waits or goes on, none is queued behind it.
func TestNoRunIsQueuedBehindOneThatGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, job(t, misfire(schedule.All)))
	s := w.start()
	s.Look(t.Context())
	j := w.jobs[0]
	if _, _, err := w.store.Touch(t.Context(), sessions.Touch{Token: j.Key.Token(), Key: j.Key, Seq: 1, Now: w.now}); err != nil {
		t.Fatal(err)
	}
	w.at("08:00")
	s.Look(t.Context())
	w.want()
	if w.slots["still_busy"] != 1 {
		t.Errorf("counted %v", w.slots)
	}
}

// A job that is changed, turned off or new has missed nothing.
func TestReloadedJobsCountFromNow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, job(t, misfire(schedule.All)))
	s := w.start()
	s.Look(t.Context())
	often := job(t, misfire(schedule.All), func(j *schedule.Job) { j.Timing = timing(t, "*/10 * * * *", "") })
	w.at("07:55")
	w.jobs = []schedule.Job{often}
	s.Look(t.Context())
	w.want()
	w.at("08:00")
	s.Look(t.Context())
	w.want("08:00")

	off := often
	off.Enabled = false
	for _, jobs := range [][]schedule.Job{{off}, nil} {
		w.jobs = jobs
		w.at("10:05")
		s.Look(t.Context())
	}
	w.jobs = []schedule.Job{often}
	s.Look(t.Context())
	w.want("08:00")
	w.at("10:10")
	s.Look(t.Context())
	w.want("08:00", "10:10")

	w.jobs = []schedule.Job{job(t, misfire(schedule.All))} // and a process that starts with another timing
	w.at("13:30")
	w.start().Look(t.Context())
	w.want("08:00", "10:10")
}

func TestRefusal(t *testing.T) {
	t.Parallel()
	j := job(t)
	slot, byHand := j.Message(parse(t, "2026-05-04T08:00:00Z"), time.Time{}), j.MessageByHand("x", time.Time{})
	for name, c := range map[string]struct {
		job  schedule.Job
		m    channels.Message
		want string
	}{
		"as it is configured":         {j, slot, ""},
		"removed":                     {schedule.Job{}, slot, "not configured"},
		"another agent":               {job(t, func(j *schedule.Job) { j.Key, _ = schedule.KeyFor("other", j.Name, j.To) }), slot, "another agent"},
		"another address":             {job(t, func(j *schedule.Job) { j.To.Thread = "7" }), slot, "another address"},
		"another account":             {job(t, func(j *schedule.Job) { j.Channel = "tg2" }), slot, "another address"},
		"disabled":                    {job(t, func(j *schedule.Job) { j.Enabled = false }), slot, "not enabled"},
		"disabled, started by hand":   {job(t, func(j *schedule.Job) { j.Enabled = false }), byHand, ""},
		"started by hand and removed": {schedule.Job{}, byHand, "not configured"},
	} {
		if got := c.job.Refusal(c.m, j.Key); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
