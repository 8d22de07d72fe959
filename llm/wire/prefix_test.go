package wire

import (
	"bytes"
	"fmt"
	"io"
	"testing"
	"testing/iotest"

	"parley/transcript"
)

func sayings(texts ...string) (ms []transcript.Message) {
	for _, s := range texts {
		ms = append(ms, transcript.Message{Role: transcript.User, Parts: []transcript.Part{transcript.Text{Text: s}}})
	}
	return ms
}

// writeAll writes all messages but the last one into p.
func writeAll(p *Prefix, ms []transcript.Message) {
	for i := p.Resume(ms); i < len(ms)-1; i++ {
		p.JSON = append(p.JSON, ms[i].Text()...)
		p.Cut(ms, i+1)
	}
}

func TestAPrefixGoesOnWhereMessagesStayTheSame(t *testing.T) {
	t.Parallel()
	var p Prefix
	writeAll(&p, sayings("a", "b", "c"))
	sent := p.JSON
	for _, c := range []struct {
		ms      []transcript.Message
		written int
	}{
		{sayings("a", "b", "c"), 2},
		{sayings("a", "b", "c", "d"), 2},
		{sayings("a", "b", "x", "y"), 1}, // c may have belonged to b
		{sayings("a", "b"), 1},
		{sayings("z", "b", "c"), 0},
		{sayings("z"), 0},
		{nil, 0},
	} {
		if n := p.Resume(c.ms); n != c.written {
			t.Errorf("%d messages are written of %v, not %d", n, c.ms, c.written)
		}
		writeAll(&p, c.ms)
		want := ""
		for i := range max(len(c.ms)-1, 0) {
			want += c.ms[i].Text()
		}
		if len(c.ms) > 1 && string(p.JSON) != want {
			t.Errorf("of %v is written %q", c.ms, p.JSON)
		}
	}
	if string(sent) != "ab" {
		t.Errorf("what was on its way is now %q", sent)
	}
}

func TestPrefixesAreKeptForOneRequestAtATimeAndWithinBounds(t *testing.T) {
	t.Parallel()
	ps := newPrefixes()
	prefix := func(bytes int) *Prefix {
		p := &Prefix{JSON: make([]byte, bytes)}
		p.Cut(sayings("a", "b"), 1)
		return p
	}
	p := prefix(10)
	ps.Put("a", p)
	if ps.Take("a") != p {
		t.Error("what was kept is not given back")
	}
	if again := ps.Take("a"); again == p || again.Written() != 0 {
		t.Error("what is in use was given to another")
	}
	ps.Put("", prefix(10))
	ps.Put("empty", &Prefix{})
	ps.Put("large", prefix(maxPrefix))
	for _, name := range []string{"", "empty", "large"} {
		if ps.Take(name).Written() != 0 {
			t.Errorf("%q was kept", name)
		}
	}
	for i := range 100 {
		ps.Put(fmt.Sprint(i), prefix(maxPrefix/4))
	}
	if ps.Take("0").Written() != 0 || ps.Take("99").Written() == 0 {
		t.Error("what was used last is not what is kept")
	}
}

func TestABodyInPiecesIsReadAsOne(t *testing.T) {
	t.Parallel()
	pieces := [][]byte{[]byte("one, "), nil, []byte("two"), []byte(", three"), {}}
	if err := iotest.TestReader(bodyOf(pieces), []byte("one, two, three")); err != nil {
		t.Error(err)
	}
	all, err := io.ReadAll(bodyOf(pieces))
	if err != nil || int64(len(all)) != sizeOf(pieces) || !bytes.Equal(all, bytes.Join(pieces, nil)) {
		t.Errorf("%q, %v", all, err)
	}
}
