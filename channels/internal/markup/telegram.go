package markup

import "cmp"

// What one message of Telegram may hold. Telegram Bot API: text of 1 to 4096
// UTF-16 code units after entities parsing; entities beyond the hundredth are
// reported to be ignored.
const (
	TelegramUnits    = 4096
	TelegramDefault  = 4000
	TelegramEntities = 100

	minUnits = 64 // smaller limits would hold less than one character
)

// Message is one message of Telegram.
type Message struct {
	Text     string
	Entities []Entity
}

// Entity is a MessageEntity of the Bot API. Offset and Length are in UTF-16
// code units.
type Entity struct {
	Type     string `json:"type"`
	Offset   int    `json:"offset"`
	Length   int    `json:"length"`
	URL      string `json:"url,omitempty"`
	Language string `json:"language,omitempty"`
}

// TelegramOptions are choices of an operator.
type TelegramOptions struct {
	// Units is the longest text of one message; 0 means TelegramDefault, and
	// no value goes beyond TelegramUnits.
	Units int
}

// Telegram renders Markdown as messages with entities, each within the limits
// of Telegram. Text without anything visible gives none.
func Telegram(markdown string, o TelegramOptions) []Message {
	l := limits{
		units: max(minUnits, min(cmp.Or(o.Units, TelegramDefault), TelegramUnits)),
		spans: TelegramEntities,
		size:  UTF16,
	}
	// A table wider than this wraps on a telephone; a longer quote is folded.
	shape := layout{tableWidth: 34, longQuote: 1000}
	parts := splitFlat(shape.flatten(Parse(markdown)), l)
	out := make([]Message, 0, len(parts))
	for _, p := range parts {
		out = append(out, Message{Text: p.text, Entities: entities(p)})
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func entityType(s Style) string {
	switch s {
	case Bold:
		return "bold"
	case Italic:
		return "italic"
	case Strike:
		return "strikethrough"
	case Spoiler:
		return "spoiler"
	case Mono:
		return "code"
	case Link:
		return "text_link"
	case Pre:
		return "pre"
	case LongQuoted:
		return "expandable_blockquote"
	default:
		return "blockquote"
	}
}

// entities counts the spans of p in UTF-16 code units. Links that Telegram
// finds by itself are left out.
func entities(p flatText) []Entity {
	spans := trimSpans(p.text, p.spans)
	units := unitsAt(p.text, spans)
	var out []Entity
	for _, s := range spans {
		if s.Bare && showsAddress(p.text[s.Start:s.End], s.URL) {
			continue
		}
		out = append(out, Entity{
			Type: entityType(s.Style), Offset: units[s.Start], Length: units[s.End] - units[s.Start],
			URL: s.URL, Language: s.Lang,
		})
	}
	return out
}

// unitsAt gives the UTF-16 offset of each byte offset at which a span begins
// or ends.
func unitsAt(text string, spans []Span) map[int]int {
	wanted := make(map[int]int, 2*len(spans))
	for _, s := range spans {
		wanted[s.Start], wanted[s.End] = 0, 0
	}
	n := 0
	for i, r := range text {
		if _, ok := wanted[i]; ok {
			wanted[i] = n
		}
		n += UTF16(r)
	}
	if _, ok := wanted[len(text)]; ok {
		wanted[len(text)] = n
	}
	return wanted
}
