package slack

import "fmt"

// Kind of a conversation.
type Kind string

// Kinds, as channel_type names them.
const (
	Public  Kind = "channel"
	Private Kind = "group"
	Group   Kind = "mpim" // a direct message of several people
	IM      Kind = "im"
)

// Channel is a conversation. It is known from its first appearance on; apps are
// members of it until [Server.SetMember] says otherwise.
type Channel struct {
	ID   string `json:"id"`
	Kind Kind   `json:"kind"`
	Name string `json:"name,omitempty"`
	// App whose direct message it is; empty: the first.
	App string `json:"app,omitempty"`
	// External is a Slack Connect channel, shared with another organisation.
	External bool `json:"external,omitempty"`
	// ContextTeam is the workspace in which an event of a shared channel
	// happened; empty: the simulated one.
	ContextTeam string `json:"context_team,omitempty"`
}

// DM returns the direct message of p with the first app.
func DM(p Person) Channel { return Channel{ID: "D" + idSuffix(p.ID), Kind: IM} }

// DMWith is the direct message of p with the app of that name.
func (s *rooms) DMWith(p Person, app string) (Channel, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, a := range s.apps {
		if a.Name == app {
			return dmOf(p.ID, i, app), nil
		}
	}
	return Channel{}, fmt.Errorf("direct message with %q: %w", app, errNoApp)
}

func dmOf(user string, index int, app string) Channel {
	id := "D" + idSuffix(user)
	if index > 0 {
		id = fmt.Sprintf("%sX%d", id, index)
	}
	return Channel{ID: id, Kind: IM, App: app}
}

func idSuffix(id string) string {
	if id == "" {
		return ""
	}
	return id[1:]
}

// Person is somebody who writes.
type Person struct {
	// ID is the user id, U… or, on an Enterprise Grid, W….
	ID       string `json:"id"`
	Name     string `json:"name"`
	RealName string `json:"real_name,omitempty"`
	// Team of a stranger from another workspace; empty: the simulated one.
	Team string `json:"team,omitempty"`
	// IsBot is a user that is somebody else's bot.
	IsBot bool `json:"is_bot,omitempty"`
	// Guest is a restricted user of this workspace.
	Guest bool `json:"guest,omitempty"`
}

// rooms are the conversations: their messages, the sessions of agents in them, and what
// apps are told of both.
type rooms struct {
	*world
	*events
	open     map[string]*room
	sessions map[sessionKey]*SessionEntry // entries of the books
}

// room is a conversation as the platform keeps it.
type room struct {
	channel  Channel
	absent   map[string]bool // apps that are no members
	archived bool
	people   map[string]bool           // who has been seen here, and so are members
	private  map[string]*storedMessage // what one person sees, and no method finds
	messages map[string]*storedMessage
	order    []string // timestamps
	keep     int
}

// storedMessage is one message with what is not part of it on the wire.
type storedMessage struct {
	message *wireMessage // replaced, never changed: an event may hold it
	author  *app
	entry   *MessageEntry
	stream  *stream
}

func (r *room) add(st *storedMessage) {
	r.messages[st.message.TS] = st
	r.order = append(r.order, st.message.TS)
	if len(r.order) > r.keep {
		delete(r.messages, r.order[0])
		r.order = r.order[1:]
	}
}

// open finds or opens a conversation. The caller holds the lock.
func (s *rooms) enter(c Channel) *room {
	r, ok := s.open[c.ID]
	if !ok {
		r = &room{channel: c, absent: map[string]bool{}, people: map[string]bool{}, private: map[string]*storedMessage{}, messages: map[string]*storedMessage{}, keep: s.opts.History}
		s.open[c.ID] = r
	}
	if c.Name != "" {
		r.channel.Name = c.Name
	}
	return r
}

// isMember tells whether the app reads and writes in the conversation.
func (s *rooms) isMember(r *room, a *app) bool {
	if r.channel.Kind == IM {
		return a == s.app(r.channel.App)
	}
	return !r.absent[a.Name]
}

// prefix of the scopes and of the events that are about a kind.
func (k Kind) plural() string {
	switch k {
	case Public:
		return "channels"
	case Private:
		return "groups"
	}
	return string(k)
}
