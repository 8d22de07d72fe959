package signal

import (
	"slices"

	"parley/simulators/internal/stage"
)

// chats are the people, the groups, and the conversations in which they and the accounts
// write.
type chats struct {
	*world
	*queues
	known  map[string]*person
	talks  map[chatKey]*conversation
	groups map[string]*group
}

// chatKey names a conversation: a group, or an account and a person.
type chatKey struct {
	group           string
	account, person string // ACIs; empty for a group
}

// conversation is what was written in a place.
type conversation struct {
	key      chatKey
	timer    int // seconds until a message expires; 0: never
	messages map[msgKey]*storedMessage
	order    []msgKey
	keep     int
}

// msgKey is a message's id in Signal.
type msgKey struct {
	author string // ACI
	at     int64
}

type storedMessage struct {
	text      string
	own       *MessageEntry     // of an account's message
	reactions map[string]string // by who has them, an ACI
	latest    int64             // timestamp of the newest version
	deleted   bool
}

func (c *conversation) add(k msgKey, m *storedMessage) {
	m.latest = k.at
	c.messages[k] = m
	c.order = append(c.order, k)
	if len(c.order) > c.keep {
		delete(c.messages, c.order[0])
		c.order = c.order[1:]
	}
}

// find gives the message with that id, or the one of which it is a version.
func (c *conversation) find(k msgKey) *storedMessage { return c.messages[k] }

// group is a group as its members have it.
type group struct {
	id       string
	name     string
	revision int
	members  []string // ACIs, in the order they came
	pending  []string // invited, and not in it before they accept
	admins   []string

	announces bool // only admins send messages
}

func (g *group) has(aci string) bool { return slices.Contains(g.members, aci) }

func (g *group) join(aci string) {
	g.pending = slices.DeleteFunc(g.pending, func(m string) bool { return m == aci })
	if !g.has(aci) {
		g.members = append(g.members, aci)
	}
}

func (g *group) leave(aci string) {
	drop := func(from []string) []string { return slices.DeleteFunc(from, func(m string) bool { return m == aci }) }
	g.members, g.admins, g.pending = drop(g.members), drop(g.admins), drop(g.pending)
}

func (g *group) wire(kind string) *wireGroup {
	return &wireGroup{GroupID: g.id, GroupName: orNull(g.name), Revision: g.revision, Type: kind}
}

// direct finds or opens the conversation of an account with a person.
func (s *chats) direct(a *account, aci string) *conversation {
	return s.open(chatKey{account: a.ACI, person: aci})
}

func (s *chats) open(k chatKey) *conversation {
	c := s.talks[k]
	if c == nil {
		c = &conversation{key: k, messages: map[msgKey]*storedMessage{}, keep: s.opts.History}
		s.talks[k] = c
	}
	return c
}

// holdsKey reports whether a person has the profile key of an account, which comes with
// the first message of the account to them.
func (s *chats) holdsKey(p Person, a *account) bool {
	talk := s.talks[chatKey{account: a.ACI, person: p.ACI}]
	if talk == nil {
		return false
	}
	for _, m := range talk.messages {
		if m.own != nil {
			return true
		}
	}
	return false
}

// enter finds or opens a group for somebody who writes there: it has every
// account in it when it is new.
func (s *chats) enter(chat Chat, aci string) *group {
	if err := checkGroup(chat.Group); err != nil {
		panic(stage.Forbid("%w", err))
	}
	g := s.groups[chat.Group]
	if g == nil {
		g = &group{id: chat.Group, revision: 1, admins: []string{aci}}
		for _, a := range s.accounts {
			g.join(a.ACI)
		}
		s.groups[chat.Group] = g
	}
	if chat.Name != "" {
		g.name = chat.Name
	}
	g.join(aci)
	return g
}

// place is where something happens: the conversation, its group if it is one, and
// the accounts that see it.
type place struct {
	chat     *conversation
	group    *group
	audience []*account
}

// placeOf finds the place of a chat for a person.
func (s *chats) placeOf(chat Chat, p Person) place {
	if err := checkIDs(p.ACI, p.Number); err != nil {
		panic(stage.Forbid("%w", err))
	}
	s.meet(p)
	a := s.registered(chat.Account)
	if chat.Group == "" {
		return place{chat: s.direct(a, p.ACI), audience: []*account{a}}
	}
	return s.groupPlace(s.enter(chat, p.ACI), p.ACI)
}

// groupPlace is a group seen by the accounts in it, but for the author.
func (s *chats) groupPlace(g *group, author string) place {
	pl := place{chat: s.open(chatKey{group: g.id}), group: g}
	for _, a := range s.accounts {
		if g.has(a.ACI) && a.ACI != author {
			pl.audience = append(pl.audience, a)
		}
	}
	return pl
}

// meet remembers a person, and what is new about them.
func (s *chats) meet(p Person) *person {
	known := s.known[p.ACI]
	if known == nil {
		known = &person{}
		s.known[p.ACI] = known
	}
	known.Person = p
	return known
}

// addressOf is somebody as accounts know them.
func (s *chats) addressOf(aci string) address {
	if p := s.known[aci]; p != nil {
		return p.address()
	}
	for _, a := range s.accounts {
		if a.ACI == aci {
			return address{ACI: aci, Number: a.Number}
		}
	}
	return address{ACI: aci}
}
