package programs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

// MinOutput is how many bytes a result has room for at least, with both notices.
const MinOutput = 512

// maxProgress is how much of one piece of output is reported while a program runs, in bytes.
const maxProgress = 1 << 10

// A program that writes floodFactor times what is kept of it, and no less than floodLeast
// bytes, is stopped: nobody reads that much, and it would go on for as long as it has time.
const (
	floodFactor = 64
	floodLeast  = 8 << 20
)

// maxHeld bounds what of a report is held back because a secret may go on in it, in bytes.
const maxHeld = 64 << 10

// Cleaner takes out of a text what nobody may read. It may be used concurrently.
type Cleaner interface {
	// Clean returns a whole text without it.
	Clean(text string) string
	// CleanGrowing returns the beginning of a text that goes on without it.
	CleanGrowing(text string) string
	// CleanPiece returns the beginning of a text without it, and the rest, to which the next
	// piece of the text is to be added.
	CleanPiece(text string) (clean, rest string)
}

// Output is what a program writes. It takes as much memory as it keeps of it and no more.
type Output struct {
	limit    int
	progress func(string) // nil: nobody looks on
	clean    Cleaner      // nil: everybody may read all
	out      capture
	errs     capture

	mu     sync.Mutex // guards what follows, and both captures
	total  int64      // bytes of both
	stop   context.CancelCauseFunc
	held   string // of what was written, that is not reported yet
	tooBig bool
}

// NewOutput makes an Output that keeps limit bytes of each of the two streams. progress,
// which may be nil, is called with what a program writes to the first, while it runs; clean,
// which may be nil, is asked before that, and before anything is cut.
func NewOutput(limit int, progress func(string), clean Cleaner) *Output {
	o := &Output{limit: limit, progress: progress, clean: clean}
	o.out.of, o.errs.of = o, o
	return o
}

// FloodError means that a program was stopped because it wrote far more than is kept of it.
// Its text is for the model.
type FloodError struct{ Most int64 }

func (e *FloodError) Error() string {
	return fmt.Sprintf("the program was stopped, because it wrote more than %d bytes: have it write less, or into a file", e.Most)
}

// Run runs c and takes what it writes, until it ends, or a FloodError.
func (o *Output) Run(ctx context.Context, r Runner, c Command) (Result, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	o.mu.Lock()
	o.stop = stop
	o.mu.Unlock()
	c.Stdout, c.Stderr = &o.out, &o.errs
	res, err := r.Run(ctx, c)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.tooBig {
		return res, &FloodError{o.most()}
	}
	return res, err // it says what did not run
}

// most is how much a program may write to both streams together.
func (o *Output) most() int64 { return max(floodLeast, floodFactor*int64(o.limit)) }

var errFlood = errors.New("the program writes too much")

// capture keeps the beginning of one stream and counts the rest. It may be written
// concurrently.
type capture struct {
	of    *Output
	kept  []byte
	total int64
}

// Write implements [io.Writer]. It fails once the program has written too much.
func (c *capture) Write(p []byte) (int, error) {
	o := c.of
	o.mu.Lock()
	if o.tooBig {
		o.mu.Unlock()
		return 0, errFlood
	}
	if room := o.limit - len(c.kept); room > 0 {
		c.kept = append(c.kept, p[:min(room, len(p))]...)
	}
	c.total += int64(len(p))
	o.total += int64(len(p))
	if o.total > o.most() {
		o.tooBig = true
		o.stop(errFlood)
	}
	var report string
	if c == &o.out && o.progress != nil {
		report = o.report(p)
	}
	o.mu.Unlock()
	if report != "" {
		o.progress(report)
	}
	return len(p), nil
}

// report returns what is reported of p, which was just written: its beginning, without what
// may be a part of a secret that goes on.
func (o *Output) report(p []byte) string {
	if o.clean == nil {
		return strings.ToValidUTF8(string(p[:min(len(p), maxProgress)]), "")
	}
	text, rest := o.clean.CleanPiece(o.held + strings.ToValidUTF8(string(p), ""))
	if len(rest) > maxHeld {
		rest = ""
	}
	o.held = rest
	return strings.ToValidUTF8(text[:min(len(text), maxProgress)], "")
}

// text returns what was written as text of at most limit bytes, with a notice where that
// is not all.
func (c *capture) text(limit int) string {
	kept := c.kept
	if c.total > int64(len(kept)) { // the cut may be inside of a character
		kept = wholeCharacters(kept)
	}
	s := strings.ToValidUTF8(string(kept), string(utf8.RuneError))
	switch clean := c.of.clean; {
	case clean == nil:
	case c.total == int64(len(c.kept)):
		s = clean.Clean(s)
	default:
		s = clean.CleanGrowing(s)
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

// Report returns what the program wrote, behind the words ending, in the shape of F21, and of
// at most as many bytes as are kept: both streams have half of it, or what the other leaves.
func (o *Output) Report(ending string) string {
	const stdout, stderr = "stdout:\n", "stderr:\n"
	o.mu.Lock()
	defer o.mu.Unlock()
	room := o.limit - len(ending) - len(stdout) - len("\n"+stderr)
	right := o.errs.text(room)
	left := o.out.text(max(room/2, room-len(right)))
	right = o.errs.text(room - len(left))
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
