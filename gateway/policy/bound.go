package policy

import (
	"slices"

	"parley/channels"
	"parley/sessionkeys"
)

// Bound says which agent answers where, at one bot account. It follows from the
// configuration, the person and the chat alone, so that all that is said in one
// conversation, commands too, comes to the same agent.
type Bound struct {
	Agent  string            // where nothing else is said
	Groups map[string]string // agents by the ids of groups; a thread is part of its group
	People map[string]string // agents by the ids of people, in their direct messages
}

// AgentFor returns the agent that answers m, in a chat with these ids. A group that moved
// is bound by whichever of its ids; the one under which its conversations go on counts
// first.
func (b Bound) AgentFor(m channels.Message, chat ...string) string {
	bound, ids := b.People, []string{m.Sender.ID, m.Sender.Alias}
	if m.Address.Kind != sessionkeys.DM {
		bound, ids = b.Groups, append([]string{m.Address.Peer}, chat...)
	}
	i := slices.IndexFunc(ids, func(id string) bool { return bound[id] != "" })
	if i < 0 {
		return b.Agent
	}
	return bound[ids[i]]
}
