package delivery

import (
	"encoding/json"
	"fmt"

	"parley/channels"
	"parley/sessions"
)

// An answer of more messages than a chat takes is shown up to there; all of it comes
// behind as a file, made of the text that is queued, or, where no file can be sent, a
// sentence says that it goes on.
const (
	maxParts   = 10 // messages of one answer, the sentences about the rest included
	answerFile = "answer.md"
	answerMIME = "text/markdown"
)

// storedBody is a part as it stands in the outbox.
type storedBody struct {
	channels.Body
	WholeAnswer bool `json:"whole_answer,omitempty"` // it is the file with all of the answer
}

// boundParts makes of the messages of an answer what is sent of it.
func (a *attempt) boundParts(bodies []channels.Body) (parts []storedBody) {
	add := func(bs ...channels.Body) {
		for _, b := range bs {
			parts = append(parts, storedBody{Body: b})
		}
	}
	if len(bodies) <= maxParts {
		add(bodies...)
		return parts
	}
	fs, sends := a.ch.(channels.FileSender)
	if sends && int64(len(a.d.Text)) <= fs.LargestFile() {
		shown := bodies[:maxParts-1]
		add(shown...)
		add(a.renderSentence(fmt.Sprintf("This answer has %d messages more. All of it is in the file %s.", len(bodies)-len(shown), markdownLiteral(answerFile)))...)
		parts = append(parts, storedBody{Body: channels.Body{Text: "[file] " + answerFile}, WholeAnswer: true})
		add(channels.Body{Text: "The file could not be sent."}) // in its place; see fileSubstitute
		return parts
	}
	shown := bodies[:maxParts-1]
	add(shown...)
	add(a.renderSentence(fmt.Sprintf("This answer was cut here: it has %d messages more. Ask for a shorter one, or for its parts.", len(bodies)-len(shown)))...)
	return parts
}

func (a *account) renderSentence(markdown string) []channels.Body {
	said := a.render(markdown, false)
	return said[:min(len(said), 1)]
}

// fileIndex returns which part of a delivery is a file; -1: none.
func fileIndex(d *sessions.Delivery) int {
	if d.File != nil {
		return 0
	}
	if len(d.Parts) < maxParts {
		return -1
	}
	for i := len(d.Parts) - 1; i >= 0; i-- {
		var b storedBody
		if json.Unmarshal(d.Parts[i].Body, &b) == nil && b.WholeAnswer {
			return i
		}
	}
	return -1
}
