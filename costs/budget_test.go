package costs_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	. "parley/costs"
)

func TestWindowsAreThoseOfUTC(t *testing.T) {
	t.Parallel()
	late := time.Date(2026, 12, 31, 23, 30, 0, 0, time.FixedZone("west", -3600)) // 2027 in UTC
	for w, want := range map[Window][2]string{
		Day: {"2027-01-01", "2027-01-02 00:00:00 +0000 UTC"}, Month: {"2027-01", "2027-02-01 00:00:00 +0000 UTC"}, Always: {"", "0001-01-01 00:00:00 +0000 UTC"},
	} {
		if name, next := w.Name(late), w.Next(late).String(); name != want[0] || next != want[1] {
			t.Errorf("%q: %s until %s", w, name, next)
		}
	}
}

func TestAWindowEndsWhereTheNextBegins(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		at := time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "at"), 0)
		w := rapid.SampledFrom([]Window{Day, Month}).Draw(t, "window")
		next := w.Next(at)
		if !next.After(at) || w.Name(next) == w.Name(at) || w.Name(next.Add(-1)) != w.Name(at) {
			t.Fatalf("%s in %q ends at %s", at, w, next)
		}
	})
}

func TestTheMostOutputIsTheMostThatFits(t *testing.T) {
	t.Parallel()
	c := prices(t)
	rapid.Check(t, func(t *rapid.T) {
		provider := rapid.SampledFrom(c.Providers()).Draw(t, "provider")
		p, _ := c.Price(provider, rapid.SampledFrom(c.Models(provider)).Draw(t, "model"))
		input, limit := rapid.Int64Range(0, 500_000).Draw(t, "input"), rapid.Int64Range(0, 200_000).Draw(t, "most")
		room := Amount(rapid.Int64Range(0, int64(3*USD)).Draw(t, "room"))
		n, ok := p.MaxOutput(input, limit, room)
		worst := func(n int64) Amount {
			a, err := p.WorstCase(input, n)
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		switch {
		case !ok && worst(0) <= room:
			t.Fatal("nothing fits, it says")
		case ok && (n < 0 || n > limit || worst(n) > room || n < limit && worst(n+1) <= room):
			t.Fatalf("%d of %d for %s", n, limit, room)
		}
	})
}
