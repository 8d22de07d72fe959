package slack

import (
	"errors"
	"strconv"
	"testing"

	"parley/channels"
)

func TestOnlySomeDoubtsAreRemembered(t *testing.T) {
	t.Parallel()
	var d ambiguousSends
	lost := &channels.Error{Kind: channels.Ambiguous}
	for range 2 { // a repeat takes no more room
		for i := range maxDoubts + 10 {
			d.note(strconv.Itoa(i), "F"+strconv.Itoa(i), lost)
		}
	}
	d.note("refused", "F1", &channels.Error{Kind: channels.Refused})
	d.note("odd", "F1", errors.New("odd"))
	d.note("", "F1", lost)
	if len(d.files) != maxDoubts || len(d.order) != maxDoubts {
		t.Errorf("%d are remembered, in order %d", len(d.files), len(d.order))
	}
	if f, ok := d.lookUp(strconv.Itoa(maxDoubts + 9)); !ok || f != "F"+strconv.Itoa(maxDoubts+9) {
		t.Errorf("the last is %q, %t", f, ok)
	}
	for _, id := range []string{"", "refused", "odd", "never"} {
		if _, ok := d.lookUp(id); ok {
			t.Errorf("%q is remembered", id)
		}
	}
}
