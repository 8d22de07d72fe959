package web

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"parley/tools"
)

// unread are the elements whose content no reader of a page sees as its text.
var unread = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Template: true, atom.Iframe: true, atom.Object: true, atom.Embed: true,
	atom.Svg: true, atom.Canvas: true, atom.Audio: true, atom.Video: true, atom.Head: true, atom.Input: true,
	atom.Textarea: true, atom.Select: true, atom.Datalist: true, atom.Link: true, atom.Meta: true, atom.Noembed: true, atom.Noframes: true,
}

// plain returns the text of HTML that has no tree: that is nested too deep for one. Each
// piece between two tags is a line.
func plain(text string) string {
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(text))
	depth := 0 // of elements that are not read
	for {
		switch z.Next() {
		case html.ErrorToken:
			return tools.Visible(b.String())
		case html.StartTagToken:
			if t := z.Token(); isContainer(t.DataAtom) {
				depth++
			}
		case html.EndTagToken:
			if t := z.Token(); isContainer(t.DataAtom) {
				depth = max(0, depth-1)
			}
		case html.TextToken:
			if piece := strings.Join(strings.Fields(string(z.Text())), " "); piece != "" && depth == 0 {
				b.WriteString(html.UnescapeString(piece) + "\n")
			}
		}
	}
}

// isContainer reports whether an element has an end, and its content is not read.
func isContainer(a atom.Atom) bool {
	return unread[a] && a != atom.Input && a != atom.Embed && a != atom.Link && a != atom.Meta
}

// withoutTags returns a piece of HTML, or of text, without its tags.
func withoutTags(s string) string {
	if !strings.Contains(s, "<") {
		return s
	}
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(s))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return b.String()
		case html.TextToken:
			b.Write(z.Raw())
		}
	}
}
