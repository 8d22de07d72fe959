package slack

import (
	"encoding/json"
	"time"

	"parley/simulators/internal/stage"
)

// Happening is something that people in a conversation see at once.
type Happening struct {
	// Kind is posted, streamed, edited, deleted, or the kind of a signal.
	Kind     string
	App      string
	Channel  string
	ThreadTS string
	TS       string
	User     string // who alone sees it
	Text     string // what people read
	Blocks   json.RawMessage
	At       time.Time
}

// show tells the watchers. The caller holds the lock.
func (w *world) show(h Happening) {
	w.books.totals.Missed += stage.Show(&w.watchers, h)
}
