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
	full int // so many get in, and then fail is the answer; 0: none
}

func (q *queue) Publish(_ context.Context, e broker.Envelope) (uint64, error) {
	if q.fail != nil && len(q.all) >= q.full {
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

	jobsFail error
	denied   bool // to people, what they have scheduled
}

func (w *world) resolve(_ context.Context, j schedule.Job) (schedule.Job, bool, error) {
	return j, !w.denied, nil
}

func newWorld(t *testing.T, jobs ...schedule.Job) *world {
	t.Helper()
	return &world{t: t, queue: &queue{}, store: memtest.New(memtest.Every), jobs: jobs, now: parse(t, "2026-05-04T07:30:00Z"), slots: map[string]int{}}
}

func (w *world) CountJobRuns(outcome string, n int) { w.slots[outcome] += n }

// start returns the scheduler of a process that starts.
func (w *world) start() *schedule.Scheduler {
	return &schedule.Scheduler{
		Jobs: func(context.Context) ([]schedule.Job, error) { return w.jobs, w.jobsFail }, Resolve: w.resolve, Log: w.queue, Store: w.store, Observer: w,
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

// Of several runs that are caught up none is lost when only some could be queued: the job is busy
// then with its own, and a process that looks after it later knows which.
func TestCaughtUpRunsAreAllQueued(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string]bool{"by a process that goes on": false, "by the process after one that ends": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, job(t, misfire(schedule.All)))
			w.start().Look(t.Context())
			w.at("12:30")
			s, j := w.start(), w.jobs[0]
			w.queue.fail, w.queue.full = errors.New("no room"), 1
			s.Look(t.Context())
			if _, _, err := w.store.Touch(t.Context(), sessions.Touch{Token: j.Key.Token(), Key: j.Key, Seq: 1, Now: w.now}); err != nil {
				t.Fatal(err)
			}
			w.queue.fail = nil
			w.now = w.now.Add(10 * time.Second)
			if ends {
				s = w.start()
			}
			s.Look(t.Context())
			s.Look(t.Context())
			w.want("08:00", "08:00", "09:00", "10:00", "11:00", "12:00")
			if ids := w.queue.ids(); len(ids) != 5 || w.slots["still_busy"] != 0 || w.slots["queued"] != 5 {
				t.Errorf("%d messages; counted %v", len(ids), w.slots)
			}
		})
	}
}

// What cannot be queued is tried again, and then runs.
func TestSchedulerTriesAgain(t *testing.T) {
	t.Parallel()
	for name, starts := range map[string]bool{"in a process that goes on": false, "in a process that has just started": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, job(t))
			s := w.start()
			s.Look(t.Context())
			if starts {
				s = w.start()
			}
			w.at("08:00")
			w.queue.fail = errors.New("no room")
			s.Look(t.Context())
			w.queue.fail = nil
			w.now = w.now.Add(10 * time.Second)
			s.Look(t.Context())
			w.want("08:00")
		})
	}
}

// A scheduler that runs again takes for new only what no other has looked after meanwhile.
func TestSchedulerRunsAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, over := w.start(), errors.New("the lease is lost")
	s.Wait = func(context.Context, time.Duration) error { return over }
	run := func() {
		t.Helper()
		if err := s.Run(t.Context()); !errors.Is(err, over) {
			t.Fatal(err)
		}
	}
	run()
	w.jobs = []schedule.Job{job(t)} // by a reload
	w.start().Look(t.Context())
	w.at("08:00")
	run()
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

// errand has a job be the only one, which a person has scheduled at a time of day.
func errand(t testing.TB, w *world, since string, change ...func(*schedule.Job)) {
	t.Helper()
	j := job(t, append([]func(*schedule.Job){misfire(schedule.Once)}, change...)...)
	j.Name, j.Person, j.Since = "p.1.x", "1", parse(t, "2026-05-04T"+since+"Z")
	key, err := schedule.KeyFor("main", j.Name, j.To)
	if err != nil {
		t.Fatal(err)
	}
	j.Key = key
	w.jobs = []schedule.Job{j}
}

// once has a job be due once.
func once(t testing.TB, at string) func(*schedule.Job) {
	return func(j *schedule.Job) {
		var err error
		if j.Timing, err = schedule.NewOnce(parse(t, "2026-05-04T"+at+"Z"), "Europe/Berlin"); err != nil {
			t.Fatal(err)
		}
	}
}

// What a person schedules counts from when they did, whichever process sees it first and when: it runs
// once, by however many, and late rather than not at all.
func TestWhatAPersonSchedulesRunsOnce(t *testing.T) {
	t.Parallel()
	t.Run("between two looks of several processes", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		a, b := w.start(), w.start()
		a.Look(t.Context())
		b.Look(t.Context())
		errand(t, w, "07:30:02", once(t, "07:30:07"))
		w.now = w.now.Add(10 * time.Second)
		for range 3 {
			a.Look(t.Context())
			b.Look(t.Context())
			w.now = w.now.Add(10 * time.Second)
		}
		w.start().Look(t.Context())
		if ids := w.queue.ids(); len(ids) != 1 || w.slots["missed"] > 0 {
			t.Errorf("it is %d messages; %v", len(ids), w.slots)
		}
	})
	t.Run("by a process that dies before it could write it down", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		errand(t, w, "07:30:00", once(t, "08:00:00"))
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
	t.Run("after an outage", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		errand(t, w, "07:30:00")
		w.at("11:20")
		w.start().Look(t.Context())
		w.want("11:00")
		if w.slots["missed"] != 3 {
			t.Errorf("counted %v", w.slots)
		}
	})
	t.Run("of another one under its name", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		s := w.start()
		errand(t, w, "07:30:00")
		s.Look(t.Context())
		w.at("08:00")
		s.Look(t.Context())
		errand(t, w, "08:30:00") // has missed nothing of what was due before
		w.at("08:45")
		s.Look(t.Context())
		w.at("09:00")
		s.Look(t.Context())
		w.want("08:00", "09:00")
	})
}

// Whoever may not have it run has nothing queued; and when it cannot be told which jobs people have,
// those of the configuration run all the same.
func TestWhatAPersonMayNotHaveRunIsPassedOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.start()
	errand(t, w, "07:30:00")
	w.denied = true
	s.Look(t.Context())
	w.at("08:00")
	s.Look(t.Context())
	w.want()
	if w.slots["denied"] != 1 {
		t.Errorf("counted %v", w.slots)
	}
	w.jobs, w.jobsFail = []schedule.Job{job(t)}, errors.New("down")
	s.Look(t.Context())
	w.at("09:00")
	s.Look(t.Context())
	w.want("09:00")
}

func TestLeastGap(t *testing.T) {
	t.Parallel()
	for fields, want := range map[string]time.Duration{
		"0 9 * * 1-5": 24 * time.Hour, "*/5 * * * *": 5 * time.Minute, "59,0 0,23 * * *": time.Minute, "30 0,23 1,2 * *": time.Hour,
		"0 9 * * 1": 7 * 24 * time.Hour, "0 9 1 * *": 28 * 24 * time.Hour,
	} {
		if got := timing(t, fields, "Europe/Berlin").LeastGap(); got != want {
			t.Errorf("%s: %s, want %s", fields, got, want)
		}
	}
	if at, err := schedule.NewOnce(time.Now(), ""); err != nil || at.LeastGap() != 0 || !at.IsOnce() {
		t.Errorf("once: %s, %v", at.LeastGap(), err)
	}
}
