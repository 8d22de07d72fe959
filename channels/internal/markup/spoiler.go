package markup

import (
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// spoilers adds ||hidden text|| to the grammar.
type spoilers struct{}

var spoilerKind = ast.NewNodeKind("Spoiler")

type spoilerNode struct{ ast.BaseInline }

func (*spoilerNode) Kind() ast.NodeKind              { return spoilerKind }
func (n *spoilerNode) Dump(source []byte, level int) { ast.DumpHelper(n, source, level, nil, nil) }

func (spoilers) IsDelimiter(b byte) bool { return b == '|' }
func (spoilers) OnMatch(int) ast.Node    { return &spoilerNode{} }
func (spoilers) CanOpenCloser(o, c *parser.Delimiter) bool {
	return o.Char == c.Char && o.OriginalLength == c.OriginalLength
}

func (spoilers) Trigger() []byte { return []byte{'|'} }

func (s spoilers) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, segment := block.PeekLine()
	node := parser.ScanDelimiter(line, before, 2, s)
	if node == nil || node.OriginalLength != 2 || before == '|' {
		return nil
	}
	node.Segment = segment.WithStop(segment.Start + node.OriginalLength)
	block.Advance(node.OriginalLength)
	pc.PushDelimiter(node)
	return node
}
