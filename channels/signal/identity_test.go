package signal_test

import (
	"slices"
	"strings"
	"testing"

	"parley/channels"
	"parley/channels/signal"
	sim "parley/simulators/signal"
)

// firstday G5. Signal knows nothing of a number that may not be found by it, our own
// either; signal-cli knows whose account it holds.
func TestAnAccountThatCannotBeFoundByItsNumberKnowsItself(t *testing.T) {
	t.Parallel()
	hidden := func(o *sim.Options) { o.Accounts[0].Undiscoverable = true }
	unknown := func(o *signal.Options) { o.ACI = "" }
	for name, open := range map[string]func(t *testing.T) (*fixture, *taking){
		"supervised": func(t *testing.T) (*fixture, *taking) {
			r := newRig(t, hidden)
			return r, take(t, r.open(t, unknown), nil)
		},
		"attached": func(t *testing.T) (*fixture, *taking) {
			a := newAttached(t, "http", hidden)
			return a.fixture, take(t, a.open(t, unknown), nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, got := open(t)
			r.seen.await(t, "the channel is up", func(w *watched) bool { return w.up })
			r.say(t, team, ann, "@us hello", sim.SayOptions{Mentions: []sim.Mention{{Name: "@us", ACI: ourACI}}})
			if m := got.next(); m.Text != "hello" || !m.Mentioned {
				t.Errorf("came %+v", m)
			}
			if slices.ContainsFunc(r.Books().Calls, func(c sim.CallEntry) bool { return c.Method == "getUserStatus" }) {
				t.Error("Signal was asked for what signal-cli knows")
			}
		})
	}
}

// firstday G6. Since signal-cli 0.14.6 an account may be named by its ACI, and may have
// no number.
func TestAnAccountMayBeNamedByItsACI(t *testing.T) {
	t.Parallel()
	for name, number := range map[string]string{"with a number": number, "without one": ""} {
		for how, open := range map[string]func(t *testing.T, change func(*sim.Options)) (*fixture, *signal.Channel){
			"supervised": func(t *testing.T, change func(*sim.Options)) (*fixture, *signal.Channel) {
				r := newRig(t, change)
				return r, r.start(t, r.options(), []func(*signal.Options){func(o *signal.Options) { o.Account, o.ACI = strings.ToUpper(ourACI), "" }})
			},
			"attached by HTTP": func(t *testing.T, change func(*sim.Options)) (*fixture, *signal.Channel) {
				a := newAttached(t, "http", change)
				return a.fixture, a.open(t, func(o *signal.Options) { o.Account, o.ACI = ourACI, "" })
			},
			"attached by a socket": func(t *testing.T, change func(*sim.Options)) (*fixture, *signal.Channel) {
				a := newAttached(t, "unix", change)
				return a.fixture, a.open(t, func(o *signal.Options) { o.Account, o.ACI = ourACI, "" })
			},
		} {
			t.Run(name+", "+how, func(t *testing.T) {
				t.Parallel()
				r, ch := open(t, func(o *sim.Options) { o.Accounts[0].Number = number })
				got := take(t, ch, nil)
				r.seen.await(t, "the channel is up", func(w *watched) bool { return w.up })
				r.say(t, team, ann, "@us hello", sim.SayOptions{Mentions: []sim.Mention{{Name: "@us", ACI: ourACI}}})
				m := got.next()
				if m.Text != "hello" || !m.Mentioned || m.Address.Account != ourACI {
					t.Errorf("came %+v", m)
				}
				receipt, err := ch.Send(t.Context(), channels.Reply{To: m.Address, ReplyTo: m.MessageID, Body: channels.Body{Text: "hi"}})
				if err != nil {
					t.Fatal(err)
				}
				sent := r.Books().Messages[0]
				r.say(t, team, bob, "why?", sim.SayOptions{Quote: &sim.Quote{Timestamp: sent.Timestamp, Author: ourACI}})
				if a := got.next(); !a.Mentioned || a.ReplyTo == nil || !a.ReplyTo.FromBot || a.ReplyTo.MessageID != receipt.MessageID {
					t.Errorf("an answer to us came as %+v, %+v", a, a.ReplyTo)
				}
				// What another account of the daemon gets is not ours.
				r.say(t, sim.Chat{Account: "+4915550000002"}, ann, "to the other", sim.SayOptions{})
				r.say(t, sim.Chat{Account: ourACI}, ann, "to us", sim.SayOptions{})
				if m := got.next(); m.Text != "to us" {
					t.Errorf("then came %+v", m)
				}
			})
		}
	}
}

// firstday G6.
func TestAnACIIsNoAccountBefore0146(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *sim.Options) { o.Version = "0.14.5" })
	var log page
	take(t, r.start(t, r.options(), []func(*signal.Options){logged(&log), func(o *signal.Options) { o.Account = ourACI }}), nil)
	log.await(t, "signal-cli ended")
	a := newAttached(t, "http", func(o *sim.Options) { o.Version = "0.14.5" })
	take(t, a.start(t, a.options(), []func(*signal.Options){logged(&log), func(o *signal.Options) { o.Account = ourACI }}), nil)
	log.await(t, "0.14.6")
}

// firstday G11. Who does not know who they are cannot read what is said to them: the
// channel is down, it is said why, and what people write waits at Signal.
func TestWithoutItsOwnACINothingIsReceivedAndItIsSaid(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, method := range []string{"listIdentities", "getUserStatus"} {
		r.plan(t, sim.Fault{Trouble: sim.UserError, Method: method})
	}
	var log page
	got := take(t, r.open(t, logged(&log), func(o *signal.Options) { o.ACI = "" }), nil)
	r.say(t, sim.Chat{}, ann, "hello", sim.SayOptions{})
	log.await(t, "receiving stopped")
	if b := r.Books(); b.Totals.Acked != 0 || r.seen.ups != 0 {
		t.Errorf("%d messages were confirmed, and the channel was up %d times", b.Totals.Acked, r.seen.ups)
	}
	r.ClearFaults()
	if m := got.next(); m.Text != "hello" {
		t.Errorf("then came %+v", m)
	}
	r.seen.await(t, "the channel is up", func(w *watched) bool { return w.up })
}
