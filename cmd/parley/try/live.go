package try

import (
	"strings"

	"parley/cmd/parley/terminal"
)

// widest is how many columns a text takes at most: longer lines are hard to read.
const widest = 100

// live shows what people see in the chats above the line that is being typed. A message
// that changes, changes where it stands, as long as nothing stands below it.
type live struct {
	screen *terminal.Screen
	colour bool
	prompt chan<- string // who reads the next line is given the prompt for it
	asked  bool          // and has not read it yet

	chat, msg string         // of the message that was printed last
	closed    bool           // something else stands below it
	text      string         // of it
	from      int            // the byte of text with which rows begin
	label     string         // of their first
	rows      []terminal.Row // that stand there
	columns   int            // for which they were broken
}

func (l *live) width() int { return min(l.screen.Columns(), widest) }

func (l *live) show(m shownMessage) {
	if !m.edited || m.id != l.msg || m.chat != l.chat {
		l.open(m, 0, botName+": ")
		return
	}
	if m.text[:min(l.from, len(m.text))] != l.text[:l.from] {
		l.open(m, 0, botName+": ") // it changed before what stands there
		return
	}
	rows := l.wrap(m.text)
	same := 0
	for same < min(len(rows), len(l.rows)) && rows[same] == l.rows[same] {
		same++
	}
	if !l.closed && l.width() == l.columns && l.screen.Rewrite(len(l.rows)-same, l.draw(rows, same)) {
		l.text, l.rows = m.text, rows
		return
	}
	// It goes on below what came between, from the line on that has changed.
	from := l.from + max(0, rows[min(same, len(rows)-1)].Start-len(l.label))
	l.open(m, from, botName+": … ")
}

// open prints a message from one of its bytes on.
func (l *live) open(m shownMessage, from int, label string) {
	if from == 0 {
		label = botName + ": "
	}
	l.chat, l.msg, l.text, l.from, l.label = m.chat, m.id, m.text, from, label
	l.columns, l.closed = l.width(), false
	l.rows = l.wrap(m.text)
	l.screen.Print(l.draw(l.rows, 0))
}

// wrap breaks the shown part of a text behind its label.
func (l *live) wrap(text string) []terminal.Row {
	return terminal.Wrap(l.label+text[l.from:], l.width())
}

// draw returns rows from the first on, as they are printed.
func (l *live) draw(rows []terminal.Row, first int) string {
	var b strings.Builder
	for i, r := range rows[first:] {
		text := r.Text
		if rest, ok := strings.CutPrefix(text, botName+":"); ok && first+i == 0 {
			text = l.style(botName+":", bold+green) + rest
		}
		b.WriteString(text + "\n")
	}
	return b.String()
}

// How things look, as parameters of SGR (ECMA-48).
const (
	bold  = "1;"
	dim   = "2;"
	green = "32;"
	cyan  = "36;"
)

func (l *live) style(text, how string) string {
	if !l.colour {
		return text
	}
	return "\x1b[" + strings.TrimRight(how, ";") + "m" + text + "\x1b[0m"
}

// printRows prints lines of this program's own, broken with their indentation.
func (l *live) printRows(text, how string) {
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		words := strings.TrimLeft(line, " ")
		indent := line[:len(line)-len(words)]
		for _, r := range terminal.Wrap(words, l.width()-len(indent)) {
			row := indent + r.Text
			if how != "" && row != "" {
				row = l.style(row, how)
			}
			b.WriteString(row + "\n")
		}
	}
	l.closed = true
	l.screen.Print(b.String())
}

func (l *live) printLine(text string) { l.printRows(text, "") }
func (l *live) printNote(text string) { l.printRows(text, dim) }

func (l *live) printSample(sample, text string) {
	l.closed = true
	l.screen.Print(l.style(sample, bold) + text + "\n")
}

func (l *live) begin(prompt string) {
	if !l.asked {
		l.asked = true
		l.prompt <- l.style(strings.TrimSuffix(prompt, " "), bold+cyan) + " "
	}
}

// resetLine is when a line was read: what was printed before stands above it.
func (l *live) resetLine() {
	l.asked, l.closed = false, true
	l.screen.Entered()
}

func (l *live) end() {
	if l.asked {
		l.screen.Close()
	}
	close(l.prompt)
}
