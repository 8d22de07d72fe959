package tools

import (
	"errors"
	"fmt"

	"parley/costs"
)

// MaxPrice is the most that one call of a tool may cost.
const MaxPrice = 1000 * costs.USD

var errPrice = errors.New("not what one call costs, in dollars such as 0.005")

// ParsePrice reads what a call of a tool costs, as an operator writes it: dollars above 0 and
// up to MaxPrice, exactly and with at most twelve decimals. An empty text is 0: calls cost
// nothing.
func ParsePrice(text string) (costs.Amount, error) {
	if text == "" {
		return 0, nil
	}
	a, err := costs.ParseAmount(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%w: %w", errPrice, err)
	case a < 0:
		return 0, fmt.Errorf("%w: %s is below 0", errPrice, a)
	case a == 0:
		return 0, fmt.Errorf("%w: leave it out where calls cost nothing", errPrice)
	case a > MaxPrice:
		return 0, fmt.Errorf("%w: %s is more than the %s that a call may cost at most", errPrice, a, MaxPrice)
	}
	return a, nil
}

// Unpaid marks err with ErrUnpaid. Its text and its kind stay what they are.
func Unpaid(err error) error {
	if err == nil {
		return nil
	}
	return markedError{err, ErrUnpaid}
}
