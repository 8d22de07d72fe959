package files

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"unicode/utf8"

	"parley/tools"
)

type readInput struct {
	Path   string `json:"path"`
	Offset int    `json:"offset,omitempty" jsonschema:"first line, from 1" minimum:"1"`
	Limit  int    `json:"limit,omitempty" minimum:"1"`
}

type reader struct {
	*boundary
	max int64
}

func (r reader) read(ctx context.Context, in readInput, c tools.Call) (tools.Result, error) {
	f, notice, err := r.openText(c.Workspace, in.Path)
	if err != nil || notice != "" {
		return tools.Result{Content: notice}, err
	}
	defer func() { _ = f.Close() }()
	return r.showLines(ctx, f, in)
}

// openRegular opens a plain file that has no other name. One that is being replaced
// at this very moment is looked at again.
func (r reader) openRegular(p place) (*os.File, fs.FileInfo, error) {
	for range 3 {
		f, info, err := r.open(p, 0)
		if err != nil {
			return nil, nil, err
		}
		if r.isRegular(f, info) {
			return f, info, nil
		}
		again := !isLinked(f)
		_ = f.Close()
		if !again {
			break
		}
	}
	return nil, nil, errNotAllowed
}

// openText opens a file to show its lines. Where they are not for showing, there is
// no file and a notice instead. The caller closes the file.
func (r reader) openText(workspace, path string) (f *os.File, notice string, err error) {
	if strings.HasSuffix(path, "/") {
		return nil, "", errNotAllowed
	}
	p, err := r.locate(workspace, path)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = p.root.Close() }()
	f, info, err := r.openRegular(p)
	if err != nil {
		return nil, "", err
	}
	head, err := sniff(f)
	switch {
	case err != nil:
		err = errUnreadable
	case isBinary(head):
		notice = fmt.Sprintf("[binary file, %s, %d bytes; not shown]", http.DetectContentType(head), info.Size())
	default:
		return f, "", nil
	}
	_ = f.Close()
	return nil, notice, err
}

// errUnreadable is for what the disk does, not the caller.
var errUnreadable = tools.Errorf(tools.Transient, "the file could not be read")

// sniffed is how much of a file decides whether it is text.
const sniffed = 8 << 10

// sniff reads the beginning and goes back to it.
func sniff(f *os.File) ([]byte, error) {
	head := make([]byte, sniffed)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	_, err = f.Seek(0, io.SeekStart)
	return head[:n], err
}

// isBinary reports whether the beginning of a file is not text: it holds a zero byte,
// or more than a few bytes that are not UTF-8.
func isBinary(head []byte) bool {
	if bytes.IndexByte(head, 0) >= 0 {
		return true
	}
	bad := 0
	for rest := head; len(rest) > 0; {
		c, n := utf8.DecodeRune(rest)
		// A character may be cut by the end of what was read.
		if c == utf8.RuneError && n == 1 && len(rest) >= utf8.UTFMax {
			bad++
		}
		rest = rest[n:]
	}
	return bad*20 > len(head)
}

// showLines shows what in asks for, up to the limit of bytes, and says how to go on
// where something is left.
func (r reader) showLines(ctx context.Context, f io.Reader, in readInput) (tools.Result, error) {
	first := max(in.Offset, 1)
	var out bytes.Buffer
	src := bufio.NewReaderSize(f, 64<<10)
	line, shown, more := 1, 0, false
	for !more {
		if err := ctx.Err(); err != nil {
			return tools.Result{}, context.Cause(ctx)
		}
		piece, err := src.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) && !errors.Is(err, io.EOF) {
			return tools.Result{}, errUnreadable
		}
		if len(piece) > 0 && line >= first {
			if more = in.Limit > 0 && line >= first+in.Limit || int64(out.Len()+len(piece)) > r.max; more {
				if shown == 0 { // one line is longer than everything
					return r.longLine(&out, piece, line), nil
				}
				break
			}
			out.Write(piece)
		}
		if bytes.HasSuffix(piece, []byte("\n")) || errors.Is(err, io.EOF) && len(piece) > 0 {
			if line >= first {
				shown++
			}
			line++
		}
		if errors.Is(err, io.EOF) {
			break
		}
	}
	switch {
	case line == 1:
		return tools.Result{Content: "[empty file]"}, nil
	case shown == 0:
		return tools.Result{}, tools.Errorf(tools.Permanent, "offset %d is past the end: the file has %d lines", first, line-1)
	}
	note := ""
	if more {
		note = fmt.Sprintf("[lines %d to %d shown; read on with offset %d]", first, first+shown-1, first+shown)
	}
	return untrustedResult(theFile, dropPartialLine(out.Bytes(), shown), note), nil
}

// dropPartialLine drops the beginning of a line that did not fit any more.
func dropPartialLine(b []byte, shown int) string {
	end := 0
	for range shown {
		i := bytes.IndexByte(b[end:], '\n')
		if i < 0 {
			return string(b)
		}
		end += i + 1
	}
	return string(b[:end])
}

func (r reader) longLine(out *bytes.Buffer, piece []byte, line int) tools.Result {
	out.Write(piece)
	text := dropPartialCharacter(out.Bytes()[:min(int64(out.Len()), r.max)])
	return untrustedResult(theFile, string(text), fmt.Sprintf("[line %d is longer than %d bytes and was cut; read on with offset %d]", line, r.max, line+1))
}

// dropPartialCharacter drops the beginning of a character at the end of what was cut.
func dropPartialCharacter(text []byte) []byte {
	for i := 1; i <= min(utf8.UTFMax, len(text)); i++ {
		if last := text[len(text)-i:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return text[:len(text)-i]
			}
			break
		}
	}
	return text
}
