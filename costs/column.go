package costs

import "fmt"

// Column shows amounts that people see together with their sum, or with sums of some of
// them, so that what they see adds up. Each part is shown as the difference of two
// rounded running sums, and so is each run of parts: the parts of a run add up to the
// run, and all parts to the whole, in the last digit that is shown. Nothing shown is a
// whole unit away from the exact amount.
//
// All have the same decimals: the cents, where the whole is a dollar or more and every
// part that is not nothing a cent, else hundredths of a cent. What is not nothing and
// has none of these is "<$0.0001", to be added as nothing.
//
// It is for showing only: nothing is ever computed from it.
type Column struct {
	sums []Amount // of the parts before each; the last is of all
	unit Amount
}

// NewColumn returns the column of parts in the order in which they stand. Their sum,
// and the sum of the first ones, must be amounts.
func NewColumn(parts ...Amount) Column {
	c := Column{sums: make([]Amount, 1, len(parts)+1), unit: USD / 100}
	var sum Amount
	for _, p := range parts {
		sum += p
		c.sums = append(c.sums, sum)
		if p != 0 && magnitude(int64(p)) < uint64(USD/100) {
			c.unit = hundredth
		}
	}
	if magnitude(int64(sum)) <= uint64(USD-hundredth) {
		c.unit = hundredth
	}
	return c
}

const hundredth = USD / 10_000 // of a cent

// Part shows part i, counted from 0.
func (c Column) Part(i int) string { return c.Range(i, i+1) }

// Range shows the parts from first to the one before end, added up.
func (c Column) Range(first, end int) string {
	return c.show(c.sums[end]-c.sums[first], c.ceilUnits(c.sums[end])-c.ceilUnits(c.sums[first]))
}

// Total shows all parts, added up.
func (c Column) Total() string { return c.Range(0, len(c.sums)-1) }

// WithParts returns a column of other parts that has the decimals of c: what is the sum of
// both is shown alike.
func (c Column) WithParts(parts ...Amount) Column {
	other := NewColumn(parts...)
	other.unit = c.unit
	return other
}

// ceilUnits returns how many units a is, rounded up.
func (c Column) ceilUnits(a Amount) int64 {
	n := int64(a / c.unit)
	if a%c.unit > 0 {
		n++
	}
	return n
}

// show writes a as so many units.
func (c Column) show(a Amount, units int64) string {
	perDollar, decimals := uint64(USD/c.unit), 2
	if c.unit == hundredth {
		decimals = 4
	}
	m := magnitude(units)
	switch {
	case a == 0 && units == 0:
		return "$0.00"
	case units == 0:
		return fmt.Sprintf("<$%.*f", decimals, 1/float64(perDollar))
	}
	return fmt.Sprintf("%s%d.%0*d", sign(Amount(units)), m/perDollar, decimals, m%perDollar)
}
