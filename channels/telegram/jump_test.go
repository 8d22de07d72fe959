package telegram

import (
	"testing"
	"time"
)

// (F16)
func TestAWaitStaysAsLongAsItIsWhenTheClockIsSetBack(t *testing.T) {
	t.Parallel()
	var l limits
	at := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	l.asked(1, 30*time.Second, at)
	if got := l.left(1, at.Add(10*time.Second)); got != 20*time.Second {
		t.Errorf("%s are left", got)
	}
	back := at.Add(-24 * time.Hour)
	if got := l.left(1, back); got != 20*time.Second {
		t.Errorf("after the clock was set back %s are left", got)
	}
	if got := l.left(1, back.Add(20*time.Second)); got != 0 {
		t.Errorf("at its end %s are left", got)
	}
}

func TestAnUpdateThatIsOwedHoldsUpItsChatNoLongerWhenTheClockIsSetBack(t *testing.T) {
	t.Parallel()
	ts := turns{chats: map[string]*line{}}
	at := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	l := &line{owed: map[int64]time.Time{1: at.Add(owedFor)}}
	if !ts.owes(l, 2, at) {
		t.Error("an update that was refused is not waited for")
	}
	if ts.owes(l, 2, at.Add(-24*time.Hour)) {
		t.Error("the chat is held up for a day")
	}
}
