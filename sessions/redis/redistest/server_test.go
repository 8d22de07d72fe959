package redistest_test

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"parley/sessions/redis/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAServerKeepsItsDataWhenItIsKilledAndRestarted(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Options{Password: "hidden"})
	s.Do("SET", "a", "1")
	s.Restart()
	if got := s.Do("GET", "a"); got != "1" {
		t.Fatalf("got %q", got)
	}
}

func TestAReplicaThatIsCutOffLacksWhatWasWrittenAfter(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Options{})
	s.Do("SET", "a", "1")
	r := s.Replica(t)
	r.CutOff()
	s.Do("SET", "a", "2")
	s.Kill()
	r.Promote()
	if got := r.Do("GET", "a"); got != "1" {
		t.Fatalf("got %q", got)
	}
	if got := r.Do("SET", "a", "3"); !strings.HasPrefix(got, "+OK") {
		t.Fatalf("got %q", got)
	}
	s.Restart()
	s.Follow(r)
	if got := s.Do("GET", "a"); got != "3" {
		t.Fatalf("got %q", got)
	}
}
