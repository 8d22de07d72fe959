// Package markup turns the Markdown that a model writes into what a network
// shows, in messages that the network will take.
//
//	Markdown ── Parse ──> []Block ── lay out ──> one text with spans ── split ──> messages
//
// The parse is one for all networks. A network adds a layout (what becomes of
// a table, a quote, a list) and its limits. Splitting works on what was
// rendered, so a message is never too long because of markup, and no markup is
// cut in half.
//
// Everything here is pure and safe for concurrent use.
package markup

// Kind describes what a Block is.
type Kind int

// Kinds of blocks.
const (
	Paragraph Kind = iota
	Heading
	Code
	Table
	Rule
)

// Style describes what a Span does to the text under it.
type Style int

// Styles. Parse gives the ones up to Link; layouts add the others.
const (
	Bold Style = iota
	Italic
	Strike
	Spoiler
	Mono // code inside a line
	Link
	Pre // a block of code
	Quoted
	LongQuoted
)

// Span is a style over the bytes Start to End of a text. The spans of one text
// are ordered by Start, an outer one before an inner one, and never cross: two
// spans are apart or one holds the other.
type Span struct {
	Start, End int
	Style      Style
	URL        string // Link: an address that is safe to show
	Bare       bool   // Link: the text is the address, networks find it themselves
	Lang       string // Pre
}

// Block is one block of a document, flat: lists and quotes are said by Indent,
// Marker and Quote instead of by nesting.
type Block struct {
	Kind  Kind
	Text  string // valid UTF-8 with \n and \t as its only control characters
	Spans []Span // Heading: bold is among them already

	Level  int    // Heading: 1 to 6
	Lang   string // Code
	Rows   [][]Cell
	Align  []Alignment
	Quote  int    // number of the outermost quote around it, from 1; 0: none
	Indent int    // how many lists it stands in
	Marker string // what stands before the first block of a list item
	Tight  bool   // no empty line before it
}

// Cell is one cell of a table. The first row of a table is its header.
type Cell struct {
	Text  string
	Spans []Span
}

// Alignment is how a column of a table stands.
type Alignment int

// Alignments.
const (
	Left Alignment = iota
	Center
	Right
)
