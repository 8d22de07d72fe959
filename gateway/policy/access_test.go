package policy_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"parley/channels"
	"parley/gateway/policy"
	"parley/gateway/roles"
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

func approves(a policy.Access, s channels.Sender, r policy.Ruling) bool {
	return a.RoleOf(s, policy.Standing{Ruling: r}).May(roles.Approve)
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
		everyone := policy.Access{Everyone: true}
		if approves(a, c.s, policy.NoRuling) != c.want || approves(everyone, c.s, policy.NoRuling) || !a.NamesApprover() || everyone.NamesApprover() {
			t.Errorf("%+v approves: %v", c.s, approves(a, c.s, policy.NoRuling))
		}
	}
	if approves(policy.Access{Approvers: []string{"1"}}, channels.Sender{ID: "1"}, policy.NoRuling) {
		t.Error("somebody permits who may not talk to the bot")
	}
	if err := (policy.Access{People: []string{"1"}, Approvers: []string{"2"}}).Validate(nil, nil); err == nil || !strings.Contains(err.Error(), "approvers[0]: 2 is not in people") {
		t.Errorf("%v", err)
	}
}

// (security 5.1) What was decided while the gateway runs: who is let in is for direct messages
// only, and who is shut out is although they are listed, or everybody is.
func TestRulings(t *testing.T) {
	t.Parallel()
	listed := policy.Access{People: []string{"1"}, Groups: []string{"-9"}, Approvers: []string{"1"}}
	everyone := policy.Access{Everyone: true}
	for _, c := range []struct {
		name   string
		access policy.Access
		id     string
		where  sessionkeys.Kind
		ruling policy.Ruling
		want   bool
	}{
		{"a stranger", listed, "2", sessionkeys.DM, policy.NoRuling, false},
		{"who was let in", listed, "2", sessionkeys.DM, policy.LetIn, true},
		{"who was let in, in a listed group", listed, "2", sessionkeys.Group, policy.LetIn, false},
		{"who is listed, in a listed group", listed, "1", sessionkeys.Group, policy.NoRuling, true},
		{"who is listed and was let in, in a group", listed, "1", sessionkeys.Group, policy.LetIn, true},
		{"who is listed and shut out", listed, "1", sessionkeys.DM, policy.ShutOut, false},
		{"who is listed and shut out, in a group", listed, "1", sessionkeys.Group, policy.ShutOut, false},
		{"one of everybody", everyone, "2", sessionkeys.Group, policy.NoRuling, true},
		{"one of everybody who is shut out", everyone, "2", sessionkeys.DM, policy.ShutOut, false},
		{"who was let in where the list is empty", policy.Access{}, "2", sessionkeys.DM, policy.LetIn, true},
		{"a ruling of a newer version", listed, "2", sessionkeys.DM, "odd", false},
	} {
		m := channels.Message{Sender: channels.Sender{ID: c.id}, Address: sessionkeys.Address{Kind: c.where, Peer: "-9"}}
		if v := c.access.Authorize(m, c.ruling); v.Allowed != c.want || (v.Hint == "") != c.want {
			t.Errorf("%s: %+v", c.name, v)
		}
	}
	for _, s := range []channels.Sender{{ID: "2", Bot: true}, {ID: "2", Anonymous: true}, {}} {
		if (policy.Access{}).AuthorizePerson(s, sessionkeys.DM, policy.LetIn).Allowed {
			t.Errorf("%+v was let in", s)
		}
	}
	if approves(listed, channels.Sender{ID: "1"}, policy.ShutOut) || approves(listed, channels.Sender{ID: "2"}, policy.LetIn) {
		t.Error("a decision makes an approver, or an approver who is shut out permits")
	}
}
