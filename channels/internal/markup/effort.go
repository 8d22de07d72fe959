package markup

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// The parser's time grows with the square of some texts, and a model must not be
// able to stop the gateway with them. So what it may do for one document is
// bounded, and past the bound marks are text like any other.
const (
	// maxSteps is how far, in bytes, the marks of a document may look together:
	// each may look at its whole paragraph. A page of prose needs a hundredth
	// of it, and all of it takes a fraction of a second.
	maxSteps = 32 << 20

	// maxCells is how many cells a table may have. A short row is filled up to
	// the width of its header, so that a text of n bytes can have n² of them.
	maxCells = 10_000

	// maxReferences is how many lines a paragraph may have that is searched for
	// definitions of links.
	maxReferences = 1_000
)

// budget is what may still be done for one document.
type budget struct{ steps int }

// effort is where the budget of a document stands while it is parsed.
var effort = parser.NewContextKey()

// withBudget makes e the budget of a document.
func withBudget(e *budget) parser.ParseOption {
	pc := parser.NewContext()
	pc.Set(effort, e)
	return parser.WithContext(pc)
}

// markdown reads GitHub's Markdown with ||spoilers||, within the budget of each document. It is
// made once: it costs more than reading an answer does.
var markdown = newParser()

func newParser() parser.Parser {
	inline := append(parser.DefaultInlineParsers(),
		util.Prioritized(extension.NewLinkifyParser(), 999),
		util.Prioritized(extension.NewStrikethroughParser(), 500),
		util.Prioritized(extension.NewTaskCheckBoxParser(), 0),
		util.Prioritized(spoilers{}, 500),
	)
	for i, p := range inline {
		inline[i].Value = &boundedParser{p.Value.(parser.InlineParser)}
	}
	return parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithInlineParsers(inline...),
		parser.WithParagraphTransformers(
			util.Prioritized(references{parser.LinkReferenceParagraphTransformer}, 100),
			util.Prioritized(table{extension.NewTableParagraphTransformer()}, 200),
		),
	)
}

// boundedParser is a parser of one kind of marks, as long as there are steps left.
type boundedParser struct{ parser.InlineParser }

func (m *boundedParser) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	cost := 1
	// Between words only addresses are looked for, and those end with the word.
	if c := block.Peek(); util.IsPunct(c) {
		if lines := parent.Lines(); lines.Len() > 0 {
			cost = max(1, lines.At(lines.Len()-1).Stop-lines.At(0).Start)
		}
	}
	e := pc.Get(effort).(*budget) // no document is parsed without one
	if e.steps < cost {
		return nil
	}
	e.steps -= cost
	return m.InlineParser.Parse(parent, block, pc)
}

// CloseBlock passes on that a paragraph ends.
func (m *boundedParser) CloseBlock(parent ast.Node, block text.Reader, pc parser.Context) {
	if c, ok := m.InlineParser.(parser.CloseBlocker); ok {
		c.CloseBlock(parent, block, pc)
	}
}

// references reads definitions of links, unless there are monstrously many.
type references struct{ parser.ParagraphTransformer }

func (r references) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	if node.Lines().Len() <= maxReferences {
		r.ParagraphTransformer.Transform(node, reader, pc)
	}
}

// table makes tables of paragraphs, but no monsters.
type table struct{ parser.ParagraphTransformer }

func (t table) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	lines, columns := node.Lines(), 0
	for i := range lines.Len() {
		s := lines.At(i)
		columns = max(columns, 1+bytes.Count(s.Value(reader.Source()), []byte("|")))
	}
	if lines.Len()*columns <= maxCells {
		t.ParagraphTransformer.Transform(node, reader, pc)
	}
}
