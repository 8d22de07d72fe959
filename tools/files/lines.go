package files

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"

	"parley/tools/match"
)

// maxLine is how much of a line is looked at, in bytes.
const maxLine = match.MaxReach

// lineReader gives the lines of one file after the other.
type lineReader struct {
	src *bufio.Reader
	n   int // number of the last line, from 1
}

func newLineReader() *lineReader {
	return &lineReader{src: bufio.NewReaderSize(nil, maxLine)}
}

func (l *lineReader) reset(r io.Reader) {
	l.src.Reset(r)
	l.n = 0
}

// next returns the next line without its end, good until the next call; cut says
// that it is only the beginning. The error is io.EOF at the end of the file, and
// the cause of ctx when that ends.
func (l *lineReader) next(ctx context.Context) (line []byte, cut bool, err error) {
	if ctx.Err() != nil {
		return nil, false, context.Cause(ctx)
	}
	line, err = l.src.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		line, cut = bytes.Clone(line), true
		for errors.Is(err, bufio.ErrBufferFull) {
			if ctx.Err() != nil {
				return nil, false, context.Cause(ctx)
			}
			_, err = l.src.ReadSlice('\n')
		}
	}
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, false, errUnreadable
	case err != nil && len(line) == 0:
		return nil, false, io.EOF
	}
	l.n++
	line = bytes.TrimSuffix(line, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r")), cut, nil
}
