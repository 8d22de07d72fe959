package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"parley/gateway/settings"
)

// newLogger returns a logger to standard error that drops what is below the level, which may
// change while it is used. It writes lines for people to a terminal and JSON elsewhere, unless the
// configuration names a format.
func newLogger(p program, c settings.LogConfig, level slog.Leveler) *slog.Logger {
	switch terminal := isTerminal(p.err); {
	case terminal && c.Format != "json":
		return slog.New(newTerminalHandler(p.err, level, p.wantsColour()))
	case c.Format == "text":
		return slog.New(slog.NewTextHandler(p.err, &slog.HandlerOptions{Level: level}))
	}
	return slog.New(slog.NewJSONHandler(p.err, &slog.HandlerOptions{Level: level, ReplaceAttr: inSeconds}))
}

// inSeconds writes durations as seconds, as metrics do, in place of nanoseconds.
func inSeconds(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.Float64Value(a.Value.Duration().Seconds())
	}
	return a
}

// wantsColour reports whether a terminal shows colours, and its owner wants them: see
// https://no-color.org.
func (p program) wantsColour() bool {
	if none, _ := p.getenv("NO_COLOR"); none != "" {
		return false
	}
	term, _ := p.getenv("TERM")
	return term != "dumb"
}

// terminalHandler writes a record as a line for somebody who watches: the time of day, how
// serious it is, what happened, and the rest as name=value.
type terminalHandler struct {
	rest   slog.Handler // writes the attributes to line.rest
	line   *terminalLine
	colour bool
}

// terminalLine is what all handlers of one terminal share.
type terminalLine struct {
	mu   sync.Mutex // guards the rest, and a line's way to the terminal
	out  io.Writer
	rest bytes.Buffer
}

func newTerminalHandler(out io.Writer, level slog.Leveler, colour bool) *terminalHandler {
	line := &terminalLine{out: out}
	return &terminalHandler{line: line, colour: colour, rest: slog.NewTextHandler(&line.rest, &slog.HandlerOptions{
		Level: level,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && (a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
				return slog.Attr{} // they stand before it
			}
			return a
		},
	})}
}

// Enabled implements [slog.Handler].
func (h *terminalHandler) Enabled(ctx context.Context, l slog.Level) bool {
	return h.rest.Enabled(ctx, l)
}

// Handle implements [slog.Handler].
func (h *terminalHandler) Handle(ctx context.Context, r slog.Record) error {
	h.line.mu.Lock()
	defer h.line.mu.Unlock()
	h.line.rest.Reset()
	at := r.Time
	r.Time = time.Time{} // it stands before it
	if err := h.rest.Handle(ctx, r); err != nil {
		return err // the handler's own
	}
	message := r.Message
	if strings.ContainsFunc(message, func(c rune) bool { return !strconv.IsPrint(c) }) {
		message = strconv.Quote(message)
	}
	clock := ""
	if !at.IsZero() {
		clock = h.paint(faint, at.Format("15:04:05.000")) + " "
	}
	_, err := fmt.Fprintf(h.line.out, "%s%s %s%s\n", clock, h.paint(levelColour(r.Level), fmt.Sprintf("%-5s", r.Level)),
		message, h.paint(faint, before(" ", strings.TrimRight(h.line.rest.String(), "\n"))))
	return err // as above
}

// before returns what with first in front of it, unless there is none.
func before(first, what string) string {
	if what == "" {
		return ""
	}
	return first + what
}

// WithAttrs implements [slog.Handler].
func (h *terminalHandler) WithAttrs(as []slog.Attr) slog.Handler {
	return &terminalHandler{h.rest.WithAttrs(as), h.line, h.colour}
}

// WithGroup implements [slog.Handler].
func (h *terminalHandler) WithGroup(name string) slog.Handler {
	return &terminalHandler{h.rest.WithGroup(name), h.line, h.colour}
}

// How a terminal is told of colours (ECMA-48, select graphic rendition).
const (
	faint  = "\x1b[2m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	red    = "\x1b[31m"
	normal = "\x1b[0m"
)

func levelColour(l slog.Level) string {
	switch {
	case l >= slog.LevelError:
		return red
	case l >= slog.LevelWarn:
		return yellow
	case l >= slog.LevelInfo:
		return green
	}
	return faint
}

// paint returns text in a colour, if there are any.
func (h *terminalHandler) paint(colour, text string) string {
	if !h.colour || text == "" {
		return text
	}
	return colour + text + normal
}
