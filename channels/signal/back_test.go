package signal_test

import (
	"testing"
	"time"

	"parley/channels"
	sim "parley/simulators/signal"
)

// firstday S9: a message that is taken back, or fades, says which and when; be it named
// by its first version or by its newest.
func TestWhatIsTakenBackIsNamedByItsFirstVersion(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	got := take(t, r.open(t), nil)
	do := did(t)
	for name, newest := range map[string]bool{"its first": false, "its newest": true} {
		first := r.say(t, team, ann, "one", sim.SayOptions{})
		m := got.next()
		edit, err := r.Edit(team, ann, first.Timestamp, "uno", sim.SayOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got.next()
		target := first.Timestamp
		if newest {
			target = edit.Timestamp
		}
		do(r.Delete(team, ann, target))
		if d := got.next(); d.Kind != channels.Deleted || d.MessageID != m.MessageID || d.Address != m.Address {
			t.Errorf("named by %s version it came as %+v, said as %s", name, d, m.MessageID)
		}
		if m.ExpiresAfter != 0 {
			t.Errorf("it fades in %s", m.ExpiresAfter)
		}
	}
	do(r.SetTimer(team, ann, 3600))
	got.next()
	r.say(t, team, ann, "for an hour", sim.SayOptions{})
	if m := got.next(); m.ExpiresAfter != time.Hour {
		t.Errorf("it fades in %s", m.ExpiresAfter)
	}
}
