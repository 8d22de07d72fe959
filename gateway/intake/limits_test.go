package intake_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/channels"
	"parley/gateway/intake"
	"parley/gateway/policy"
	"parley/sessionkeys"
)

// limited is an intake with limits and a clock.
func limited(w *world, l policy.Limits) (*intake.Intake, *time.Time) {
	in := w.intake(policy.Access{Everyone: true})
	now := received
	in.Limits, in.Now = l, func() time.Time { return now }
	return in, &now
}

// wantRefused expects that who listens was told of messages that were refused, once for each
// notice, by which limits. (2.4: queue.dropped)
func wantRefused(t *testing.T, w *world, limits ...string) {
	t.Helper()
	var told []string
	for _, r := range w.refused {
		if told = append(told, r.Limit); r.Key == (sessionkeys.Key{}) {
			t.Errorf("of no conversation: %+v", r)
		}
	}
	if d := cmp.Diff(limits, told); d != "" {
		t.Errorf("told of refusals (-want +got)\n%s", d)
	}
}

func TestAPersonIsTakenUpToALimitAndToldOnce(t *testing.T) {
	t.Parallel()
	var w world
	in, now := limited(&w, policy.Limits{PersonPerMinute: 10, PersonBurst: 5})
	n := 0
	say := func(m channels.Message) {
		t.Helper()
		n++
		m.Event, m.MessageID = fmt.Sprint("e", n), fmt.Sprint("m", n)
		noError(t, in.Accept(t.Context(), m))
	}
	want := func(published, notices, ignored int) {
		t.Helper()
		if len(w.published) != published || len(w.notices) != notices || w.counts["ignored tg rate_limited"] != ignored {
			t.Fatalf("%d published, %d notices, counted %v; want %d, %d, %d", len(w.published), len(w.notices), w.counts, published, notices, ignored)
		}
	}
	for range 8 {
		say(dm(ann, "hi"))
	}
	want(5, 1, 3)
	wantRefused(t, &w, "person")
	say(dm(ben, "hi")) // somebody else is not concerned
	want(6, 1, 3)
	say(dm(ann, "/stop")) // always
	if len(w.requests) != 1 {
		t.Error("a stop was refused")
	}
	*now = now.Add(6 * time.Second) // one more
	say(dm(ann, "hi"))
	want(7, 1, 3)
	say(dm(ann, "hi")) // another burst, another notice
	say(dm(ann, "/help"))
	want(7, 2, 5)
	*now = now.Add(time.Hour)
	for range 3 { // an album is one message
		say(ofAlbum("a", dm(ann, "")))
	}
	for range 9 {
		m := ofAlbum("b", dm(ann, ""))
		m.Attachments = []channels.Attachment{{Kind: "photo"}}
		say(m)
	}
	for range 4 {
		say(dm(ann, "hi"))
	}
	want(7+9+4, 2, 5)
	say(dm(ann, "hi"))
	want(7+9+4, 3, 6)
}

func TestWhatIsOfferedAgainAfterAnErrorCostsNothing(t *testing.T) {
	t.Parallel()
	var w world
	in, _ := limited(&w, policy.Limits{PersonPerMinute: 1, PersonBurst: 1})
	w.fail = "Publish"
	for range 3 {
		if err := in.Accept(t.Context(), dm(ann, "hi")); !errors.Is(err, errDown) {
			t.Fatal(err)
		}
	}
	w.fail = ""
	if err := in.Accept(t.Context(), dm(ann, "hi")); err != nil || len(w.published) != 1 {
		t.Fatalf("%v, %v", err, w.counts)
	}
	// A notice that could not be stored is given when it is offered again.
	w.fail = "Notice"
	m := dm(ann, "hi")
	m.Event = "e2"
	if err := in.Accept(t.Context(), m); !errors.Is(err, errDown) {
		t.Fatal(err)
	}
	w.fail = ""
	if err := in.Accept(t.Context(), m); err != nil || len(w.notices) != 1 {
		t.Fatalf("%v, %v", err, w.notices)
	}
}

// Chats are offered side by side, so what one person wrote in several comes again in turns.
func TestWhatIsOfferedAgainOfSeveralChatsCostsNothing(t *testing.T) {
	t.Parallel()
	var w world
	in, _ := limited(&w, policy.Limits{PersonPerMinute: 1, PersonBurst: 3})
	var all []channels.Message
	for i := range 3 {
		m := group(ann, "hi")
		m.Address.Peer, m.Event = fmt.Sprint("-10", i), fmt.Sprint("e", i)
		all = append(all, m)
	}
	w.fail = "Publish"
	for range 3 {
		for _, m := range all {
			if err := in.Accept(t.Context(), m); !errors.Is(err, errDown) {
				t.Fatal(err)
			}
		}
	}
	w.fail = ""
	for _, m := range all {
		noError(t, in.Accept(t.Context(), m))
	}
	if len(w.published) != 3 || len(w.notices) != 0 {
		t.Errorf("%d published, told %v", len(w.published), w.notices)
	}
}

