package settings

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"parley/gateway/policy"
	"parley/problems"
)

// DefaultAgent answers where nothing is said of agents.
const DefaultAgent = "main"

// Binding says that an agent answers in one group, in the direct messages of one person,
// or on one network wherever an account does not name an agent. The closer one counts: a
// binding of a group or person at one account, one on the whole network, the agent of the
// account, the binding of the network, [DefaultAgent].
type Binding struct {
	Agent   string `yaml:"agent"`
	Network string `yaml:"network"` // all bot accounts there; or Account
	Account string `yaml:"account"` // the instance name of one bot account
	Group   string `yaml:"group"`   // stable id of a group or channel, with its threads
	Person  string `yaml:"person"`  // stable id of a person, in their direct messages
}

// isPeer reports whether b is of a group or a person.
func (b Binding) isPeer() bool { return b.Group != "" || b.Person != "" }

// covers reports whether b is of the account, or of its network.
func (b Binding) covers(a Account) bool {
	return b.Account == a.Name && b.Account != "" || b.Network == a.Network.Name && b.Network != ""
}

// Bindings say which agents answer where.
type Bindings []Binding

// agentOfNetwork returns the agent that answers by the accounts of a network that name none.
func (bs Bindings) agentOfNetwork(network string) string {
	for _, b := range bs {
		if b.Network == network && !b.isPeer() {
			return cmp.Or(b.Agent, DefaultAgent)
		}
	}
	return DefaultAgent
}

// Bound returns which agent answers where at an account.
func (bs Bindings) Bound(a Account) policy.Bound {
	bound := policy.Bound{Agent: a.Agent, Groups: map[string]string{}, People: map[string]string{}}
	for _, ofAccount := range []bool{false, true} { // the closer one replaces the other
		for _, b := range bs {
			switch {
			case !b.covers(a) || (b.Account != "") != ofAccount:
			case b.Group != "":
				bound.Groups[b.Group] = b.Agent
			case b.Person != "":
				bound.People[b.Person] = b.Agent
			}
		}
	}
	return bound
}

// validate reports the mistakes in where agents answer: every binding must decide something.
func (bs Bindings) validate(c Config, ps *problems.List) {
	accounts := c.Accounts()
	for i, b := range bs {
		path := bindingPath(i)
		if _, ok := c.Agents[b.Agent]; !ok {
			ps.Add(path+".agent", "no agent %q%s", b.Agent, have(b.Agent, c.Agents))
		}
		if b.validatePlace(c.Channels, ps, path, accounts) && b.validatePeer(ps, path, accounts) {
			bs.validateEffect(ps, i, accounts)
		}
	}
}

func bindingPath(i int) string { return fmt.Sprintf("bindings[%d]", i) }

// validatePlace checks of what account or network b is; false: of none that there is.
func (b Binding) validatePlace(cs ChannelsConfig, ps *problems.List, path string, accounts []Account) bool {
	named := func(of func(Account) string, what string) bool {
		return slices.ContainsFunc(accounts, func(a Account) bool { return of(a) == what })
	}
	switch {
	case b.Network == "" && b.Account == "":
		ps.Add(path, "%w: network or account, which says where the agent answers", problems.ErrRequired)
	case b.Network != "" && b.Account != "":
		ps.Add(path+".network", "an account is of one network: name network %s or account %s, not both", b.Network, b.Account)
	case b.Group != "" && b.Person != "":
		ps.Add(path+".person", "a binding is of a group or of a person's direct messages: make two of it")
	case b.Account != "" && !b.isPeer():
		ps.Add(path, "%w: group or person; which agent answers at the account %s elsewhere is said by its own key agent", problems.ErrRequired, b.Account)
	case b.Account != "" && !named(func(a Account) string { return a.Name }, b.Account):
		ps.Add(path+".account", "no account %q%s", b.Account, haveAccounts(b.Account, accounts))
	case b.Network != "" && !slices.ContainsFunc(cs.Networks(), func(n Network) bool { return n.Name == b.Network }):
		ps.Add(path+".network", "no network %q%s", b.Network, cs.haveNetworks(b.Network))
	case b.Network != "" && !named(func(a Account) string { return a.Network.Name }, b.Network):
		ps.Add(path+".network", "no bot account is on %s, so that the binding holds nowhere", b.Network)
	default:
		return true
	}
	return false
}

// haveNetworks returns what networks there are in the place of one that there is not.
func (c ChannelsConfig) haveNetworks(name string) string {
	var names []string
	for _, n := range c.Networks() {
		names = append(names, n.Name)
	}
	return haveNames(name, names)
}

func haveAccounts(name string, accounts []Account) string {
	m := map[string]bool{}
	for _, a := range accounts {
		m[a.Name] = true
	}
	return have(name, m)
}

// validatePeer checks that the group or person of b may reach the bot there; false: b holds
// nowhere, or is of neither of them.
func (b Binding) validatePeer(ps *problems.List, path string, accounts []Account) bool {
	key, list, id := "group", "groups", b.Group
	if b.Person != "" {
		key, list, id = "person", "people", b.Person
	}
	var closed []string
	for _, a := range accounts {
		switch {
		case !b.covers(a):
		case b.reaches(a):
			err := a.checkID(b)
			ps.Check(path+"."+key, err)
			return err == nil
		default:
			closed = append(closed, a.Path+".access."+list)
		}
	}
	if id != "" {
		ps.Add(path+"."+key, "%s is not in %s, so that the binding holds nowhere", id, strings.Join(closed, " nor in "))
	}
	return false
}

// reaches reports whether somebody of whom b is may talk to the bot by the account.
func (b Binding) reaches(a Account) bool {
	return !b.isPeer() || a.Access.Everyone || b.Group != "" && slices.Contains(a.Access.Groups, b.Group) || b.Person != "" && slices.Contains(a.Access.People, b.Person)
}

// checkID reports what is wrong with the id in b on the account's network.
func (a Account) checkID(b Binding) error {
	switch {
	case b.Group != "" && a.Group != nil:
		return a.Group(b.Group)
	case b.Person != "" && a.Person != nil:
		return a.Person(b.Person)
	}
	return nil
}

// validateEffect checks that binding i decides something that no other decides in its
// place.
func (bs Bindings) validateEffect(ps *problems.List, i int, accounts []Account) {
	b := bs[i]
	var shadows []string
	for _, a := range accounts {
		if !b.covers(a) || !b.reaches(a) {
			continue
		}
		by := bs.shadow(i, a)
		if by == "" {
			return
		}
		if !slices.Contains(shadows, by) {
			shadows = append(shadows, by)
		}
	}
	ps.Add(bindingPath(i), "decides nothing: which agent answers there is said by %s", strings.Join(shadows, " and "))
}

// shadow returns the path of what counts in place of binding i at an account that it
// covers, or "". Of two that say it of the same place the first counts as a mistake of
// the second.
func (bs Bindings) shadow(i int, a Account) string {
	b := bs[i]
	for k, o := range bs {
		same := o.Group == b.Group && o.Person == b.Person && o.covers(a)
		closer := o.Account != "" && b.Account == "" && b.isPeer()
		if k != i && same && (closer || (o.Account != "") == (b.Account != "") && k < i) {
			return bindingPath(k)
		}
	}
	if !b.isPeer() && a.saysAgent {
		return a.Path + ".agent"
	}
	return ""
}
