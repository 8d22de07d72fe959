package signal

import (
	"encoding/base64"
	"fmt"
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
func (s *Server) lookup(id string) string {
	switch {
	case strings.HasPrefix(id, "PNI:"):
		id = id[len("PNI:"):]
		fallthrough
	case aciShape.MatchString(strings.ToLower(id)):
		return strings.ToLower(id)
	case numberShape.MatchString(id):
		for aci, p := range s.people {
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
func (s *Server) recipient(id string) (address, *rpcError) {
	aci := s.lookup(id)
	switch {
	case aci == "":
		return address{}, userError(fmt.Sprintf("Invalid phone number '%s': The string supplied is not a valid phone number.", id))
	case !aciShape.MatchString(aci):
		return address{Number: aci}, nil
	}
	a := s.addressOf(aci)
	if numberShape.MatchString(id) {
		a.Number = id // the account knows it by now
	}
	return a, nil
}

// targets reads whom a call is for: recipients, oneself among them, and groups. The
// caller holds the lock.
func (s *Server) targets(c *call) ([]target, *rpcError) {
	var out []target
	for _, id := range c.args.list("recipient") {
		a, refused := s.recipient(id)
		if refused != nil {
			return nil, refused
		}
		if a.ACI == c.account.ACI || a.Number != "" && a.Number == c.account.Number {
			me := address{ACI: c.account.ACI, Number: c.account.Number}
			out = append(out, target{place: place{chat: s.direct(c.account, me.ACI)}, self: true, to: []address{me}})
			continue
		}
		t := target{to: []address{a}}
		if a.ACI != "" {
			t.place = place{chat: s.direct(c.account, a.ACI)}
		}
		out = append(out, t)
	}
	for _, id := range c.args.list("groupId") {
		t, refused := s.groupTarget(c, id)
		if refused != nil {
			return nil, refused
		}
		out = append(out, t)
	}
	if len(out) == 0 {
		return nil, userError("No recipients given")
	}
	return out, nil
}

func (s *Server) groupOf(id string) (*group, *rpcError) {
	if _, err := base64.StdEncoding.DecodeString(id); err != nil {
		return nil, userError(fmt.Sprintf("Invalid group id: Failed to decode groupId (must be base64) \"%s\": %s", id, err))
	}
	g := s.groups[id]
	if g == nil {
		return nil, userError("Group not found: " + id)
	}
	return g, nil
}

func (s *Server) groupTarget(c *call, id string) (target, *rpcError) {
	g, refused := s.groupOf(id)
	if refused != nil {
		return target{}, refused
	}
	if !g.has(c.account.ACI) {
		return target{}, userError(fmt.Sprintf("User is not a member in group: %s (%s)", g.name, g.id))
	}
	t := target{place: s.groupPlace(g, c.account.ACI)}
	for _, m := range g.members {
		if m != c.account.ACI {
			t.to = append(t.to, s.addressOf(m))
		}
	}
	return t, nil
}

// name is how the books call the chat.
func (t target) name() string {
	if t.place.group != nil {
		return t.place.group.id
	}
	return nameOf(t.to[0])
}
