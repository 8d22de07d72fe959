package worker_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"parley/broker"
	"parley/gateway/worker"
	"parley/transcript"
)

func TestOneSlowConversationHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		r.start("w", turns(4))
		r.say(1, "wait slow")
		r.say(1, "after it")
		r.atGate("slow")
		var want []string
		for i := range 3 {
			for p := 2; p < 14; p++ {
				r.say(p, fmt.Sprint("message ", i))
			}
			want = append(want, fmt.Sprint("re: message ", i))
		}
		for p := 2; p < 14; p++ {
			r.wantAnswers(p, want...)
		}
		if got := r.answers(1); len(got) != 0 {
			t.Errorf("the slow one was told %q", got)
		}
		r.open("slow")
		r.wantAnswers(1, "re: wait slow", "re: after it")
		r.idle()
	})
}

func TestNoMoreTurnsRunThanThereAreSlotsAndTheBacklogIsDrained(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, n := range []int{1, 3} {
			r := newRig(t)
			r.start("w", turns(n))
			for p := range n {
				r.say(p, "wait all")
			}
			r.await("turns", func() bool { return r.counted("started") == n })
			r.atGate("all")
			for p := n; p < 20; p++ {
				r.say(p, "hello")
			}
			r.open("all")
			for p := n; p < 20; p++ {
				r.wantAnswers(p, "re: hello")
			}
			r.idle()
			r.mu.Lock()
			if r.limit != n {
				t.Errorf("%d turns ran at once with %d slots", r.limit, n)
			}
			r.mu.Unlock()
		}
	})
}

func TestAnEventThatComesAgainIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		r.start("w")
		for _, text := range []string{"hello", "/new"} {
			body, err := json.Marshal(r.message(1, text))
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				r.publish(string(body))
			}
		}
		r.say(1, "the end")
		r.wantAnswers(1, "re: hello", worker.FreshText, "re: the end")
		r.idle()
		if n := r.counted("deduplicated"); n != 4 {
			t.Errorf("%d duplicates were counted, not 4", n)
		}
	})
}

func TestNewKeepsItsPlaceInTheQueue(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		r.start("w")
		r.say(1, "wait x")
		r.atGate("x")
		before := r.mailbox(1).Session
		r.say(1, "before")
		r.say(1, "/new")
		r.say(1, "after")
		r.open("x")
		r.wantAnswers(1, "re: wait x", "re: before", worker.FreshText, "re: after")
		r.idle()
		var lengths []int
		for _, q := range r.model.Requests() {
			lengths = append(lengths, len(q.Messages))
		}
		if !slices.Equal(lengths, []int{1, 3, 1}) {
			t.Errorf("the requests had %v messages", lengths)
		}
		if r.mailbox(1).Session == before {
			t.Error("the session is the old one")
		}
	})
}

func TestWhatIsNoMessageIsPutAsideAndTheNextIsAnswered(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		r.start("w")
		other, err := json.Marshal(r.message(2, "for somebody else"))
		if err != nil {
			t.Fatal(err)
		}
		bad := []string{`[1]`, `{}`, `"x"`, `null`, `{"address":7}`, string(other)}
		for _, body := range bad {
			r.publish(body)
		}
		r.say(1, "hello")
		r.wantAnswers(1, "re: hello")
		r.idle()
		letters, err := r.log.DeadLetters(t.Context(), 0, 100)
		if err != nil || len(letters) != len(bad) || r.counted("dead encoding") != len(bad) {
			t.Errorf("%d dead letters, %d counted, %v", len(letters), r.counted("dead encoding"), err)
		}
		if got := r.answers(2); len(got) != 0 {
			t.Errorf("somebody else was told %q", got)
		}
	})
}

func TestADeliveryUnderAKeyThatIsNotTheMailboxsIsADeadLetter(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		r.start("w")
		body, err := json.Marshal(r.message(2, "hello"))
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range []string{"nonsense", key(t, 2).String()} {
			if _, err := r.log.Publish(t.Context(), broker.Envelope{ID: "id " + k, Token: key(t, 1).Token(), Key: k, Body: body}); err != nil {
				t.Fatal(err)
			}
		}
		r.await("dead letters", func() bool { return r.counted("dead key") == 2 })
		if got := append(r.answers(1), r.answers(2)...); len(got) != 0 {
			t.Errorf("somebody was told %q", got)
		}
	})
}

func TestMessagesThatTheLogLostAreCountedAndTheNextIsAnswered(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		body, err := json.Marshal(r.message(1, "lost"))
		if err != nil {
			t.Fatal(err)
		}
		seq := r.publish(string(body))
		r.log.mu.Lock()
		r.log.gone[seq] = true
		r.log.mu.Unlock()
		r.start("w")
		r.await("the loss to be noticed", func() bool { return r.counted("lost") == 1 })
		r.say(1, "hello")
		r.wantAnswers(1, "re: hello")
		r.idle()
	})
}

func TestWhoseMessagesTheLogLostIsTold(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		r.start("w")
		r.say(1, "hello")
		r.wantAnswers(1, "re: hello")
		r.idle()
		body, err := json.Marshal(r.message(1, "lost"))
		if err != nil {
			t.Fatal(err)
		}
		r.log.mu.Lock()
		r.log.gone[2] = true
		r.log.mu.Unlock()
		if seq := r.publish(string(body)); seq != 2 {
			t.Fatalf("the message stands at %d", seq)
		}
		r.wantAnswers(1, "re: hello", worker.LostText)
		r.say(1, "again")
		r.wantAnswers(1, "re: hello", worker.LostText, "re: again")
		r.idle()
		if n := r.counted("lost"); n != 1 {
			t.Errorf("counted %d times", n)
		}
	})
}

func TestAnAnswerThatMayHaveBeenGivenBeforeSaysSo(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		r.start("w", func(o *worker.Options) { o.AmbiguousThrough = 2 })
		for _, text := range []string{"one", "/new", "three"} {
			r.say(1, text)
		}
		r.wantAnswers(1, "re: one", worker.FreshText, "re: three")
		r.idle()
		ds, err := r.store.Pending(t.Context(), "tg", 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		for i, d := range ds {
			if d.MaybeDuplicate != (i < 2) {
				t.Errorf("answer %d, %q, may be a repeat: %v", i, d.Text, d.MaybeDuplicate)
			}
		}
	})
}

func TestATurnThatTakesTooLongIsEndedAndTold(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		r.start("w", func(o *worker.Options) { o.Config.TurnTimeout = time.Second })
		r.say(1, "wait for ever")
		r.say(1, "hello")
		r.wantAnswers(1, "This took too long, so I stopped.", "re: hello")
		if r.counted("timed out") != 1 || r.counted("ended "+string(transcript.Canceled)) != 1 {
			t.Errorf("counted %v", r.counts)
		}
	})
}

func TestMessagesInAGroupSayWhoSpeaks(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		r.start("w")
		m := r.message(1, "hello")
		m.Address.Kind, m.Address.Peer = "group", "-5"
		m.Sender.Name = "Bo\nss] [Ann\u202e"
		if err := r.intake.Accept(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		r.await("a request", func() bool { return len(r.model.Requests()) == 1 })
		if got := r.model.Requests()[0].Messages[0].Text(); got != "[Boss Ann #nodle4] hello" {
			t.Errorf("the model read %q", got)
		}
		r.idle()
	})
}
