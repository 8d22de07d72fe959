// Command hitter comes by a fault point three times.
package main

import (
	"fmt"

	"parley/faultpoint"
)

func main() {
	for n := range 3 {
		faultpoint.Hit("here")
		fmt.Println("alive", n+1)
	}
}
