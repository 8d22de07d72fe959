package worker_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// seed is the schedule's; PARLEY_SEED repeats one.
func seed(t *testing.T) uint64 {
	t.Helper()
	s := rand.Uint64()
	if v := os.Getenv("PARLEY_SEED"); v != "" {
		var err error
		if s, err = strconv.ParseUint(v, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("PARLEY_SEED=%d", s)
	return s
}

// schedule is what happens to a few conversations: messages, copies of their
// events, stops, and workers that die, lose answers, end and begin.
type schedule struct {
	r       *rig
	random  *rand.Rand
	workers []*process
	born    int
	said    map[int][]string // what each person said, in order
	stops   map[int]int
}

func (s *schedule) begin() {
	s.born++
	w := s.r.start(fmt.Sprint("w", s.born), grace(time.Millisecond), turns(3))
	s.r.await("the worker to register", func() bool { return w.store.count() > 0 })
	s.workers = append(s.workers, w)
}

func (s *schedule) step() {
	r, person := s.r, 1+s.random.IntN(4)
	w := s.workers[s.random.IntN(len(s.workers))]
	switch n := s.random.IntN(20); {
	case n < 11:
		m := r.message(person, fmt.Sprintf("message %d of %d", len(s.said[person]), person))
		s.said[person] = append(s.said[person], m.Text)
		for range 1 + s.random.IntN(2) { // the network sends some twice
			if err := r.intake.Accept(r.t.Context(), m); err != nil {
				r.t.Error(err)
			}
		}
	case n < 12:
		s.stops[person]++
		r.say(person, "/stop")
	case n < 17:
		w.store.arm(1+s.random.IntN(12), s.random.IntN(2) == 0)
	case n < 18 && len(s.workers) < 3:
		s.begin()
	case len(s.workers) > 1:
		if w = s.workers[0]; n < 19 {
			w.die()
		} else {
			w.end(r.t)
		}
		s.workers = s.workers[1:]
		s.begin()
	}
}

// check holds the answers to what was said: in order, each once, and what has
// no answer was dropped by a stop that says so.
func (s *schedule) check() {
	for person := 1; person <= 4; person++ {
		answers := s.r.answers(person)
		next, told, dropped, stops := 0, 0, 0, 0
		for _, a := range answers {
			rest, ok := strings.CutPrefix(a, "re: ")
			if !ok {
				stops++
				switch {
				case strings.Contains(a, "One waiting"):
					dropped++
				case strings.Contains(a, "waiting"):
					n := 0
					if _, err := fmt.Sscanf(a[strings.IndexByte(a, '.')+1:], "%d", &n); err != nil {
						s.r.t.Errorf("%d was told %q: %v", person, a, err)
					}
					dropped += n
				}
				if strings.HasPrefix(a, "Stopped.") {
					dropped++ // the one that ran
				}
				continue
			}
			for next < len(s.said[person]) && s.said[person][next] != rest {
				next++
			}
			if next == len(s.said[person]) {
				s.r.t.Errorf("%d: %q is answered twice, out of order, or was never said: %q", person, rest, answers)
				return
			}
			next++
			told++
		}
		if stops != s.stops[person] {
			s.r.t.Errorf("%d stops of %d were answered %d times: %q", s.stops[person], person, stops, answers)
		}
		if told+dropped != len(s.said[person]) {
			s.r.t.Errorf("%d said %d messages: %d answered, %d dropped: %q", person, len(s.said[person]), told, dropped, answers)
		}
	}
}

func (s *schedule) run(steps int) {
	s.begin()
	s.begin()
	for range steps {
		s.step()
	}
	for _, w := range s.workers {
		w.store.arm(0, false)
	}
	s.r.idle()
	s.check()
	if n := s.r.counted("dead attempts"); n != 0 {
		s.r.t.Errorf("%d messages went to the dead letters", n)
	}
}

func newSchedule(r *rig, seed uint64) *schedule {
	return &schedule{r: r, random: rand.New(rand.NewPCG(seed, 1)), said: map[int][]string{}, stops: map[int]int{}} //nolint:gosec // a schedule
}

func TestWhateverHappensEachMessageIsAnsweredOnceAndInOrder(t *testing.T) {
	t.Parallel()
	newSchedule(newRig(t), seed(t)).run(150)
}
