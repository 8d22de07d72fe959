package signal

import (
	"cmp"
	"slices"
)

// updateGroup accepts an invitation; of nothing that it can change parley has need.
func (c *call) updateGroup() any {
	g := c.groupOf(c.args.text("groupId"))
	if slices.Contains(g.pending, c.account.ACI) {
		g.join(c.account.ACI)
	}
	t := c.groupTarget(g.id)
	g.revision++
	at := c.stamp()
	// Other accounts see the change.
	d := c.data(t.place, at)
	d.GroupInfo.Type = "UPDATE"
	c.tell(t.place, c.account.person(), at, nil, EnvelopeEntry{Kind: "group"}, func(e *wireEnvelope) { e.DataMessage = d })
	return wireResults{Timestamp: at, Results: c.resultsOf(t)}
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

func (c *call) listGroups() any {
	only := c.args.list("groupId")
	rows := []wireGroupRow{}
	for _, g := range c.groups {
		if len(only) > 0 && !slices.Contains(only, g.id) {
			continue
		}
		row := wireGroupRow{
			ID: g.id, Name: orNull(g.name), IsMember: g.has(c.account.ACI),
			MessageExpirationTime: c.open(chatKey{group: g.id}).timer, Members: c.members(g.members), Admins: c.members(g.admins),
			PendingMembers: c.members(g.pending), RequestingMembers: []wireMember{}, Banned: []wireMember{},
			PermissionAddMember: "EVERY_MEMBER", PermissionEditDetails: "EVERY_MEMBER", PermissionSendMessage: "EVERY_MEMBER",
		}
		if g.announces {
			row.PermissionSendMessage = "ONLY_ADMINS"
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b wireGroupRow) int { return cmp.Compare(a.ID, b.ID) })
	return rows
}

func (s *chats) members(acis []string) []wireMember {
	out := []wireMember{}
	for _, aci := range acis {
		a := s.addressOf(aci)
		out = append(out, wireMember{Number: orNull(a.Number), UUID: orNull(a.ACI)})
	}
	return out
}
