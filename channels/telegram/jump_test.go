package telegram

import (
	"testing"
	"time"
)

// (F16)
func TestAnUpdateThatIsOwedHoldsUpItsChatNoLongerWhenTheClockIsSetBack(t *testing.T) {
	t.Parallel()
	ts := sequencer{chats: map[string]*lane{}}
	at := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	l := &lane{owed: map[int64]time.Time{1: at.Add(owedFor)}}
	if !ts.isOwed(l, 2, at) {
		t.Error("an update that was refused is not waited for")
	}
	if ts.isOwed(l, 2, at.Add(-24*time.Hour)) {
		t.Error("the chat is held up for a day")
	}
}
