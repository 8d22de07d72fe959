package telegram

import (
	"context"
	"slices"
	"sync"
	"time"

	"parley/channels"
)

// owedFor is how long the later updates of a chat wait for one that was
// refused. Telegram tries again after at most a minute.
const owedFor = 3 * time.Minute

// sequencer lets the updates of a chat be taken one at a time, and after one was
// refused none that came later, until that one is there again. Chats do not
// wait for each other.
type sequencer struct {
	mu    sync.Mutex
	chats map[string]*lane
}

type lane struct {
	turn  chan struct{}       // capacity 1: full while an update is being taken
	users int                 // that have the turn or wait for it
	owed  map[int64]time.Time // refused updates, and until when they are waited for
}

// begin waits for u's turn and gives the function that ends it. It is false
// when ctx ends before, or an earlier update of the chat is owed. An update
// that names no chat waits for nothing. The news that a chat moved is of both
// its ids: what is said under the new one must find that it is the old chat.
func (t *sequencer) begin(ctx context.Context, u event, now time.Time) (end func(taken bool, now time.Time), ok bool) {
	var held []heldTurn
	for _, chat := range chatsOf(u.message) {
		l, ok := t.enter(ctx, chat, u.id, now)
		if !ok {
			for _, p := range held {
				t.exit(p)
			}
			return nil, false
		}
		held = append(held, heldTurn{chat, l})
	}
	return func(taken bool, now time.Time) {
		for _, p := range held {
			t.mu.Lock()
			if taken {
				delete(p.lane.owed, u.id)
			} else {
				p.lane.owed[u.id] = now.Add(owedFor)
			}
			t.mu.Unlock()
			t.exit(p)
		}
	}, true
}

// heldTurn is a turn that is held.
type heldTurn struct {
	chat string
	lane *lane
}

// chatsOf are the chats that m is of, in an order that all keep to.
func chatsOf(m channels.Message) []string {
	chats := []string{m.Address.Peer}
	if m.Kind == channels.Migrated {
		chats = append(chats, m.MovedTo)
	}
	chats = slices.DeleteFunc(chats, func(c string) bool { return c == "" })
	slices.Sort(chats)
	return slices.Compact(chats)
}

// enter waits for the turn of the update id in one chat.
func (t *sequencer) enter(ctx context.Context, chat string, id int64, now time.Time) (*lane, bool) {
	t.mu.Lock()
	l := t.chats[chat]
	if l == nil {
		l = &lane{turn: make(chan struct{}, 1), owed: map[int64]time.Time{}}
		t.chats[chat] = l
	}
	l.users++
	t.mu.Unlock()
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		t.leave(chat, l)
		return nil, false
	}
	if t.isOwed(l, id, now) {
		t.exit(heldTurn{chat, l})
		return nil, false
	}
	return l, true
}

func (t *sequencer) exit(p heldTurn) {
	<-p.lane.turn
	t.leave(p.chat, p.lane)
}

// isOwed reports whether an update before id is owed.
func (t *sequencer) isOwed(l *lane, id int64, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for other, until := range l.owed {
		if other < id && until.After(now) && until.Sub(now) <= owedFor {
			return true
		}
	}
	return false
}

func (t *sequencer) leave(chat string, l *lane) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l.users--
	t.dropIdle(chat, l)
}

// dropIdle forgets a chat in which nothing happens. The caller holds mu.
func (t *sequencer) dropIdle(chat string, l *lane) {
	if l.users == 0 && len(l.owed) == 0 {
		delete(t.chats, chat)
	}
}

// sweep forgets what is no longer waited for.
func (t *sequencer) sweep(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for chat, l := range t.chats {
		for id, until := range l.owed {
			if !until.After(now) || until.Sub(now) > owedFor { // or the clock was set back
				delete(l.owed, id)
			}
		}
		t.dropIdle(chat, l)
	}
}
