package subagents_test

import (
	"context"
	"sync"

	"parley/sessions"
	"parley/sessions/sessiontest"
)

// mortal is a store whose process dies at some operation: that one is made or
// not, and nothing after it.
type mortal struct {
	sessions.Store
	check func() // after each operation

	mu      sync.Mutex // one operation at a time, with its check
	left    int        // operations until the end; 0: none
	applied bool
	dead    bool
}

// over returns m, standing between a process and a store.
func (m *mortal) over(s sessions.Store) *mortal {
	m.Store = sessiontest.Intercept(s, m.around)
	return m
}

// around is a [sessiontest.Around].
func (m *mortal) around(_ context.Context, _ sessiontest.Call, perform func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return errKilled
	}
	if m.left > 0 {
		if m.left--; m.left == 0 {
			m.dead = true
			if m.applied {
				if err := perform(); err != nil {
					return err
				}
			}
			return errKilled
		}
	}
	err := perform()
	if m.check != nil {
		m.check()
	}
	return err
}
