package web

import (
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// How much of a page is converted. The converter writes each line once more for every list
// and quote around it, fills all rows of a table to the longest, and has no limits.
const (
	maxNodes   = 50_000
	maxContent = 2 * maxText // bytes of text and of links
	maxNested  = 8           // lists, quotes and tables in each other
	maxColumns = 50          // of a table
	maxSpan    = 500         // rows of one cell
)

// pruner takes out of a page what nobody sees and what is too much.
type pruner struct {
	base        *url.URL
	nodes, text int        // that may follow
	tables      []*columns // around the present node, the innermost last
	cells       int        // around the present node
	left        bool       // that nothing more follows
}

// columns is what the next row of a table has to know: of each column the rows into which a
// cell above reaches.
type columns struct{ reach [maxColumns]int }

// prune walks below n, which lies in so many lists, quotes and tables. The parser bounds the
// depth.
func (p *pruner) prune(n *html.Node, nested int) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		if p.drops(c, nested) {
			n.RemoveChild(c)
		} else {
			p.enter(c, nested)
		}
		c = next
	}
}

// drops reports whether a node is left out with everything in it, and counts the others.
func (p *pruner) drops(n *html.Node, nested int) bool {
	if p.left {
		return true // what follows is too much
	}
	const prefix = 4 // of a line, for each list or quote
	switch n.Type {
	case html.TextNode:
		cost := len(n.Data) + prefix*nested*strings.Count(n.Data, "\n")
		if cost > p.text {
			p.left, n.Data = true, n.Data[:wholeRunes([]byte(n.Data[:max(p.text, 0)*len(n.Data)/cost]))]
		}
		p.text -= cost
		if p.cells > 0 {
			n.Data = strings.ReplaceAll(n.Data, "|", `\|`)
		}
	case html.ElementNode:
		if unread[n.DataAtom] || isHidden(n) || n.DataAtom == atom.Img && attribute(n, "alt") == "" {
			return true
		}
		p.text -= prefix * nested // it may begin a line
	default:
		return true // comments, the type of the document
	}
	p.nodes--
	p.left = p.left || p.nodes <= 0 || p.text <= 0
	return false
}

// enter leaves of a node what the converter is to see.
func (p *pruner) enter(n *html.Node, nested int) {
	p.simplifyAttributes(n)
	switch n.DataAtom {
	case atom.A:
		if attribute(n, "href") == "" {
			rename(n, atom.Span)
		}
	case atom.Img:
		if attribute(n, "src") == "" {
			n.AppendChild(&html.Node{Type: html.TextNode, Data: attribute(n, "alt")})
			rename(n, atom.Span)
		}
	case atom.Noscript, atom.Summary, atom.Legend:
		rename(n, atom.Div)
	case atom.Tr:
		p.fillRow(n)
	case atom.Td, atom.Th:
		n.AppendChild(&html.Node{Type: html.TextNode, Data: " "}) // where it becomes no table
		p.cells++
		defer func() { p.cells-- }()
	case atom.Blockquote, atom.Ul, atom.Ol, atom.Menu, atom.Dir, atom.Dl, atom.Table:
		if nested >= maxNested {
			rename(n, atom.Div)
			break
		}
		nested++
		if n.DataAtom == atom.Table {
			p.tables = append(p.tables, &columns{})
			defer func() { p.tables = p.tables[:len(p.tables)-1] }()
		}
	}
	p.prune(n, nested)
}

func rename(n *html.Node, to atom.Atom) { n.DataAtom, n.Data = to, to.String() }

// fillRow puts empty cells where a row has none because another one spans the place, so that
// columns stay below each other.
func (p *pruner) fillRow(row *html.Node) {
	if len(p.tables) == 0 {
		return
	}
	reach, column := &p.tables[len(p.tables)-1].reach, 0
	empty := func(before *html.Node) {
		row.InsertBefore(&html.Node{Type: html.ElementNode, DataAtom: atom.Td, Data: "td"}, before)
	}
	for c := row.FirstChild; c != nil; {
		cell := c
		c = c.NextSibling
		if cell.DataAtom != atom.Td && cell.DataAtom != atom.Th {
			continue
		}
		for ; column < maxColumns && reach[column] > 0; column++ {
			reach[column]--
			empty(cell)
		}
		if column == maxColumns {
			row.RemoveChild(cell)
			continue
		}
		wide, rows := min(span(cell, "colspan", maxColumns), maxColumns-column), span(cell, "rowspan", maxSpan)
		for i := range wide {
			reach[column] = rows - 1
			column++
			if i > 0 {
				empty(c)
			}
		}
	}
	for ; column < maxColumns; column++ {
		reach[column] = max(0, reach[column]-1)
	}
}

// span returns how many columns or rows a cell has. Of more than most, which say that it has
// all that there are, it is one.
func span(n *html.Node, name string, most int) int {
	v, err := strconv.Atoi(attribute(n, name))
	if err != nil || v < 1 || v > most {
		return 1
	}
	return v
}

// simplifyAttributes leaves those that mean something in Markdown.
func (p *pruner) simplifyAttributes(n *html.Node) {
	var kept []html.Attribute
	for _, a := range n.Attr {
		if v, ok := p.keeps(n, a); ok {
			kept = append(kept, html.Attribute{Key: a.Key, Val: v})
		}
	}
	n.Attr = kept
}

// keeps returns what an attribute becomes; false: it is left out.
func (p *pruner) keeps(n *html.Node, a html.Attribute) (string, bool) {
	switch a.Key {
	case "href":
		return p.absolute(a.Val, n.DataAtom == atom.A)
	case "src":
		return p.absolute(a.Val, n.DataAtom == atom.Img)
	case "alt":
		p.text -= len(a.Val)
		return a.Val, n.DataAtom == atom.Img
	case "start":
		v, err := strconv.Atoi(a.Val)
		return a.Val, err == nil && v >= 0 && v < 10_000
	case "class": // the language of code
		const longest = 60
		return a.Val, len(a.Val) <= longest && (n.DataAtom == atom.Code || n.DataAtom == atom.Pre)
	case "align":
		return a.Val, len(a.Val) <= len("center")
	}
	return "", false
}

// absolute returns where a link leads, if wanted; false where no model can go.
func (p *pruner) absolute(to string, wanted bool) (string, bool) {
	if !wanted || len(to) > 4096 {
		return "", false
	}
	u, err := p.base.Parse(strings.TrimSpace(to))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "mailto" || u.User != nil {
		return "", false
	}
	s := u.String()
	p.text -= len(s)
	return s, true
}
