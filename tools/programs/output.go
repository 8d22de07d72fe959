package programs

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

// MinOutput is how many bytes a result has room for at least, with both notices.
const MinOutput = 512

// maxProgress is how much of one piece of output is reported while a script runs.
const maxProgress = 1 << 10

// Capture keeps the beginning of what a program writes and counts the rest, so that it
// takes as much memory as it keeps and no more. It may be written concurrently.
type Capture struct {
	limit    int
	progress func(string) // nil: nobody looks on

	// Clean, if set, takes out of the text what nobody may read, before it is cut; whole says
	// that it is all there is. It is set before anything is written.
	Clean func(text string, whole bool) string

	mu    sync.Mutex // guards kept and total
	kept  []byte
	total int64
}

// NewCapture makes a Capture that keeps limit bytes. progress, which may be nil, is called
// with the beginning of each piece that is written.
func NewCapture(limit int, progress func(string)) *Capture {
	return &Capture{limit: limit, progress: progress}
}

// Write implements [io.Writer]. It never fails.
func (c *Capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	if room := c.limit - len(c.kept); room > 0 {
		c.kept = append(c.kept, p[:min(room, len(p))]...)
	}
	c.total += int64(len(p))
	c.mu.Unlock()
	if c.progress != nil {
		c.progress(strings.ToValidUTF8(string(p[:min(len(p), maxProgress)]), ""))
	}
	return len(p), nil
}

// text returns what was written as text of at most limit bytes, with a notice where that
// is not all.
func (c *Capture) text(limit int) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := c.kept
	if c.total > int64(len(kept)) { // the cut may be inside of a character
		kept = wholeCharacters(kept)
	}
	s := strings.ToValidUTF8(string(kept), string(utf8.RuneError))
	if c.Clean != nil {
		s = c.Clean(s, c.total == int64(len(c.kept)))
	}
	if len(s) <= limit && c.total == int64(len(c.kept)) {
		return s
	}
	notice := func(n int) string { return fmt.Sprintf("\n[output truncated: %d of %d bytes shown]\n", n, c.total) }
	room := max(0, limit-len(notice(len(s))))
	if len(s) > room {
		s = string(wholeCharacters([]byte(s[:room])))
	}
	return s + notice(len(s))
}

// wholeCharacters cuts off the beginning of a character at the end of b.
func wholeCharacters(b []byte) []byte {
	for n := 1; n <= utf8.UTFMax && n <= len(b); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-n:]) {
				return b[:len(b)-n]
			}
			return b
		}
	}
	return b
}

// Report returns what a program wrote, behind the words ending, in the shape of F21, and of
// at most limit bytes: both outputs have half of it, or what the other one leaves.
func Report(ending string, out, errs *Capture, limit int) string {
	const stdout, stderr = "stdout:\n", "stderr:\n"
	room := limit - len(ending) - len(stdout) - len("\n"+stderr)
	right := errs.text(room)
	left := out.text(max(room/2, room-len(right)))
	right = errs.text(room - len(left))
	var b strings.Builder
	b.WriteString(ending + stdout + left)
	if right != "" {
		if left != "" && !strings.HasSuffix(left, "\n") {
			b.WriteByte('\n')
		}
		b.WriteString(stderr + right)
	}
	return b.String()
}
