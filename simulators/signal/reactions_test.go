package signal_test

import (
	"slices"
	"testing"

	sim "parley/simulators/signal"
)

// firstday A4: signal-cli, SendReactionCommand and ManagerImpl.sendMessageReaction: a
// reaction is a message to everybody there, and who has its message sees it.
func TestSendReaction(t *testing.T) {
	t.Parallel()
	w := start(t)
	d := w.daemon()
	said := w.say(sim.Chat{}, ann, "hi")
	react := func(more args) reply {
		a := args{"recipient": ann.ACI, "emoji": "👀", "targetAuthor": ann.ACI, "targetTimestamp": said.Timestamp}
		for k, v := range more {
			a[k] = v
		}
		return d.call("sendReaction", a)
	}
	for _, c := range []struct {
		name string
		more args
		code int
	}{
		{"eyes", nil, 0},
		{"the same again", nil, 0},
		{"another instead", args{"emoji": "👍"}, 0},
		{"taken away", args{"remove": true}, 0},
		{"taken away again", args{"remove": true}, 0},
		{"of another author", args{"targetAuthor": bob.ACI}, 0},
		{"of nothing that was said", args{"targetTimestamp": 5}, 0},
		{"without an emoji", args{"emoji": nil}, -32603},
		{"with a timestamp that is a text", args{"targetTimestamp": "5"}, -32603},
		{"of an author that is none", args{"targetAuthor": "nobody"}, -1},
		{"to nobody", args{"recipient": nil}, -1},
	} {
		if e := react(c.more).Error; e == nil && c.code != 0 || e != nil && e.Code != c.code {
			t.Errorf("%s: %+v, want %d", c.name, e, c.code)
		}
	}
	b := w.Books()
	var seen []string
	for _, s := range b.Signals {
		seen = append(seen, s.Kind+" "+s.Text)
	}
	if want := []string{"reaction 👀", "reaction 👍", "reaction_removed 👀"}; !slices.Equal(seen, want) || b.Totals.StrayReactions != 4 {
		t.Errorf("people saw %q and not %d others, want %q", seen, b.Totals.StrayReactions, want)
	}
	if err := w.Plan(sim.Fault{Trouble: sim.Flooded, Method: "sendReaction", Next: 1}); err != nil {
		t.Fatal(err)
	}
	if e := react(nil).Error; e == nil || e.Code != -32603 {
		t.Errorf("a flood: %+v", e)
	}
}
