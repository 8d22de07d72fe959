// Package terminal is a terminal at which a person types a line while other things are
// printed: the line stays below them, and can be edited.
//
//	parley: what was printed      ─ Print, Rewrite
//	   as whole rows
//	ann> the line that is typed   ─ ReadLine
package terminal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"golang.org/x/term"
)

// Screen is a terminal that is in the mode of [Begin]. One goroutine may read lines while
// others print.
type Screen struct {
	// Complete returns what the tab key may make of the line up to the cursor; nil: nothing.
	// It is set before the first ReadLine, and called by it.
	Complete func(line string) []string

	out    io.Writer
	size   func() (columns, rows int)
	editor *term.Terminal

	mu            sync.Mutex // guards the rest, and keeps return keys away while something is printed
	returns       int        // return keys that were pressed, and are not yet those of a line that was read
	between       bool       // something of Write stands below what Print printed
	columns, rows int
}

// New returns the screen of a terminal. Keys come from in; size returns how large it is now.
func New(in io.Reader, out io.Writer, size func() (columns, rows int)) *Screen {
	s := &Screen{out: out, size: size}
	s.editor = term.NewTerminal(keyboard{s, in}, "")
	s.editor.AutoCompleteCallback = s.complete
	s.fit()
	return s
}

// keyboard is what the editor reads keys from and writes to.
type keyboard struct {
	s  *Screen
	in io.Reader
}

func (k keyboard) Write(p []byte) (int, error) { return k.s.out.Write(p) } // the editor's own

func (k keyboard) Read(p []byte) (int, error) {
	n, err := k.in.Read(p)
	// While something is printed no return key reaches the editor: it would move what was
	// printed last away from the line.
	k.s.mu.Lock()
	defer k.s.mu.Unlock()
	k.s.fit()
	k.s.returns += bytes.Count(p[:n], []byte("\r")) + bytes.Count(p[:n], []byte("\n")) - bytes.Count(p[:n], []byte("\r\n"))
	return n, err // the editor compares it
}

// fit tells the editor how large the terminal is. The caller holds the lock.
func (s *Screen) fit() {
	columns, rows := s.size()
	if columns < 1 || rows < 1 {
		columns, rows = 80, 24
	}
	if columns != s.columns || rows != s.rows {
		s.columns, s.rows = columns, rows
		_ = s.editor.SetSize(columns, rows) // it fails as the next Write does
	}
}

// ReadLine shows the prompt and returns the line that is typed behind it. At the end of the
// input, and when the person ends it (Ctrl-D), it is [io.EOF].
func (s *Screen) ReadLine(prompt string) (string, error) {
	s.editor.SetPrompt(prompt)
	line, err := s.editor.ReadLine()
	if errors.Is(err, term.ErrPasteIndicator) {
		err = nil
	}
	return line, err // io.EOF, or of the input
}

// Entered says that a line was read and what it was is known: what is printed from now
// on stands below it.
func (s *Screen) Entered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.returns = max(s.returns-1, 0)
}

// Columns returns how wide the terminal is.
func (s *Screen) Columns() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fit()
	return s.columns
}

// Print prints whole rows, above the line that is typed.
func (s *Screen) Print(rows string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.between = false
	s.print(rows)
}

// Write is for others who print whole rows, such as a log: Rewrite does not reach beyond
// them.
func (s *Screen) Write(rows []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.between = true
	s.print(string(rows))
	return len(rows), nil
}

// Rewrite prints whole rows in place of the n that Print printed last. It reports false, and
// does nothing, when these are no longer just above the line, or out of reach.
func (s *Screen) Rewrite(n int, rows string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.returns > 0 || s.between || n >= s.rows-1 {
		return false
	}
	if n > 0 {
		rows = fmt.Sprintf("\x1b[%dA\r\x1b[J", n) + rows
	}
	s.print(rows)
	return true
}

// print writes rows to the terminal. It reports no error: when the terminal is gone, the next
// read from it fails too, and that is reported. The caller holds the lock.
func (s *Screen) print(rows string) {
	s.fit()
	_, _ = io.WriteString(s.editor, rows)
}

// Close leaves the line as it is, and the cursor below it.
func (s *Screen) Close() { _, _ = io.WriteString(s.out, "\r\n") }

// complete is what the editor asks at each key.
func (s *Screen) complete(line string, at int, key rune) (string, int, bool) {
	if key != '\t' || s.Complete == nil {
		return "", 0, false
	}
	typed, rest := line[:at], line[at:]
	choices := s.Complete(typed)
	if len(choices) == 0 {
		return "", 0, false
	}
	all := commonPrefix(choices)
	switch {
	case len(choices) == 1:
		all += " "
	case all == typed:
		_, _ = s.Write([]byte(strings.Join(choices, "  ") + "\n"))
	}
	return all + rest, len(all), true
}

// commonPrefix returns with which characters all words begin.
func commonPrefix(words []string) string {
	all := words[0]
	for _, w := range words[1:] {
		for !strings.HasPrefix(w, all) {
			r := []rune(all)
			all = string(r[:len(r)-1])
		}
	}
	return all
}
