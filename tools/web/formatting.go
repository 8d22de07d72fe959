package web

import (
	"strings"

	"golang.org/x/net/html"
)

// maxClones is how many elements the parser may make by itself. It opens a formatting
// element anew behind each paragraph, cell or the like that ended with the element open:
// four bytes of a page can make it open hundreds.
const maxClones = 500_000

// removed stands where a tag was taken out, so that what is around it makes no other tag.
const removed = "<!---->"

// maxOpen is how many open elements the parser takes.
const maxOpen = 512

// formatting are the elements that the parser opens anew.
var formatting = map[string]bool{
	"a": true, "b": true, "big": true, "code": true, "em": true, "font": true, "i": true, "nobr": true,
	"s": true, "small": true, "strike": true, "strong": true, "tt": true, "u": true,
}

// void are the elements that never have an end.
var void = map[string]bool{
	"area": true, "base": true, "br": true, "col": true, "embed": true, "hr": true, "img": true, "input": true,
	"link": true, "meta": true, "param": true, "source": true, "track": true, "wbr": true,
}

// bound returns a page as it may be parsed: without its drawings, and without the tags of
// its formulas. Within those the parser takes for tags what is text elsewhere, and nothing
// here could count on its reading the page as it is read here. ok is false when the parser
// would make more than maxClones elements by itself.
func bound(page string) (bounded string, ok bool) {
	var (
		out  strings.Builder
		tags openTags
		z    = html.NewTokenizer(strings.NewReader(page))
		end  = strings.LastIndex(strings.ToLower(page), "</svg") // where the last drawing ends
		at   = 0
	)
	out.Grow(len(page))
	for tags.clones <= maxClones {
		kind := z.Next()
		if kind == html.ErrorToken {
			return out.String(), true
		}
		raw := string(z.Raw()) // TagName writes into it
		at += len(raw)
		if kind == html.StartTagToken || kind == html.SelfClosingTagToken || kind == html.EndTagToken {
			b, _ := z.TagName()
			switch name := string(b); name {
			case "svg":
				if kind == html.StartTagToken {
					at += skipDrawing(z, end-at)
				}
				raw = removed
			case "math":
				raw = removed
			case "noscript":
				z.NextIsNotRawText() // no scripts are run, so the parser reads it
				fallthrough
			default:
				tags.count(kind == html.EndTagToken, name)
			}
		}
		out.WriteString(raw)
	}
	return "", false
}

// skipDrawing reads to the end of a drawing, but not beyond so many bytes, and returns how
// many it read.
func skipDrawing(z *html.Tokenizer, most int) (read int) {
	for depth := 1; depth > 0 && read < most; {
		kind := z.Next()
		read += len(z.Raw())
		name, _ := z.TagName()
		switch {
		case kind == html.ErrorToken:
			return read
		case kind == html.StartTagToken:
			z.NextIsNotRawText()
			if string(name) == "svg" {
				depth++
			}
		case kind == html.EndTagToken && string(name) == "svg":
			depth--
		}
	}
	return read
}

// openTags counts the formatting elements that are open, and what the parser may make of
// them. An end counts where it belongs to the tag before it that is still open. Behind any
// other one it takes the parser to know what is open: all that was stays counted.
type openTags struct {
	stack  []string // the tags that are open
	open   int      // formatting elements among them
	lost   int      // formatting elements that were open before
	link   int      // 1: there was an a, of which the parser leaves one open at most
	clones int
}

func (o *openTags) count(end bool, name string) {
	one := 0
	switch {
	case name == "a":
		o.link = 1
	case formatting[name]:
		one = 1
	}
	switch last := len(o.stack) - 1; {
	case !end && !void[name]:
		o.stack = append(o.stack, name)
		o.open += one
	case end && last >= 0 && o.stack[last] == name:
		o.stack = o.stack[:last]
		o.open -= one
	case end:
		o.lost += o.open
		o.stack, o.open = o.stack[:0], 0
	}
	o.clones += min(o.open+o.lost+o.link, maxOpen)
}
