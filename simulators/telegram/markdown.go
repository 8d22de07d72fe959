package telegram

import (
	"strings"
)

// markdownMarks are the delimiters, longest first, with what MarkdownV2 and
// the older Markdown make of them.
var markdownMarks = []struct{ mark, v2, v1 string }{
	{"```", "pre", "pre"},
	{"||", "spoiler", ""},
	{"__", "underline", ""},
	{"*", "bold", "bold"},
	{"_", "italic", "italic"},
	{"~", "strikethrough", ""},
	{"`", "code", "code"},
}

const reservedV2 = "_*[]()~`>#+-=|{}.!"

// markdown reads parse_mode MarkdownV2 and Markdown, without block quotes and
// custom emoji.
type markdown struct {
	src  string
	v2   bool
	i    int
	out  strings.Builder
	open []openMark
	es   []Entity
}

func parseMarkdown(src string, v2 bool) (string, []Entity, *refusal) {
	m := &markdown{src: src, v2: v2}
	for m.i < len(src) {
		if refused := m.step(); refused != nil {
			return "", nil, refused
		}
	}
	if len(m.open) > 0 {
		o := m.open[len(m.open)-1]
		return "", nil, m.unclosed(o)
	}
	return m.out.String(), m.es, nil
}

func (m *markdown) unclosed(o openMark) *refusal {
	name := map[string]string{
		"bold": "Bold", "italic": "Italic", "code": "Code", "pre": "Pre", "underline": "Underline",
		"spoiler": "Spoiler", "strikethrough": "Strikethrough", "text_link": "TextUrl",
	}[o.e.Type]
	if !m.v2 {
		return badRequest("can't parse entities: Can't find end of the entity starting at byte offset %d", o.at)
	}
	return badRequest("can't parse entities: Can't find end of %s entity at byte offset %d", name, o.at)
}

func (m *markdown) step() *refusal {
	rest := m.src[m.i:]
	if rest[0] == '\\' && len(rest) > 1 && (m.v2 && rest[1] < 127 || strings.IndexByte("_*`[", rest[1]) >= 0) {
		m.out.WriteByte(rest[1])
		m.i += 2
		return nil
	}
	verbatim := len(m.open) > 0 && (m.open[len(m.open)-1].e.Type == "code" || m.open[len(m.open)-1].e.Type == "pre")
	for _, d := range markdownMarks {
		kind := d.v1
		if m.v2 {
			kind = d.v2
		}
		if kind == "" || !strings.HasPrefix(rest, d.mark) || verbatim && m.open[len(m.open)-1].tag != d.mark {
			continue
		}
		m.toggle(d.mark, kind)
		return nil
	}
	switch {
	case verbatim:
	case rest[0] == '[' && (m.v2 || strings.Contains(rest, "](")):
		m.open = append(m.open, openMark{tag: "[", at: m.i, start: m.out.Len(), e: Entity{Type: "text_link"}})
		m.i++
		return nil
	case rest[0] == ']' && len(m.open) > 0 && m.open[len(m.open)-1].tag == "[":
		return m.link(rest)
	case m.v2 && strings.IndexByte(reservedV2, rest[0]) >= 0:
		return badRequest("can't parse entities: Character '%c' is reserved and must be escaped with the preceding '\\'", rest[0])
	}
	m.out.WriteByte(rest[0])
	m.i++
	return nil
}

func (m *markdown) toggle(mark, kind string) {
	at := m.i
	m.i += len(mark)
	if n := len(m.open); n > 0 && m.open[n-1].tag == mark {
		o := m.open[n-1]
		m.open = m.open[:n-1]
		m.es = o.close(m.es, m.out.String())
		return
	}
	o := openMark{tag: mark, at: at, start: m.out.Len(), e: Entity{Type: kind}}
	if kind == "pre" {
		if line, _, ok := strings.Cut(m.src[m.i:], "\n"); ok && !strings.ContainsAny(line, " `") {
			o.e.Language = line
			m.i += len(line) + 1
		}
	}
	m.open = append(m.open, o)
}

func (m *markdown) link(rest string) *refusal {
	o := m.open[len(m.open)-1]
	end := strings.IndexByte(rest, ')')
	if !strings.HasPrefix(rest, "](") || end < 0 {
		return m.unclosed(o)
	}
	m.open = m.open[:len(m.open)-1]
	o.e.URL = strings.ReplaceAll(rest[2:end], `\`, "")
	m.es = o.close(m.es, m.out.String())
	m.i += end + 1
	return nil
}
