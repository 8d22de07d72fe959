package faulttest_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"parley/gateway/faulttest"
	"parley/gateway/worker"
	"parley/sessions/sqlite"
	"parley/simulators/model"
)

// gates hold the model up at each conversation's question of a number, until they
// are opened.
type gates map[int]chan struct{}

var questionNumber = regexp.MustCompile(`question m\d+x(\d+) `)

func (g gates) brain(l *faulttest.Workload) model.Brain {
	return func(ctx context.Context, p *model.Prompt) model.Answer {
		if all := questionNumber.FindAllStringSubmatch(p.LastText(), -1); len(all) > 0 {
			n, _ := strconv.Atoi(all[len(all)-1][1])
			if gate := g[n]; gate != nil {
				select {
				case <-gate:
				case <-ctx.Done():
				}
			}
		}
		return l.Brain(ctx, p)
	}
}

var waitingIn = regexp.MustCompile(`(?m)^\w*jetstream_consumer_(?:ack_)?pending_messages\{[^}]*\} (\S+)$`)

// heldAt waits until the model holds up question n of each conversation, the
// question behind it was said too, and the store knows of both.
func heldAt(t *testing.T, run *faulttest.Run, n int) {
	t.Helper()
	run.Await("all that was said to be noted", func() bool {
		books := run.Telegram.Books()
		said, answered := map[int64]int{}, map[int64]int{}
		for _, u := range books.Updates {
			said[u.ChatID]++
		}
		for _, m := range books.Messages {
			if strings.HasSuffix(m.Text(), " fin") {
				answered[m.ChatID]++
			}
		}
		for _, c := range run.Workload.Conversations {
			if answered[c.Chat.ID] != n || said[c.Chat.ID] != n+2 {
				return false
			}
		}
		if run.Model.Bill().Open < len(run.Workload.Conversations) || books.Pending[faulttest.Username] > 0 {
			return false
		}
		page, err := run.Process(0).Get(t.Context(), "/metrics")
		if err != nil {
			return false
		}
		found := waitingIn.FindAllStringSubmatch(page, -1)
		for _, m := range found {
			if m[1] != "0" {
				return false
			}
		}
		return len(found) == 2
	})
}

// frozen is a copy of the state folder of this moment.
func frozen(t *testing.T, run *faulttest.Run) string {
	t.Helper()
	run.Process(0).Freeze()
	defer run.Process(0).Thaw()
	return copyTree(t, filepath.Join(run.Dir, "state"))
}

// putBack replaces what stands under the names in the state folder by what the
// copy has.
func putBack(t *testing.T, run *faulttest.Run, from string, names ...string) {
	t.Helper()
	for _, name := range names {
		to := filepath.Join(run.Dir, "state", name)
		if err := os.RemoveAll(to); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(from, name)); err == nil {
			if err := os.Rename(filepath.Join(from, name), to); err != nil {
				t.Error(err)
			}
		}
	}
}

