package documents

import (
	"errors"
	"io"
	"strings"

	"github.com/ledongthuc/pdf"
)

// readPDF reads a PDF until there is enough. It may panic only where the process does not
// survive in any case: out of memory, a stack that has no end.
func readPDF(in io.ReaderAt, size int64, limit, pages int) (t Text) {
	defer func() {
		if recover() != nil && t.Content == "" {
			t = Text{Problem: Broken}
		}
	}()
	r, err := pdf.NewReader(header{in}, size)
	switch {
	case errors.Is(err, pdf.ErrInvalidPassword):
		return Text{Problem: Encrypted}
	case err != nil && strings.Contains(err.Error(), "encrypt"): // by a way that the library does not know
		return Text{Problem: Encrypted}
	case err != nil:
		return Text{Problem: Broken}
	}
	if t.Of = r.NumPage(); t.Of < 1 {
		return Text{Problem: Broken}
	}
	broken := 0
	for n := 1; n <= min(t.Of, pages) && len(t.Content) < limit; n++ {
		words, ok := pageText(r, n, limit-len(t.Content))
		if !ok {
			broken++
		}
		t.Pages = n
		if words = strings.TrimSpace(words); words != "" {
			t.Content += words + "\n\n"
		}
	}
	whole := strings.TrimSpace(strings.ToValidUTF8(t.Content, "\uFFFD"))
	t.Content = truncate(whole, limit)
	t.Cut = len(t.Content) < len(whole) || t.Pages < t.Of || len(whole) >= limit
	switch {
	case t.Content == "" && broken > 0:
		return Text{Problem: Broken}
	case t.Content == "":
		return Text{Problem: Scanned}
	}
	return t
}

// errEnough ends the interpretation of a page.
var errEnough = errors.New("there is enough text")

// pageText returns the text of a page, and more than most bytes of it only by one string.
// ok is false when the page is broken: then it is what comes before.
func pageText(r *pdf.Reader, n, limit int) (words string, ok bool) {
	w := &writer{limit: limit}
	defer func() {
		words = w.b.String()
		if v := recover(); v != nil {
			err, is := v.(error)
			ok = is && errors.Is(err, errEnough)
		}
	}()
	p := r.Page(n)
	if p.V.IsNull() || p.V.Key("Contents").Kind() == pdf.Null {
		return "", true
	}
	w.page = p
	pdf.Interpret(p.V.Key("Contents"), w.apply)
	return "", true
}

// writer writes down what the operators of a page show, in their order. A word ends
// where the pen moves by more than a narrow space, a line where it moves up or down.
type writer struct {
	page  pdf.Page
	limit int
	fonts map[string]*pdf.Font
	enc   pdf.TextEncoding
	b     strings.Builder
	y     float64
}

// gap is how far a pen moves between words, in thousandths of the size of the font: the
// space of common fonts has 250, kerning moves by less than 100.
const gap = -180

func (w *writer) apply(stk *pdf.Stack, op string) {
	args := make([]pdf.Value, stk.Len())
	for i := len(args) - 1; i >= 0; i-- {
		args[i] = stk.Pop()
	}
	switch op {
	case "Tf":
		if len(args) == 2 {
			w.selectFont(args[0].Name())
		}
	case "Td", "TD":
		if len(args) == 2 {
			w.breakWord(args[1].Float64() != 0)
		}
	case "Tm":
		if len(args) == 6 {
			y := args[5].Float64()
			w.breakWord(y != w.y)
			w.y = y
		}
	case "T*":
		w.breakWord(true)
	case "'", "\"":
		w.breakWord(true)
		w.showText(args)
	case "Tj":
		w.showText(args)
	case "TJ":
		if len(args) == 1 {
			w.writeArray(args[0])
		}
	}
}

// selectFont is asked for each text object; parsing one takes long.
func (w *writer) selectFont(name string) {
	f, ok := w.fonts[name]
	if !ok {
		if w.fonts == nil {
			w.fonts = map[string]*pdf.Font{}
		}
		font := w.page.Font(name)
		f = &font
		w.fonts[name] = f
	}
	w.enc = f.Encoder()
}

func (w *writer) writeArray(v pdf.Value) {
	for i := range v.Len() {
		switch x := v.Index(i); x.Kind() {
		case pdf.String:
			w.writeText(x.RawString())
		case pdf.Integer, pdf.Real:
			if x.Float64() < gap {
				w.space(" ")
			}
		}
	}
}

func (w *writer) showText(args []pdf.Value) {
	if len(args) > 0 && args[len(args)-1].Kind() == pdf.String {
		w.writeText(args[len(args)-1].RawString())
	}
}

func (w *writer) writeText(raw string) {
	if w.enc != nil {
		raw = w.enc.Decode(raw)
	}
	w.b.WriteString(raw)
	if w.b.Len() > w.limit {
		panic(errEnough)
	}
}

// breakWord ends a line, or a word.
func (w *writer) breakWord(line bool) {
	if line {
		w.space("\n")
	} else {
		w.space(" ")
	}
}

func (w *writer) space(s string) {
	if text := w.b.String(); text != "" && !strings.HasSuffix(text, "\n") && !strings.HasSuffix(text, s) {
		w.b.WriteString(s)
	}
}

// header shows the library a header that it takes, whatever version of PDF the file
// says that it is of, and whatever stands behind that.
type header struct{ io.ReaderAt }

const common = "%PDF-1.7\n"

func (h header) ReadAt(p []byte, off int64) (int, error) {
	n, err := h.ReaderAt.ReadAt(p, off)
	if off >= 0 && off < int64(len(common)) {
		copy(p[:n], common[off:])
	}
	return n, err // io.EOF is compared
}