func TestAGroupIsTakenUpToALimit(t *testing.T) {
	t.Parallel()
	var w world
	in, _ := limited(&w, policy.Limits{GroupPerMinute: 20})
	for i := range 30 {
		m := group(fmt.Sprint(5000+i), "hi")
		m.Event = fmt.Sprint("e", i)
		noError(t, in.Accept(t.Context(), m))
	}
	if len(w.published) != 20 || len(w.notices) != 1 || !strings.Contains(w.notices[0].Text, "one group") {
		t.Errorf("%d published, told %v", len(w.published), w.notices)
	}
	wantRefused(t, &w, "group")
}

func TestAFullQueueRefusesAndSaysSoOnce(t *testing.T) {
	t.Parallel()
	var w world
	in, _ := limited(&w, policy.Limits{Queue: 32})
	source := in.Sources["tg"]
	source.CommandSign = "~" // as people type commands on the account's network
	in.Sources["tg"] = source
	for i, waiting := range []int{0, 31, 32, 40, 31, 33} {
		w.waiting = waiting
		m := dm(ann, "hi")
		m.Event = fmt.Sprint("e", i)
		noError(t, in.Accept(t.Context(), m))
	}
	if len(w.published) != 3 || len(w.notices) != 2 || !strings.Contains(w.notices[0].Text, " or ~stop to drop") || w.counts["ignored tg rate_limited"] != 3 {
		t.Errorf("%d published, told %v, counted %v", len(w.published), w.notices, w.counts)
	}
	wantRefused(t, &w, "queue", "queue")
}

func TestTheLimiterForgetsWhoIsQuietAndNeverGrows(t *testing.T) {
	t.Parallel()
	var w world
	in, _ := limited(&w, policy.Limits{PersonPerMinute: 1, PersonBurst: 1})
	for i := range 4_400 {
		m := dm(fmt.Sprint(i), "hi")
		m.Event = fmt.Sprint("e", i)
		noError(t, in.Accept(t.Context(), m))
	}
	if n := in.Remembered(); n > 4096 || n == 0 {
		t.Errorf("it remembers %d people", n)
	}
}

// Where more write than are remembered, those are forgotten who may send as much as ever, each by their
// own limit: a group that has used most of its minute is none of them.
func TestTheLimiterForgetsNoGroupByTheLimitOfAPerson(t *testing.T) {
	t.Parallel()
	var w world
	in, now := limited(&w, policy.Limits{PersonPerMinute: 5, PersonBurst: 5, GroupPerMinute: 20})
	n := 0
	say := func(m channels.Message) {
		t.Helper()
		n++
		m.Event, m.MessageID = fmt.Sprint("e", n), fmt.Sprint("m", n)
		noError(t, in.Accept(t.Context(), m))
	}
	for i := range 4_095 {
		say(dm(fmt.Sprint(5000+i), "hi"))
	}
	*now = now.Add(time.Minute) // all of them may send as much as ever again
	for i := range 15 {
		say(group(fmt.Sprint(5000+i), "hi"))
	}
	say(dm("4000", "one more than are remembered"))
	before := len(w.published)
	for i := range 6 {
		say(group(fmt.Sprint(6000+i), "hi"))
	}
	if took := len(w.published) - before; took != 5 {
		t.Errorf("%d more messages of the group were taken, not 5", took)
	}
}

func TestNobodyIsToldOfALimitWhoDidNotSpeakToTheBot(t *testing.T) {
	t.Parallel()
	var w world
	in, _ := limited(&w, policy.Limits{PersonPerMinute: 1, PersonBurst: 1})
	long := strings.Repeat("x", 4000)
	for i, m := range []channels.Message{
		group(ann, "hi"), unmentioned(group(ann, "not for the bot "+long)), unmentioned(group(ann, "this neither "+long)), group(ann, "hi"), group(ann, "hi"),
	} {
		m.Event = fmt.Sprint("e", i)
		noError(t, in.Accept(t.Context(), m))
	}
	if len(w.published) != 1 || len(w.notices) != 1 || w.counts["ignored tg rate_limited"] != 4 {
		t.Errorf("%d published, told %v, counted %v", len(w.published), w.notices, w.counts)
	}
}
