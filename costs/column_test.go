package costs_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	. "parley/costs"
)

func TestColumn(t *testing.T) {
	t.Parallel()
	const cent, hundredth = USD / 100, USD / 10_000
	for name, c := range map[string]struct {
		parts []Amount
		want  string
	}{
		"rounds running sums, where each part rounded by itself would be a unit too much": {
			[]Amount{hundredth / 2, hundredth / 2, hundredth}, "$0.0001 <$0.0001 $0.0001 = $0.0002",
		},
		"has cents from a dollar on":                   {[]Amount{USD, 2*USD + cent/2, cent}, "$1.00 $2.01 $0.01 = $3.02"},
		"has more decimals where a part is below them": {[]Amount{USD, 2 * USD, cent / 4}, "$1.0000 $2.0000 $0.0025 = $3.0025"},
		"tells a little from nothing":                  {[]Amount{hundredth / 4, 1, 0}, "$0.0001 <$0.0001 $0.00 = $0.0001"},
		"may be empty":                                 {nil, " = $0.00"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			column := NewColumn(c.parts...)
			var shown []string
			for i := range c.parts {
				shown = append(shown, column.Part(i))
			}
			if got := strings.Join(shown, " ") + " = " + column.Total(); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
	t.Run("shows a sum as Display does, and alike in columns with the same decimals", func(t *testing.T) {
		t.Parallel()
		for _, a := range []Amount{0, 1, hundredth, 3*hundredth + 1, USD - hundredth, USD - 1, USD, 7*USD + 1} {
			column := NewColumn(a)
			if tiny := a != 0 && a < hundredth; column.Total() != a.Display() && !tiny {
				t.Errorf("%s alone is %s, displayed %s", a, column.Total(), a.Display())
			}
			if other := NewColumn(a, 1).WithParts(a/2, a-a/2); other.Total() != NewColumn(1, a).WithParts(a).Total() {
				t.Errorf("%s is %s and %s with the same decimals", a, other.Total(), NewColumn(1, a).WithParts(a).Total())
			}
		}
	})
	t.Run("adds up, in every run of it, and is nowhere a unit from what is exact", func(t *testing.T) {
		t.Parallel()
		for seed := range uint64(500) {
			r := rand.New(rand.NewPCG(seed, 3))
			parts := make([]Amount, 1+r.IntN(12))
			for i := range parts {
				if r.IntN(4) > 0 {
					parts[i] = Amount(r.Int64N(int64(10) << r.IntN(40)))
				}
			}
			column := NewColumn(parts...)
			for first := range parts {
				var exact, shown Amount
				for end := first; end < len(parts); end++ {
					exact += parts[end]
					shown += read(t, column.Part(end))
					text := column.Range(first, end+1)
					if got := read(t, text); got != shown {
						t.Fatalf("seed %d: parts %d to %d add up to %s, shown is %s", seed, first, end, shown, text)
					}
					unit := cent
					if i := strings.IndexByte(text, '.'); len(text)-i > 3 || strings.HasPrefix(text, "<") {
						unit = hundredth
					}
					if d := shown - exact; d >= unit || d <= -unit {
						t.Fatalf("seed %d: %s is shown as %s", seed, exact, text)
					}
					if (text == "$0.00") != (exact == 0) {
						t.Fatalf("seed %d: %s is shown as %s", seed, exact, text)
					}
				}
			}
		}
	})
}

// read is what somebody adds who sees text.
func read(t *testing.T, text string) Amount {
	t.Helper()
	if strings.HasPrefix(text, "<") {
		return 0
	}
	a, err := ParseAmount(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
