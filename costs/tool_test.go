package costs_test

import (
	"testing"

	. "parley/costs"
)

// Each try of each call of an answer has a number of its own, and says of which call it is.
func TestToolAttempt(t *testing.T) {
	t.Parallel()
	seen := map[int]bool{}
	for n := 1; n <= 4; n++ {
		for index := range MaxToolCalls {
			c := CallID{Turn: "t", Step: 0, Attempt: ToolAttempt(index, n), Purpose: Tool}
			if seen[c.Attempt] || c.ToolIndex() != index || c.Validate() != nil {
				t.Errorf("try %d of call %d is %+v", n, index, c)
			}
			seen[c.Attempt] = true
			if back, err := ParseCallID(c.String()); err != nil || back != c {
				t.Errorf("%s is read as %+v, %v", c, back, err)
			}
		}
	}
	for _, c := range []CallID{{Turn: "t", Step: -1, Attempt: 1, Purpose: Tool}, {Turn: "t", Step: 0, Attempt: 1, Purpose: RootTurn}, {Turn: "t", Step: 0, Attempt: 0, Purpose: Tool}} {
		if c.Validate() == nil {
			t.Errorf("%+v names a call", c)
		}
	}
}

func TestToolPrice(t *testing.T) {
	t.Parallel()
	p := ToolPrice("web_search", USD/200)
	for uses, want := range map[int64]Amount{0: 0, 1: USD / 200, 3: 3 * USD / 200} {
		if got, err := p.Cost(Usage{Source: Reported, ServerTools: map[string]int64{ToolUse: uses}}); err != nil || got != want {
			t.Errorf("%d uses cost %s, %v", uses, got, err)
		}
	}
}
