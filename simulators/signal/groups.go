package signal

import (
	"encoding/base64"
	"slices"
)

// updateGroup changes a group, or makes one when no id is given.
func updateGroup(s *Server, c *call) (any, *rpcError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := c.args.text("groupId")
	var g *group
	made := id == ""
	if made {
		raw := make([]byte, 32)
		for i := range raw {
			raw[i] = byte(s.rng.UintN(256))
		}
		g = &group{id: base64.StdEncoding.EncodeToString(raw), members: []string{c.account.ACI}, admins: []string{c.account.ACI}}
	} else {
		var refused *rpcError
		if g, refused = s.groupOf(id); refused != nil {
			return nil, refused
		}
		if slices.Contains(g.pending, c.account.ACI) {
			g.join(c.account.ACI) // this accepts the invitation
		}
		if _, refused := s.groupTarget(c, id); refused != nil {
			return nil, refused
		}
	}
	if refused := s.edit(c, g); refused != nil {
		return nil, refused
	}
	g.revision++
	s.groups[g.id] = g
	at := s.stamp()
	w := struct {
		wireResults
		GroupID string `json:"groupId,omitempty"`
	}{wireResults: wireResults{Timestamp: at, Results: []wireResult{}}}
	if made {
		w.GroupID = g.id
	}
	t, refused := s.groupTarget(c, g.id)
	if refused != nil {
		return nil, refused
	}
	w.Results = s.resultsOf(c, t)
	// Other accounts see the change.
	me := Person{ACI: c.account.ACI, Number: c.account.Number, SharesNumber: true, Name: c.account.profile}
	d := s.data(t.place, at)
	d.GroupInfo.Type = "UPDATE"
	s.tell(t.place, me, at, nil, EnvelopeEntry{Kind: "group"}, func(e *wireEnvelope) { e.DataMessage = d })
	return w, nil
}

// edit applies what the call says to a group.
func (s *Server) edit(c *call, g *group) *rpcError {
	if c.args.has("name") {
		g.name = c.args.text("name")
	}
	if c.args.has("description") {
		g.about = c.args.text("description")
	}
	if c.args.has("expiration") {
		n, refused := c.args.number("expiration")
		if refused != nil {
			return refused
		}
		s.open(chatKey{group: g.id}).timer = int(n)
	}
	switch c.args.text("setPermissionSendMessages") {
	case "only-admins":
		g.onlyAdmins = true
	case "every-member":
		g.onlyAdmins = false
	}
	each := func(name string, do func(aci string)) *rpcError {
		for _, id := range c.args.list(name) {
			a, refused := s.recipient(id)
			if refused != nil {
				return refused
			}
			if a.ACI == "" {
				return userError("The user " + nameOf(a) + " is not registered.")
			}
			do(a.ACI)
		}
		return nil
	}
	for _, step := range []struct {
		name string
		do   func(string)
	}{
		{"member", g.join},
		{"removeMember", g.leave},
		{"admin", func(aci string) { g.admins = append(g.admins, aci) }},
		{"removeAdmin", func(aci string) {
			g.admins = slices.DeleteFunc(g.admins, func(a string) bool { return a == aci })
		}},
	} {
		if refused := each(step.name, step.do); refused != nil {
			return refused
		}
	}
	return nil
}

func quitGroup(s *Server, c *call) (any, *rpcError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, refused := s.groupTarget(c, c.args.text("groupId"))
	if refused != nil {
		return nil, refused
	}
	results := s.resultsOf(c, t)
	t.place.group.leave(c.account.ACI)
	t.place.group.revision++
	s.books.Touch()
	return finished(wireResults{Timestamp: s.stamp(), Results: results})
}

type wireMember struct {
	Number *string `json:"number"`
	UUID   *string `json:"uuid"`
}

type wireGroupRow struct {
	ID                    string       `json:"id"`
	Name                  *string      `json:"name"`
	Description           *string      `json:"description"`
	IsMember              bool         `json:"isMember"`
	IsBlocked             bool         `json:"isBlocked"`
	MessageExpirationTime int          `json:"messageExpirationTime"`
	Members               []wireMember `json:"members"`
	PendingMembers        []wireMember `json:"pendingMembers"`
	RequestingMembers     []wireMember `json:"requestingMembers"`
	Admins                []wireMember `json:"admins"`
	Banned                []wireMember `json:"banned"`
	PermissionAddMember   string       `json:"permissionAddMember"`
	PermissionEditDetails string       `json:"permissionEditDetails"`
	PermissionSendMessage string       `json:"permissionSendMessage"`
	GroupInviteLink       *string      `json:"groupInviteLink"`
}

func listGroups(s *Server, c *call) (any, *rpcError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	only := c.args.list("groupId")
	rows := []wireGroupRow{}
	for _, g := range s.groups {
		if len(only) > 0 && !slices.Contains(only, g.id) {
			continue
		}
		row := wireGroupRow{
			ID: g.id, Name: orNull(g.name), Description: orNull(g.about), IsMember: g.has(c.account.ACI),
			MessageExpirationTime: s.open(chatKey{group: g.id}).timer, Members: s.members(g.members), Admins: s.members(g.admins),
			PendingMembers: s.members(g.pending), RequestingMembers: []wireMember{}, Banned: []wireMember{},
			PermissionAddMember: "EVERY_MEMBER", PermissionEditDetails: "EVERY_MEMBER", PermissionSendMessage: "EVERY_MEMBER",
		}
		if g.onlyAdmins {
			row.PermissionSendMessage = "ONLY_ADMINS"
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b wireGroupRow) int { return compare(a.ID, b.ID) })
	return rows, nil
}

func (s *Server) members(acis []string) []wireMember {
	out := []wireMember{}
	for _, aci := range acis {
		a := s.addressOf(aci)
		out = append(out, wireMember{Number: orNull(a.Number), UUID: orNull(a.ACI)})
	}
	return out
}
