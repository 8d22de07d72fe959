package redis

import (
	"context"
	"fmt"
	"sync"
)

// lanes puts the facts of each mailbox behind one another. The zero value is ready.
type lanes struct {
	mu   sync.Mutex
	open map[string]*lane
}

// lane is a mailbox whose facts are being written.
type lane struct {
	turn      chan struct{} // held by who writes
	users     int
	unsettled *publication // whoever is next finds out what became of it
}

// enter waits until nobody writes to the mailbox.
func (ls *lanes) enter(ctx context.Context, token string) (*lane, error) {
	ls.mu.Lock()
	l := ls.open[token]
	if l == nil {
		if ls.open == nil {
			ls.open = map[string]*lane{}
		}
		l = &lane{turn: make(chan struct{}, 1)}
		ls.open[token] = l
	}
	l.users++
	ls.mu.Unlock()
	select {
	case l.turn <- struct{}{}:
		return l, nil
	case <-ctx.Done():
		ls.drop(token, l)
		return nil, fmt.Errorf("wait for other writes to mailbox %s: %w", token, context.Cause(ctx))
	}
}

func (ls *lanes) leave(token string, l *lane) {
	<-l.turn
	ls.drop(token, l)
}

func (ls *lanes) drop(token string, l *lane) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l.users--; l.users == 0 && l.unsettled == nil {
		delete(ls.open, token)
	}
}
