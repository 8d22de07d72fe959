package telegram

import (
	"unicode/utf16"

	"github.com/go-telegram/bot/models"
)

// repeatMark stands before a message that may have arrived already: Telegram
// has no key by which a bot could send it once, nor a way to ask.
const repeatMark = repeatCaption + "\n\n"

// repeatCaption stands beside a file that may have arrived already.
const repeatCaption = "(This may be a repeat.)"

// repeatUnits is the mark's length in UTF-16 units, kept free in each message.
const repeatUnits = len(repeatMark)

// markRepeat puts the mark before a text and moves its entities behind it.
func markRepeat(text string, es []models.MessageEntity) (string, []models.MessageEntity) {
	shift := len(utf16.Encode([]rune(repeatMark)))
	moved := make([]models.MessageEntity, len(es))
	for i, e := range es {
		e.Offset += shift
		moved[i] = e
	}
	return repeatMark + text, moved
}
