package admin

import "parley/costs"

// USD is an amount of dollars that is a decimal text in JSON, exact to the
// pico-dollar and without a sign: "0.0115923".
type USD costs.Amount

// String is u as costs.Amount shows it to people: rounded, "$0.0116".
func (u USD) String() string { return costs.Amount(u).Display() }

// Exact is u as a plain decimal with at least the cents: "0.0115923".
func (u USD) Exact() string {
	s := costs.Amount(u).String()
	if s[0] == '-' {
		return "-" + s[2:]
	}
	return s[1:]
}

// MarshalText is Exact.
func (u USD) MarshalText() ([]byte, error) { return []byte(u.Exact()), nil }

// UnmarshalText reads what MarshalText gives.
func (u *USD) UnmarshalText(b []byte) error {
	a, err := costs.ParseAmount(string(b))
	*u = USD(a)
	return err
}
