package signal

import (
	"time"

	"parley/simulators/internal/stage"
)

// Happening is something that people in a chat see at once.
type Happening struct {
	// Kind is sent, edited, deleted, typing, typing_stopped, reaction,
	// reaction_removed or receipt.
	Kind    string
	Account string
	// Chat is the group's id, or the ACI of the person.
	Chat string
	// Timestamp of the message, and of the one that an edit, a deletion, a
	// reaction or a receipt is about.
	Timestamp int64
	Target    int64
	Text      string // of a message, or the reaction
	Styles    []Style
	At        time.Time
}

// show tells the watchers. The caller holds the lock.
func (w *world) show(h Happening) {
	h.At = w.opts.Now()
	w.books.totals.Missed += stage.Show(&w.watchers, h)
}
