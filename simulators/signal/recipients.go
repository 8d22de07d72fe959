package signal

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
)

// target is one conversation that a call is for.
type target struct {
	place place
	self  bool      // a note to oneself
	to    []address // who is sent something
}

// lookup gives the ACI of whom an identifier names, or the identifier if nobody is
// known under it; empty for one that is none.
func (s *chats) lookup(id string) string {
	switch {
	case strings.HasPrefix(id, "PNI:"):
		id = id[len("PNI:"):]
		fallthrough
	case aciShape.MatchString(strings.ToLower(id)):
		return strings.ToLower(id)
	case numberShape.MatchString(id):
		for aci, p := range s.known {
			if p.Number == id {
				return aci
			}
		}
		for _, a := range s.accounts {
			if a.Number == id {
				return a.ACI
			}
		}
		return id
	}
	return ""
}

// recipient reads one identifier as signal-cli does.
func (s *chats) recipient(id string) address {
	aci := s.lookup(id)
	switch {
	case aci == "":
		panic(userError(fmt.Sprintf("Invalid phone number '%s': The string supplied is not a valid phone number.", id)))
	case !aciShape.MatchString(aci):
		return address{Number: aci}
	}
	a := s.addressOf(aci)
	if numberShape.MatchString(id) {
		a.Number = id // the account knows it by now
	}
	return a
}

// targets reads whom a call is for: recipients, oneself among them, and groups. The
// caller holds the lock.
func (c *call) targets() []target {
	var out []target
	for _, id := range c.args.list("recipient") {
		a := c.recipient(id)
		if a.ACI == c.account.ACI || a.Number != "" && a.Number == c.account.Number {
			me := address{ACI: c.account.ACI, Number: c.account.Number}
			out = append(out, target{place: place{chat: c.direct(c.account, me.ACI)}, self: true, to: []address{me}})
			continue
		}
		t := target{to: []address{a}}
		if a.ACI != "" {
			t.place = place{chat: c.direct(c.account, a.ACI)}
		}
		out = append(out, t)
	}
	for _, id := range c.args.list("groupId") {
		t := c.groupTarget(id)
		out = append(out, t)
	}
	if len(out) == 0 {
		panic(userError("No recipients given"))
	}
	return out
}

// writableTargets is targets for what only admins may send in some groups: messages and typing
// signs, and not reactions or deletions (signal-cli, SendHelper).
func (c *call) writableTargets() []target {
	all := c.targets()
	for _, t := range all {
		if g := t.place.group; g != nil && g.announces && !slices.Contains(g.admins, c.account.ACI) {
			panic(userError(fmt.Sprintf("User is not allowed to send message to group: %s (%s)", g.name, g.id)))
		}
	}
	return all
}

func (s *chats) groupOf(id string) *group {
	if _, err := base64.StdEncoding.DecodeString(id); err != nil {
		panic(userError(fmt.Sprintf("Invalid group id: Failed to decode groupId (must be base64) \"%s\": %s", id, err)))
	}
	g := s.groups[id]
	if g == nil {
		panic(userError("Group not found: " + id))
	}
	return g
}

func (c *call) groupTarget(id string) target {
	g := c.groupOf(id)
	if !g.has(c.account.ACI) {
		panic(userError(fmt.Sprintf("User is not a member in group: %s (%s)", g.name, g.id)))
	}
	t := target{place: c.groupPlace(g, c.account.ACI)}
	for _, m := range g.members {
		if m != c.account.ACI {
			t.to = append(t.to, c.addressOf(m))
		}
	}
	return t
}

// name returns how the books call the chat.
func (t target) name() string {
	if t.place.group != nil {
		return t.place.group.id
	}
	return nameOf(t.to[0])
}
