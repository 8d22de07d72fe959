package worker_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/gateway/policy"
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
	r       *fixture
	random  *rand.Rand
	workers []*process
	born    int
	said    map[int][]string // what each person said, in order
	stops   map[int]int
	rules   policy.Waiting
	verb    string // what people say first
}

func (s *schedule) begin() {
	s.born++
	w := s.r.start(fmt.Sprint("w", s.born), grace(time.Millisecond), turns(3), waits(s.rules))
	s.r.await("the worker to register", func() bool { return w.store.count() > 0 })
	s.workers = append(s.workers, w)
}

func (s *schedule) step() {
	r, person := s.r, 1+s.random.IntN(4)
	w := s.workers[s.random.IntN(len(s.workers))]
	switch n := s.random.IntN(20); {
	case n < 11:
		m := r.message(person, fmt.Sprintf("%s %d of %d", s.verb, len(s.said[person]), person))
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
		next, told, dropped, stops, halted := 0, 0, 0, 0, 0
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
					halted++
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
		// Several who said it while one turn ran have all stopped that one.
		if turns := len(s.said[person]) - told - dropped; turns > halted || turns < min(halted, 1) {
			s.r.t.Errorf("%d said %d messages: %d answered, %d dropped, %d stops of what ran: %q", person, len(s.said[person]), told, dropped, halted, answers)
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
	if s.rules.WhileBusy == policy.Queue {
		s.check()
	} else {
		s.checkJoined()
	}
	if n := s.r.counted("dead attempts"); n != 0 {
		s.r.t.Errorf("%d messages went to the dead letters", n)
	}
}

func newSchedule(r *fixture, seed uint64) *schedule {
	return &schedule{r: r, rules: policy.Waiting{WhileBusy: policy.Queue}, verb: "message", random: rand.New(rand.NewPCG(seed, 1)), said: map[int][]string{}, stops: map[int]int{}} // a schedule
}

func TestWhateverHappensEachMessageIsAnsweredOnceAndInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		newSchedule(realStore(t), seed(t)).run(150)
	})
}

// checkJoined holds what the model was asked to what was said: in order, each
// once, and what is missing was dropped by a stop that says so; and each turn
// has one answer.
func (s *schedule) checkJoined() {
	for person := 1; person <= 4; person++ {
		if len(s.said[person]) == 0 {
			continue
		}
		next, dropped, stopped, told := 0, 0, 0, 0
		for _, text := range s.r.heard(s.r.message(person, "")) {
			for _, line := range strings.Split(text, "\n") {
				for next < len(s.said[person]) && s.said[person][next] != line {
					next++
				}
				if next == len(s.said[person]) {
					s.r.t.Errorf("%d: %q was asked twice, out of order, or was never said", person, line)
					return
				}
				next++
				told++
			}
		}
		answers := s.r.answers(person)
		for _, a := range answers {
			n := 0
			switch {
			case strings.Contains(a, "One waiting"):
				n = 1
			case strings.Contains(a, "waiting"):
				if _, err := fmt.Sscanf(a[strings.IndexByte(a, '.')+1:], "%d", &n); err != nil {
					s.r.t.Errorf("%d was told %q: %v", person, a, err)
				}
			}
			if strings.HasPrefix(a, "Stopped.") {
				stopped++
			}
			dropped += n
		}
		if told+dropped != len(s.said[person]) {
			s.r.t.Errorf("%d said %d messages: %d were asked, %d dropped: %q", person, len(s.said[person]), told, dropped, answers)
		}
		if turns := len(s.r.turnsOf(person)); stopped == 0 && turns+s.stops[person] != len(answers) || len(answers) < s.stops[person] {
			s.r.t.Errorf("%d: %d turns and %d stops have %d answers", person, turns, s.stops[person], len(answers))
		}
	}
}

func TestWhateverHappensWhatIsSaidMeanwhileIsAskedOnceAndInOrder(t *testing.T) {
	t.Parallel()
	for _, rules := range []policy.Waiting{
		{WhileBusy: policy.Steer},
		{WhileBusy: policy.Interrupt},
		{WhileBusy: policy.Collect},
		{WhileBusy: policy.Steer, Debounce: 20 * time.Millisecond},
		{WhileBusy: policy.Collect, Debounce: 20 * time.Millisecond, DebounceMax: 30 * time.Millisecond},
	} {
		t.Run(fmt.Sprint(rules), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSchedule(newRig(t), seed(t))
				s.rules, s.verb = rules, "tool"
				s.run(60)
			})
		})
	}
}
