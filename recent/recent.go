// Package recent keeps what was used last, within a bound of memory.
package recent

import (
	"container/list"
	"sync"
)

// Cache keeps values, each of one key, and forgets first what was not used for longest. It is safe
// for concurrent use.
type Cache[K comparable, V any] struct {
	most, mostOfOne int

	mu     sync.Mutex
	bytes  int
	byKey  map[K]*list.Element
	oldest *list.List // of *entry, longest unused first
}

type entry[K comparable, V any] struct {
	key   K
	value V
	bytes int
}

// New returns an empty cache that keeps at most so many bytes, and nothing that has more than
// mostOfOne.
func New[K comparable, V any](most, mostOfOne int) *Cache[K, V] {
	return &Cache[K, V]{most: most, mostOfOne: mostOfOne, byKey: map[K]*list.Element{}, oldest: list.New()}
}

// Put keeps v, which takes about so many bytes and is the caller's no more, instead of what was
// kept under the key.
func (c *Cache[K, V]) Put(k K, v V, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(c.byKey[k])
	if bytes > c.mostOfOne {
		return
	}
	c.byKey[k] = c.oldest.PushBack(&entry[K, V]{k, v, bytes})
	c.bytes += bytes
	for c.bytes > c.most {
		c.drop(c.oldest.Front())
	}
}

// Take gives what is kept under the key to the caller alone; false: nothing is.
func (c *Cache[K, V]) Take(k K) (v V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byKey[k]
	if e == nil {
		return v, false
	}
	return c.drop(e), true
}

// drop forgets e; the caller holds mu.
func (c *Cache[K, V]) drop(e *list.Element) (v V) {
	if e == nil {
		return v
	}
	old := c.oldest.Remove(e).(*entry[K, V]) // there are no others
	delete(c.byKey, old.key)
	c.bytes -= old.bytes
	return old.value
}
