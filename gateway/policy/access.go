// Package policy is what an operator decides about messages and turns: who may cause
// anything, how much people may send, what becomes of messages that wait, and how turns
// run. Values of the configuration with their defaults, their checks, and the decisions
// that follow from them alone.
package policy

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"parley/channels"
	"parley/gateway/outcomes"
	"parley/gateway/roles"
	"parley/problems"
	"parley/sessionkeys"
)

// Access describes who may talk to a bot account. The zero Access is nobody:
// an empty list never means everybody.
type Access struct {
	// Everyone lets every person talk to the bot, in direct messages and in
	// every group it is in. Written out in the configuration or not at all.
	Everyone bool `yaml:"everyone"`
	// People are the network's stable ids of those who may talk to the bot.
	People []string `yaml:"people"`
	// Groups are the ids of the groups where it answers those People.
	Groups []string `yaml:"groups"`
	// Approvers are those of the People who may permit what an agent must ask for first: the
	// role admin, where Roles says nothing of them. Nobody is one by being in People, and where
	// there are none, nothing of that sort runs.
	Approvers []string `yaml:"approvers"`
	// Roles are what some of the People are. Of whom it says nothing is a user.
	Roles RoleLists `yaml:"roles"`
	// Pairing gives people who are not listed a code when they write a direct message, by which
	// an approver or the operator lets them in. Default false. It lets nobody in by itself.
	Pairing bool `yaml:"pairing"`
}

// RoleLists are the ids of people who are no users, by what they are.
type RoleLists struct {
	Guest []string `yaml:"guest"`
	Admin []string `yaml:"admin"`
	Owner []string `yaml:"owner"`
}

// roleList is the people of one role.
type roleList struct {
	role roles.Role
	ids  []string
}

// all returns the lists, of the fewest rights first.
func (l RoleLists) all() []roleList {
	return []roleList{{roles.Guest, l.Guest}, {roles.Admin, l.Admin}, {roles.Owner, l.Owner}}
}

// Ruling is what was decided about a person while the gateway runs, beside the configuration.
type Ruling string

// Rulings.
const (
	NoRuling Ruling = ""        // the configuration alone says who they are
	LetIn    Ruling = "allowed" // in direct messages, also when not listed
	ShutOut  Ruling = "denied"  // everywhere, also when listed
	// ShutOutByOwner is ShutOut as it was said over chat, which holds for nobody whom the
	// configuration calls an owner: an owner can be known by an id of which that was said as of a
	// stranger's. No record has it.
	ShutOutByOwner Ruling = "denied by an owner"
)

// ShutsOut reports whether r keeps somebody from talking to the bot.
func (r Ruling) ShutsOut() bool { return r == ShutOut || r == ShutOutByOwner }

// Standing is all that was decided about a person while the gateway runs.
type Standing struct {
	Ruling Ruling
	Role   roles.Role // of who was let in; None: as the configuration says
	// ByOwner: Role was said over chat alone, which holds for nobody whom the configuration calls an
	// owner.
	ByOwner bool
}

// Validate refuses what cannot be a stable id, such as a @name that its owner
// can give away. What ids look like on a network say person and group, or nil
// where anything goes. All mistakes are in the problems.List, each with its path: people[0].
func (a Access) Validate(person, group func(id string) error) error {
	var ps problems.List
	for _, list := range []struct {
		name  string
		ids   []string
		check func(string) error
	}{{"people", a.People, person}, {"groups", a.Groups, group}, {"approvers", a.Approvers, person}} {
		for i, id := range list.ids {
			if err := CheckID(id, list.check); err != nil {
				ps.Check(fmt.Sprintf("%s[%d]", list.name, i), err)
			}
		}
	}
	if a.Pairing && a.Everyone {
		ps.Add("pairing", "with everyone: true nobody has to ask to be let in; leave one of the two out")
	}
	for i, id := range a.Approvers {
		if !a.Everyone && !slices.Contains(a.People, id) {
			ps.Add(fmt.Sprintf("approvers[%d]", i), "%s is not in people, so what they say would not be heard", id)
		}
	}
	a.validateRoles(&ps, person)
	return ps.Err()
}

func (a Access) validateRoles(ps *problems.List, person func(id string) error) {
	seen := map[string]string{}
	for _, list := range a.Roles.all() {
		for i, id := range list.ids {
			path := fmt.Sprintf("roles.%s[%d]", list.role, i)
			ps.Check(path, CheckID(id, person))
			switch first, twice := seen[id]; {
			case twice:
				ps.Add(path, "%s is %s already; leave one of the two out", id, withArticle(first))
			case !a.Everyone && !slices.Contains(a.People, id):
				ps.Add(path, "%s is not in people, so what they say would not be heard", id)
			case slices.Contains(a.Approvers, id) && !list.role.May(roles.Approve):
				ps.Add(path, "%s is in approvers, and a %s may not approve; leave one of the two out", id, list.role)
			}
			seen[id] = string(list.role)
		}
	}
}

func withArticle(role string) string {
	if role == string(roles.Guest) {
		return "a " + role
	}
	return "an " + role
}

var (
	errEmpty = errors.New("empty")
	errStar  = errors.New("* is not an id; write everyone: true to let everybody talk to the bot")
)

// CheckID refuses what cannot be a stable id. What ids look like on a network says check, or nil
// where anything goes.
func CheckID(id string, check func(id string) error) error {
	if err := checkStable(id); err != nil || check == nil {
		return err
	}
	return check(id)
}

