// Package terminaltest has a terminal in memory, on which tests see what a person would.
package terminaltest

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

const patience = 60 * time.Second

// Paper is a terminal of so many columns, that scrolls without an end. It knows the orders
// that move the cursor and erase; of any other it remembers that there was one. Several
// goroutines may use it.
type Paper struct {
	Columns int

	mu      sync.Mutex
	rows    [][]string // of characters
	x, y    int
	full    bool // the cursor stands behind the last column
	cut     string
	strange []string      // orders that it does not know
	styled  bool          // something had a colour or another look
	changed chan struct{} // closed at the next write
}

// New returns an empty one.
func New(columns int) *Paper { return &Paper{Columns: columns, changed: make(chan struct{})} }

// Write prints.
func (p *Paper) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := p.cut + string(b)
	for p.cut = ""; text != ""; {
		n := p.obey(text)
		if n == 0 {
			p.cut = text
			break
		}
		text = text[n:]
	}
	close(p.changed)
	p.changed = make(chan struct{})
	return len(b), nil
}

// obey prints or does what text begins with, and returns how many bytes that were; 0: it is
// not complete.
func (p *Paper) obey(text string) int {
	switch {
	case strings.HasPrefix(text, "\x1b"):
		return p.order(text)
	case text[0] == '\r':
		p.x, p.full = 0, false
		return 1
	case text[0] == '\n':
		p.y++
		p.full = false
		return 1
	case !utf8.FullRuneInString(text):
		return 0
	}
	c, _, width, _ := uniseg.FirstGraphemeClusterInString(text, -1)
	p.put(c, width)
	return len(c)
}

func (p *Paper) put(c string, width int) {
	if p.full || p.x+width > p.Columns {
		p.x, p.full = 0, false
		p.y++
	}
	row := p.row()
	for len(*row) < p.x+max(width, 1) {
		*row = append(*row, " ")
	}
	(*row)[p.x] = c
	for i := 1; i < width; i++ {
		(*row)[p.x+i] = ""
	}
	if p.x += width; p.x >= p.Columns {
		p.x, p.full = p.Columns-1, true
	}
}

func (p *Paper) row() *[]string {
	for len(p.rows) <= p.y {
		p.rows = append(p.rows, nil)
	}
	return &p.rows[p.y]
}

func (p *Paper) order(text string) int {
	if len(text) < 2 {
		return 0
	}
	end := strings.IndexFunc(text[2:], func(r rune) bool { return r >= '@' && r <= '~' })
	if text[1] != '[' || end < 0 {
		return 0
	}
	n, err := strconv.Atoi(text[2 : 2+end])
	if err != nil {
		n = 1
	}
	p.full = false
	switch text[2+end] {
	case 'A':
		p.y = max(p.y-n, 0)
	case 'B':
		p.y += n
	case 'C':
		p.x = min(p.x+n, p.Columns-1)
	case 'D':
		p.x = max(p.x-n, 0)
	case 'K', 'J':
		row := p.row()
		*row = (*row)[:min(p.x, len(*row))]
		if text[2+end] == 'J' {
			p.rows = p.rows[:p.y+1]
		}
	case 'm':
		p.styled = true
	default:
		p.strange = append(p.strange, text[:3+end])
	}
	return 3 + end
}

// Text returns what stands there, without blanks at the ends of rows.
func (p *Paper) Text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text()
}

func (p *Paper) text() string {
	lines := make([]string, len(p.rows))
	for i, row := range p.rows {
		lines[i] = strings.TrimRight(strings.Join(row, ""), " ")
	}
	return strings.Join(lines, "\n")
}

// Styled reports whether anything had a colour or another look.
func (p *Paper) Styled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.styled
}

// Strange returns the orders that it does not know.
func (p *Paper) Strange() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.strange
}

// Await waits until good is true of what stands there, which it returns.
func (p *Paper) Await(t *testing.T, what string, good func(text string) bool) string {
	t.Helper()
	limit := time.After(patience)
	for {
		p.mu.Lock()
		text, changed := p.text(), p.changed
		p.mu.Unlock()
		if good(text) {
			return text
		}
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("%s does not come; there stands:\n%s", what, text)
		}
	}
}

// AwaitEnd waits until what stands there ends with this text, blanks at the end of a row left
// out.
func (p *Paper) AwaitEnd(t *testing.T, end string) {
	t.Helper()
	p.Await(t, strconv.Quote(end)+" at the end", func(text string) bool { return strings.HasSuffix(text, end) })
}
