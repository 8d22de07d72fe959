package tools

import (
	"cmp"
	"slices"
	"strings"
)

// Nearest lists up to three of names that resemble name, closest first: those
// that differ from it by a third of its letters at most, or contain it, or are
// contained in it. Case, "-", "_" and "." do not count.
func Nearest(name string, names []string) []string {
	const most, longest = 3, 128
	if len(name) > longest {
		return nil
	}
	type hit struct {
		name     string
		distance int
	}
	var hits []hit
	plain := normalise(name)
	for _, n := range names {
		other := normalise(n)
		d := editDistance(plain, other)
		within := len(plain) >= 3 && len(other) >= 3 && (strings.Contains(other, plain) || strings.Contains(plain, other))
		if d <= max(1, max(len(plain), len(other))/3) || within {
			hits = append(hits, hit{n, d})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(a.distance, b.distance) })
	var near []string
	for _, h := range hits[:min(most, len(hits))] {
		near = append(near, h.name)
	}
	return near
}

// Suggest returns " (did you mean a or b?)" for a name that resembles some of names, and ""
// for any other.
func Suggest(name string, names []string) string {
	if near := Nearest(name, names); len(near) > 0 {
		return " (did you mean " + strings.Join(near, " or ") + "?)"
	}
	return ""
}

func normalise(s string) string {
	return strings.NewReplacer("-", "", "_", "", ".", "").Replace(strings.ToLower(s))
}

// editDistance returns how many letters must be added, removed or changed, or exchanged
// with their neighbour, to turn a into b.
func editDistance(a, b string) int {
	x, y := []rune(a), []rune(b)
	before := make([]int, len(y)+1)
	last := make([]int, len(y)+1)
	row := make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := range x {
		row[0] = i + 1
		for j := range y {
			change := last[j]
			if x[i] != y[j] {
				change++
			}
			row[j+1] = min(change, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(y)]
}
