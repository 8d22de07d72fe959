package costs

// Ceiling returns the price that stands in for models without one, per token of input,
// cached or not, and of output. It is the operator's word that nothing used costs more,
// so it holds for every service tier, speed and geography; not for server tools, which it
// does not name.
func Ceiling(input, output Amount) *Price {
	return &Price{
		Ceiling: true, Source: "ceiling",
		Input: input, CacheRead: input, CacheWrite5m: input, CacheWrite1h: input, Output: output,
	}
}

// ParseRate reads dollars per million tokens, a decimal with at most six decimals, as what
// one token costs.
func ParseRate(s string) (Amount, error) {
	a, err := parseDecimal(s, 6)
	return a / 1_000_000, err
}
