package try

import (
	"fmt"
	"io"
	"strings"
)

// screen prints what people in the chats see, so that it reads well in a
// terminal and in a file: a message that grows by edits grows here too.
type screen struct {
	out   io.Writer
	open  bool   // the cursor stands behind something on this line
	chat  string // of the message that was printed last
	msg   string
	shown string
}

func (s *screen) write(text string) { _, _ = io.WriteString(s.out, text) }

// resetLine goes to a new line, where the terminal already did.
func (s *screen) resetLine() {
	s.open, s.msg = false, ""
}

// begin leaves the cursor behind text.
func (s *screen) begin(text string) {
	s.end()
	s.write(text)
	s.open = true
}

// printLine prints one whole line.
func (s *screen) printLine(text string) {
	s.end()
	s.write(text + "\n")
}

func (s *screen) printNote(text string)           { s.printLine(text) }
func (s *screen) printSample(sample, text string) { s.printLine(sample + text) }

func (s *screen) end() {
	if s.open {
		s.write("\n")
	}
	s.resetLine()
}

func (s *screen) show(h shownMessage) {
	if h.edited && s.msg == h.id && s.chat == h.chat {
		s.grow(h.text)
		return
	}
	s.end()
	s.write(fmt.Sprintf("%s: %s", botName, h.text))
	s.open, s.chat, s.msg, s.shown = true, h.chat, h.id, h.text
}

// grow prints what an edit added. When it changed earlier text, the line with
// the change is printed again.
func (s *screen) grow(text string) {
	if more, ok := strings.CutPrefix(text, s.shown); ok {
		s.write(more)
		s.shown = text
		return
	}
	same := 0
	for same < min(len(text), len(s.shown)) && text[same] == s.shown[same] {
		same++
	}
	line := strings.LastIndexByte(text[:same], '\n') + 1
	s.write("\n" + text[line:])
	s.shown = text
}
