package signal

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"unicode"
)

// answerReader reads answers of which one may be larger than memory should hold: the
// string data in its result is handed on while it comes. The connection is one
// call's own, so that whatever is no notification is its answer.
type answerReader struct {
	in    *bufio.Reader
	limit int // of what is kept of one value, in bytes
}

// next passes over notifications to the next answer. data, unless it is nil, gets
// the string; what it does not read is passed over, and the answer has a result that
// says nothing.
func (a *answerReader) next(data func(io.Reader) error) (*response, error) {
	for {
		r, err := a.readMessage(data)
		if err != nil || r.Method == "" {
			return r, err
		}
	}
}

func (a *answerReader) readMessage(data func(io.Reader) error) (*response, error) {
	r := &response{}
	err := a.readObject(func(key string) (err error) {
		switch {
		case key == "result" && data != nil:
			r.Result, err = a.readResult(data)
		case key == "result":
			r.Result, err = a.readValue(true)
		case key == "error":
			r.Error, err = a.readValue(true)
		case key == "method":
			var raw []byte
			if raw, err = a.readValue(true); err == nil && json.Unmarshal(raw, &r.Method) != nil {
				err = errGarbage
			}
		default:
			_, err = a.readValue(false)
		}
		return err
	})
	return r, err
}

// readResult reads the value of that key.
func (a *answerReader) readResult(data func(io.Reader) error) (json.RawMessage, error) {
	if c, err := a.peek(); err != nil || c != '{' {
		if err != nil {
			return nil, err
		}
		return a.readValue(true)
	}
	out := json.RawMessage("null")
	err := a.readObject(func(key string) error {
		c, err := a.peek()
		if err != nil || key != "data" || c != '"' {
			if err == nil {
				_, err = a.readValue(false)
			}
			return err
		}
		_, _ = a.in.Discard(1)
		text := &stringReader{in: a.in}
		if err := data(text); err != nil {
			return err
		}
		out = json.RawMessage("{}")
		_, err = io.Copy(io.Discard, text)
		return err // the caller knows what it reads
	})
	return out, err
}

// readObject reads an object; member reads the value of each key.
func (a *answerReader) readObject(member func(key string) error) error {
	if err := a.expect('{'); err != nil {
		return err
	}
	for first := true; ; first = false {
		c, err := a.peek()
		switch {
		case err != nil:
			return err
		case c == '}':
			_, _ = a.in.Discard(1)
			return nil
		case !first && c != ',', first && c != '"':
			return errGarbage
		case c == ',':
			_, _ = a.in.Discard(1)
			if c, err = a.peek(); err != nil || c != '"' {
				return orGarbage(err)
			}
		}
		raw, err := a.readValue(true)
		var key string
		if err != nil || json.Unmarshal(raw, &key) != nil {
			return orGarbage(err)
		}
		if err := a.expect(':'); err != nil {
			return err
		}
		if err := member(key); err != nil {
			return err
		}
	}
}

// readValue reads one value, and gives it as it stands if it is to be kept.
func (a *answerReader) readValue(keep bool) ([]byte, error) {
	first, err := a.peek()
	if err != nil {
		return nil, err
	}
	var out []byte
	depth, inString, escaped := 0, false, false
	plain := first != '{' && first != '[' && first != '"'
	for {
		c, err := a.in.ReadByte()
		if err != nil {
			return nil, cutError(err)
		}
		if plain && (c == ',' || c == '}' || c == ']' || unicode.IsSpace(rune(c))) {
			if len(out) == 0 {
				return nil, errGarbage
			}
			return out, a.in.UnreadByte() // a byte was read
		}
		if keep || len(out) == 0 {
			if out = append(out, c); len(out) > a.limit {
				return nil, errTooLarge
			}
		}
		switch {
		case escaped:
			escaped = false
		case inString && c == '\\':
			escaped = true
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
		if !plain && !inString && depth == 0 {
			return out, nil
		}
	}
}

// peek returns the next byte that is no white space.
func (a *answerReader) peek() (byte, error) {
	for {
		b, err := a.in.Peek(1)
		if err != nil {
			return 0, cutError(err)
		}
		if !bytes.ContainsAny(b, " \t\r\n") {
			return b[0], nil
		}
		_, _ = a.in.Discard(1)
	}
}

func (a *answerReader) expect(want byte) error {
	if c, err := a.peek(); err != nil || c != want {
		return orGarbage(err)
	}
	_, _ = a.in.Discard(1)
	return nil
}

func orGarbage(err error) error {
	if err != nil {
		return err
	}
	return errGarbage
}

func cutError(err error) error { return fmt.Errorf("%w: %w", errCut, err) }

// stringReader reads the inside of a JSON string and its end.
type stringReader struct {
	in    *bufio.Reader
	ended bool
}

func (t *stringReader) Read(p []byte) (int, error) {
	if t.ended {
		return 0, io.EOF
	}
	if len(p) == 0 {
		return 0, nil
	}
	if _, err := t.in.Peek(1); err != nil {
		return 0, cutError(err)
	}
	there, _ := t.in.Peek(min(t.in.Buffered(), len(p)))
	n := bytes.IndexAny(there, `"\`)
	if n < 0 {
		n = len(there)
	}
	if n > 0 {
		copy(p, there[:n])
		_, _ = t.in.Discard(n)
		return n, nil
	}
	c, _ := t.in.ReadByte()
	if c == '"' {
		t.ended = true
		return 0, io.EOF
	}
	c, err := t.readEscape()
	if err != nil {
		return 0, err
	}
	p[0] = c
	return 1, nil
}

// readEscape reads what stands behind a backslash. Only what base64 has can come.
func (t *stringReader) readEscape() (byte, error) {
	c, err := t.in.ReadByte()
	if err != nil {
		return 0, cutError(err)
	}
	switch c {
	case '/', '"', '\\':
		return c, nil
	case 'n', 'r', 't':
		return '\n', nil // base64 passes over it
	case 'u':
		var four [4]byte
		if _, err := io.ReadFull(t.in, four[:]); err != nil {
			return 0, cutError(err)
		}
		b, err := hex.DecodeString(string(four[:]))
		if err == nil && b[0] == 0 && b[1] < 0x80 {
			return b[1], nil
		}
	}
	return 0, errGarbage
}
