package markup

import (
	"strconv"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// maxNesting is how many quotes and lists may open on one line, and how many
// brackets a document may open in a row, before the document is taken for
// plain text: the parser's time grows with the square of it.
const maxNesting = 100

// maxParsed is the longest document in bytes that is read as Markdown; what is
// longer is no answer in a chat and is shown as it stands.
const maxParsed = 128 << 10

// Parse reads GitHub's Markdown with ||spoilers||. It takes every text and
// never fails: what is left open at the end is closed there, so a text that is
// still being written reads as far as it goes.
func Parse(markdown string) []Block {
	markdown = Clean(markdown)
	if len(markdown) > maxParsed || hostile(markdown) {
		return []Block{{Text: markdown}}
	}
	source := []byte(markdown)
	doc := goldmark.New(goldmark.WithExtensions(extension.GFM, spoilers{})).Parser().Parse(text.NewReader(source))
	p := &builder{source: source}
	p.blocks(doc)
	return p.out
}

// hostile says whether a text nests deeper than any writer does.
func hostile(s string) bool {
	depth, quotes, brackets := 0, 0, 0
	for _, c := range []byte(s) {
		switch c {
		case '\n':
			depth, quotes = 0, 0
		case '>':
			quotes++
		case '-', '*', '+', '_', '~', '|', '`':
			depth++
		case ' ', '\t':
		case '[', '!', '<', '(':
			brackets++
		default:
			depth, quotes, brackets = 0, 0, 0
		}
		if depth > 20*maxNesting || quotes > maxNesting || brackets > maxNesting {
			return true
		}
	}
	return false
}

type builder struct {
	source []byte
	out    []Block

	quote, quotes int // the open quote's number, how many there were
	indent        int
	marker        string
	tight         bool
}

func (p *builder) emit(b Block) {
	b.Quote, b.Indent, b.Marker, b.Tight = p.quote, p.indent, p.marker, p.tight
	p.marker, p.tight = "", false
	p.out = append(p.out, b)
}

func (p *builder) blocks(n ast.Node) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		p.block(c)
	}
}

func (p *builder) block(n ast.Node) {
	switch n := n.(type) {
	case *ast.Paragraph, *ast.TextBlock:
		p.prose(n, Block{}, look{})
	case *ast.Heading:
		p.prose(n, Block{Kind: Heading, Level: n.Level}, look{}.with(Bold))
	case *ast.ThematicBreak:
		p.emit(Block{Kind: Rule})
	case *ast.FencedCodeBlock:
		lang, _, _ := strings.Cut(Clean(unescape(string(n.Language(p.source)))), "\n")
		p.emit(Block{Kind: Code, Lang: lang, Text: p.lines(n)})
	case *ast.CodeBlock:
		p.emit(Block{Kind: Code, Text: p.lines(n)})
	case *ast.HTMLBlock:
		s := p.lines(n)
		if n.HasClosure() {
			s += "\n" + Clean(string(n.ClosureLine.Value(p.source)))
		}
		p.emit(Block{Text: strings.TrimRight(s, "\n")})
	case *ast.Blockquote:
		outer := p.quote
		if outer == 0 {
			p.quotes++
			p.quote = p.quotes
		}
		p.blocks(n)
		p.quote = outer
	case *ast.List:
		p.list(n)
	case *extast.Table:
		p.table(n)
	case *ast.LinkReferenceDefinition:
	default:
		p.blocks(n)
	}
}

func (p *builder) prose(n ast.Node, b Block, l look) {
	w := &inline{source: p.source}
	w.children(n, l)
	b.Text, b.Spans = w.text.String(), w.spans()
	if w.box != "" {
		p.marker = w.box
	}
	p.emit(b)
}

func (p *builder) lines(n ast.Node) string {
	var b strings.Builder
	lines := n.Lines()
	for i := range lines.Len() {
		s := lines.At(i)
		b.Write(s.Value(p.source))
	}
	return strings.TrimRight(Clean(b.String()), "\n")
}

func (p *builder) list(l *ast.List) {
	number := l.Start
	first := true
	p.indent++
	for item := l.FirstChild(); item != nil; item = item.NextSibling() {
		p.marker = "•"
		if l.IsOrdered() {
			p.marker = strconv.Itoa(number) + string(l.Marker)
			number++
		}
		// The first block of a list stands as its surroundings say: a list in a
		// list directly under its item, an outermost one after an empty line.
		if !first {
			p.tight = l.IsTight
		}
		first = false
		before := len(p.out)
		for c := item.FirstChild(); c != nil; c = c.NextSibling() {
			if len(p.out) > before {
				p.tight = l.IsTight
			}
			p.block(c)
		}
		if len(p.out) == before {
			p.emit(Block{})
		}
		p.marker = ""
	}
	p.tight = false
	p.indent--
}

func (p *builder) table(t *extast.Table) {
	b := Block{Kind: Table}
	for _, a := range t.Alignments {
		switch a {
		case extast.AlignCenter:
			b.Align = append(b.Align, Center)
		case extast.AlignRight:
			b.Align = append(b.Align, Right)
		default:
			b.Align = append(b.Align, Left)
		}
	}
	for r := t.FirstChild(); r != nil; r = r.NextSibling() {
		var row []Cell
		for c := r.FirstChild(); c != nil; c = c.NextSibling() {
			w := &inline{source: p.source}
			w.children(c, look{})
			row = append(row, Cell{Text: w.text.String(), Spans: w.spans()})
		}
		b.Rows = append(b.Rows, row)
	}
	p.emit(b)
}
