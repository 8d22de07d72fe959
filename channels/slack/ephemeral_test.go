package slack_test

import (
	"strings"
	"testing"

	"parley/channels"
	"parley/channels/slack"
	"parley/sessionkeys"
	sim "parley/simulators/slack"
)

// A person who cannot be shown a message in a channel is no reason to give the channel up, and a
// message for one person is never sent where all see it: nor in a thread that is gone, nor when it
// may be a repeat, which it says.
func TestWhatIsForOnePersonIsNeverSentToAll(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ch := r.open(t)
	root := r.say(t, general, ann, "hello", sim.SayOptions{})
	to := sessionkeys.Address{Channel: slack.Network, Account: "T0", Kind: sessionkeys.Group, Peer: general.ID, Thread: root.TS}
	for person, want := range map[string]channels.ErrorKind{"U0NOBODY": channels.Refused, "T0ELSE/U0STRANGER": channels.Refused, "T0ELSE/" + ann.ID: ""} {
		_, err := ch.Send(t.Context(), channels.Reply{To: to, ReplyTo: channels.PrivateReplyToPerson(person), Body: channels.Body{Text: "psst"}, Repeat: true})
		if got := kindOf(err); got != want {
			t.Errorf("to %s: %v", person, err)
		}
	}
	all := r.Books().Messages
	if len(all) != 1 || all[0].Ephemeral != ann.ID || all[0].ThreadTS != root.TS || !strings.Contains(all[0].Text(), "may be a repeat") {
		t.Errorf("sent %+v", all)
	}
}
