package intake_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"parley/channels"
	"parley/gateway/intake"
)

func TestAccessRefusesWhatIsNoID(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "*", "@ann"} {
		for _, a := range []intake.Access{{People: []string{"1", bad}}, {Groups: []string{"1", bad}}} {
			if err := a.Validate(nil, nil); err == nil || !strings.Contains(err.Error(), "[1]") {
				t.Errorf("%q: %v", bad, err)
			}
		}
	}
	if err := (intake.Access{People: slices.Repeat([]string{"1"}, 3), Groups: []string{"-100"}}).Validate(nil, nil); err != nil {
		t.Error(err)
	}
	odd := errors.New("odd")
	err := intake.Access{People: []string{"1", "@ann", "2"}, Groups: []string{"3", ""}}.Validate(
		func(id string) error {
			if id == "2" {
				return odd
			}
			return nil
		},
		func(string) error { return odd },
	)
	if !errors.Is(err, odd) {
		t.Fatal(err)
	}
	var places []string
	for line := range strings.Lines(err.Error()) {
		place, _, _ := strings.Cut(line, ":")
		places = append(places, place)
	}
	if want := []string{"people[1]", "people[2]", "groups[0]", "groups[1]"}; !slices.Equal(places, want) {
		t.Errorf("mistakes at %v, want all of %v", places, want)
	}
}

// abuse M7.
func TestHeeds(t *testing.T) {
	t.Parallel()
	var w world
	in := w.intake(intake.Access{People: []string{ann}, Groups: []string{kitchen}})
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
	in := w.intake(intake.Access{People: []string{ann}, Groups: []string{kitchen}})
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
