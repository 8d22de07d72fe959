// Package documents makes text of the files that people send, for models to read.
//
// Text is told by its content: UTF-8, or UTF-16 that begins with a byte order mark. A
// PDF is read by a process of its own, see [Extract]: what strangers send is hostile,
// and the library that reads it panics, and may take any time and memory, by design of
// a format in which a few bytes become gigabytes. The process has bounds of its own,
// no environment and no secrets, and the gateway only loses it.
package documents

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"unicode/utf16"
	"unicode/utf8"
)

// Problem is why a file cannot be read as text.
type Problem string

// Why a file cannot be read as text.
const (
	None      Problem = ""
	Other     Problem = "other"     // it is neither text nor a PDF
	Encrypted Problem = "encrypted" // a PDF that wants a password
	Scanned   Problem = "scanned"   // a PDF without text, such as one of pictures
	Broken    Problem = "broken"    // a PDF that cannot be read
	TooMuch   Problem = "too_much"  // a PDF that took too long or too much memory
	Closed    Problem = "closed"    // the file cannot be opened, or nothing here reads PDFs
)

// Text is what a file says.
type Text struct {
	Problem Problem
	Content string // UTF-8, of whole characters
	Cut     bool   // there is more
	Pages   int    // of a PDF: how many are in Words, at least in part
	Of      int    // and how many it has
}

// Reader reads files. Its methods may be called by many goroutines.
type Reader struct {
	// Extractor is a program, with its first arguments, that calls [Extract]. None:
	// PDFs cannot be read.
	Extractor []string
	Logger    *slog.Logger

	slots chan struct{}
}

// NewReader makes a Reader that runs two extractors at once at most.
func NewReader(extractor []string, l *slog.Logger) *Reader {
	return &Reader{Extractor: extractor, Logger: l, slots: make(chan struct{}, 2)}
}

// How much of a file is looked at.
const (
	sniffed = 1024    // in which a PDF says that it is one
	decoded = 4 << 20 // what decides whether a file is text
)

// Read makes text of the file at path in a workspace, at most so many bytes and pages.
// What cannot be read has a Problem. The error is ctx's cause.
func (r *Reader) Read(ctx context.Context, workspace, path string, limit, pages int) (Text, error) {
	f, err := open(workspace, path)
	if err != nil {
		r.Logger.Warn("attachment not opened", "workspace", workspace, "path", path, "error", err)
		return Text{Problem: Closed}, nil
	}
	defer func() { _ = f.Close() }()
	head, err := io.ReadAll(io.LimitReader(f, int64(min(decoded, max(4*limit, 64<<10)))+1))
	if err != nil {
		r.Logger.Warn("attachment not read", "workspace", workspace, "path", path, "error", err)
		return Text{Problem: Closed}, nil
	}
	if bytes.Contains(head[:min(len(head), sniffed)], []byte("%PDF-")) {
		t, err := r.extract(ctx, f, limit, pages)
		if err == nil && t.Problem != None {
			r.Logger.Warn("PDF attachment without extracted text", "workspace", workspace, "path", path, "problem", string(t.Problem))
		}
		return t, err
	}
	words, ok := decodeText(head)
	if !ok {
		return Text{Problem: Other}, nil
	}
	t := Text{Content: truncate(words, limit)}
	t.Cut = len(t.Content) < len(words)
	return t, nil
}

var errNoFile = errors.New("not a regular file")

// open opens a plain file of a workspace, by no way that leads out of it.
func open(workspace, path string) (*os.File, error) {
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return nil, fmt.Errorf("open the workspace: %w", err)
	}
	defer func() { _ = root.Close() }()
	f, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err // it names the file
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = f.Close()
		return nil, errors.Join(errNoFile, err)
	}
	return f, nil
}

// decodeText makes text of the beginning of a file; false: it is none.
func decodeText(b []byte) (string, bool) {
	switch {
	case bytes.HasPrefix(b, []byte{0xEF, 0xBB, 0xBF}):
		b = b[3:]
	case bytes.HasPrefix(b, []byte{0xFF, 0xFE}):
		return decodeUTF16(b[2:], func(p []byte) uint16 { return uint16(p[0]) | uint16(p[1])<<8 })
	case bytes.HasPrefix(b, []byte{0xFE, 0xFF}):
		return decodeUTF16(b[2:], func(p []byte) uint16 { return uint16(p[1]) | uint16(p[0])<<8 })
	}
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ { // a character may be cut by the end of what was read
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-n:]) {
				b = b[:len(b)-n]
			}
			break
		}
	}
	if bytes.IndexByte(b, 0) >= 0 || !utf8.Valid(b) {
		return "", false
	}
	return string(b), true
}

// decodeUTF16 decodes UTF-16.
func decodeUTF16(b []byte, unit func([]byte) uint16) (string, bool) {
	units := make([]uint16, 0, len(b)/2)
	for ; len(b) >= 2; b = b[2:] {
		units = append(units, unit(b))
	}
	if n := len(units); n > 0 && utf16.IsSurrogate(rune(units[n-1])) && units[n-1] < 0xDC00 {
		units = units[:n-1]
	}
	text := string(utf16.Decode(units))
	return text, !strings.ContainsAny(text, "\x00\uFFFD")
}

// truncate is s within n bytes, of whole characters.
func truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
