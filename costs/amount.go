package costs

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// ErrAmount is the kind of every error of ParseAmount but ErrOverflow: the text
// is no amount of dollars.
var ErrAmount = errors.New("not an amount of dollars")

// Add returns a + b, or ErrOverflow.
func (a Amount) Add(b Amount) (Amount, error) {
	sum := a + b
	if (sum > a) != (b > 0) && b != 0 {
		return 0, fmt.Errorf("add money: %w", ErrOverflow)
	}
	return sum, nil
}

// Sub returns a - b, or ErrOverflow.
func (a Amount) Sub(b Amount) (Amount, error) {
	diff := a - b
	if (diff < a) != (b > 0) && b != 0 {
		return 0, fmt.Errorf("subtract money: %w", ErrOverflow)
	}
	return diff, nil
}

// Mul returns n times a, or ErrOverflow.
func (a Amount) Mul(n int64) (Amount, error) {
	hi, lo := bits.Mul64(magnitude(int64(a)), magnitude(n))
	negative := (a < 0) != (n < 0)
	if hi != 0 || lo > 1<<63 || lo == 1<<63 && !negative {
		return 0, fmt.Errorf("multiply money: %w", ErrOverflow)
	}
	if negative {
		lo = -lo
	}
	return Amount(lo), nil
}

// SumOf adds up all as, or returns ErrOverflow. Only the sum must fit: what is
// passed on the way to it does not matter, so neither does the order.
func SumOf(as ...Amount) (Amount, error) {
	var hi int64
	var lo uint64
	for _, a := range as {
		var carry uint64
		lo, carry = bits.Add64(lo, uint64(a), 0)
		hi += int64(a)>>63 + int64(carry)
	}
	if hi != int64(lo)>>63 {
		return 0, fmt.Errorf("add up money: %w", ErrOverflow)
	}
	return Amount(lo), nil
}

// String returns a exactly, in dollars: "$0.0115923", "-$1.50", "$0.00". It has at
// least the cents and at most twelve decimals; ParseAmount reads it back.
func (a Amount) String() string {
	m := magnitude(int64(a))
	frac := strings.TrimRight(fmt.Sprintf("%012d", m%uint64(USD)), "0")
	for len(frac) < 2 {
		frac += "0"
	}
	return sign(a) + strconv.FormatUint(m/uint64(USD), 10) + "." + frac
}

// Display returns a for people, rounded away from zero: from a dollar on to the
// cent, "$2.10"; below it to a hundredth of a cent, "$0.0116"; and "<$0.0001".
// It is for showing only: nothing is ever computed from it.
func (a Amount) Display() string {
	const cent, hundredth = uint64(USD) / 100, uint64(USD) / 10_000
	m := magnitude(int64(a))
	switch {
	case m == 0:
		return "$0.00"
	case m < hundredth && a > 0:
		return "<$0.0001"
	case m <= uint64(USD)-hundredth:
		return sign(a) + fmt.Sprintf("0.%04d", ceilDiv(m, hundredth))
	}
	cents := ceilDiv(m, cent)
	return sign(a) + fmt.Sprintf("%d.%02d", cents/100, cents%100)
}

// ceilDiv returns m in units, rounded up.
func ceilDiv(m, unit uint64) uint64 {
	n := m / unit
	if m%unit != 0 {
		n++
	}
	return n
}

// Dollars returns a as a float, for Prometheus alone, whose samples are floats. It
// is not exact and must never come back into the books.
func (a Amount) Dollars() float64 { return float64(a) / float64(USD) }

// ParseAmount reads an exact amount of dollars: digits, and behind a point one
// to twelve decimals; a minus and a dollar sign may stand in front, as in what
// String gives. Anything else is ErrAmount, too much money ErrOverflow. The
// error repeats the text shortened and quoted.
func ParseAmount(s string) (Amount, error) {
	bad := func(why string) (Amount, error) { return 0, fmt.Errorf("%w: %s: %s", ErrAmount, quote(s), why) }
	text, negative := strings.CutPrefix(s, "-")
	text = strings.TrimPrefix(text, "$")
	whole, frac, point := strings.Cut(text, ".")
	switch {
	case s == "":
		return 0, fmt.Errorf("%w: empty text", ErrAmount)
	case whole == "":
		return bad("no digit stands before the point")
	case point && frac == "":
		return bad("no digit stands behind the point")
	case len(frac) > 12:
		return bad("more than twelve decimals")
	case strings.Trim(whole, "0123456789") != "" || strings.Trim(frac, "0123456789") != "":
		return bad("only digits and one point are allowed")
	}
	digits := strings.TrimLeft(whole+frac+strings.Repeat("0", 12-len(frac)), "0")
	if digits == "" {
		return 0, nil
	}
	m, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || m > 1<<63 || m == 1<<63 && !negative {
		return 0, fmt.Errorf("%s: %w", quote(s), ErrOverflow)
	}
	if negative {
		m = -m
	}
	return Amount(m), nil
}

func sign(a Amount) string {
	if a < 0 {
		return "-$"
	}
	return "$"
}

// magnitude returns |n|, which for the least int64 only a uint64 holds.
func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// addSaturating adds counts of tokens, which are never negative once validated.
func addSaturating(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// quote shows a stranger's text in an error: bounded, without control
// characters.
func quote(s string) string {
	const most = 40
	if len(s) > most {
		return strconv.QuoteToASCII(s[:most]) + "…"
	}
	return strconv.QuoteToASCII(s)
}
