package telegram

import (
	"time"

	"parley/simulators/internal/stage"
)

// Happening is something that people in a chat see at once.
type Happening struct {
	// Kind is sent, edited, deleted, action, callback_answer or reaction.
	Kind      string
	Bot       string
	ChatID    int64
	ThreadID  int64
	MessageID int64 // of a sent, edited or deleted message
	ReplyTo   int64
	// Text of the message, the chat action, or the answer.
	Text     string
	Entities []Entity
	Document *DocumentEntry // of a message that is one
	At       time.Time
}

// show tells the watchers. The caller holds the lock.
func (w *world) show(h Happening) {
	w.books.totals.Missed += stage.Show(&w.watchers, h)
}
