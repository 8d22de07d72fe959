package markup

import (
	"strings"
	"unicode/utf16"
)

// What one message of Slack may hold. Slack's reference of blocks: the texts of
// all markdown blocks of a message have 12,000 characters together; a message
// has at most 50 blocks, into which Slack turns the one that is given, and one
// table of at most 100 rows and 20 columns.
const (
	SlackMarkdown = 12000

	slackPacked  = 11000 // of one message, so that a line can be put before it
	slackPiece   = 4000  // of one block; a longer one is parted
	slackBlocks  = 45
	slackRows    = 100
	slackColumns = 20
	slackSpans   = 100 // of one block
)

// SlackMessage is one message of Slack in both of its forms.
type SlackMessage struct {
	// Markdown is for a markdown block.
	Markdown string
	// Text says the same in Slack's own mrkdwn: what notifications show, and
	// what is sent when Slack does not take the block.
	Text string
}

// Slack renders Markdown as messages, each within the limits of Slack. Nothing in
// a text can address anybody: <!channel>, <@U…> and the like are shown as they
// stand. Text without anything visible gives none.
func Slack(markdown string) []SlackMessage {
	var out []SlackMessage
	var now slackPage
	flush := func() {
		if m, ok := now.build(); ok {
			out = append(out, m)
		}
		now = slackPage{}
	}
	for _, b := range slackSplit(Parse(markdown)) {
		p := slackRender(b)
		if p.markdown == "" {
			continue
		}
		if now.isFull(p) {
			head, heads := now.takeHeading()
			flush()
			if heads {
				now.add(head)
			}
		}
		now.add(p)
	}
	flush()
	return out
}

// slackPart is one block in both forms.
type slackPart struct {
	block          Block
	markdown, text string
}

// slackPage is a message being put together.
type slackPage struct {
	parts  []slackPart
	size   int
	tables int
}

func (p *slackPage) isFull(next slackPart) bool {
	return len(p.parts) > 0 && (p.size+len16(next.markdown)+2 > slackPacked || len(p.parts) >= slackBlocks ||
		p.tables > 0 && next.block.Kind == Table)
}

// takeHeading takes a heading at the end away: it belongs to what comes next.
func (p *slackPage) takeHeading() (slackPart, bool) {
	n := len(p.parts)
	if n < 2 || p.parts[n-1].block.Kind != Heading {
		return slackPart{}, false
	}
	last := p.parts[n-1]
	p.parts = p.parts[:n-1]
	return last, true
}

func (p *slackPage) add(part slackPart) {
	p.parts = append(p.parts, part)
	p.size += len16(part.markdown) + 2
	if part.block.Kind == Table {
		p.tables++
	}
}

func (p *slackPage) build() (SlackMessage, bool) {
	var m SlackMessage
	for i, part := range p.parts {
		sep, quoted := "\n\n", "\n\n"
		if i == 0 {
			sep, quoted = "", ""
		} else if before := p.parts[i-1].block; part.block.Tight {
			sep, quoted = "\n", "\n"
		} else if before.Quote != 0 && before.Quote == part.block.Quote {
			quoted = "\n>\n"
		}
		m.Markdown += quoted + part.markdown
		m.Text += sep + part.text
	}
	return m, IsVisible(m.Text)
}

// slackSplit parts blocks that are longer than a message should be.
func slackSplit(blocks []Block) []Block {
	var out []Block
	for _, b := range blocks {
		switch b.Kind {
		case Table:
			out = append(out, slackSplitTable(b)...)
		case Rule:
			out = append(out, b)
		default:
			out = append(out, slackSplitText(b)...)
		}
	}
	return out
}

// slackSplitText parts a paragraph, a heading or code.
func slackSplitText(b Block) []Block {
	size := slackSize
	f := flatText{text: b.Text, spans: b.Spans}
	if b.Kind == Code {
		size = UTF16
		f.spans = []Span{{End: len(b.Text), Style: Pre}}
	}
	parts := splitFlat(f, limits{units: slackPiece, spans: slackSpans, size: size})
	if len(parts) <= 1 && len(b.Spans) <= slackSpans {
		return []Block{b}
	}
	var out []Block
	for i, p := range parts {
		one := b
		one.Text, one.Spans = p.text, p.spans
		if b.Kind == Code {
			one.Spans = nil
		}
		if i > 0 {
			one.Marker, one.Tight = "", false
		}
		out = append(out, one)
	}
	return out
}

// slackSplitTable parts a long table under the same header. One that Slack would not
// show becomes a list.
func slackSplitTable(b Block) []Block {
	if len(b.Rows) == 0 {
		return nil
	}
	list := func() []Block {
		text, spans := listFromTable(b)
		return slackSplitText(Block{Text: text, Spans: spans, Quote: b.Quote, Indent: b.Indent, Marker: b.Marker, Tight: b.Tight})
	}
	if b.Indent > 0 || b.Quote != 0 {
		return list()
	}
	head := len16(slackRow(b.Rows[0]))
	one := b
	one.Rows = b.Rows[:1]
	size := 2 * head
	var out []Block
	for _, row := range b.Rows {
		if len(row) > slackColumns || 2*head+len16(slackRow(row)) > slackPiece {
			return list()
		}
	}
	for _, row := range b.Rows[1:] {
		n := len16(slackRow(row)) + 1
		if len(one.Rows) >= slackRows || size+n > slackPiece {
			out = append(out, one)
			one = b
			one.Rows, one.Tight, size = b.Rows[:1], false, 2*head
		}
		one.Rows = append(one.Rows[:len(one.Rows):len(one.Rows)], row)
		size += n
	}
	return append(out, one)
}

