package costs

import "fmt"

// Ceiling is the price that stands in for models without one: dollars per
// million tokens of input, cached or not, and of output, as decimals with at
// most six decimals. It is the operator's word that nothing used costs more, so
// it holds for every service tier, speed and geography; not for server tools,
// which it does not name.
func Ceiling(input, output string) (*Price, error) {
	in, err := rate(input)
	if err != nil {
		return nil, fmt.Errorf("input: %w", err)
	}
	out, err := rate(output)
	if err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	return &Price{
		Ceiling: true, Source: "ceiling",
		Input: in, CacheRead: in, CacheWrite5m: in, CacheWrite1h: in, Output: out,
	}, nil
}

// rate is pico-dollars per token from dollars per million.
func rate(s string) (Amount, error) {
	a, err := parseDecimal(s, 6)
	return a / 1_000_000, err
}
