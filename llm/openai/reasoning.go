package openai

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// isReasoning reports whether a field holds thinking: there is no standard name,
// but every server uses one of these words. (E01)
func isReasoning(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "reasoning") || strings.Contains(name, "thinking") || strings.Contains(name, "thought")
}

// reasoning collects the thinking of one answer: as text for people, and field
// by field as it must go back to the provider.
type reasoning struct {
	text  strings.Builder
	words map[string]*strings.Builder // fields that are text
	lists map[string][]*entry         // fields that are lists of objects
}

// add takes one delta's reasoning fields and returns the text that is new. A
// null, an empty text and an empty list are placeholders and mean nothing.
// Servers repeat the same thinking under several names: text counts once, and
// a list only when no field was plain text. (TX08)
func (r *reasoning) add(delta map[string]json.RawMessage) (text string) {
	var listed string
	for _, name := range slices.Sorted(maps.Keys(delta)) {
		if !isReasoning(name) {
			continue
		}
		var words string
		var list []map[string]json.RawMessage
		switch {
		case json.Unmarshal(delta[name], &words) == nil && words != "":
			r.addWords(name, words)
			if text == "" {
				text = words
			}
		case json.Unmarshal(delta[name], &list) == nil && len(list) > 0:
			listed += r.addList(name, list)
		default:
			var one map[string]json.RawMessage
			if json.Unmarshal(delta[name], &one) == nil {
				listed += textOf(one)
			}
		}
	}
	if text == "" {
		text = listed
	}
	r.text.WriteString(text)
	return text
}

func (r *reasoning) addWords(name, words string) {
	if r.words == nil {
		r.words = map[string]*strings.Builder{}
	}
	if r.words[name] == nil {
		r.words[name] = &strings.Builder{}
	}
	r.words[name].WriteString(words)
}

// addList appends the pieces of a list. Neighbours of one type and index are
// pieces of one entry: their texts are joined, since a signature covers the
// whole.
func (r *reasoning) addList(name string, list []map[string]json.RawMessage) (text string) {
	if r.lists == nil {
		r.lists = map[string][]*entry{}
	}
	for _, piece := range list {
		text += textOf(piece)
		all := r.lists[name]
		if n := len(all); n == 0 || !all[n-1].continues(piece) {
			r.lists[name] = append(all, &entry{fields: map[string]json.RawMessage{}, texts: map[string]*strings.Builder{}})
		}
		r.lists[name][len(r.lists[name])-1].add(piece)
	}
	return text
}

// entry is one entry of a reasoning list that is being received.
type entry struct {
	fields map[string]json.RawMessage
	texts  map[string]*strings.Builder
}

// pieces are the fields of an entry that come in pieces.
var pieces = []string{"text", "summary", "data"}

func (e *entry) continues(piece map[string]json.RawMessage) bool {
	_, indexed := e.fields["index"]
	return indexed && string(e.fields["index"]) == string(piece["index"]) && string(e.fields["type"]) == string(piece["type"])
}

func (e *entry) add(piece map[string]json.RawMessage) {
	for name, raw := range piece {
		var text string
		switch {
		case string(raw) == "null" && e.fields[name] != nil:
		case slices.Contains(pieces, name) && json.Unmarshal(raw, &text) == nil && string(raw) != "null":
			if e.texts[name] == nil {
				e.texts[name] = &strings.Builder{}
			}
			e.texts[name].WriteString(text)
		default:
			e.fields[name] = raw
		}
	}
}

// MarshalJSON gives the entry as it must go back.
func (e *entry) MarshalJSON() ([]byte, error) {
	out := map[string]any{}
	for name, raw := range e.fields {
		out[name] = raw
	}
	for name, text := range e.texts {
		out[name] = text.String()
	}
	return marshalUnescaped(out)
}

// textOf returns what an entry says in words.
func textOf(entry map[string]json.RawMessage) string {
	for _, name := range []string{"text", "summary", "content", "thinking"} {
		var s string
		if json.Unmarshal(entry[name], &s) == nil && s != "" {
			return s
		}
	}
	return ""
}

// fields are what goes back to the provider.
func (r *reasoning) fields() map[string]any {
	out := map[string]any{}
	for name, words := range r.words {
		out[name] = words.String()
	}
	for name, list := range r.lists {
		out[name] = list
	}
	return out
}
