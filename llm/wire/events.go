package wire

import (
	"bufio"
	"bytes"
	"io"
	"iter"
	"sync"
)

// Event is one server-sent event. Data is valid until the next event.
type Event struct {
	Name string // of the field "event"; empty when there is none
	Data []byte
}

// maxEvent is how many bytes an event of an answer may have at most.
const maxEvent = 2 * maxKept

// buffers are what streams are read with; one with longer lines gets a larger one of its own.
var buffers = sync.Pool{New: func() any { return new([4 << 10]byte) }}

var byteOrderMark = []byte("\ufeff")

// readEvents yields the events of an event stream as the HTML standard reads
// them (section 9.2.6), and last, with a zero Event, the error that ended it. An
// event that no empty line ends is incomplete and is not yielded. The fields id
// and retry mean nothing here: nobody connects again. A line of more than most
// bytes, or an event with more data, is an error.
func readEvents(r io.Reader, limit int) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		lines := bufio.NewScanner(r)
		first4K, _ := buffers.Get().(*[4 << 10]byte)
		defer buffers.Put(first4K) // an event's data is a copy
		lines.Buffer(first4K[:], limit)
		lines.Split(splitLines())
		var name string
		var data []byte
		for first := true; lines.Scan(); first = false {
			line := lines.Bytes()
			if first {
				line = bytes.TrimPrefix(line, byteOrderMark)
			}
			if len(line) == 0 {
				if len(data) > 0 && !yield(Event{Name: name, Data: data[:len(data)-1]}, nil) {
					return
				}
				name, data = "", data[:0]
				continue
			}
			field, value, _ := bytes.Cut(line, []byte(":")) // a comment has no field
			value = bytes.TrimPrefix(value, []byte(" "))
			switch string(field) {
			case "event":
				name = string(value)
			case "data":
				if len(data)+len(value) >= limit {
					yield(Event{}, errTooLong)
					return
				}
				data = append(append(data, value...), '\n')
			}
		}
		if err := lines.Err(); err != nil {
			yield(Event{}, err)
		}
	}
}

// splitLines finds lines that end with LF, CR or CRLF. What follows a CR may not
// have come yet and is not waited for, so the LF of a CRLF is skipped when the
// next line is looked for. A last line without an end is dropped.
func splitLines() bufio.SplitFunc {
	afterCR := false
	return func(text []byte, atEOF bool) (advance int, line []byte, err error) {
		from := 0
		if afterCR && len(text) > 0 {
			if afterCR = false; text[0] == '\n' {
				from = 1
			}
		}
		rest := text[from:]
		end := bytes.IndexByte(rest, '\n')
		if end >= 0 {
			rest = rest[:end]
		}
		if cr := bytes.IndexByte(rest, '\r'); cr >= 0 {
			end, afterCR = cr, true
		}
		switch {
		case end >= 0:
			return from + end + 1, rest[:end], nil
		case atEOF:
			return len(text), nil, nil
		default:
			return from, nil, nil
		}
	}
}
