package markup

import (
	"encoding/json"

	"parley/channels"
)

// Bodies returns rendered messages as the bodies of replies, or nil for none. split
// returns the text of one, and what becomes its Markup, as JSON, if there is any.
func Bodies[M any](messages []M, split func(M) (text string, marks any, marked bool)) []channels.Body {
	var out []channels.Body
	for _, m := range messages {
		text, marks, marked := split(m)
		b := channels.Body{Text: text}
		if marked {
			b.Markup, _ = json.Marshal(marks) // strings and numbers: cannot fail
		}
		out = append(out, b)
	}
	return out
}
