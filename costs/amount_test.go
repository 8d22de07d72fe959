package costs_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	. "parley/costs"
)

func TestAmountsAreShownExactlyAndForPeople(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		amount         Amount
		exact, display string
	}{
		{0, "$0.00", "$0.00"},
		{11_592_300_000, "$0.0115923", "$0.0116"},
		{12_000_000_000, "$0.012", "$0.0120"},
		{USD, "$1.00", "$1.00"},
		{USD * 21 / 10, "$2.10", "$2.10"},
		{USD*3 + 1, "$3.000000000001", "$3.01"},
		{1, "$0.000000000001", "<$0.0001"},
		{100_000_000, "$0.0001", "$0.0001"},
		{99_999_999, "$0.000099999999", "<$0.0001"},
		{100_000_001, "$0.000100000001", "$0.0002"},
		{999_900_000_000, "$0.9999", "$0.9999"},
		{999_900_000_001, "$0.999900000001", "$1.00"},
		{-11_592_300_000, "-$0.0115923", "-$0.0116"},
		{-1, "-$0.000000000001", "-$0.0001"},
		{-3 * USD / 2, "-$1.50", "-$1.50"},
		{math.MaxInt64, "$9223372.036854775807", "$9223372.04"},
		{math.MinInt64, "-$9223372.036854775808", "-$9223372.04"},
	} {
		if got := tc.amount.String(); got != tc.exact {
			t.Errorf("%d is exactly %s, want %s", int64(tc.amount), got, tc.exact)
		}
		if got := tc.amount.Display(); got != tc.display {
			t.Errorf("%d is displayed as %s, want %s", int64(tc.amount), got, tc.display)
		}
		if back, err := ParseAmount(tc.exact); err != nil || back != tc.amount {
			t.Errorf("%s is read as %d, %v", tc.exact, int64(back), err)
		}
	}
	if got := (USD * 21 / 10).Dollars(); got != 2.1 {
		t.Errorf("2.1 dollars are %v for Prometheus", got)
	}
}

func TestAmountsAreReadExactlyOrRefused(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]Amount{
		"1.50": USD * 3 / 2, "0": 0, "-0": 0, "007": 7 * USD, "0.000000000001": 1, "$0.25": USD / 4, "-$2": -2 * USD,
		"9223372.036854775807": math.MaxInt64, "-9223372.036854775808": math.MinInt64,
	} {
		if got, err := ParseAmount(s); err != nil || got != want {
			t.Errorf("%q is read as %d, %v; want %d", s, int64(got), err, int64(want))
		}
	}
	for s, kind := range map[string]error{
		"": ErrAmount, ".": ErrAmount, ".5": ErrAmount, "5.": ErrAmount, "-": ErrAmount, "$": ErrAmount, "$-1": ErrAmount,
		"--1": ErrAmount, "+1": ErrAmount, "1e3": ErrAmount, "1,5": ErrAmount, "1_000": ErrAmount, " 1": ErrAmount,
		"1.2.3": ErrAmount, "1.0000000000000": ErrAmount, "NaN": ErrAmount, "Inf": ErrAmount, "٣": ErrAmount, "0x1": ErrAmount,
		"9223372.036854775808": ErrOverflow, "-9223372.036854775809": ErrOverflow, "99999999999999999999": ErrOverflow,
		strings.Repeat("9", 1<<16): ErrOverflow, strings.Repeat("x", 1<<16): ErrAmount,
	} {
		got, err := ParseAmount(s)
		if !errors.Is(err, kind) || got != 0 {
			t.Errorf("%.40q is read as %d, %v; want %v", s, int64(got), err, kind)
		}
		if err != nil && len(err.Error()) > 200 {
			t.Errorf("the error about %.20q has %d bytes", s, len(err.Error()))
		}
	}
}

func TestAMillionSmallCostsAddUpExactly(t *testing.T) {
	t.Parallel()
	rate, err := ParseAmount("0.30")
	if err != nil {
		t.Fatal(err)
	}
	rate /= 1_000_000
	var sum Amount
	for range 1_000_000 {
		a, err := rate.Mul(7)
		if err != nil {
			t.Fatal(err)
		}
		if sum, err = sum.Add(a); err != nil {
			t.Fatal(err)
		}
	}
	if sum.String() != "$2.10" {
		t.Errorf("a million times 7 tokens at $0.30 per million are %s", sum)
	}
}

func TestArithmeticIsExactOrSaysOverflow(t *testing.T) {
	t.Parallel()
	edge := rapid.OneOf(
		rapid.Int64(), rapid.Int64Range(-10, 10),
		rapid.SampledFrom([]int64{math.MinInt64, math.MinInt64 + 1, math.MaxInt64, math.MaxInt64 - 1, 1 << 32, -1 << 32, 3037000500}),
	)
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := edge.Draw(t, "a"), edge.Draw(t, "b"), edge.Draw(t, "c")
		judge := func(op string, got Amount, err error, want *big.Int) {
			if want.IsInt64() != (err == nil) || err != nil && !errors.Is(err, ErrOverflow) || err == nil && int64(got) != want.Int64() {
				t.Fatalf("%d %s %d (%d) = %d, %v; want %s", a, op, b, c, int64(got), err, want)
			}
		}
		x, y, z := big.NewInt(a), big.NewInt(b), big.NewInt(c)
		got, err := Amount(a).Add(Amount(b))
		judge("+", got, err, new(big.Int).Add(x, y))
		got, err = Amount(a).Sub(Amount(b))
		judge("-", got, err, new(big.Int).Sub(x, y))
		got, err = Amount(a).Mul(b)
		judge("*", got, err, new(big.Int).Mul(x, y))
		got, err = SumOf(Amount(a), Amount(b), Amount(c), Amount(b))
		judge("sum", got, err, new(big.Int).Add(new(big.Int).Add(x, y), new(big.Int).Add(z, y)))
	})
}

func TestMoneyIsAnIntegerInJSON(t *testing.T) {
	t.Parallel()
	b, err := json.Marshal(struct{ A Amount }{11_592_300_000})
	if err != nil || string(b) != `{"A":11592300000}` {
		t.Errorf("JSON is %s, %v", b, err)
	}
	var a Amount
	if err := json.Unmarshal([]byte(`9223372036854775807`), &a); err != nil || a != math.MaxInt64 {
		t.Errorf("the largest amount is read as %d, %v", int64(a), err)
	}
	for _, bad := range []string{`1.5`, `1e30`, `"1"`, `9223372036854775808`} {
		if err := json.Unmarshal([]byte(bad), &a); err == nil {
			t.Errorf("%s is read as %s", bad, a)
		}
	}
}

func FuzzParseAmount(f *testing.F) {
	for _, s := range []string{"1.50", "-$0.000000000001", "", ".", "9223372.036854775808", "-9223372.036854775808", "1e3", "0.0115923"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseAmount(s)
		if err != nil {
			if !errors.Is(err, ErrAmount) && !errors.Is(err, ErrOverflow) {
				t.Fatalf("%q: %v", s, err)
			}
			return
		}
		if back, err := ParseAmount(a.String()); err != nil || back != a {
			t.Fatalf("%q is %s, read again as %s, %v", s, a, back, err)
		}
		r, ok := new(big.Rat).SetString(strings.Replace(s, "$", "", 1))
		if !ok || r.Mul(r, big.NewRat(int64(USD), 1)).Cmp(new(big.Rat).SetInt64(int64(a))) != 0 {
			t.Fatalf("%q is read as %s", s, a)
		}
	})
}
