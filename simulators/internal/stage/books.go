package stage

import (
	"context"
	"sync"
	"time"
)

// Shelf is a list that forgets its oldest entries. Bind says how
// many it keeps. Its owner guards it.
type Shelf[T any] struct {
	items []*T
	keep  int
	lost  *int
}

// Bind has each shelf keep so many entries, none when keep is negative, and count in
// lost what it forgets. It comes before the first Add.
func Bind(keep int, lost *int, shelves ...interface{ bind(keep int, lost *int) }) {
	for _, s := range shelves {
		s.bind(keep, lost)
	}
}

func (s *Shelf[T]) bind(keep int, lost *int) { s.keep, s.lost = keep, lost }

// Add puts v behind the others and returns the entry, which may be changed later.
func (s *Shelf[T]) Add(v T) *T {
	if s.keep < 0 {
		*s.lost++
		return &v
	}
	if len(s.items) >= 2*s.keep {
		gone := len(s.items) - s.keep
		s.items = append(make([]*T, 0, 2*s.keep), s.items[gone:]...)
	}
	if len(s.items) >= s.keep {
		*s.lost++
	}
	s.items = append(s.items, &v)
	return &v
}

// Copy returns the entries as they are now, oldest first.
func (s *Shelf[T]) Copy() []T {
	from := max(len(s.items)-max(s.keep, 0), 0)
	out := make([]T, 0, len(s.items)-from)
	for _, v := range s.items[from:] {
		out = append(out, *v)
	}
	return out
}

// Items returns the entries themselves, oldest first, perhaps with some that are
// forgotten. It is valid until the next Add.
func (s *Shelf[T]) Items() []*T { return s.items }

// Records are what a harness asks of every simulator of a network: the books, and to
// wait for what stands in them. Its methods may be called concurrently.
type Records[Book, Totals any] struct {
	lock   sync.Locker
	change *Change
	book   func() Book
	totals func() Totals
}

// NewRecords returns the records of which book and totals take a snapshot while lock
// is held. change tells of what is new in them.
func NewRecords[B, T any](lock sync.Locker, change *Change, book func() B, totals func() T) Records[B, T] {
	return Records[B, T]{lock, change, book, totals}
}

// Books returns a snapshot.
func (r *Records[B, T]) Books() B {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.book()
}

// Totals is the cheap part of Books.
func (r *Records[B, T]) Totals() T {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.totals()
}

// Await returns the first snapshot that satisfies done, or the cause of the
// context's end together with the snapshot at that moment. Changes that come
// while done runs are seen together.
func (r *Records[B, T]) Await(ctx context.Context, done func(B) bool) (B, error) {
	return Await(ctx, r.change, r.Books, done)
}

// Change wakes those who wait for one. The zero Change is ready. Its methods may be
// called concurrently.
type Change struct {
	mu   sync.Mutex
	next chan struct{} // closed at the next change; nil when nobody waits
}

// Notify announces that something changed.
func (c *Change) Notify() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next != nil {
		close(c.next)
		c.next = nil
	}
}

// Next returns a channel that is closed at the next change.
func (c *Change) Next() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next == nil {
		c.next = make(chan struct{})
	}
	return c.next
}

// Await returns the first snapshot that satisfies done, or the cause of the
// context's end together with the snapshot at that moment. Changes that come while
// a snapshot is taken and read, and for as long again, are seen together: who waits
// leaves half of the time to what is waited for, however large the books are.
func Await[B any](ctx context.Context, c *Change, snapshot func() B, done func(B) bool) (B, error) {
	for {
		changed, began := c.Next(), time.Now()
		b := snapshot()
		if done(b) {
			return b, nil
		}
		rest := time.After(time.Since(began))
		select {
		case <-changed:
		case <-ctx.Done():
			return b, context.Cause(ctx)
		}
		select {
		case <-rest:
		case <-ctx.Done():
		}
	}
}
