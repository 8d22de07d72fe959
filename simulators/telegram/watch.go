package telegram

import (
	"context"
	"time"
)

// Happening is something that people in a chat see at once.
type Happening struct {
	// Kind is sent, edited, deleted, action, draft, callback_answer or
	// reaction.
	Kind      string
	Bot       string
	ChatID    int64
	ThreadID  int64
	MessageID int64 // of a sent, edited or deleted message
	ReplyTo   int64
	// Text of the message or draft, the chat action, or the answer.
	Text     string
	Entities []Entity
	Document *DocumentEntry // of a message that is one
	At       time.Time
}

// watchBuffer is how many happenings a slow watcher may lag behind.
const watchBuffer = 1024

// Watch delivers what bots do from now on until ctx ends, when the channel is
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
	for c := range s.watchers {
		select {
		case c <- h:
		default:
			s.books.totals.Missed++
		}
	}
}
