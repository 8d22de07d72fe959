package wire

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// read is the events of a stream as name=data, and its error.
func read(r io.Reader) (events []string, fault error) {
	for e, err := range readEvents(r, 1<<16) {
		if err != nil {
			return events, err
		}
		events = append(events, e.Name+"="+string(e.Data))
	}
	return events, nil
}

func TestEventsAreReadAsTheStandardSays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, stream string
		want         []string
	}{
		{"nothing", "", nil},
		{"only empty lines", "\n\n\r\n\r\r", nil},
		{"a name and data", "event: a\ndata: {}\n\n", []string{"a={}"}},
		{"data without a name", "data: 1\n\ndata: 2\n\n", []string{"=1", "=2"}},
		{"no space, or more than one", "data:a\n\ndata:  b \n\n", []string{"=a", "= b "}},
		{"a colon in the data", "data: a: b\n\n", []string{"=a: b"}},
		{"lines of data are joined", "data: a\ndata:\ndata\ndata: b\n\n", []string{"=a\n\n\nb"}},
		{"one empty line of data is an event", "event: a\ndata\n\n", []string{"a="}},
		{"a name without data is none", "event: a\n\ndata: b\n\n", []string{"=b"}},
		{"the last name counts", "event: a\nevent: b\ndata: c\n\n", []string{"b=c"}},
		{"a name ends with its event", "event: a\ndata: b\n\ndata: c\n\n", []string{"a=b", "=c"}},
		{"comments", ": ping\n\n:\ndata: a\n: b\n\n", []string{"=a"}},
		{"unknown fields", "id: 7\nretry: 1\nfoo: bar\nDATA: x\n data: y\ndata: a\n\n", []string{"=a"}},
		{"CRLF", "event: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", []string{"a=b", "=c"}},
		{"CR", "event: a\rdata: b\r\rdata: c\r\r", []string{"a=b", "=c"}},
		{"all ends of lines", "data: a\n\r\ndata: b\r\ndata: c\n\r", []string{"=a", "=b\nc"}},
		{"a byte order mark", "\ufeffdata: a\n\n", []string{"=a"}},
		{"no byte order mark later", "data: a\n\n\ufeffdata: b\n\n", []string{"=a"}},
		{"no empty line at the end", "data: a\n\ndata: b\n", []string{"=a"}},
		{"no end of the last line", "data: a\n\ndata: b\n\ndata: c", []string{"=a", "=b"}},
		{"a page in HTML", "<html>\n<body>\n\n</body>\n\n", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for pieces, r := range map[string]io.Reader{
				"at once": strings.NewReader(c.stream), "byte by byte": iotest.OneByteReader(strings.NewReader(c.stream)),
				"with the end": iotest.DataErrReader(strings.NewReader(c.stream)),
			} {
				got, err := read(r)
				if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
					t.Errorf("%s: %v\n%s", pieces, err, diff)
				}
			}
		})
	}
}

func TestAnEventIsYieldedWithItsEmptyLine(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"\n\n", "\r\n\r\n", "\r\r"} {
		r, w := io.Pipe()
		go func() {
			_, _ = io.WriteString(w, "data: a"+end) // and nothing follows
		}()
		for e, err := range readEvents(r, 1<<16) {
			if string(e.Data) != "a" || err != nil {
				t.Errorf("%q, %v", e.Data, err)
			}
			break
		}
		_ = r.Close()
	}
}

func TestAStreamThatBreaksIsAnErrorBehindItsEvents(t *testing.T) {
	t.Parallel()
	got, err := read(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(errNoNetwork)))
	if len(got) != 1 || !errors.Is(err, errNoNetwork) {
		t.Errorf("%q, %v", got, err)
	}
}

// endless repeats a text for ever.
type endless string

func (e endless) Read(p []byte) (n int, err error) {
	for n+len(e) <= len(p) {
		n += copy(p[n:], e)
	}
	return n, nil
}

func TestAnEventWithoutAnEndIsMalformed(t *testing.T) {
	t.Parallel()
	long := "data: " + strings.Repeat("x", 1000) + "\n" // shorter than the most that a line may have
	for name, c := range map[string]struct {
		stream io.Reader
		want   error
	}{
		"one line":   {io.MultiReader(strings.NewReader("data: "), endless("x")), bufio.ErrTooLong},
		"many lines": {endless(long), errTooLong},
	} {
		if got, err := read(c.stream); len(got) != 0 || !errors.Is(err, c.want) || !isMalformed(err) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// FuzzEvents holds the reader to the standard's own steps over a text that is
// there as a whole.
func FuzzEvents(f *testing.F) {
	for _, s := range []string{"event: a\r\ndata: b\r\n\r\n", "data\r\rdata:\n\n", "\ufeff:\ndata: x\n\r\ndata: y"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, stream string) {
		for _, r := range []io.Reader{strings.NewReader(stream), iotest.OneByteReader(strings.NewReader(stream)), iotest.HalfReader(strings.NewReader(stream))} {
			got, err := read(r)
			if diff := cmp.Diff(bySteps(stream), got); diff != "" || err != nil {
				t.Fatalf("%v\n%s", err, diff)
			}
		}
	})
}

func bySteps(stream string) (events []string) {
	stream = strings.TrimPrefix(stream, "\ufeff")
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(stream), "\n")
	name, data := "", ""
	for _, line := range lines[:len(lines)-1] {
		if line == "" {
			if data != "" {
				events = append(events, name+"="+strings.TrimSuffix(data, "\n"))
			}
			name, data = "", ""
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "event":
			name = value
		case "data":
			data += value + "\n"
		}
	}
	return events
}
