package slack

import "strings"

// target returns the conversation that a call is about; writing also needs to be a
// member. The caller holds the lock.
func (c *call) target(writing bool) *room {
	name := c.channel()
	if name == "" {
		panic(refuse("channel_not_found"))
	}
	r := c.open[name]
	if r == nil && (name[0] == 'U' || name[0] == 'W') && c.isKnownUser(name) {
		r = c.dm(name, c.app)
	}
	if r == nil {
		r = c.roomNamed(strings.TrimPrefix(name, "#"))
	}
	if r == nil || r.channel.Kind != Public && !c.isMember(r, c.app) {
		panic(refuse("channel_not_found"))
	}
	switch {
	case !writing:
	case r.archived:
		panic(refuse("is_archived"))
	case !c.isMember(r, c.app) && (len(c.app.Scopes) == 0 || !c.app.hasScope("chat:write.public")):
		panic(refuse("not_in_channel"))
	}
	return r
}

func (s *rooms) roomNamed(name string) *room {
	for _, r := range s.open {
		if r.channel.Name == name && name != "" {
			return r
		}
	}
	return nil
}

// dm is the direct message of a person with an app, opened if need be.
func (s *rooms) dm(user string, a *app) *room {
	for i, x := range s.apps {
		if x == a {
			return s.enter(dmOf(user, i, a.Name))
		}
	}
	return nil
}

func (s *people) isKnownUser(user string) bool {
	_, ok := s.known[user]
	return ok
}

// ownMessage is the message that the call is about, if the app wrote it.
func (r *room) ownMessage(c *call, code string) *storedMessage {
	st := r.messages[c.args["ts"]]
	switch {
	case st == nil:
		panic(refuse("message_not_found"))
	case st.author != c.app:
		panic(refuse(code))
	}
	c.message, c.ts = st.entry, st.message.TS
	return st
}
