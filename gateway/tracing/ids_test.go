package tracing

import (
	"math/rand/v2"
	"testing"
)

func TestTraceOf(t *testing.T) {
	t.Parallel()
	for _, turn := range []string{"", "t-", "00112233445566778899aabbccddeeff", "t-00112233445566778899aabbccddee", "t-00112233445566778899aabbccddeeff00", "t-0011223344556677zz99aabbccddeeff", "t-00000000000000000000000000000000"} {
		if id, ok := traceOf(turn); ok {
			t.Errorf("%q is taken for the trace %x", turn, id)
		}
	}
	const turn = "t-00112233445566778899aabbccddeeff"
	id, ok := traceOf(turn)
	if !ok || id[0] != 0 || id[15] != 0xff {
		t.Errorf("%x, %v", id, ok)
	}
	for name, about := range map[string][2]string{"an answer": {turn, turn}, "a file of the turn": {"x", turn}, "an answer to a command": {"n-" + turn, ""}} {
		if got, ok := traceOfDelivery(about[0], about[1]); !ok || got != id {
			t.Errorf("%s is in the trace %x, %v", name, got, ok)
		}
	}
	for _, other := range []string{"n-6528ee7584502ad1", "x", "decided-" + turn[:20]} {
		if got, ok := traceOfDelivery(other, ""); ok {
			t.Errorf("%s is in the trace %x", other, got)
		}
	}
	if id.root() == (traceID{1}).root() || id.root() == (spanID{}) {
		t.Error("traces have the same first span")
	}
}

// Processes with the same share make the same traces, and one with a smaller share some of them.
func TestSampler(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2)) // reproducible
	all, half, tenth := newSampler(1), newSampler(0.5), newSampler(0.1)
	const n = 10_000
	halves, tenths := 0, 0
	for range n {
		var id traceID
		for i := range id {
			id[i] = byte(random.Uint32())
		}
		if !all.takes(id) {
			t.Fatalf("all traces are to be made, and %x is not", id)
		}
		if half.takes(id) {
			halves++
		}
		if tenth.takes(id) {
			tenths++
			if !half.takes(id) {
				t.Fatalf("%x is in a tenth of the traces and not in half of them", id)
			}
		}
	}
	if halves < n*45/100 || halves > n*55/100 || tenths < n*8/100 || tenths > n*12/100 {
		t.Errorf("%d and %d of %d", halves, tenths, n)
	}
	if !newSampler(1).takes(traceID{8: 0xff, 9: 0xff, 10: 0xff, 11: 0xff, 12: 0xff, 13: 0xff, 14: 0xff, 15: 0xff}) {
		t.Error("the last trace is not made")
	}
}
