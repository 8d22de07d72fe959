package signal_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"parley/channels"
	"parley/channels/signal"
	sim "parley/simulators/signal"
)

// G27.
func TestWhoMayBeListedByANumberWaitsForTheLookUpAndNobodyElse(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	shown := bob
	shown.SharesNumber = true
	noError(t, r.Meet(ann))
	r.plan(t, sim.Fault{Trouble: sim.Hanging, Method: "getUserStatus", Next: 1})
	got := take(t, r.open(t, func(o *signal.Options) { o.Numbers = []string{ann.Number} }), nil)
	r.await(t, "the look-up hangs", func(b sim.Book) bool {
		return slices.ContainsFunc(b.Calls, func(c sim.CallEntry) bool { return c.Fault == sim.Hanging })
	})
	r.say(t, sim.Chat{}, ann, "from somebody", sim.SayOptions{})
	const n = 300 // more than is read at once
	for i := range n {
		r.say(t, sim.Chat{}, shown, fmt.Sprint(i), sim.SayOptions{})
	}
	for i := range 200 {
		if m := got.next(); m.Text != fmt.Sprint(i) {
			t.Fatalf("%q came instead of %d", m.Text, i)
		}
	}
	if r.Acknowledged() != 0 {
		t.Error("the position is beyond what was not taken")
	}
	// The look-up is made again when the daemon that hangs in it is gone.
	if _, err := r.Kill(number); err != nil {
		t.Fatal(err)
	}
	var waited channels.Message
	texts := map[string]bool{}
	for len(texts) < n-200+1 {
		m := got.next()
		texts[m.Text] = true
		if m.Sender.ID == ann.ACI {
			waited = m
		}
	}
	if waited.Text != "from somebody" || waited.Sender.Alias != ann.Number {
		t.Errorf("who waited came as %+v", waited)
	}
}

// G26, G27. A line that is read again by who knows more of its sender is the same
// event.
func TestAnEventIsNamedByItsLineWhateverElseIsKnown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	noError(t, r.Meet(ann))
	// Old releases of signal-cli show nothing but the number of some.
	line := fmt.Sprintf(`{"envelope":{"source":%q,"sourceNumber":%[1]q,"sourceUuid":null,"sourceDevice":2,"timestamp":1700000000000,"dataMessage":{"timestamp":1700000000000,"message":"hello"}},"account":%q}`, ann.Number, number)
	r.plan(t, sim.Fault{Trouble: sim.UserError, Method: "getUserStatus"})
	got := take(t, r.open(t), nil)
	if _, err := r.Inject(number, json.RawMessage(line)); err != nil {
		t.Fatal(err)
	}
	before := got.next()
	if before.Sender.ID != ann.Number {
		t.Errorf("who is not known by an ACI came as %+v", before.Sender)
	}
	noError(t, r.AwaitAcknowledged(t.Context(), 1))
	got.stop()
	r.stop()
	r.ClearFaults()
	if err := os.Remove(filepath.Join(r.dir, "state", "position.json")); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	after := take(t, r.open(t), nil).next()
	if after.Sender.ID != ann.ACI || after.Sender.Alias != ann.Number || after.Address.Peer != ann.ACI {
		t.Errorf("who was looked up came as %+v in %+v", after.Sender, after.Address)
	}
	if after.Event != before.Event || after.Event == "" {
		t.Errorf("the event was %s and is %s", before.Event, after.Event)
	}
}
