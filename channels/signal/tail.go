package signal

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"

	"parley/channels/internal/markup"
)

// tail is where signal-cli writes its log: it goes to parley's for who debugs,
// and the last lines are kept to say why it ended.
type tail struct {
	log *slog.Logger

	mu    sync.Mutex // guards what is below
	rest  []byte
	lines []string
}

const (
	maxTail     = 5
	maxTailLine = 4 << 10
)

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rest = append(t.rest, b...)
	for {
		line, rest, found := bytes.Cut(t.rest, []byte("\n"))
		if !found {
			break
		}
		t.rest = rest
		t.add(string(line))
	}
	if len(t.rest) > maxTailLine {
		t.add(string(t.rest))
		t.rest = nil
	}
	return len(b), nil
}

// add keeps a line. The caller holds mu.
func (t *tail) add(line string) {
	line = markup.Brief(line)
	if line == "" {
		return
	}
	t.log.Debug("signal-cli", "line", line)
	if t.lines = append(t.lines, line); len(t.lines) > maxTail {
		t.lines = t.lines[1:]
	}
}

// lastLines returns what it said last, behind a colon, or nothing.
func (t *tail) lastLines() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.rest) > 0 {
		t.add(string(t.rest))
		t.rest = nil
	}
	if len(t.lines) == 0 {
		return ""
	}
	return ": " + strings.Join(t.lines, " / ")
}
