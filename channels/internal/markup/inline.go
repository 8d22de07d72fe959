package markup

import (
	"html"
	"net/url"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// formatting is all that holds at one place of a line: a set of styles and a link.
type formatting struct {
	styles uint8 // bit per Style up to Mono
	link   int   // number of the link in inline.links, from 1; 0: none
}

func (l formatting) with(s Style) formatting { l.styles |= 1 << s; return l }
func (l formatting) has(s Style) bool        { return l.styles&(1<<s) != 0 }

type run struct {
	end int
	formatting
}

// inline gathers the text of one block.
type inline struct {
	source []byte
	text   strings.Builder
	runs   []run
	links  []Span
	box    string // the tick box of a task
}

func (w *inline) add(s string, l formatting) {
	s = Clean(s)
	if s == "" {
		return
	}
	// Networks do not combine code with other styles: inside a link the link
	// wins, elsewhere code does.
	if l.has(Mono) {
		if l.link != 0 {
			l.styles &^= 1 << Mono
		} else {
			l = formatting{styles: 1 << Mono}
		}
	}
	w.text.WriteString(s)
	end := w.text.Len()
	if n := len(w.runs); n > 0 && w.runs[n-1].formatting == l {
		w.runs[n-1].end = end
		return
	}
	w.runs = append(w.runs, run{end, l})
}

func (w *inline) children(n ast.Node, l formatting) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		w.node(c, l)
	}
}

func (w *inline) node(n ast.Node, l formatting) {
	switch n := n.(type) {
	case *ast.Text:
		s := string(n.Value(w.source))
		if !n.IsRaw() {
			s = unescape(s)
		}
		w.add(s, l)
		if n.SoftLineBreak() || n.HardLineBreak() {
			w.add("\n", l)
		}
	case *ast.String:
		s := string(n.Value)
		if !n.IsRaw() && !n.IsCode() {
			s = unescape(s)
		}
		w.add(s, l)
	case *ast.CodeSpan:
		var b strings.Builder
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			if t, ok := c.(*ast.Text); ok {
				b.Write(t.Value(w.source))
			}
		}
		w.add(strings.ReplaceAll(b.String(), "\n", " "), l.with(Mono))
	case *ast.Emphasis:
		if n.Level >= 2 {
			l = l.with(Bold)
		} else {
			l = l.with(Italic)
		}
		w.children(n, l)
	case *extast.Strikethrough:
		w.children(n, l.with(Strike))
	case *spoilerNode:
		w.children(n, l.with(Spoiler))
	case *ast.Link:
		w.children(n, w.withLink(l, string(n.Destination), false))
	case *ast.Image:
		w.image(n, l)
	case *ast.AutoLink:
		label := string(n.Label(w.source))
		w.add(label, w.withLink(l, string(n.URL(w.source)), true))
	case *ast.RawHTML:
		for i := range n.Segments.Len() {
			s := n.Segments.At(i)
			w.add(string(s.Value(w.source)), l)
		}
	case *extast.TaskCheckBox:
		w.box = "☐"
		if n.IsChecked {
			w.box = "☑"
		}
	default:
		w.children(n, l)
	}
}

// image shows a picture as a link under its description.
func (w *inline) image(n *ast.Image, l formatting) {
	at := w.text.Len()
	l = w.withLink(l, string(n.Destination), false)
	w.children(n, l)
	if w.text.Len() == at && l.link != 0 {
		w.add(w.links[l.link-1].URL, l)
	}
}

// withLink is l inside a link. A link in a link and an address that is not safe
// leave the label as it is.
func (w *inline) withLink(l formatting, address string, bare bool) formatting {
	if l.link != 0 {
		return l
	}
	u, ok := safeURL(unescape(address))
	if !ok {
		return l
	}
	w.links = append(w.links, Span{Style: Link, URL: u, Bare: bare})
	l.link = len(w.links)
	return l
}

// maxURL bounds an address in bytes; longer ones are no use to a reader.
const maxURL = 2048

// safeURL lets pass what a chat may link to: http, https, tg and mailto.
func safeURL(s string) (string, bool) {
	s = strings.TrimSpace(Clean(s))
	if s == "" || len(s) > maxURL || strings.ContainsAny(s, " \t\n<>\"") {
		return "", false
	}
	u, err := url.Parse(s)
	if err != nil {
		return "", false
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
		return s, u.Host != ""
	case "tg", "mailto":
		return s, true
	}
	return "", false
}

// spans turns the runs into spans that never cross, by keeping them as an open
// stack: what closes under another one closes that too and opens it again.
func (w *inline) spans() []Span {
	var done []Span
	var open []int // indexes in done
	at := 0
	for _, r := range append(w.runs, run{end: w.text.Len()}) {
		keep := 0
		for keep < len(open) && w.isActive(r.formatting, done[open[keep]]) {
			keep++
		}
		for _, i := range open[keep:] {
			done[i].End = at
		}
		open = open[:keep]
		for _, s := range w.activeSpans(r.formatting) {
			if !isOpen(done, open, s) {
				s.Start = at
				open = append(open, len(done))
				done = append(done, s)
			}
		}
		at = r.end
	}
	return done
}

// activeSpans lists what holds under l, outermost first. A link is outermost, so
// that one link stays one span.
func (w *inline) activeSpans(l formatting) []Span {
	var out []Span
	if l.link != 0 {
		out = append(out, w.links[l.link-1])
	}
	for s := Bold; s <= Mono; s++ {
		if l.has(s) {
			out = append(out, Span{Style: s})
		}
	}
	return out
}

func (w *inline) isActive(l formatting, s Span) bool {
	if s.Style == Link {
		return l.link != 0 && w.links[l.link-1] == Span{Style: Link, URL: s.URL, Bare: s.Bare}
	}
	return l.has(s.Style)
}

func isOpen(done []Span, open []int, s Span) bool {
	for _, i := range open {
		if done[i].Style == s.Style {
			return true
		}
	}
	return false
}

const punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

// unescape undoes backslashes and character references in one pass, so that
// what one of them makes is never read as the other.
func unescape(s string) string {
	if !strings.ContainsAny(s, `\&`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s) && strings.IndexByte(punctuation, s[i+1]) >= 0:
			i++
			b.WriteByte(s[i])
		case s[i] == '&':
			const longest = 34
			end := strings.IndexByte(s[i:min(len(s), i+longest)], ';')
			if end < 0 {
				b.WriteByte('&')
				continue
			}
			ref := s[i : i+end+1]
			if strings.IndexByte(ref[1:], '&') >= 0 {
				b.WriteByte('&')
				continue
			}
			b.WriteString(html.UnescapeString(ref))
			i += end
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}
