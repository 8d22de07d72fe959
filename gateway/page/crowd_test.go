package page_test

import (
	"math"
	"strings"
	"sync/atomic"
	"testing"

	"parley/gateway/gatewaytest"
	"parley/simulators/telegram"
)

// A page of the list costs as many questions however many sessions there are, and pages follow each
// other without a gap.
func TestAPageCostsTheSameWhateverThereIs(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	gw := open(t, gatewaytest.Options{Statement: func(query string) {
		if strings.HasPrefix(query, "SELECT") {
			asked.Add(1)
		}
	}})
	say := func(from, to int64) {
		for i := from; i < to; i++ {
			p := telegram.Person{ID: i, FirstName: "P"}
			gw.Ask(p, "hello")
		}
	}
	say(5000, 5026)
	b := newBrowser(t, gw).logIn()
	count := func(path string) int64 {
		least := int64(math.MaxInt64)
		for range 6 { // beside it the gateway asks questions of its own
			before := asked.Load()
			b.see(path)
			least = min(least, asked.Load()-before)
		}
		return least
	}
	first, overview := count("/sessions"), count("/")
	say(5026, 5030)
	if again := count("/"); again != overview {
		t.Errorf("with 26 sessions the overview costs %d questions, with 30 %d", overview, again)
	}
	if again := count("/sessions"); again != first || first > 4*25 {
		t.Errorf("with 26 sessions a page costs %d questions, with 30 %d", first, again)
	}
	seen := map[string]bool{}
	for _, path := range []string{"/sessions", "/sessions?page=2", "/sessions?page=3"} {
		page := b.see(path)
		for _, part := range strings.Split(page, `<th scope="row"><a href="`)[1:] {
			address, _, _ := strings.Cut(part, `"`)
			if seen[address] {
				t.Errorf("%s is on two pages", address)
			}
			seen[address] = true
		}
		if more := strings.Contains(page, `rel="next"`); more != (path == "/sessions") {
			t.Errorf("%s leads on: %v", path, more)
		}
	}
	if len(seen) != 30 {
		t.Errorf("%d sessions are listed", len(seen))
	}
}
