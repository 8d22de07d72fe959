package slack

import "strings"

// target is the conversation that a call is about; writing also needs to be a
// member. The caller holds the lock.
func (s *Server) target(c *call, writing bool) (*room, *refusal) {
	name := c.channel()
	if name == "" {
		return nil, refuse("channel_not_found")
	}
	r := s.rooms[name]
	if r == nil && (name[0] == 'U' || name[0] == 'W') && s.isKnownUser(name) {
		r = s.dm(name, c.app)
	}
	if r == nil {
		r = s.roomNamed(strings.TrimPrefix(name, "#"))
	}
	if r == nil || r.channel.Kind != Public && !s.isMember(r, c.app) {
		return nil, refuse("channel_not_found")
	}
	switch {
	case !writing:
	case r.archived:
		return nil, refuse("is_archived")
	case !s.isMember(r, c.app) && (len(c.app.Scopes) == 0 || !c.app.hasScope("chat:write.public")):
		return nil, refuse("not_in_channel")
	}
	return r, nil
}

func (s *Server) roomNamed(name string) *room {
	for _, r := range s.rooms {
		if r.channel.Name == name && name != "" {
			return r
		}
	}
	return nil
}

// dm is the direct message of a person with an app, opened if need be.
func (s *Server) dm(user string, a *app) *room {
	for i, x := range s.apps {
		if x == a {
			return s.open(dmOf(user, i, a.Name))
		}
	}
	return nil
}

func (s *Server) isKnownUser(user string) bool {
	_, ok := s.people[user]
	return ok
}

// ownMessage is the message that the call is about, if the app wrote it.
func (r *room) ownMessage(c *call, code string) (*storedMessage, *refusal) {
	st := r.messages[c.args["ts"]]
	switch {
	case st == nil:
		return nil, refuse("message_not_found")
	case st.author != c.app:
		return nil, refuse(code)
	}
	c.message, c.ts = st.entry, st.message.TS
	return st, nil
}
