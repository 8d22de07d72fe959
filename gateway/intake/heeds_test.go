package intake_test

import (
	"testing"

	"parley/channels"
	"parley/gateway/policy"
)

// abuse M7.
func TestHeeds(t *testing.T) {
	t.Parallel()
	var w world
	in := w.intake(policy.Access{People: []string{ann}, Groups: []string{kitchen}})
	elsewhere := group(ann, "hi")
	elsewhere.Address.Peer = "-666"
	unknown := dm(ann, "hi")
	unknown.Channel = "other"
	for name, c := range map[string]struct {
		m    channels.Message
		want bool
	}{
		"who is listed":         {dm(ann, "hi"), true},
		"in a listed group":     {group(ann, "hi"), true},
		"in another group":      {elsewhere, false},
		"who is not":            {dm(ben, "hi"), false},
		"nor in a listed group": {group(ben, "hi"), false},
		"of another account":    {unknown, true},
	} {
		if got := in.Heeds(t.Context(), c.m); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// abuse H3.
func TestUses(t *testing.T) {
	t.Parallel()
	var w world
	in := w.intake(policy.Access{People: []string{ann}, Groups: []string{kitchen}})
	other, follows, reaction := group(ann, "hi"), group(ann, "and?"), dm(ann, "")
	other.Mentioned, follows.Mentioned, follows.Follows, reaction.Kind = false, false, true, channels.Unhandled
	for name, c := range map[string]struct {
		m    channels.Message
		want bool
	}{
		"directly":               {dm(ann, "hi"), true},
		"where it is named":      {group(ann, "hi"), true},
		"where it is not":        {other, false},
		"in a thread, perhaps":   {follows, true},
		"what is no message":     {reaction, false},
		"who may not talk to it": {dm(ben, "hi"), false},
	} {
		if got := in.Uses(t.Context(), c.m); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