func checkStable(id string) error {
	switch {
	case id == "":
		return errEmpty
	case id == "*":
		return errStar
	case id[0] == '@':
		return fmt.Errorf("%s is a name, which can change hands; use the stable id (the log shows it when that person writes to the bot)", id)
	}
	return nil
}

// Verdict is what Authorize says of an event. Only Authorize
// makes one that allows.
type Verdict struct {
	Allowed bool
	Reason  string // why not: a value of the label reason of messages_ignored_total
	Hint    string // for the operator's log
}

// Authorize decides whether the sender of m, about whom r was decided, may cause anything.
// Every kind of event of a person passes here, before anything else looks at it. A group that
// moved is listed when one of its ids is.
func (a Access) Authorize(m channels.Message, r Ruling, ids ...string) Verdict {
	v := a.AuthorizePerson(m.Sender, m.Address.Kind, r)
	if v.Allowed && !a.ServesChat(m.Address, ids...) {
		return newDenial("the group is not in access.groups")
	}
	return v
}

// AuthorizePerson decides whether somebody, about whom r was decided, may cause anything in any
// chat of that kind. Who was let in may in direct messages only: who is answered where others
// read along stands in the configuration.
func (a Access) AuthorizePerson(s channels.Sender, where sessionkeys.Kind, r Ruling) Verdict {
	switch {
	case s.Bot:
		return newDenial("the sender is a bot")
	case s.Anonymous:
		return newDenial("the person behind the sender is not known")
	case s.ID == "":
		return newDenial("the event names no sender")
	case r == ShutOut, r == ShutOutByOwner && a.roleByIDs(s) != roles.Owner:
		return newDenial("the sender is shut out, see parley access ls")
	case a.Everyone || a.listsPerson(s) || r == LetIn && where == sessionkeys.DM:
		return Verdict{Allowed: true}
	case r == LetIn:
		return newDenial("the sender was let in for direct messages only")
	}
	return newDenial("the sender is not in access.people")
}

func newDenial(hint string) Verdict { return Verdict{Reason: outcomes.NotAllowed, Hint: hint} }

// listsPerson reports whether a person is listed, by whichever of their ids.
func (a Access) listsPerson(s channels.Sender) bool {
	return slices.Contains(a.People, s.ID) || s.Alias != "" && slices.Contains(a.People, s.Alias)
}

// RoleOf returns what somebody is, about whom d was decided. A decision goes before the
// configuration. Who is known by two ids has the lesser of the roles that are said of them. It is
// None of who may not talk to the bot.
//
// It follows from who they are alone: neither from the chat, nor from what they say and whose words
// are in it.
func (a Access) RoleOf(s channels.Sender, d Standing) roles.Role {
	if !a.AuthorizePerson(s, sessionkeys.DM, d.Ruling).Allowed {
		return roles.None
	}
	configured := a.roleByIDs(s)
	if d.ByOwner && configured == roles.Owner {
		return configured
	}
	return cmp.Or(d.Role, configured, roles.User)
}

// roleByIDs returns the lesser of the roles that the configuration says of a sender's ids.
func (a Access) roleByIDs(s channels.Sender) roles.Role {
	role := a.configuredRole(s.ID)
	if s.Alias != "" {
		role = roles.Least(role, a.configuredRole(s.Alias))
	}
	return role
}

// configuredRole returns the role that the configuration says of an id.
func (a Access) configuredRole(id string) roles.Role {
	for _, list := range a.Roles.all() {
		if slices.Contains(list.ids, id) {
			return list.role
		}
	}
	if slices.Contains(a.Approvers, id) {
		return roles.Admin
	}
	return roles.None
}

// NamedRoles returns the roles of those of whom the configuration says one, by their ids.
func (a Access) NamedRoles() map[string]roles.Role {
	m := map[string]roles.Role{}
	for _, id := range slices.Concat(a.Approvers, a.Roles.Guest, a.Roles.Admin, a.Roles.Owner) {
		m[id] = a.configuredRole(id)
	}
	return m
}

// ListedRole returns the role that somebody has whom the configuration lists by that id.
func (a Access) ListedRole(id string) roles.Role {
	return cmp.Or(a.configuredRole(id), roles.User)
}

// NamesApprover reports whether the configuration says of anybody that they may permit what an
// agent asks for.
func (a Access) NamesApprover() bool {
	return len(a.Approvers)+len(a.Roles.Admin)+len(a.Roles.Owner) > 0
}

// Deciders returns the ids of those of whom the configuration says that they may permit what an
// agent asks for: only they are heard in groups.
func (a Access) Deciders() []string {
	ids := slices.Concat(a.Approvers, a.Roles.Admin, a.Roles.Owner)
	slices.Sort(ids)
	return slices.Compact(ids)
}

// ServesChat reports whether the bot is used in the chat at all. A direct message is
// judged by its sender.
func (a Access) ServesChat(at sessionkeys.Address, ids ...string) bool {
	if a.Everyone || at.Kind == sessionkeys.DM {
		return true
	}
	return a.ListsGroup(at, ids...)
}

// ListsGroup reports whether the chat is one of the groups that are written down.
func (a Access) ListsGroup(at sessionkeys.Address, ids ...string) bool {
	listed := func(id string) bool { return slices.Contains(a.Groups, id) }
	return listed(at.Peer) || slices.ContainsFunc(ids, listed)
}
