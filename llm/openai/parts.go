package openai

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"parley/llm/wire"
	"parley/transcript"
)

// partForm is how a protocol writes what people and tools say.
type partForm struct {
	result  func(callID, content string) any // of a tool call: a message, or an item
	text    func(s string) any               // a part
	image   func(url, detail string) any     // a part
	message func(content any) any            // of parts, or a text
}

// encodeParts writes a user or tool message: first the results, then one message with
// everything else.
func (b *base) encodeParts(h transcript.Message, f partForm) []json.RawMessage {
	var out []json.RawMessage
	var parts []any
	var words []string
	text := func(s string) {
		if s != "" {
			words = append(words, s)
			parts = append(parts, f.text(s))
		}
	}
	for _, p := range h.Parts {
		switch p := p.(type) {
		case transcript.Text:
			text(p.Text)
		case transcript.ToolResult:
			out = append(out, marshalObject(f.result(wire.SafeID(p.ToolCallID), p.Content)))
		case transcript.Binary:
			if b.Info().Vision && strings.HasPrefix(p.MIMEType, "image/") && len(p.Data) > 0 {
				parts = append(parts, f.image("data:"+p.MIMEType+";base64,"+base64.StdEncoding.EncodeToString(p.Data), pictureDetail))
			} else {
				text(wire.Mention(p))
			}
		case transcript.ImageURL:
			if b.Info().Vision {
				parts = append(parts, f.image(p.URL, p.Detail))
			} else {
				text("[picture: " + p.URL + "]")
			}
		}
	}
	switch {
	case len(parts) == 0:
	case len(words) == len(parts): // small servers take only a string
		out = append(out, marshalObject(f.message(strings.Join(words, "\n"))))
	default:
		out = append(out, marshalObject(f.message(parts)))
	}
	return out
}
