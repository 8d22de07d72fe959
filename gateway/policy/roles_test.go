package policy_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"parley/channels"
	"parley/gateway/policy"
	"parley/gateway/roles"
	"parley/sessionkeys"
)

func TestRoleOf(t *testing.T) {
	t.Parallel()
	a := policy.Access{
		People: []string{"1", "2", "3", "4", "5", "+49"}, Approvers: []string{"3", "4"},
		Roles: policy.RoleLists{Guest: []string{"2", "+49"}, Owner: []string{"4"}},
	}
	letIn := func(r roles.Role) policy.Standing { return policy.Standing{Ruling: policy.LetIn, Role: r} }
	for name, c := range map[string]struct {
		s    channels.Sender
		d    policy.Standing
		want roles.Role
	}{
		"of whom nothing is said":             {channels.Sender{ID: "1"}, policy.Standing{}, roles.User},
		"a guest":                             {channels.Sender{ID: "2"}, policy.Standing{}, roles.Guest},
		"an approver":                         {channels.Sender{ID: "3"}, policy.Standing{}, roles.Admin},
		"an owner who is an approver":         {channels.Sender{ID: "4"}, policy.Standing{}, roles.Owner},
		"by the other id a guest":             {channels.Sender{ID: "4", Alias: "+49"}, policy.Standing{}, roles.Guest},
		"by the other id an owner":            {channels.Sender{ID: "+49", Alias: "4"}, policy.Standing{}, roles.Guest},
		"by the other id nothing":             {channels.Sender{ID: "4", Alias: "x"}, policy.Standing{}, roles.Owner},
		"a guest whom a record raises":        {channels.Sender{ID: "2"}, letIn(roles.Admin), roles.Admin},
		"an owner whom a record lowers":       {channels.Sender{ID: "4"}, letIn(roles.Guest), roles.Guest},
		"let in, without a role":              {channels.Sender{ID: "9"}, letIn(roles.None), roles.User},
		"let in as a guest":                   {channels.Sender{ID: "9"}, letIn(roles.Guest), roles.Guest},
		"a stranger":                          {channels.Sender{ID: "9"}, policy.Standing{}, roles.None},
		"a stranger, with a role and no more": {channels.Sender{ID: "9"}, policy.Standing{Role: roles.Owner}, roles.None},
		"an owner who is shut out":            {channels.Sender{ID: "4"}, policy.Standing{Ruling: policy.ShutOut, Role: roles.Owner}, roles.None},
		"an owner behind a group":             {channels.Sender{ID: "4", Anonymous: true}, policy.Standing{}, roles.None},
		"a bot":                               {channels.Sender{ID: "4", Bot: true}, policy.Standing{}, roles.None},
	} {
		if got := a.RoleOf(c.s, c.d); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// (security 5.1) Whatever is configured and decided: who has another id besides has no more rights by
// it than the lesser of what is said of both, and nobody has any who may not talk to the bot.
func TestAnotherIDNeverGivesRights(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	ids := []string{"1", "2", "3", "+1", "+2", "+3"}
	said := append([]roles.Role{roles.None}, roles.All()...)
	for n := range 20_000 {
		a := policy.Access{Everyone: rnd.IntN(4) == 0}
		lists := []*[]string{&a.Roles.Guest, &a.Roles.Admin, &a.Roles.Owner}
		for _, id := range ids {
			if rnd.IntN(2) == 0 {
				a.People = append(a.People, id)
			}
			if i := rnd.IntN(4); i < 3 {
				*lists[i] = append(*lists[i], id)
			}
			if rnd.IntN(5) == 0 {
				a.Approvers = append(a.Approvers, id)
			}
		}
		d := policy.Standing{Ruling: []policy.Ruling{policy.NoRuling, policy.LetIn, policy.ShutOut}[rnd.IntN(3)], Role: said[rnd.IntN(len(said))]}
		s := channels.Sender{ID: ids[rnd.IntN(3)], Alias: ids[3+rnd.IntN(3)]}
		both := a.RoleOf(s, d)
		if both != roles.None && !a.AuthorizePerson(s, sessionkeys.DM, d.Ruling).Allowed {
			t.Fatalf("%d: %+v may not talk to the bot and is %q", n, s, both)
		}
		for _, id := range []string{s.ID, s.Alias} {
			if role, ok := a.NamedRoles()[id]; ok && d.Role == roles.None && role.IsBelow(both) {
				t.Fatalf("%d: %+v is %q by %s alone, and %q by both ids, with %+v", n, s, role, id, both, a)
			}
		}
	}
}

func TestAccessRefusesRolesThatCannotBeMeant(t *testing.T) {
	t.Parallel()
	err := policy.Access{
		People: []string{"1", "2"}, Approvers: []string{"1"},
		Roles: policy.RoleLists{Guest: []string{"1"}, Admin: []string{"3", "@ann", "2"}, Owner: []string{"2"}},
	}.Validate(nil, nil)
	for _, want := range []string{
		"roles.guest[0]: 1 is in approvers, and a guest may not approve", "roles.owner[0]: 2 is an admin already",
		"roles.admin[0]: 3 is not in people", "roles.admin[1]: @ann is a name",
	} {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := (policy.Access{Everyone: true, Approvers: []string{"1"}, Roles: policy.RoleLists{Owner: []string{"1"}, Guest: []string{"2"}}}).Validate(nil, nil); err != nil {
		t.Error(err)
	}
}
