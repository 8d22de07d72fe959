package signal

import (
	"context"
	"time"
)

// Happening is something that people in a chat see at once.
type Happening struct {
	// Kind is sent, edited, deleted, typing, typing_stopped, reaction,
	// reaction_removed or receipt.
	Kind    string
	Account string
	// Chat is the group's id, or the ACI of the person.
	Chat string
	// Timestamp of the message, and of the one that an edit, a deletion, a
	// reaction or a receipt is about.
	Timestamp int64
	Target    int64
	Text      string // of a message, or the reaction
	Styles    []Style
	At        time.Time
}

// watchBuffer is how many happenings a slow watcher may lag behind.
const watchBuffer = 1024

// Watch delivers what accounts do from now on until ctx ends, when the channel is
// closed. A watcher more than 1024 happenings behind misses the next ones;
// they are counted in Totals.Missed. The books miss nothing.
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
	h.At = s.opts.Now()
	for c := range s.watchers {
		select {
		case c <- h:
		default:
			s.books.totals.Missed++
		}
	}
}
