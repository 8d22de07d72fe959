package markup

import (
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// maxNesting is how many quotes and lists may open on one line before the
// document is taken for plain text: the parser's time grows with the square of
// it.
const maxNesting = 100

// maxParsed is the longest document in bytes that is read as Markdown; what is
// longer is no answer in a chat and is shown as it stands.
const maxParsed = 128 << 10

// Parse reads GitHub's Markdown with ||spoilers||. It takes every text and
// never fails: what is left open at the end is closed there, so a text that is
// still being written reads as far as it goes.
func Parse(source string) []Block {
	return parse(Clean(source), &budget{maxSteps})
}

func parse(clean string, e *budget) []Block {
	if len(clean) > maxParsed || isTooNested(clean) {
		return []Block{{Text: clean}}
	}
	source := []byte(clean)
	p := &builder{source: source}
	p.blocks(markdown.Parse(text.NewReader(source), withBudget(e)))
	return p.out
}

// isTooNested reports whether a line opens more quotes and lists than any writer does.
func isTooNested(s string) bool {
	for line := range strings.Lines(s) {
		for opened := 0; ; opened++ {
			line = strings.TrimLeft(line, " \t")
			n := blockPrefixLength(line)
			if n == 0 {
				break
			}
			if opened == maxNesting {
				return true
			}
			line = line[n:]
		}
	}
	return false
}

// blockPrefixLength returns how many bytes at the beginning of a line open a quote or a
// list.
func blockPrefixLength(line string) int {
	if strings.HasPrefix(line, ">") {
		return 1
	}
	n := len(line) - len(strings.TrimLeft(line, "0123456789"))
	marks := ".)"
	if n == 0 {
		marks = "-+*"
	}
	if n == len(line) || strings.IndexByte(marks, line[n]) < 0 {
		return 0
	}
	if n++; n < len(line) && strings.IndexByte(" \t\n", line[n]) < 0 {
		return 0
	}
	return n
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
		p.prose(n, Block{}, formatting{})
	case *ast.Heading:
		p.prose(n, Block{Kind: Heading, Level: n.Level}, formatting{}.with(Bold))
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

func (p *builder) prose(n ast.Node, b Block, l formatting) {
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
			w.children(c, formatting{})
			row = append(row, Cell{Text: w.text.String(), Spans: w.spans()})
		}
		b.Rows = append(b.Rows, row)
	}
	p.emit(b)
}
