package intake

import (
	"unicode/utf8"

	"parley/channels"
)

// idProblem returns what of m's names for things cannot be used. An event without an
// id would be taken for every other one without. They travel in JSON, where
// bytes that are no UTF-8 become one and the same rune: two chats would become
// one.
func idProblem(m channels.Message) string {
	if m.Event == "" {
		return "the event has no id"
	}
	for _, f := range []struct{ name, value string }{
		{"event", m.Event},
		{"message", m.MessageID},
		{"sender", m.Sender.ID},
		{"network", m.Address.Channel},
		{"account", m.Address.Account},
		{"kind", string(m.Address.Kind)},
		{"peer", m.Address.Peer},
		{"thread", m.Address.Thread},
		{"chat it moved to", m.MovedTo},
	} {
		if !utf8.ValidString(f.value) {
			return "the id of the " + f.name + " is not UTF-8"
		}
	}
	return ""
}
