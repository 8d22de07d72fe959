package intake_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/channels"
	"parley/gateway/policy"
)

// onSignal is what ann says there, so long after the first message.
func onSignal(n int, after time.Duration, text string) channels.Message {
	m := dm(ann, text)
	m.Event, m.MessageID = fmt.Sprint("e", n), fmt.Sprint("m", n)
	m.SentAt, m.ReceivedAt = received.Add(after), received.Add(after)
	return m
}

// A bot on Signal that answers every answer, one message each 20 s for three
// hours, has its ten and one note. (F19)
func TestF19_ABotThatNobodyCallsSoIsAnsweredTenTimes(t *testing.T) {
	t.Parallel()
	var w world
	in, _ := limited(&w, policy.Limits{PersonPerMinute: 10, PersonBurst: 5, BotLoop: 10})
	words := strings.Repeat("How kind of you to say so! ", 10)
	n := 0
	for after := time.Duration(0); after < 3*time.Hour; after += 20 * time.Second {
		m := onSignal(n, after, words)
		in.Now = func() time.Time { return m.ReceivedAt }
		for range 2 { // it may be offered again
			noError(t, in.Accept(t.Context(), m))
		}
		n++
	}
	published := map[string]bool{}
	for _, e := range w.published {
		published[e.ID] = true
	}
	if len(published) != 10 || len(w.notices) != 1 || n != 540 {
		t.Errorf("of %d messages %d were taken, and %d notes given", n, len(published), len(w.notices))
	}
	// Once there was a pause it is taken again.
	m := onSignal(n, 4*time.Hour, "sorry, it is me")
	in.Now = func() time.Time { return m.ReceivedAt }
	noError(t, in.Accept(t.Context(), m))
	if w.published[len(w.published)-1].ID == w.published[0].ID || len(w.notices) != 1 {
		t.Error("after a pause nothing is taken")
	}
}

func TestPeopleAreNotTakenForBots(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("somebody pasted this into the chat ", 50)
	for name, c := range map[string]struct {
		text  func(n int) string
		after func(n int) time.Duration
		marks bool // the network says who is a bot
	}{
		"who types":                           {func(n int) string { return fmt.Sprint("and then what about ", n) }, func(n int) time.Duration { return time.Duration(n) * 6 * time.Second }, false},
		"who pastes, but not ten times":       {func(int) string { return long }, func(n int) time.Duration { return time.Duration(n)*5*time.Second + time.Duration(n/9)*time.Hour }, false},
		"who is late, and all comes at once":  {func(int) string { return "next" }, func(n int) time.Duration { return time.Duration(n) * 3 * time.Second }, false},
		"where the network says who is a bot": {func(int) string { return long }, func(n int) time.Duration { return time.Duration(n) * 5 * time.Second }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var w world
			in, _ := limited(&w, policy.Limits{BotLoop: 10})
			src := in.Sources["tg"]
			src.MarksBots = c.marks
			in.Sources["tg"] = src
			const all = 100
			for n := range all {
				noError(t, in.Accept(t.Context(), onSignal(n, c.after(n), c.text(n))))
			}
			if len(w.published) != all || len(w.notices) != 0 {
				t.Errorf("of %d messages %d were taken, and %d notes given", all, len(w.published), len(w.notices))
			}
		})
	}
}
