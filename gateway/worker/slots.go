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
	owed      func() bool // mailboxes may wait that nobody took
	perPerson int         // 0: no limit

	mu       sync.Mutex
	size     int
	free     int
	back     []*ticket            // turns that gave their slot back
	next     []*ticket            // their person's turn has come
	standing map[person]*standing // of who runs a turn
	nextsDue bool                 // a mailbox went before them
}

// person is somebody on one bot account.
type person struct{ channel, id string }

// standing is what one person has here.
type standing struct {
	running int
	waiting []*ticket // in the order of coming
}

// ticket is a place in a line. It is ready when it has all that it waits for.
type ticket struct {
	person *person // nil: of a turn that has its place among its person's
	ready  chan struct{}
}

func newSlots(size, perPerson int, owed func() bool) *slots {
	return &slots{owed: owed, perPerson: perPerson, size: size, free: size, standing: map[person]*standing{}}
}

// take takes a slot for a mailbox; false when none is free for it.
func (s *slots) take() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free == 0 {
		return false
	}
	s.free--
	return true
}

// some reports whether a slot is free.
func (s *slots) some() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.free > 0
}

// give gives a slot back.
func (s *slots) give() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free++
	s.settle()
}

// settle hands out what is free. The caller holds mu.
func (s *slots) settle() {
	for s.free > 0 && len(s.back) > 0 {
		s.back = s.hand(s.back)
	}
	for s.free > 0 && len(s.next) > 0 && (s.nextsDue || !s.owed()) {
		s.nextsDue = false
		s.next = s.hand(s.next)
	}
}

// hand gives a slot to the first of a line.
func (s *slots) hand(line []*ticket) []*ticket {
	s.free--
	close(line[0].ready)
	return slices.Delete(line, 0, 1)
}

// handOut is settle, for who found that no mailbox waits any more.
func (s *slots) handOut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
}

// wanted reports whether a turn waits here for a slot.
func (s *slots) wanted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.back)+len(s.next) > 0
}

// resume waits for the slot of a turn that gave it back; false when ctx ended.
func (s *slots) resume(ctx context.Context) bool {
	s.mu.Lock()
	t := &ticket{ready: make(chan struct{})}
	s.back = append(s.back, t)
	s.settle()
	s.mu.Unlock()
	select {
	case <-t.ready:
		return true
	case <-ctx.Done():
		s.cancel(t)
		return false
	}
}

// enter counts a turn of p, whose caller holds a slot. When p runs as many as one
// person may, it takes the slot back and returns the place in p's line: once that
// is ready the caller has the slot again, and the turn is counted.
func (s *slots) enter(p person) *ticket {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.standing[p]
	if st == nil {
		st = &standing{}
		s.standing[p] = st
	}
	if s.perPerson <= 0 || st.running < s.perPerson {
		st.running++
		s.nextsDue = true
		return nil
	}
	t := &ticket{person: &p, ready: make(chan struct{})}
	st.waiting = append(st.waiting, t)
	s.free++
	s.settle()
	return t
}

// leave ends a turn of p, whose next one is then in line for a slot.
func (s *slots) leave(p person) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left(p)
	s.settle()
}

func (s *slots) left(p person) {
	st := s.standing[p]
	if len(st.waiting) > 0 { // in the place of the one that ended
		s.next = append(s.next, st.waiting[0])
		st.waiting = slices.Delete(st.waiting, 0, 1)
		return
	}
	if st.running--; st.running == 0 {
		delete(s.standing, p)
	}
}

// cancel takes t out of its line, and gives back what it has got already.
func (s *slots) cancel(t *ticket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	is := func(o *ticket) bool { return o == t }
	if t.person != nil {
		if st := s.standing[*t.person]; st != nil && slices.Contains(st.waiting, t) {
			st.waiting = slices.DeleteFunc(st.waiting, is)
			return
		}
	}
	inLine := slices.Contains(s.back, t) || slices.Contains(s.next, t)
	s.back, s.next = slices.DeleteFunc(s.back, is), slices.DeleteFunc(s.next, is)
	if !inLine {
		s.free++
	}
	if t.person != nil {
		s.left(*t.person)
	}
	s.settle()
}
