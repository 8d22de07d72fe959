package policy_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"parley/channels"
	"parley/gateway/policy"
	"parley/sessionkeys"
)

func TestAccessRefusesWhatIsNoID(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "*", "@ann"} {
		for _, a := range []policy.Access{{People: []string{"1", bad}}, {Groups: []string{"1", bad}}} {
			if err := a.Validate(nil, nil); err == nil || !strings.Contains(err.Error(), "[1]") {
				t.Errorf("%q: %v", bad, err)
			}
		}
	}
	if err := (policy.Access{People: slices.Repeat([]string{"1"}, 3), Groups: []string{"-100"}}).Validate(nil, nil); err != nil {
		t.Error(err)
	}
	odd := errors.New("odd")
	err := policy.Access{People: []string{"1", "@ann", "2"}, Groups: []string{"3", ""}}.Validate(
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

func TestLimitsSayWhatCannotBeMeant(t *testing.T) {
	t.Parallel()
	if err := (policy.Limits{}).Defaults().Validate(); err != nil {
		t.Error(err)
	}
	if err := (policy.Limits{Queue: -2}).Validate(); err == nil || !strings.Contains(err.Error(), "queue") {
		t.Errorf("%v", err)
	}
}

// Who may permit something is listed for it, and may talk to the bot.
func TestApprovers(t *testing.T) {
	t.Parallel()
	a := policy.Access{People: []string{"1", "2", "+49"}, Approvers: []string{"1", "+49"}}
	for _, c := range []struct {
		s    channels.Sender
		want bool
	}{
		{channels.Sender{ID: "1"}, true},
		{channels.Sender{ID: "2"}, false},
		{channels.Sender{ID: "x", Alias: "+49"}, true},
		{channels.Sender{ID: "1", Bot: true}, false},
		{channels.Sender{ID: "1", Anonymous: true}, false},
		{channels.Sender{}, false},
	} {
		dm, group := sessionkeys.Address{Kind: sessionkeys.DM}, sessionkeys.Address{Kind: sessionkeys.Group}
		if a.Approves(c.s) != c.want || a.HasApprover(dm, c.s) != c.want || !a.HasApprover(group, c.s) || (policy.Access{Everyone: true}).HasApprover(group, c.s) || (policy.Access{Everyone: true}).Approves(c.s) {
			t.Errorf("%+v approves: %v", c.s, a.Approves(c.s))
		}
	}
	if (policy.Access{Approvers: []string{"1"}}).Approves(channels.Sender{ID: "1"}) {
		t.Error("somebody permits who may not talk to the bot")
	}
	if err := (policy.Access{People: []string{"1"}, Approvers: []string{"2"}}).Validate(nil, nil); err == nil || !strings.Contains(err.Error(), "approvers[0]: 2 is not in people") {
		t.Errorf("%v", err)
	}
}
