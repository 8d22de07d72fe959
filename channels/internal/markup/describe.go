package markup

import (
	"encoding/json"
	"strings"
)

// Part is a part of a message that is neither text nor a file, as the network wrote
// it, with a name such as "a sticker". Describe returns it in words, or "" where it
// cannot be read; nil: it is only named.
type Part struct {
	Raw      json.RawMessage
	Name     string
	Describe func(json.RawMessage) string
}

// Text returns the part in words, or names it as what cannot be shown. It is empty
// for a part that is not there.
func (p Part) Text() string {
	if len(p.Raw) == 0 || string(p.Raw) == "null" {
		return ""
	}
	if p.Describe != nil {
		if text := p.Describe(p.Raw); text != "" {
			return text
		}
	}
	return NotShown(p.Name)
}

// NotShown returns the words for something shared that a conversation cannot show.
func NotShown(what string) string { return "(shared " + what + ", which cannot be shown here)" }

// Shared returns the words for something that was shared, such as "a contact", with
// what is not empty of its parts; or "" if nothing is.
func Shared(what string, parts ...string) string {
	if text := JoinNonEmpty(", ", parts...); text != "" {
		return "(shared " + what + ": " + text + ")"
	}
	return ""
}

// SharedList returns the words for something with a title and lines below it, or ""
// without a title.
func SharedList(what, title string, lines []string) string {
	if title == "" {
		return ""
	}
	return "(shared " + what + ": " + strings.Join(append([]string{title}, lines...), "\n- ") + ")"
}

// Decode decodes a part of a message; what it lacks or has in another form stays empty.
func Decode[T any](raw json.RawMessage) (v T) {
	_ = json.Unmarshal(raw, &v)
	return v
}

// JoinNonEmpty joins the parts that are not empty.
func JoinNonEmpty(by string, parts ...string) string {
	var kept []string
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, by)
}
