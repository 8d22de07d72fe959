package commands_test

import (
	"fmt"
	"testing"
	"time"

	"parley/gateway/conversations"
	"parley/gateway/goals"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
)

// life is a conversation over its sessions.
type life struct {
	t     *testing.T
	store sessions.Store
	key   sessionkeys.Key
	at    time.Time
	seq   uint64
	fence sessions.Fence
	book  conversations.Book
}

// newLife returns one that began so long ago.
func newLife(t *testing.T, s sessions.Store, k sessionkeys.Key, ago time.Duration) *life {
	t.Helper()
	l := &life{t: t, store: s, key: k, at: now.Add(-ago)}
	l.must(s.Heartbeat(t.Context(), worker, now.Add(time.Hour)))
	return l
}

var worker = sessions.Worker{Name: "w", Nonce: "n"}

func (l *life) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// touch queues the next message, and returns the mailbox.
func (l *life) touch() sessions.Mailbox {
	l.t.Helper()
	l.seq++
	m, _, err := l.store.Touch(l.t.Context(), sessions.Touch{Token: l.key.Token(), Key: l.key, Seq: l.seq, By: worker, Take: true, Now: l.at})
	l.must(err)
	l.fence = m.Fence()
	return m
}

// say opens a turn with a word and ends it, that long ago.
func (l *life) say(word string, ago time.Duration) sessionkeys.SessionID {
	l.t.Helper()
	l.touch()
	l.at = now.Add(-ago)
	id := fmt.Sprintf("t%d", l.seq)
	t, _, err := l.store.Open(l.t.Context(), l.fence, sessions.OpenTurn{
		Turn:    sessions.Turn{ID: id, Seq: l.seq, Channel: "tg", From: l.key.Address(), OpenedAt: l.at},
		Message: transcript.Message{ID: "u" + id, Role: transcript.User, Parts: []transcript.Part{transcript.Text{Text: word}}, CreatedAt: l.at},
	})
	l.must(err)
	_, err = l.store.Finish(l.t.Context(), l.fence, sessions.FinishTurn{Turn: id, Outcome: transcript.EndTurn, At: l.at})
	l.must(err)
	return t.Session
}

// leave begins a new session, as /new does.
func (l *life) leave(id sessionkeys.SessionID) {
	l.t.Helper()
	l.touch()
	l.book = l.book.Leave(id, l.at)
	r, err := l.book.Record(l.key.Token(), l.at)
	l.must(err)
	_, err = l.store.Answer(l.t.Context(), l.fence, sessions.Command{Seq: l.seq, Fresh: sessionkeys.NewSessionID(now.Add(time.Duration(l.seq))), Records: []sessions.Record{r}, At: l.at})
	l.must(err)
}

func TestSessions(t *testing.T) {
	t.Parallel()
	t.Run("before anything was said there are none", func(t *testing.T) {
		t.Parallel()
		d, _, k := desk(t)
		if got := ask(t, d, k, "sessions"); got != "Nothing was said here yet." {
			t.Errorf("%q", got)
		}
	})
	t.Run("each has its age", func(t *testing.T) {
		t.Parallel()
		d, s, k := desk(t)
		l := newLife(t, s, k, 10*24*time.Hour)
		for i, ago := range []time.Duration{9 * 24 * time.Hour, 48 * time.Hour, 47 * time.Hour, time.Hour, 59 * time.Minute, 61 * time.Second} {
			l.leave(l.say(fmt.Sprintf("word %d", i), ago))
		}
		l.say("and now", 59*time.Second)
		want := "The present conversation: `and now`, just now, 1 message, $0.00\n\nEarlier ones here, the latest first:\n\n" +
			"- 6: `word 5`, 1 minute ago, 1 message, $0.00\n- 5: `word 4`, 59 minutes ago, 1 message, $0.00\n- 4: `word 3`, 1 hour ago, 1 message, $0.00\n" +
			"- 3: `word 2`, 47 hours ago, 1 message, $0.00\n- 2: `word 1`, 2 days ago, 1 message, $0.00\n- 1: `word 0`, 9 days ago, 1 message, $0.00\n" +
			"\n/resume 6 goes on with that one; the present one is kept."
		if got := ask(t, d, k, "sessions"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
	t.Run("of many the latest ten are named", func(t *testing.T) {
		t.Parallel()
		d, s, k := desk(t)
		l := newLife(t, s, k, 10*24*time.Hour)
		for i := range 12 {
			l.leave(l.say(fmt.Sprintf("word %d", i), time.Hour))
		}
		want := "Earlier ones here, the latest first:\n\n"
		for n := 12; n > 2; n-- {
			want += fmt.Sprintf("- %d: `word %d`, 1 hour ago, 1 message, $0.00\n", n, n-1)
		}
		want += "\nand 2 more: /resume with words of a title finds them too.\n/resume 12 goes on with that one; the present one is kept."
		if got := ask(t, d, k, "sessions"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
	t.Run("nobody is sent to one that was deleted or is gone", func(t *testing.T) {
		t.Parallel()
		d, s, k := desk(t)
		l := newLife(t, s, k, 10*24*time.Hour)
		first := l.say("first", time.Hour)
		l.leave(first)
		second := l.say("second", time.Hour)
		l.leave(second)
		l.leave("01ARZ3NDEKTSV4RRFFQ69G5FAV")
		erase := func(id sessionkeys.SessionID) {
			_, err := s.WriteRecord(t.Context(), sessions.Record{ID: sessions.ErasedRecord(id), Owner: "worker", Body: []byte("{}"), At: now})
			l.must(err)
		}
		erase(second)
		want := "Earlier ones here, the latest first:\n\n- 2: `(deleted)`, 1 hour ago, 1 message, $0.00\n- 1: `first`, 1 hour ago, 1 message, $0.00\n" +
			"\n/resume 1 goes on with that one; the present one is kept."
		if got := ask(t, d, k, "sessions"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		erase(first)
		want = "Earlier ones here, the latest first:\n\n- 2: `(deleted)`, 1 hour ago, 1 message, $0.00\n- 1: `(deleted)`, 1 hour ago, 1 message, $0.00"
		if got := ask(t, d, k, "sessions"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
	t.Run("where all are gone there are none", func(t *testing.T) {
		t.Parallel()
		d, s, k := desk(t)
		newLife(t, s, k, 10*24*time.Hour).leave("01ARZ3NDEKTSV4RRFFQ69G5FAV")
		if got := ask(t, d, k, "sessions"); got != "There are no earlier conversations here." {
			t.Errorf("%q", got)
		}
	})
}

func TestGoal(t *testing.T) {
	t.Parallel()
	d, s, k := desk(t)
	says := func(want string) {
		t.Helper()
		if got := ask(t, d, k, "goal"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	says("Goals are switched off here.")
	d.Goals = true
	says("There is no goal. /goal with words behind it sets one.")
	l := newLife(t, s, k, 10*24*time.Hour)
	id := l.say("hello", time.Hour)
	says("There is no goal. /goal with words behind it sets one.")
	write := func(g goals.Goal) {
		r, err := g.Record(id, now)
		l.must(err)
		_, err = s.WriteRecord(t.Context(), r)
		l.must(err)
	}
	g := goals.Goal{}.Set("bake `bread`", now)
	write(g)
	says("Goal: `bake 'bread'`")
	g, _ = g.Complete(now)
	write(g)
	says("Goal completed: `bake 'bread'`")
	d.Goals = false
	says("Goals are switched off here.")
	contains(t, ask(t, d, k, "status"), "I am idle.\nModel: the model of main\nThis conversation has 1 message and has cost $0.00.")
}
