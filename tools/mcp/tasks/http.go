package tasks

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
)

// idKey is the key in a context under which the id of the task stands that a request is about.
type idKey struct{}

func named(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, idKey{}, id)
}

// NameTask sets the header by which a request about a task finds the machine that has it.
func NameTask(r *http.Request) {
	if id, ok := r.Context().Value(idKey{}).(string); ok {
		r.Header.Set("Mcp-Name", headerValue(id))
	}
}

// headerValue encodes what stands in a header of MCP: as it is where it is printable ASCII without
// blanks at its ends, else in Base64 (basic/transports, "Value encoding").
func headerValue(s string) string {
	plain := strings.TrimSpace(s) == s && !strings.HasPrefix(s, "=?base64?")
	for _, c := range []byte(s) {
		plain = plain && c >= ' ' && c <= '~'
	}
	if plain {
		return s
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
}

// KeepIn keeps the tasks in a response: one message, or a stream of events of at most limit bytes each.
func KeepIn(res *http.Response, limit int) {
	if res.StatusCode/100 != 2 {
		return
	}
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	b := &body{from: res.Body, lines: bufio.NewReader(res.Body), limit: limit}
	switch kind {
	case "application/json":
		b.next = b.message
	case "text/event-stream":
		b.next = b.event
	default:
		return
	}
	res.Body, res.ContentLength = b, -1
	res.Header.Del("Content-Length")
}

// body is an answer in which tasks are kept.
type body struct {
	from  io.ReadCloser
	lines *bufio.Reader
	limit int
	next  func() error // puts more into ready; its error is what is read behind it
	ready bytes.Buffer
	err   error
}

// Read implements [io.Reader].
func (b *body) Read(p []byte) (int, error) {
	for b.ready.Len() == 0 {
		if b.err != nil {
			return 0, b.err
		}
		b.err = b.next()
	}
	return b.ready.Read(p) // it never fails
}

// Close implements [io.Closer].
func (b *body) Close() error { return b.from.Close() } // as it is

// message reads the whole body.
func (b *body) message() error {
	text, err := io.ReadAll(b.lines)
	if err != nil {
		return err // as it is
	}
	b.ready.Write(keepInMessage(text))
	return io.EOF
}

// event reads one event, with the empty line behind it.
func (b *body) event() error {
	var raw, data []byte
	var others [][]byte
	for {
		line, err := b.line(len(raw))
		raw = append(raw, line...)
		text := bytes.TrimRight(line, "\r\n")
		if value, ok := bytes.CutPrefix(text, []byte("data:")); ok {
			data = append(append(data, bytes.TrimPrefix(value, []byte(" "))...), '\n')
		} else if len(text) > 0 {
			others = append(others, text)
		}
		if err == nil && len(text) > 0 {
			continue
		}
		data = bytes.TrimSuffix(data, []byte("\n"))
		if kept := keepInMessage(data); !bytes.Equal(kept, data) {
			for _, o := range others {
				b.ready.Write(append(o, '\n'))
			}
			_, _ = fmt.Fprintf(&b.ready, "data: %s\n\n", kept) // it never fails
		} else {
			b.ready.Write(raw)
		}
		return err
	}
}

// line reads to the end of a line, of an event of which so many bytes were read.
func (b *body) line(read int) (line []byte, err error) {
	for {
		part, err := b.lines.ReadSlice('\n')
		line = append(line, part...)
		if read+len(line) > b.limit {
			return nil, fmt.Errorf("an event of the server is longer than %d bytes", b.limit)
		}
		if err != bufio.ErrBufferFull { //nolint:errorlint // as documented
			return line, err // as it is
		}
	}
}

// keepInMessage keeps the task in a message of JSON-RPC.
func keepInMessage(text []byte) []byte {
	if !bytes.Contains(text, []byte(`"result"`)) || !bytes.Contains(text, []byte(`task"`)) {
		return text
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(text, &m) != nil || m["result"] == nil {
		return text // the library says what it is
	}
	kept := Keep(m["result"])
	if bytes.Equal(kept, m["result"]) {
		return text
	}
	m["result"] = kept
	out, err := json.Marshal(m)
	if err != nil {
		return text // what was decoded can be encoded
	}
	return out
}
