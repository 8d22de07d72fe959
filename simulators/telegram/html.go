package telegram

import (
	"html"
	"regexp"
	"strings"
)

var htmlTags = map[string]string{
	"b": "bold", "strong": "bold", "i": "italic", "em": "italic", "u": "underline", "ins": "underline",
	"s": "strikethrough", "strike": "strikethrough", "del": "strikethrough", "tg-spoiler": "spoiler", "span": "spoiler",
	"code": "code", "pre": "pre", "a": "text_link", "blockquote": "blockquote", "tg-emoji": "custom_emoji",
}

var htmlAttribute = regexp.MustCompile(`([a-zA-Z-]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+))?`)

// openMark is markup whose end has not been seen.
type openMark struct {
	tag   string
	at    int // byte offset in the source
	start int // byte offset in the output
	e     Entity
}

// parseHTML reads parse_mode HTML.
func parseHTML(src string) (string, []Entity, *refusal) {
	var out strings.Builder
	var open []openMark
	var es []Entity
	for i := 0; i < len(src); {
		j := strings.IndexByte(src[i:], '<')
		if j < 0 {
			out.WriteString(html.UnescapeString(src[i:]))
			break
		}
		out.WriteString(html.UnescapeString(src[i : i+j]))
		i += j
		end := strings.IndexByte(src[i:], '>')
		if end < 0 {
			return "", nil, badRequest("can't parse entities: Unclosed start tag at byte offset %d", i)
		}
		tag := src[i+1 : i+end]
		if name, ok := strings.CutPrefix(tag, "/"); ok {
			name = fold(strings.TrimSpace(name))
			if len(open) == 0 {
				return "", nil, badRequest("can't parse entities: Unexpected end tag at byte offset %d", i)
			}
			m := open[len(open)-1]
			if name != "" && name != m.tag {
				return "", nil, badRequest("can't parse entities: Unmatched end tag at byte offset %d, expected \"</%s>\", found \"</%s>\"", i, m.tag, name)
			}
			open = open[:len(open)-1]
			es = m.close(es, out.String())
		} else {
			m, refused := openTag(tag, i)
			if refused != nil {
				return "", nil, refused
			}
			m.start = out.Len()
			open = append(open, m)
		}
		i += end + 1
	}
	if len(open) > 0 {
		m := open[len(open)-1]
		return "", nil, badRequest("can't parse entities: Can't find end tag corresponding to start tag \"%s\"", m.tag)
	}
	return out.String(), es, nil
}

func openTag(tag string, at int) (openMark, *refusal) {
	name, rest, _ := strings.Cut(strings.TrimSpace(tag), " ")
	name = fold(name)
	kind, ok := htmlTags[name]
	if !ok {
		return openMark{}, badRequest("can't parse entities: Unsupported start tag \"%s\" at byte offset %d", name, at)
	}
	m := openMark{tag: name, at: at, e: Entity{Type: kind}}
	for _, a := range htmlAttribute.FindAllStringSubmatch(rest, -1) {
		value := html.UnescapeString(strings.Trim(a[2], `"'`))
		switch k := fold(a[1]); {
		case name == "a" && k == "href":
			m.e.URL = value
		case name == "code" && k == "class":
			m.e.Language = strings.TrimPrefix(value, "language-")
		case name == "blockquote" && k == "expandable":
			m.e.Type = "expandable_blockquote"
		case name == "tg-emoji" && k == "emoji-id":
			m.e.CustomEmojiID = value
		}
	}
	if name == "span" && !strings.Contains(rest, "tg-spoiler") {
		return openMark{}, badRequest("can't parse entities: Tag \"span\" must have class \"tg-spoiler\" at byte offset %d", at)
	}
	return m, nil
}

// close turns finished markup into an entity. A code block with a language
// inside pre is one pre.
func (m openMark) close(es []Entity, out string) []Entity {
	e := m.e
	e.Offset = units(out[:m.start])
	e.Length = units(out[m.start:])
	if e.Length == 0 || e.Type == "text_link" && e.URL == "" {
		return es
	}
	if n := len(es); e.Type == "pre" && n > 0 && es[n-1].Type == "code" && es[n-1].Offset == e.Offset && es[n-1].Length == e.Length {
		e.Language = es[n-1].Language
		es = es[:n-1]
	}
	return append(es, e)
}
