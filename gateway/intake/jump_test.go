package intake

import (
	"strconv"
	"testing"
	"time"

	"parley/channels"
)

// A clock that is set back gives nothing, and locks nobody out. (F16)
func TestALimitIsSaneWhenTheClockJumps(t *testing.T) {
	t.Parallel()
	var l limiter
	at := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	n := 0
	take := func(now time.Time) bool {
		n++
		ok, _ := l.allow("p", channels.Message{Event: strconv.Itoa(n)}, now, 60, 2)
		return ok
	}
	takes := func(now time.Time, tries int) (taken int) {
		for range tries {
			if take(now) {
				taken++
			}
		}
		return taken
	}
	if got := takes(at, 3); got != 2 {
		t.Fatalf("the limit is %d at once, not two", got)
	}
	back := at.Add(-24 * time.Hour)
	if take(back) {
		t.Error("a clock that was set back gave room")
	}
	if !take(back.Add(time.Second)) || take(back.Add(time.Second)) {
		t.Error("a second later, by the new time, there is not room for one")
	}
	if got := takes(at, 3); got != 2 {
		t.Errorf("a clock that was set forward gives %d, the bucket holds two", got)
	}
}
