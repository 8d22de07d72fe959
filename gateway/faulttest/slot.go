package faulttest

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// slot is one process after the other: when one was killed the next is started.
type slot struct {
	r      *Run
	number int

	mu      sync.Mutex
	now     *Process // nil before the first
	lives   int
	asked   bool          // to end, and to be started again
	before  func()        // what happens before the next life; nil: nothing
	down    bool          // it is not to be started again
	changed chan struct{} // closed when another life begins, or none does
	done    chan struct{} // closed when the slot is given up
}

// Start starts all processes and keeps them running: one that is killed, by a
// fault point or by the row, is started again, with the next plan that Plan gave.
// One that ends in any other way fails the test.
func (r *Run) Start() {
	r.t.Helper()
	r.watchStalls()
	r.t.Cleanup(func() {
		for _, s := range r.slots {
			if s.done == nil || s.now == nil {
				continue
			}
			s.stop(func(p *Process) { p.Kill() })
		}
	})
	if err := r.Workload.meetJobs(r.Telegram); err != nil {
		r.t.Fatal(err)
	}
	for _, s := range r.slots {
		s.done, s.changed = make(chan struct{}), make(chan struct{})
		first, err := s.start()
		if err != nil {
			r.t.Fatal(err)
		}
		select {
		case <-first.Ended():
			if _, killed := first.wasKilled(); !killed {
				close(s.done) // nobody keeps it
				r.t.Fatalf("process %d ended while it started: %v\n%s", s.number, first.err, logTail(first.Log))
			}
		default:
			leakCheck{r}.readHoldings(r.t.Context(), first, &r.fresh)
		}
		go s.supervise(first)
	}
	r.jobsFrom = time.Now()
}

// start begins one life. A process that finds no answer at servers of the log says
// so and ends; it is started again, as whoever supervises one does: on a busy machine
// those servers may need longer to agree than it waits for them.
func (s *slot) start() (*Process, error) {
	plan := s.r.Plans.next()
	for end := time.Now().Add(Patience); ; {
		p, err := s.launch(plan)
		if err != nil {
			return nil, err
		}
		if s.r.Base.Nodes == nil || !p.missedLog() || time.Now().After(end) {
			s.mu.Lock()
			s.now = p
			close(s.changed)
			s.changed = make(chan struct{})
			s.mu.Unlock()
			return p, nil
		}
		s.r.t.Logf("process %d is started again: %s", s.number, logTail(p.Log))
	}
}

func (s *slot) launch(plan string) (*Process, error) {
	s.mu.Lock()
	s.lives++
	life := s.lives
	s.mu.Unlock()
	name := incarnationOf(s.number, life)
	config, err := s.r.writeConfig(s.number, s.r.TelegramLine.ListenAs(s.r.t, string(name)), s.r.ModelLine.ListenAs(s.r.t, string(name)))
	if err != nil {
		return nil, err
	}
	args := []string{"run", "--config", config}
	if s.r.Base.Args != nil {
		args = append(args, s.r.Base.Args(s.number)...)
	}
	p, err := launch(s.r.t, command{
		args: args, run: s.r.id, faults: plan, clock: s.r.clockFile(),
		log: filepath.Join(s.r.Dir, fmt.Sprintf("process-%d-life-%d.log", s.number, life)),
	})
	if err != nil {
		return nil, err
	}
	p.Incarnation = name
	return p, nil
}

// supervise starts the next life whenever one was killed.
func (s *slot) supervise(p *Process) {
	defer close(s.done)
	for {
		<-p.Ended()
		by, killed := p.wasKilled()
		s.mu.Lock()
		down, asked := s.down, s.asked
		s.asked = false
		s.mu.Unlock()
		switch {
		case by != "":
			s.r.faults.add(Fault{At: p.gone, Incarnation: p.Incarnation, Killed: true, What: by})
		case down:
		case asked && p.err == nil:
		case !killed:
			s.r.t.Errorf("process %d ended by itself: %v\n%s", s.number, p.err, logTail(p.Log))
			return
		}
		if down {
			return
		}
		s.mu.Lock()
		before := s.before
		s.before = nil
		s.mu.Unlock()
		if before != nil {
			before()
		}
		next, err := s.start()
		if err != nil {
			s.r.t.Errorf("start process %d again: %v", s.number, err)
			return
		}
		p = next
	}
}

// stop lets the slot start no further life, ends the present one, and waits.
func (s *slot) stop(how func(*Process)) {
	s.mu.Lock()
	s.down = true
	p := s.now
	s.mu.Unlock()
	how(p)
	<-s.done
	s.mu.Lock()
	late := s.now // started while it was said
	s.mu.Unlock()
	if late != p {
		how(late)
	}
}

// Processes returns how many processes the run has.
func (r *Run) Processes() int { return len(r.slots) }

// Process returns the present life of process number i.
func (r *Run) Process(i int) *Process { return r.slots[i].process() }

func (s *slot) process() *Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// IsUp reports whether every process is there.
func (r *Run) IsUp() bool {
	return !slices.ContainsFunc(r.slots, func(s *slot) bool { return !s.isUp() })
}

// isUp reports whether the process is there.
func (s *slot) isUp() bool {
	select {
	case <-s.process().Ended():
		return false
	default:
		return true
	}
}

// awaitUp waits until the process is there.
func (s *slot) awaitUp() {
	s.r.t.Helper()
	s.r.Await(fmt.Sprintf("process %d to be there", s.number), s.isUp)
}

// Kill ends process number i by SIGKILL; it is started again. One that is just
// being started again is waited for, so that each kill ends one that lives.
func (r *Run) Kill(i int) {
	r.slots[i].awaitUp()
	p, at := r.Process(i), time.Now()
	p.Kill()
	r.faults.add(Fault{At: at, Incarnation: p.Incarnation, Killed: true, What: "killed"})
}

// KillAnd is Kill, and f before the process is started again, which has happened
// when it returns.
func (r *Run) KillAnd(i int, f func()) {
	s := r.slots[i]
	s.awaitUp()
	s.mu.Lock()
	s.before = f
	changed := s.changed
	s.mu.Unlock()
	r.Kill(i)
	select {
	case <-changed:
	case <-s.done:
	}
}

// Restart asks process number i to end in order, as a rolling update does, and
// returns when the next one has started. That is no fault: nothing that follows
// from it is excused.
func (r *Run) Restart(i int) {
	s := r.slots[i]
	s.mu.Lock()
	p, changed := s.now, s.changed
	s.asked = true
	s.mu.Unlock()
	if err := p.Term(); err != nil {
		if _, killed := p.wasKilled(); !killed {
			r.t.Errorf("process %d did not end in order: %v\n%s", i, err, logTail(p.Log))
		}
	}
	select {
	case <-changed:
	case <-s.done:
	}
}

// NoteFault writes down that something is done to process number i, or to what it
// alone stands on: what it has under way in this moment may be in doubt. Something
// that lasts is noted before it begins and before it is over.
func (r *Run) NoteFault(i int, what string) {
	r.faults.add(Fault{At: time.Now(), Incarnation: r.Process(i).Incarnation, What: what})
}

// NoteFaultAll is NoteFault for what all processes stand on.
func (r *Run) NoteFaultAll(what string) { r.faults.add(Fault{At: time.Now(), What: what}) }

// incarnationOf returns the name of a life, by the number of its slot and its own: an
// address of loopback that no other has.
func incarnationOf(slot, life int) Incarnation {
	return Incarnation(fmt.Sprintf("127.%d.%d.%d", 1+slot, life/250, 1+life%250))
}
