package telegram

import (
	"unicode"
	"unicode/utf16"

	"parley/simulators/internal/stage"
)

// lookBack is how far before the limit a client looks for a good place to cut,
// in UTF-16 code units.
const lookBack = 300

// Paste lets p put a long text into the input field and send it: the client
// makes messages of at most 4096 UTF-16 code units of it, one right after the
// other, cut at a paragraph, line, sentence or word where one ends near the
// limit.
func (s *chats) Paste(c Chat, p Person, text string, o SayOptions) (all []ActionResult, err error) {
	defer stage.Act(&s.mu, &err, "paste")()
	for _, part := range cutAsClientsDo(text) {
		all = append(all, s.say(c, p, part, o))
		o.ReplyTo, o.Quote = 0, "" // only the first answers
	}
	return all, nil
}

// cutAsClientsDo also trims each part, as clients do.
func cutAsClientsDo(text string) []string {
	rest := utf16.Encode([]rune(text))
	var parts []string
	for len(rest) > 0 {
		end := len(rest)
		if end > maxText {
			end = goodCut(rest)
		}
		if part := trimUnits(rest[:end]); len(part) > 0 {
			parts = append(parts, string(utf16.Decode(part)))
		}
		rest = rest[end:]
	}
	return parts
}

// goodCut returns where to end a part of units, which are more than fit into one.
func goodCut(units []uint16) int {
	line, sentence, word := 0, 0, 0
	for i := maxText; i > maxText-lookBack; i-- {
		before, last := units[i-2], units[i-1]
		switch space := unicode.IsSpace(rune(last)); {
		case last == '\n' && before == '\n':
			return i
		case last == '\n':
			line = max(line, i)
		case space && before == '.':
			sentence = max(sentence, i)
		case space:
			word = max(word, i)
		}
	}
	switch {
	case line > 0:
		return line
	case sentence > 0:
		return sentence
	case word > 0:
		return word
	case utf16.IsSurrogate(rune(units[maxText])) && units[maxText] >= 0xDC00:
		return maxText - 1 // not through a pair
	}
	return maxText
}

func trimUnits(units []uint16) []uint16 {
	for len(units) > 0 && unicode.IsSpace(rune(units[0])) {
		units = units[1:]
	}
	for len(units) > 0 && unicode.IsSpace(rune(units[len(units)-1])) {
		units = units[:len(units)-1]
	}
	return units
}
