package agent

import (
	"context"
	"errors"
	"sync"

	"parley/sessionkeys"
)

// ErrSessionBusy means that something runs for the session already. Nothing was
// started.
var ErrSessionBusy = errors.New("the session is busy")

// Registry knows which sessions of this process are busy, and can stop them.
// What runs for a session, a turn or a summary, holds its one place, so they
// can never interleave. The zero value is ready; all methods may be called by
// many goroutines at once. Which turns run in all processes, and that one is to
// stop, stands in the store. (A02, A03, L10)
type Registry struct {
	mu     sync.Mutex // guards active
	active map[sessionkeys.SessionID]*holder
}

type holder struct{ cancel context.CancelCauseFunc }

// Acquire takes the session's place, or returns ErrSessionBusy. cancel is called
// when the session is cancelled, possibly more than once. The caller calls
// release when its work has ended, not before: until then the session is busy,
// also when it was cancelled. Further calls of release do nothing.
func (s *Registry) Acquire(session sessionkeys.SessionID, cancel context.CancelCauseFunc) (release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active[session] != nil {
		return nil, ErrSessionBusy
	}
	if s.active == nil {
		s.active = map[sessionkeys.SessionID]*holder{}
	}
	q := &holder{cancel}
	s.active[session] = q
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.active[session] == q {
			delete(s.active, session)
		}
	}, nil
}

// Cancel ends what runs for the session, with cause. It says whether anything
// did, and does not wait for it. The replay ends turns so as they were ended.
func (s *Registry) Cancel(session sessionkeys.SessionID, cause error) bool {
	s.mu.Lock()
	q := s.active[session]
	s.mu.Unlock()
	if q == nil {
		return false
	}
	q.cancel(cause)
	return true
}
