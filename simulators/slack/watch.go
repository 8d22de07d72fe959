package slack

import (
	"context"
	"encoding/json"
	"time"
)

// Happening is something that people in a conversation see at once.
type Happening struct {
	// Kind is posted, streamed, edited, deleted, or the kind of a signal.
	Kind     string
	App      string
	Channel  string
	ThreadTS string
	TS       string
	User     string // who alone sees it
	Text     string // what people read
	Blocks   json.RawMessage
	At       time.Time
}

// watchBuffer is how many happenings a slow watcher may lag behind.
const watchBuffer = 1024

// Watch delivers what apps do from now on until ctx ends, when the channel is
// closed. A watcher more than 1024 happenings behind misses the next ones; they
// are counted in Totals.Missed. The books miss nothing.
func (s *Server) Watch(ctx context.Context) <-chan Happening {
	c := make(chan Happening, watchBuffer)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchers[c] = struct{}{}
	context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watchers, c)
		close(c)
	})
	return c
}

// show tells the watchers. The caller holds the lock.
func (s *Server) show(h Happening) {
	for c := range s.watchers {
		select {
		case c <- h:
		default:
			s.books.totals.Missed++
		}
	}
}
