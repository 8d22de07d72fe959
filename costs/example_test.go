package costs_test

import (
	"fmt"

	"parley/costs"
)

func Example() {
	catalogue, err := costs.Embedded()
	if err != nil {
		fmt.Println(err)
		return
	}
	amount, price, err := catalogue.Cost("openai", "gpt-4.1-2025-04-14", costs.Usage{Input: 2000, CacheRead: 8000, Output: 500})
	fmt.Println(amount, amount.Display(), price.Model, err)

	upper, err := price.WorstCase(10_000, 1_000)
	fmt.Println(upper, err)

	_, _, err = catalogue.Cost("openai", "gpt-unheard-of", costs.Usage{Input: 1})
	fmt.Println(err)
	// Output:
	// $0.012 $0.0120 gpt-4.1 <nil>
	// $0.028 <nil>
	// model "gpt-unheard-of" of "openai": no price
}
