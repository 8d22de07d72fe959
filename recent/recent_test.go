package recent_test

import (
	"testing"

	"parley/recent"
)

func TestCache(t *testing.T) {
	t.Parallel()
	c := recent.New[string, int](10, 4)
	take := func(key string, want int) {
		t.Helper()
		if got, ok := c.Take(key); got != want || ok != (want != 0) {
			t.Errorf("%s: %d, %v, want %d", key, got, ok, want)
		}
	}
	c.Put("a", 1, 4)
	take("a", 1)
	take("a", 0) // it was given away

	c.Put("a", 1, 4)
	c.Put("a", 2, 3) // instead
	c.Put("b", 3, 4)
	c.Put("c", 4, 3)
	take("a", 2) // there was room for the three

	c.Put("d", 5, 4)
	take("b", 0) // the longest unused one gave way
	take("c", 4)
	take("d", 5)

	c.Put("e", 6, 4)
	c.Put("e", 7, 5) // too much for one, and the value before is old
	take("e", 0)
	c.Put("", 8, 0)
	take("", 8)
}
