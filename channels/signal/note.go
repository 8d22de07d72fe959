package signal

import (
	"cmp"
	"encoding/json"
	"strings"
)

// A signal-cli that is a further device of somebody's own account gets all that is
// written to them and by them. With Options.NoteToSelf what they write to themselves, in
// "Note to Self", is the one conversation that there is, and nothing else is read: what
// others write is for them and not for the bot.

// syncMessage is what another device of the account did, as far as it is read.
type syncMessage struct {
	Sent *sentMessage `json:"sentMessage"`
}

// sentMessage is a message of another device, with whom it was sent to.
type sentMessage struct {
	Destination string       `json:"destination"`
	Number      string       `json:"destinationNumber"`
	UUID        string       `json:"destinationUuid"`
	Edit        *editMessage `json:"editMessage"`
	dataMessage
}

// extractNote takes a note to oneself out of an event: false means that it is none.
func (r *receiver) extractNote(v *envelope) (note envelope, ok bool) {
	var s syncMessage
	if !hasValue(v.Sync) || json.Unmarshal(v.Sync, &s) != nil || s.Sent == nil {
		return envelope{}, false
	}
	to := s.Sent
	if !r.me.matches(cmp.Or(aciOf(to.UUID), aciOf(to.Destination)), cmp.Or(numberOf(to.Number), numberOf(to.Destination))) || to.Group != nil {
		return envelope{}, false
	}
	note = *v
	note.Sync = nil
	if to.Edit != nil {
		note.Edit = to.Edit
	} else {
		note.Data = &to.dataMessage
	}
	return note, true
}

// isNoteToSelf says whether a chat is that of the account with itself.
func (c *client) isNoteToSelf(peer string) bool {
	return c.o.NoteToSelf && c.self().matches(aciOf(peer), numberOf(peer))
}

// isNoteQuote reports whether a quoted message of the account's was written by its person
// and not by us: both have the same author.
func (r *receiver) isNoteQuote(id int64) bool {
	me := strings.ToLower(r.me.aci)
	return r.o.NoteToSelf && r.messages.text(me, messageID(id, me)) != ""
}
