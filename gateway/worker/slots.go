package worker

import (
	"context"
	"slices"
	"sync"
)

// slots are the places of the turns that run at once in this process, and who
// waits for one. Of one person at most so many run, however many conversations
// they have: further turns of theirs wait behind their own, without a slot.
//
// A slot that becomes free goes to a turn that gave it back, else in turns to a
// conversation that waited behind its own person and to a mailbox that nobody has
// taken up, so that neither can keep the other out.
type slots struct {
	hasBacklog func() bool // mailboxes may wait that nobody took
	perPerson  int         // 0: no limit

	mu        sync.Mutex
	size      int
	free      int
	returning []*ticket               // turns that gave their slot back
	queued    []*ticket               // their person's turn has come
	people    map[person]*personState // of who runs a turn
	queuedDue bool                    // a mailbox went before them
}

// person identifies a sender on one bot account.
type person struct{ channel, id string }

// personState is what one person has here.
type personState struct {
	running int
	waiting []*ticket // in the order of coming
}

// ticket is a place in a line. It is ready when it has all that it waits for.
type ticket struct {
	person *person // nil: of a turn that has its place among its person's
	ready  chan struct{}
}

func newSlots(size, perPerson int, owed func() bool) *slots {
	return &slots{hasBacklog: owed, perPerson: perPerson, size: size, free: size, people: map[person]*personState{}}
}

// tryAcquire takes a slot for a mailbox; false when none is free for it.
func (s *slots) tryAcquire() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free == 0 {
		return false
	}
	s.free--
	return true
}

// count returns how many are taken, and how many there are.
func (s *slots) count() (busy, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size - s.free, s.size
}

// hasFree reports whether a slot is free.
func (s *slots) hasFree() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.free > 0
}

// release gives a slot back.
func (s *slots) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free++
	s.grantAllLocked()
}

// grantAllLocked hands out what is free. The caller holds mu.
func (s *slots) grantAllLocked() {
	for s.free > 0 && len(s.returning) > 0 {
		s.returning = s.grantFirst(s.returning)
	}
	for s.free > 0 && len(s.queued) > 0 && (s.queuedDue || !s.hasBacklog()) {
		s.queuedDue = false
		s.queued = s.grantFirst(s.queued)
	}
}

// grantFirst gives a slot to the first of a line.
func (s *slots) grantFirst(line []*ticket) []*ticket {
	s.free--
	close(line[0].ready)
	return slices.Delete(line, 0, 1)
}

// grantAll calls settle for a scan that found no waiting mailbox.
func (s *slots) grantAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grantAllLocked()
}

// hasWaiting reports whether a turn waits here for a slot.
func (s *slots) hasWaiting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.returning)+len(s.queued) > 0
}

// reacquire waits for the slot of a turn that gave it back; false when ctx ended.
func (s *slots) reacquire(ctx context.Context) bool {
	s.mu.Lock()
	t := &ticket{ready: make(chan struct{})}
	s.returning = append(s.returning, t)
	s.grantAllLocked()
	s.mu.Unlock()
	select {
	case <-t.ready:
		return true
	case <-ctx.Done():
		s.cancel(t)
		return false
	}
}

// admit counts a turn of p, whose caller holds a slot. When p runs as many as one
// person may, it takes the slot back and returns the place in p's line: once that
// is ready the caller has the slot again, and the turn is counted.
func (s *slots) admit(p person) *ticket {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.people[p]
	if st == nil {
		st = &personState{}
		s.people[p] = st
	}
	if s.perPerson <= 0 || st.running < s.perPerson {
		st.running++
		s.queuedDue = true
		return nil
	}
	t := &ticket{person: &p, ready: make(chan struct{})}
	st.waiting = append(st.waiting, t)
	s.free++
	s.grantAllLocked()
	return t
}

// discharge ends a turn of p, whose next one is then in line for a slot.
func (s *slots) discharge(p person) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dischargeLocked(p)
	s.grantAllLocked()
}

func (s *slots) dischargeLocked(p person) {
	st := s.people[p]
	if len(st.waiting) > 0 { // in the place of the one that ended
		s.queued = append(s.queued, st.waiting[0])
		st.waiting = slices.Delete(st.waiting, 0, 1)
		return
	}
	if st.running--; st.running == 0 {
		delete(s.people, p)
	}
}

// cancel takes t out of its line, and gives back what it has got already.
func (s *slots) cancel(t *ticket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	is := func(o *ticket) bool { return o == t }
	if t.person != nil {
		if st := s.people[*t.person]; st != nil && slices.Contains(st.waiting, t) {
			st.waiting = slices.DeleteFunc(st.waiting, is)
			return
		}
	}
	inLine := slices.Contains(s.returning, t) || slices.Contains(s.queued, t)
	s.returning, s.queued = slices.DeleteFunc(s.returning, is), slices.DeleteFunc(s.queued, is)
	if !inLine {
		s.free++
	}
	if t.person != nil {
		s.dischargeLocked(*t.person)
	}
	s.grantAllLocked()
}
