package telegram

import (
	"encoding/json"
	"math"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"
)

// formattedText is a text with its entities, as the server keeps it.
type formattedText struct {
	text     string
	entities []Entity
}

// format checks and normalises what a bot wants to say.
func format(p params) formattedText { return formatField(p, "text", "entities") }

func formatField(p params, field, entities string) formattedText {
	var es []Entity
	if p["parse_mode"] != "" {
		panic(badRequest("unsupported parse_mode"))
	}
	if raw := p[entities]; raw != "" {
		if err := json.Unmarshal([]byte(raw), &es); err != nil {
			panic(badRequest("can't parse entities JSON object"))
		}
	}
	return normalise(p[field], es)
}

var entityTypes = map[string]bool{
	"mention": true, "hashtag": true, "cashtag": true, "bot_command": true, "url": true, "email": true,
	"phone_number": true, "bold": true, "italic": true, "underline": true, "strikethrough": true,
	"spoiler": true, "blockquote": true, "expandable_blockquote": true, "code": true, "pre": true,
	"text_link": true, "text_mention": true, "custom_emoji": true, "date_time": true,
}

// normalise drops what Telegram drops (carriage returns, control characters,
// outer white space), moves the entities along and refuses impossible ones.
func normalise(text string, es []Entity) formattedText {
	if len(es) == 0 && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\n' }) {
		text = strings.Trim(text, " \n")
		return formattedText{text: text, entities: detect(text)}
	}
	u := utf16.Encode([]rune(text))
	kept := make([]Entity, 0, len(es))
	for _, e := range es {
		if !entityTypes[e.Type] {
			panic(badRequest("can't parse MessageEntity: Unsupported type specified"))
		}
		if e.Length <= 0 || e.Offset < 0 {
			continue
		}
		checkPlace(u, e)
		checkLink(&e)
		kept = append(kept, e)
	}
	slices.SortStableFunc(kept, byPosition)
	checkNesting(kept)
	text, kept = removeUnits(u, kept)
	return formattedText{text: text, entities: merge(kept, detect(text))}
}

func checkPlace(u []uint16, e Entity) {
	end := e.Offset + min(e.Length, math.MaxInt-e.Offset)
	switch {
	case e.Offset > len(u):
		panic(badRequest("entity begins after the end of the text at UTF-16 offset %d", e.Offset))
	case e.Length > len(u)-e.Offset:
		panic(badRequest("entity beginning at UTF-16 offset %d ends after the end of the text at UTF-16 offset %d", e.Offset, end))
	case splitsSurrogates(u, e.Offset):
		panic(badRequest("entity begins in a middle of a UTF-16 symbol at byte offset %d", bytesBefore(u, e.Offset)))
	case splitsSurrogates(u, end):
		panic(badRequest("entity ends in a middle of a UTF-16 symbol at byte offset %d", bytesBefore(u, end)))
	}
}

// splitsSurrogates reports whether i splits a surrogate pair.
func splitsSurrogates(u []uint16, i int) bool {
	return i > 0 && i < len(u) && u[i-1]&0xfc00 == 0xd800 && u[i]&0xfc00 == 0xdc00
}

func bytesBefore(u []uint16, i int) int { return len(string(utf16.Decode(u[:i-1]))) }

func checkLink(e *Entity) {
	if e.Type != "text_link" {
		return
	}
	raw := e.URL
	if !strings.Contains(raw, ":") && strings.Contains(raw, ".") {
		raw = "http://" + raw
	}
	l, err := url.Parse(raw)
	if err != nil || l.Host == "" && l.Opaque == "" {
		panic(badRequest("entity URL '%s' is invalid: Wrong HTTP URL", e.URL))
	}
	switch l.Scheme {
	case "http", "https", "tg", "ton", "tonsite":
		e.URL = raw
	default:
		panic(badRequest("entity URL '%s' is invalid: Unsupported URL protocol", e.URL))
	}
}

// checkNesting refuses entities that overlap without one holding the other.
func checkNesting(es []Entity) {
	var open []int // ends of the entities around the present place
	for _, e := range es {
		end := e.Offset + e.Length
		for len(open) > 0 && open[len(open)-1] <= e.Offset {
			open = open[:len(open)-1]
		}
		if len(open) > 0 && end > open[len(open)-1] {
			panic(badRequest("entity beginning at UTF-16 offset %d ends after the end of the text at UTF-16 offset %d", e.Offset, end))
		}
		open = append(open, end)
	}
}

// removeUnits removes code units and moves the entities accordingly.
func removeUnits(u []uint16, es []Entity) (string, []Entity) {
	blank := func(c uint16) bool { return c <= ' ' }
	first, last := 0, len(u)
	for first < last && blank(u[first]) {
		first++
	}
	for last > first && blank(u[last-1]) {
		last--
	}
	out := make([]uint16, 0, len(u))
	moved := make([]int, len(u)+1)
	for i, c := range u {
		moved[i] = len(out)
		switch {
		case i < first || i >= last || c == '\r':
		case c < ' ' && c != '\n':
			out = append(out, ' ')
		default:
			out = append(out, c)
		}
	}
	moved[len(u)] = len(out)
	kept := es[:0]
	for _, e := range es {
		start, end := moved[e.Offset], moved[e.Offset+e.Length]
		if end > start {
			e.Offset, e.Length = start, end-start
			kept = append(kept, e)
		}
	}
	return string(utf16.Decode(out)), kept
}