// An older copy of the database is put in the place of the newer one. That is
// noticed and said; what it forgot is answered again, and each such answer says
// that it may be a repeat, also those of turns that were open in the copy.
func TestAnOlderCopyOfTheDatabaseIsNoticedAndItsAnswersAreMarked(t *testing.T) {
	t.Parallel()
	hold := gates{1: make(chan struct{})}
	run := faulttest.Open(t, faulttest.Options{
		Engine: faulttest.Embedded(), Brain: hold.brain,
		Shape: faulttest.Shape{Conversations: 5, Messages: 5, Tools: -1, Spawns: -1},
	})
	open := sync.OnceFunc(func() { close(hold[1]) })
	t.Cleanup(open)
	run.Start()
	old := ""
	run.Drive(func(context.Context) {
		defer open()
		heldAt(t, run, 1)
		old = frozen(t, run)
	})
	ticks := ticksOf(t, copyTree(t, old))
	run.Await("the log to know that the store went on", func() bool { return notedIn(t, run) > ticks })
	run.KillAnd(0, func() { putBack(t, run, old, "parley.db", "parley.db-wal", "parley.db-shm", "parley.db.lock") })

	again := len(run.Workload.Conversations) * (run.Workload.Shape.Messages - 1)
	run.Await("all that it forgot to be answered again", func() bool {
		n := 0
		for _, m := range run.Telegram.Books().Messages {
			if strings.HasPrefix(m.Text(), "(This may be a repeat.)") {
				n++
			}
		}
		return n >= again
	})
	run.Restart(0) // what waits is sent, and what was in doubt is still
	copies := map[string][2]int{}
	tag := regexp.MustCompile(`answer (m\d+x\d+) .* fin$`)
	for _, m := range run.Telegram.Books().Messages {
		found := tag.FindStringSubmatch(m.Text())
		if found == nil {
			t.Errorf("a chat shows %q", m.Text())
			continue
		}
		c := copies[found[1]]
		if strings.HasPrefix(m.Text(), "answer") {
			c[0]++
		} else {
			c[1]++
		}
		copies[found[1]] = c
	}
	for _, conv := range run.Workload.Conversations {
		for _, q := range conv.Questions {
			want := [2]int{1, min(q.Number, 1)} // the first was answered before the copy was made
			if copies[q.Tag()] != want {
				t.Errorf("%s was answered %d times, and %d times marked as a repeat, not %v", q.Tag(), copies[q.Tag()][0], copies[q.Tag()][1], want)
			}
		}
	}
	if all := strings.Join(logs(t, run), ""); strings.Count(all, "database older than the message log") != 1 {
		t.Error("that the database is an older one is not said, or not once")
	}
}

// ticksOf is how far the database in a copy of the state folder is.
func ticksOf(t *testing.T, dir string) uint64 {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(dir, "parley.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	n, err := s.Ticks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// notedIn is how far the log beside it knows the database to be.
func notedIn(t *testing.T, run *faulttest.Run) uint64 {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(run.Dir, "state", "log", "mark.json"))
	var m struct{ Store uint64 }
	if err == nil {
		err = json.Unmarshal(b, &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m.Store
}

// An older copy of the message log is put in the place of the newer one. Turns that
// were open go on from the database; of messages that waited and are gone people
// are told in their chat, and nothing is said twice.
func TestAnOlderCopyOfTheMessageLogIsNoticedAndWhoLostAMessageIsTold(t *testing.T) {
	t.Parallel()
	faulttest.SkipUnlessLong(t, "an older copy of the database is put back, and TestWhateverCopiesOfStoreAndLogComeTogether (gateway) has all pairs")
	hold := gates{1: make(chan struct{}), 4: make(chan struct{})}
	run := faulttest.Open(t, faulttest.Options{
		Engine: faulttest.Embedded(), Brain: hold.brain,
		Shape: faulttest.Shape{Conversations: 5, Messages: 7, Tools: -1, Spawns: -1},
	})
	first, second := sync.OnceFunc(func() { close(hold[1]) }), sync.OnceFunc(func() { close(hold[4]) })
	t.Cleanup(first)
	t.Cleanup(second)
	run.Start()
	run.Drive(func(context.Context) {
		defer second()
		defer first()
		heldAt(t, run, 1)
		old := frozen(t, run)
		first()
		heldAt(t, run, 4)
		run.KillAnd(0, func() { putBack(t, run, old, "log") })
	})
	report := run.Finish()
	lost := len(run.Workload.Conversations) // in each the question behind the one that was being answered
	if report.Told != lost || report.Repeats != 0 {
		t.Errorf("%d were told that their message was lost, not %d; %d repeats", report.Told, lost, report.Repeats)
	}
	told := 0
	for _, m := range run.Telegram.Books().Messages {
		if m.Text() == worker.LostText {
			told++
		}
	}
	if told != lost {
		t.Errorf("%d chats were told, not %d", told, lost)
	}
	if !strings.Contains(strings.Join(logs(t, run), ""), "message log is missing its newest messages") {
		t.Error("that the log is an older one is not said")
	}
}
