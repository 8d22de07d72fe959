package simtest

import (
	"slices"

	"parley/broker"
)

// stream is the message log: what was published, in order, what was confirmed,
// and the dead letters. Only the scheduler's goroutine performs operations, and
// handlers give back; the world's mutex guards it.
type stream struct {
	w        *world
	entries  []*entry
	letters  []broker.DeadLetter
	position uint64
}

type entry struct {
	broker.Envelope
	event string // name of the person's message: a copy has the same
	acked bool
	with  []*process // who has it in hand
	tries int
}

func (s *stream) publish(e broker.Envelope) uint64 {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	for _, x := range s.entries {
		if x.ID == e.ID {
			return x.Seq
		}
	}
	s.position++
	e.Seq = s.position
	s.entries = append(s.entries, &entry{Envelope: e, event: s.w.eventIn(e.Body)})
	return e.Seq
}

func (s *stream) entryAt(seq uint64) *entry {
	if seq == 0 || seq > uint64(len(s.entries)) {
		return nil
	}
	return s.entries[seq-1]
}

// next returns the first message of the mailbox above after. Who does not know of a
// later one may be told "none" by a server that is behind.
func (s *stream) next(token string, after, expect uint64, behind bool) (broker.Envelope, error) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	for _, e := range s.entries {
		if e.Token != token || e.Seq <= after {
			continue
		}
		if behind && expect <= after {
			break
		}
		return e.Envelope, nil
	}
	return broker.Envelope{}, broker.ErrNone
}

func (s *stream) lastSeq(token string) (seq uint64) {
	for _, e := range s.entries {
		if e.Token == token {
			seq = e.Seq
		}
	}
	return seq
}

func (s *stream) ack(seq uint64) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	s.entryAt(seq).acked = true
}

// giveBack takes the message out of p's hands.
func (s *stream) giveBack(p *process, seq uint64) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	e := s.entryAt(seq)
	if i := slices.Index(e.with, p); i >= 0 {
		e.with = slices.Delete(e.with, i, i+1)
		p.busy--
	}
}

func (s *stream) deadLetter(d broker.DeadLetter) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	if !slices.ContainsFunc(s.letters, func(o broker.DeadLetter) bool { return o.ID == d.ID }) {
		s.letters = append(s.letters, d)
	}
}

// isDeadLettered reports whether one of the copies of an event is a dead letter.
func (s *stream) isDeadLettered(event string) bool {
	return slices.ContainsFunc(s.letters, func(d broker.DeadLetter) bool { return s.w.eventIn(d.Body) == event })
}

// deliverable are the messages that may be delivered: not confirmed, and in nobody's
// hands, or with late in somebody's who takes long.
func (s *stream) deliverable(late bool) (es []*entry) {
	for _, e := range s.entries {
		alive := slices.ContainsFunc(e.with, func(p *process) bool { return !p.dead && !p.hasEnded() })
		if !e.acked && (!alive || late) {
			es = append(es, e)
		}
	}
	return es
}
