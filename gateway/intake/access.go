package intake

import (
	"fmt"
	"slices"

	"parley/channels"
	"parley/sessionkeys"
)

// Access says who may talk to a bot account. The zero Access is nobody:
// an empty list never means everybody.
type Access struct {
	// Everyone lets every person talk to the bot, in direct messages and in
	// every group it is in. Written out in the configuration or not at all.
	Everyone bool `yaml:"everyone"`
	// People are the network's stable ids of those who may talk to the bot.
	People []string `yaml:"people"`
	// Groups are the ids of the groups where it answers those People.
	Groups []string `yaml:"groups"`
}

// Validate refuses what cannot be a stable id, such as a @name that its owner
// can give away.
func (a Access) Validate() error {
	for _, list := range []struct {
		name string
		ids  []string
	}{{"people", a.People}, {"groups", a.Groups}} {
		for i, id := range list.ids {
			switch {
			case id == "":
				return fmt.Errorf("%s[%d]: empty", list.name, i)
			case id == "*":
				return fmt.Errorf("%s[%d]: * is not an id; write everyone: true to let everybody talk to the bot", list.name, i)
			case id[0] == '@':
				return fmt.Errorf("%s[%d]: %s is a name, which can change hands; use the stable id (the log shows it when that person writes to the bot)", list.name, i, id)
			}
		}
	}
	return nil
}

// Verdict is what Authorize says of an event. Only intake makes one that
// allows.
type Verdict struct {
	Allowed bool
	Reason  string // why not: a value of the label reason of messages_ignored_total
	Hint    string // for the operator's log
}

// Authorize decides whether the sender of m may cause anything. Every kind of
// event passes here, before anything else looks at it.
func (a Access) Authorize(m channels.Message) Verdict {
	refuse := func(hint string) Verdict { return Verdict{Reason: NotAllowed, Hint: hint} }
	switch {
	case m.Sender.Bot:
		return refuse("the sender is a bot")
	case m.Sender.Anonymous:
		return refuse("the person behind the sender is not known")
	case m.Sender.ID == "":
		return refuse("the event names no sender")
	case a.Everyone:
	case !slices.Contains(a.People, m.Sender.ID):
		return refuse("the sender is not in access.people")
	case m.Address.Kind != sessionkeys.DM && !slices.Contains(a.Groups, m.Address.Peer):
		return refuse("the group is not in access.groups")
	}
	return Verdict{Allowed: true}
}
