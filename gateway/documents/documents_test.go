package documents_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"parley/gateway/documents"
)

const extractPDF = "extract-pdf"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == extractPDF {
		if len(os.Environ()) != 2 { // a secret of the gateway may be there
			os.Exit(3)
		}
		exit(documents.Extract(os.Args[2:], os.Stdin, os.Stdout))
	}
	os.Exit(m.Run())
}

func newReader(t *testing.T) *documents.Reader {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return documents.NewReader([]string{self, extractPDF}, slog.New(slog.DiscardHandler))
}

// file puts content into a workspace and reads it.
func read(t *testing.T, content []byte, limit, pages int) documents.Text {
	t.Helper()
	ws := t.TempDir()
	if err := os.WriteFile(filepath.Join(ws, "f"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := newReader(t).Read(t.Context(), ws, "f", limit, pages)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// utf16Of is s in UTF-16 behind a byte order mark.
func utf16Of(s string, big bool) (b []byte) {
	for _, u := range append([]uint16{0xFEFF}, utf16.Encode([]rune(s))...) {
		if big {
			b = append(b, byte(u>>8), byte(u))
		} else {
			b = append(b, byte(u), byte(u>>8))
		}
	}
	return b
}

// TestRead is row firstday A1: what a file is, is told by its content.
func TestRead(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ж", 50_000)
	for name, c := range map[string]struct {
		content []byte
		most    int
		want    documents.Text
	}{
		"UTF-8":                           {[]byte("grüße\n"), 100, documents.Text{Content: "grüße\n"}},
		"UTF-8 with a mark":               {[]byte("\xEF\xBB\xBFa"), 100, documents.Text{Content: "a"}},
		"UTF-16, little":                  {utf16Of("grüße 🎈", false), 100, documents.Text{Content: "grüße 🎈"}},
		"UTF-16, big":                     {utf16Of("grüße 🎈", true), 100, documents.Text{Content: "grüße 🎈"}},
		"empty":                           {nil, 100, documents.Text{}},
		"cut between characters":          {[]byte("grüße"), 3, documents.Text{Content: "gr", Cut: true}},
		"longer than what is looked at":   {[]byte("x" + long), 1000, documents.Text{Content: "x" + long[:998], Cut: true}},
		"a zero":                          {[]byte("a\x00b"), 100, documents.Text{Problem: documents.Other}},
		"Latin-1":                         {[]byte("gr\xFC\xDFe"), 100, documents.Text{Problem: documents.Other}},
		"half a surrogate":                {utf16Of("a", false)[:3], 100, documents.Text{}},
		"UTF-16 with a zero":              {utf16Of("a\x00b", false), 100, documents.Text{Problem: documents.Other}},
		"a picture":                       {[]byte("\x89PNG\r\n\x1a\n\x00\x00"), 100, documents.Text{Problem: documents.Other}},
		"what only says that it is a PDF": {[]byte("%PDF-1.7\nno"), 100, documents.Text{Problem: documents.Broken}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := read(t, c.content, c.most, 10); got != c.want || !utf8.ValidString(got.Content) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// TestReadPDF is row firstday A1: the text of a PDF, and what keeps one from being read.
func TestReadPDF(t *testing.T) {
	t.Parallel()
	lines := func(ss ...string) string {
		var b strings.Builder
		b.WriteString("BT /F1 12 Tf 72 720 Td ")
		for _, s := range ss {
			b.WriteString("(" + s + ") Tj 0 -14 Td ")
		}
		return b.String() + "ET"
	}
	for name, c := range map[string]struct {
		content     []byte
		most, pages int
		want        documents.Text
	}{
		"lines": {pdfOf("", lines("The oven", "is hot")), 100, 10, documents.Text{Content: "The oven\nis hot", Pages: 1, Of: 1}},
		"words by gaps, letters by kerning": {
			pdfOf("", "BT /F1 12 Tf [(The)-250(ov)60(en)] TJ ET"), 100, 10, documents.Text{Content: "The oven", Pages: 1, Of: 1},
		},
		"of a later version": {bytes.Replace(pdfOf("", lines("new")), []byte("%PDF-1.7"), []byte("%PDF-2.0"), 1), 100, 10, documents.Text{Content: "new", Pages: 1, Of: 1}},
		"pages":              {pdfOf("", lines("one"), lines("two")), 100, 10, documents.Text{Content: "one\n\ntwo", Pages: 2, Of: 2}},
		"too many pages":     {pdfOf("", lines("one"), lines("two")), 100, 1, documents.Text{Content: "one", Cut: true, Pages: 1, Of: 2}},
		"too much text":      {pdfOf("", lines("one two three"), lines("two")), 5, 10, documents.Text{Content: "one t", Cut: true, Pages: 1, Of: 2}},
		"no text":            {pdfOf("", "0 0 10 10 re f"), 100, 10, documents.Text{Problem: documents.Scanned}},
		"encrypted": {
			pdfOf("/Encrypt << /Filter /Standard /V 2 /R 3 /Length 128 /P -4 /O ("+strings.Repeat("o", 32)+") /U ("+strings.Repeat("u", 32)+") >> /ID [(0123456789abcdef) (0123456789abcdef)]", lines("x")),
			100, 10,
			documents.Text{Problem: documents.Encrypted},
		},
		"broken in the middle": {pdfOf("", lines("one"))[:200], 100, 10, documents.Text{Problem: documents.Broken}},
		"much that is nothing": {pdfOf("", lines("one")+many(" ", 4<<20)+lines("late")), 8, 10, documents.Text{Content: "one\nlate", Cut: true, Pages: 1, Of: 1}},
		"a string without end": {pdfOf("", "BT /F1 12 Tf ("+many("a", 400<<20)), 100, 10, documents.Text{Problem: documents.TooMuch}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := read(t, c.content, c.most, c.pages); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestReadWithout(t *testing.T) {
	t.Parallel()
	r := documents.NewReader(nil, slog.New(slog.DiscardHandler))
	ws := t.TempDir()
	if err := os.WriteFile(filepath.Join(ws, "f"), pdfOf("", ""), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(ws, "out")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"f", "out", "../f", "none", "."} {
		if got, err := r.Read(t.Context(), ws, path, 100, 10); err != nil || got.Problem != documents.Closed {
			t.Errorf("%s: %+v, %v", path, got, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newReader(t).Read(ended, ws, "f", 100, 10); !errors.Is(err, context.Canceled) {
		t.Errorf("of a question that is not asked any more: %v", err)
	}
}

// many stands for n times s in the content of a page, which pdfOf does not keep in
// memory.
func many(s string, n int) string { return manyMark + s + strconv.Itoa(n) + manyMark }

const manyMark = "\x00"

// repeated writes what stands for it, compressed. Very much of it is compressed once, and
// that written again and again: the checksum at the end, up to which nobody reads, is
// wrong then.
func repeated(z *bytes.Buffer, w *zlib.Writer, what string) {
	const piece = 1 << 20
	n, _ := strconv.Atoi(what[1:])
	block := strings.Repeat(what[:1], piece)
	if n <= 64*piece {
		for ; n > 0; n -= piece {
			_, _ = io.WriteString(w, block[:min(n, piece)])
		}
		return
	}
	var again []byte
	for range 2 { // the second refers to nothing but the like of itself
		_ = w.Flush()
		before := z.Len()
		_, _ = io.WriteString(w, block)
		_ = w.Flush()
		again = bytes.Clone(z.Bytes()[before:])
	}
	for range n/piece - 2 {
		_, _ = z.Write(again)
	}
}

// pdfOf makes a PDF of the contents of its pages; trailer stands in its trailer.
func pdfOf(trailer string, pages ...string) []byte {
	var b bytes.Buffer
	var at []int
	object := func(body string) {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", len(at), body)
	}
	b.WriteString("%PDF-1.7\n")
	kids := ""
	for i := range pages {
		kids += fmt.Sprintf("%d 0 R ", 4+2*i)
	}
	object("<< /Type /Catalog /Pages 2 0 R >>")
	object(fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", kids, len(pages)))
	object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
	for i, p := range pages {
		object(fmt.Sprintf("<< /Type /Page /Parent 2 0 R /Resources << /Font << /F1 3 0 R >> >> /Contents %d 0 R >>", 5+2*i))
		var z bytes.Buffer
		w := zlib.NewWriter(&z)
		for n, s := range strings.Split(p, manyMark) {
			if n%2 == 0 {
				_, _ = io.WriteString(w, s)
				continue
			}
			repeated(&z, w, s)
		}
		_ = w.Close()
		object(fmt.Sprintf("<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream", z.Len(), z.String()))
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, n := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", n)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, trailer, start)
	return b.Bytes()
}
