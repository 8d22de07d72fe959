package redis_test

import (
	"context"
	"errors"
	"sync"
)

// facts is a log that never loses anything, as a replicated one.
type facts struct {
	mu     sync.Mutex
	bodies [][]byte
	ids    map[string]uint64
	fail   func(body []byte) error // asked after the fact is stored
	refuse func(body []byte) error // asked before the fact is stored
	first  func()                  // called before the next fact is stored; once
	then   func()                  // called when the next fact is stored, before its number is told; once
	read   func()                  // called when facts have been read
	next   func(number uint64)     // called before a fact is read
	same   uint64                  // not 0: the number of a fact that was appended before, whose answer was lost; once
}

func (f *facts) Append(ctx context.Context, id string, body []byte) (uint64, error) {
	f.mu.Lock()
	first := f.first
	f.first = nil
	f.mu.Unlock()
	if first != nil {
		first()
	}
	n, err := f.add(ctx, id, body)
	f.mu.Lock()
	then := f.then
	f.then = nil
	f.mu.Unlock()
	if then != nil {
		then()
	}
	return n, err
}

func (f *facts) add(ctx context.Context, id string, body []byte) (uint64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if id == "" {
		return 0, errors.New("a fact without an id")
	}
	if same := f.same; same > 0 {
		f.same = 0
		return same, nil
	}
	if f.refuse != nil {
		if err := f.refuse(body); err != nil {
			return 0, err
		}
	}
	n, known := f.ids[id]
	if !known {
		if f.ids == nil {
			f.ids = map[string]uint64{}
		}
		f.bodies = append(f.bodies, append([]byte(nil), body...))
		n = uint64(len(f.bodies))
		f.ids[id] = n
	}
	if f.fail != nil {
		if err := f.fail(body); err != nil {
			return 0, err
		}
	}
	return n, nil
}

func (f *facts) After(ctx context.Context, number uint64, yield func(uint64, []byte) bool) error {
	last, err := f.Last(ctx)
	if err != nil {
		return err
	}
	defer func() {
		f.mu.Lock()
		read := f.read
		f.mu.Unlock()
		if read != nil {
			read()
		}
	}()
	for n := number + 1; n <= last; n++ {
		f.mu.Lock()
		body, next := f.bodies[n-1], f.next
		f.mu.Unlock()
		if next != nil {
			next(n)
		}
		if !yield(n, body) {
			return nil
		}
	}
	return ctx.Err()
}

func (f *facts) Last(context.Context) (uint64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return uint64(len(f.bodies)), nil
}
