package worker_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley/gateway/messages"
	"parley/gateway/worker"
)

// resumed is how the answer to a /resume that did something begins.
const resumed = "Back in the conversation"

// lastAnswer is what a person was told last.
func lastAnswer(r *fixture, person int) string {
	all := r.answers(person)
	return all[len(all)-1]
}

// lastRequest is the texts of all messages of the last request.
func (r *fixture) lastRequest() (texts []string) {
	all := r.model.Requests()
	for _, m := range all[len(all)-1].Messages {
		texts = append(texts, m.Text())
	}
	return texts
}

// requirements AI05, T04
func TestResumeGoesOnWithAnEarlierSession(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		r.start("w")
		for _, text := range []string{"apples are red", "/new", "bananas", "/new", "/new", "cherries", "/resume 1", "which colour?"} {
			r.say(1, text)
			r.idle()
		}
		want := []string{"apples are red", "re: apples are red", "which colour?"}
		if got := r.lastRequest(); !slices.Equal(got, want) {
			t.Errorf("after the resume the model reads %q", got)
		}
		first := r.mailbox(1).Session
		if got := r.answers(1)[6]; got != resumed+" `apples are red` with its 2 messages; it has cost $0.00. The one before is kept as number 3." {
			t.Errorf("told %q", got)
		}
		for _, c := range [][2]string{
			{"/resume", "Which conversation?"},
			{"/resume 9", "There is no such conversation"},
			{"/resume 1", "That is the present"},
			{"/resume BANANAS", resumed + " `bananas`"},
			{"/resume 3", resumed + " `cherries`"},
			{"/resume " + string(first)[:18], resumed + " `apples are red`"},
			{"/resume " + strings.ToLower(string(first)), "That is the present"},
			{"/resume an", resumed + " `bananas`"},
			{"/resume re", resumed + " `apples are red`"},
			{"/resume 2", resumed + " `bananas`"},
			{"/resume e", "Which of them? Number 1, 3 fit"},
		} {
			r.say(1, c[0])
			r.idle()
			if got := lastAnswer(r, 1); !strings.HasPrefix(got, c[1]) {
				t.Errorf("%s is answered %q", c[0], got)
			}
		}
		list, err := r.intake.Commands.Answer(t.Context(), messages.Caller{Token: key(t, 1).Token(), From: address(1), Sender: "1"}, messages.Command{Name: "sessions"})
		if err != nil || !strings.HasPrefix(list, "The present conversation: `bananas`, just now, 2 messages, $0.00\n\nEarlier ones here, the latest first:\n\n- 1: `apples are red`, just now, 4 messages, $0.00\n- 3: `cherries`, just now, 2 messages, $0.00\n\n/resume 1 goes on") {
			t.Errorf("/sessions: %q, %v", list, err)
		}
	})
}

func TestResumeKeepsItsPlaceInTheQueueAndIsDoneOnce(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		r.start("w")
		for _, text := range []string{"one", "/new"} {
			r.say(1, text)
			r.idle()
		}
		r.say(1, "wait x")
		r.atGate("x")
		r.say(1, "before")
		body, err := json.Marshal(r.message(1, "/resume 1"))
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			r.publish(string(body))
		}
		r.say(1, "after")
		r.open("x")
		r.await("five answers", func() bool { return len(r.answers(1)) == 6 })
		r.idle()
		got := r.answers(1)
		if !slices.Equal(got[2:4], []string{"re: wait x", "re: before"}) || !strings.HasPrefix(got[4], resumed) || got[5] != "re: after" {
			t.Errorf("told %q", got)
		}
		if texts := r.lastRequest(); !slices.Equal(texts, []string{"one", "re: one", "after"}) {
			t.Errorf("the model reads %q", texts)
		}
	})
}

// No session of another conversation is resumed, whatever names it, and nothing is said of
// it.
func TestResumeReachesNoOtherConversation(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		r.start("w")
		for _, text := range []string{"my secret", "/new", "more secrets"} {
			r.say(1, text)
			r.idle()
		}
		r.say(2, "hello")
		r.idle()
		own := r.mailbox(2).Session
		for _, what := range []string{"1", "2", string(r.mailbox(1).Session), "secret", string(r.mailbox(1).Session)[:12]} {
			r.say(2, "/resume "+what)
			r.idle()
			if got := lastAnswer(r, 2); got != "There is no such conversation here: /sessions lists the earlier ones." {
				t.Errorf("/resume %s is answered %q", what, got)
			}
		}
		if now := r.mailbox(2).Session; now != own {
			t.Errorf("the mailbox of the second feeds %s", now)
		}
	})
}

// Each operation of a worker's store fails once, before or after it was performed.
func TestResumeIsDoneOnceWhicheverOperationFails(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprintf("lost=%v", lost), func(t *testing.T) {
			t.Parallel()
			inFakeTime(t, func(t *testing.T, r *fixture) {
				p := r.start("w")
				for n := 1; n <= 20; n++ {
					r.say(n, "one")
					r.say(n, "/new")
					r.say(n, "two")
					r.idle()
					p.store.arm(n, lost)
					r.say(n, "/resume 1")
					r.say(n, "third")
					r.await(fmt.Sprint("answers with operation ", n, " failing"), func() bool { return len(r.answers(n)) >= 5 })
					r.idle()
					got := r.answers(n)
					if len(got) != 5 || got[1] != worker.FreshText || !strings.HasPrefix(got[3], resumed) || got[4] != "re: third" {
						t.Errorf("operation %d: told %q", n, got)
					}
					if texts := r.lastRequest(); !slices.Equal(texts, []string{"one", "re: one", "third"}) {
						t.Errorf("operation %d: the model reads %q", n, texts)
					}
				}
			})
		})
	}
}
