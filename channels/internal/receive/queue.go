package receive

import (
	"context"
	"sync"
)

// Queue holds events until they are taken: those of one chat one after another in
// the order in which they were pushed, chats side by side, since each waits for a
// disk. Its methods may be called concurrently.
type Queue[T any] struct {
	ctx  context.Context
	room int
	take func(context.Context, T) bool

	mu      sync.Mutex // guards waiting and chats
	waiting int
	chats   map[string][]queued[T] // a chat that is in it has a goroutine
	working sync.WaitGroup
}

type queued[T any] struct {
	event   T
	settled func(taken bool) // called once
}

// NewQueue returns an empty queue that works until ctx ends. take returns when an
// event is taken, or false when ctx ended before. There is room for so many
// events; 0 means that the caller limits them.
func NewQueue[T any](ctx context.Context, room int, take func(context.Context, T) bool) *Queue[T] {
	return &Queue[T]{ctx: ctx, room: room, take: take, chats: map[string][]queued[T]{}}
}

// Push puts an event behind those of its chat. done is called once, after take. It
// is called at once, and with false, for an event that is one too many or comes
// after the end of ctx.
func (q *Queue[T]) Push(chat string, event T, done func(taken bool)) {
	if !q.enter(chat, queued[T]{event, done}) {
		done(false)
	}
}

func (q *Queue[T]) enter(chat string, one queued[T]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.room > 0 && q.waiting >= q.room || q.ctx.Err() != nil {
		return false
	}
	ahead, working := q.chats[chat]
	q.chats[chat] = append(ahead, one)
	q.waiting++
	if !working {
		q.working.Go(func() { q.work(chat) })
	}
	return true
}

// work takes the events of one chat until there are none.
func (q *Queue[T]) work(chat string) {
	for {
		q.mu.Lock()
		all := q.chats[chat]
		if len(all) == 0 || q.ctx.Err() != nil {
			q.waiting -= len(all)
			delete(q.chats, chat)
			q.mu.Unlock()
			for _, left := range all {
				left.settled(false)
			}
			return
		}
		next := all[0]
		q.chats[chat] = all[1:]
		q.mu.Unlock()
		taken := q.take(q.ctx, next.event)
		q.mu.Lock()
		q.waiting--
		q.mu.Unlock()
		next.settled(taken)
	}
}

// Go runs work that belongs to the events beside them; Wait waits for it too.
func (q *Queue[T]) Go(work func(ctx context.Context)) { q.working.Go(func() { work(q.ctx) }) }

// Wait returns when no event is waiting or being taken any more.
func (q *Queue[T]) Wait() { q.working.Wait() }
