package intake_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/channels"
	"parley/gateway/intake"
	"parley/gateway/policy"
)

// firstday A2: who may not talk to the bot is told so once a day, with their id.
func TestStrangersAreTurnedAwayInWords(t *testing.T) {
	t.Parallel()
	var w world
	now := time.Unix(1_700_000_000, 0).UTC().Truncate(24 * time.Hour)
	open := func() *intake.Intake {
		in := w.intake(policy.Access{People: []string{ann}, Groups: []string{kitchen}})
		in.Limits, in.Now = policy.Limits{Strangers: 3}, func() time.Time { return now }
		return in
	}
	in := open()
	n := 0
	say := func(m channels.Message, want int, why string) {
		t.Helper()
		n++
		m.Event, m.MessageID = fmt.Sprint("e", n), fmt.Sprint("m", n)
		before := len(w.notices)
		noError(t, in.Accept(t.Context(), m))
		if got := len(w.notices) - before; got != want {
			t.Errorf("%s: told %d times, want %d", why, got, want)
		}
	}
	bot, nobody, edit := dm("6", "hi"), dm("6", "hi"), dm("6", "hi")
	bot.Sender.Bot, nobody.Sender.Anonymous, edit.Kind = true, true, channels.Edited
	say(bot, 0, "a bot")
	say(nobody, 0, "somebody unknown")
	say(edit, 0, "an edit")
	say(group(ben, "hi"), 0, "in a group")
	say(dm(ben, "/status"), 1, "Ben")
	if got := w.notices[0]; !strings.HasSuffix(got.Text, " give them your id: "+ben) || got.To != dm(ben, "").Address {
		t.Errorf("Ben was told %+v", got)
	}
	for range 5 {
		say(dm(ben, "hi"), 0, "Ben again")
	}
	seen := w.seen
	in = open() // the process is another
	w.seen = seen
	say(dm(ben, "hi"), 0, "Ben after a restart")
	say(dm("7", "hi"), 1, "another")
	say(dm("8", "hi"), 1, "a third")
	say(dm("9", "hi"), 1, "a fourth, as Ben took no place again")
	say(dm("13", "hi"), 0, "more than are told in an hour")
	now = now.Add(time.Hour)
	say(dm("13", "hi"), 1, "in the next hour")
	say(dm(ben, "hi"), 0, "Ben on the same day")
	say(dm("7", "hi"), 0, "another on the same day")
	say(dm("10", "hi"), 1, "a new one beside those who were told that day")
	say(dm("11", "hi"), 1, "another new one")
	say(dm("12", "hi"), 0, "more new ones than are told in an hour")
	now = now.Add(24 * time.Hour)
	say(dm(ben, "hi"), 1, "Ben on the next day")
	say(dm(ann, "hi"), 0, "who may")
	if len(w.published) != 1 || len(w.requests)+len(w.dead) != 0 {
		t.Errorf("left %v, %v, %v", w.published, w.requests, w.dead)
	}
	w.fail = "Notice"
	now = now.Add(24 * time.Hour)
	if err := in.Accept(t.Context(), dm(ben, "hi")); err != nil || errors.Is(err, errDown) {
		t.Errorf("a notice that cannot be stored is offered again: %v", err)
	}
}
