package agent

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"sync"

	"parley/sessionkeys"
)

// ErrSessionBusy means that something runs for the session already. Nothing was
// started.
var ErrSessionBusy = errors.New("the session is busy")

// Registry knows which sessions of this process are busy, and can stop them.
// What runs for a session, a turn or a summary, holds its one place, so they
// can never interleave. The zero value is ready; all methods may be called by
// many goroutines at once. (A02-A04, L10)
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

// Do runs work in the session's place and waits for it. Cancel ends the context
// that work gets. A panic in work is returned as a *PanicError; the place is
// free again in every case. (TX18)
func (s *Registry) Do(ctx context.Context, session sessionkeys.SessionID, work func(ctx context.Context) error) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	release, err := s.Acquire(session, cancel)
	if err != nil {
		return err
	}
	defer release()
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{v, debug.Stack()}
		}
	}()
	return work(ctx)
}

// Cancel ends what runs for the session, with cause. It says whether anything
// did, and does not wait for it.
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

// IsBusy reports whether a turn runs for the session.
func (s *Registry) IsBusy(session sessionkeys.SessionID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.active[session] != nil
}

// Running lists the busy sessions, sorted. What runs in all processes, `parley status` counts
// in the store. (A04)
func (s *Registry) Running() []sessionkeys.SessionID {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := make([]sessionkeys.SessionID, 0, len(s.active))
	for id := range s.active {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}