func slackRender(b Block) slackPart {
	p := slackPart{block: b}
	p.markdown, p.text = b.slackMarkdown(true), b.slackText(true)
	// Addresses of links may be long: without them the text says the same.
	if max(len16(p.markdown), len16(p.text)) > slackPacked {
		p.markdown, p.text = b.slackMarkdown(false), b.slackText(false)
	}
	return p
}

// slackMarkdown writes b as Markdown.
func (b Block) slackMarkdown(links bool) string {
	first, rest := "", ""
	if b.Indent > 0 {
		outer := strings.Repeat("    ", b.Indent-1)
		rest = outer + "    "
		switch b.Marker {
		case "":
			first = rest
		case "•":
			first = outer + "- "
		case "☐", "☑":
			first = outer + "- " + b.Marker + " "
		default:
			first = outer + b.Marker + " "
		}
	}
	var s string
	switch b.Kind {
	case Code:
		s = slackFence(b)
		if b.Marker != "" { // code under a marker of its own, not on its line
			s = strings.TrimRight(first, " ") + "\n" + rest + strings.ReplaceAll(s, "\n", "\n"+rest)
			first = ""
		}
	case Table:
		s = slackGrid(b)
	case Rule:
		s = "---"
	case Heading:
		s = strings.Repeat("#", min(max(b.Level, 1), 6)) + " " + strings.ReplaceAll(slackStyled(b, links, markdownForm), "\n", " ")
	default:
		if !IsVisible(b.Text) && b.Marker == "" {
			return ""
		}
		s = strings.ReplaceAll(slackStyled(b, links, markdownForm), "\n", "  \n")
	}
	if first != "" || rest != "" && b.Marker == "" {
		s = first + strings.ReplaceAll(s, "\n", "\n"+rest)
	}
	if b.Quote != 0 {
		s = "> " + strings.ReplaceAll(s, "\n", "\n> ")
	}
	return s
}

// slackText writes b as mrkdwn.
func (b Block) slackText(links bool) string {
	first, rest := b.indents()
	var s string
	switch b.Kind {
	case Code:
		s = "```\n" + slackInlineCode(b.Text) + "\n```"
		if b.Marker != "" {
			s, first = strings.TrimRight(first, " ")+"\n"+s, ""
		}
		rest = ""
	case Table:
		shape := layout{tableWidth: 80}
		for i, p := range shape.pieces(b) {
			text := slackEscape(p.text)
			if len(p.spans) == 1 && p.spans[0].Style == Pre {
				text = "```\n" + slackInlineCode(p.text) + "\n```"
			}
			if i > 0 {
				s += "\n"
			}
			s += text
		}
		first, rest = "", ""
	case Rule:
		s = rule
	default:
		s = slackStyled(b, links, mrkdwnForm)
	}
	s = first + strings.ReplaceAll(s, "\n", "\n"+rest)
	if b.Quote != 0 {
		s = "> " + strings.ReplaceAll(s, "\n", "\n> ")
	}
	return s
}

func slackFence(b Block) string {
	fence := strings.Repeat("`", max(3, longestRun(b.Text, '`')+1))
	return fence + language(b.Lang) + "\n" + defuseMentions(b.Text) + "\n" + fence
}

// slackInlineCode is code for mrkdwn, which has no other fence.
func slackInlineCode(code string) string {
	return slackEscape(strings.ReplaceAll(code, "```", "`\u200b``"))
}

func longestRun(s string, c byte) int {
	longest, n := 0, 0
	for i := range len(s) {
		if s[i] != c {
			n = 0
			continue
		}
		n++
		longest = max(longest, n)
	}
	return longest
}

func slackGrid(b Block) string {
	lines := []string{slackRow(b.Rows[0]), "|"}
	for i := range b.Rows[0] {
		mark := " --- |"
		if i < len(b.Align) {
			switch b.Align[i] {
			case Center:
				mark = " :---: |"
			case Right:
				mark = " ---: |"
			default:
			}
		}
		lines[1] += mark
	}
	for _, row := range b.Rows[1:] {
		lines = append(lines, slackRow(row))
	}
	return strings.Join(lines, "\n")
}

func slackRow(row []Cell) string {
	var b strings.Builder
	b.WriteString("|")
	for _, c := range row {
		cell := slackStyled(Block{Text: c.Text, Spans: c.Spans}, true, markdownForm)
		b.WriteString(" " + strings.ReplaceAll(strings.ReplaceAll(cell, "\n", " "), "|", `\|`) + " |")
	}
	return b.String()
}

// len16 returns how Slack may count at most: UTF-16 code units.
func len16(s string) int {
	n := 0
	for _, r := range s {
		n += max(1, utf16.RuneLen(r))
	}
	return n
}
