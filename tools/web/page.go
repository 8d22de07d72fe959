package web

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"parley/tools"
)

// page is what was read, as text.
type page struct {
	url         *url.URL // the one that answered, behind all redirects
	mediaType   string
	bytes       int  // that were read
	more        bool // that there are more
	title, text string
	left        bool // that text leaves something out that was read
}

// readPage reads an answer: the page, still without text, what it holds, and what that is
// declared to be.
func readPage(res *http.Response) (p *page, body []byte, declared string, err error) {
	p = &page{url: res.Request.URL}
	if c := strings.ToLower(strings.TrimSpace(res.Header.Get("Content-Encoding"))); c != "" && c != "identity" {
		return nil, nil, "", errEncoding // the transport asked for gzip, and has undone it
	}
	declared = res.Header.Get("Content-Type")
	p.mediaType = mediaTypeOf(declared)
	if declared != "" && !isText(p.mediaType) {
		return nil, nil, "", &typeError{p.mediaType, res.ContentLength}
	}
	body, err = io.ReadAll(io.LimitReader(res.Body, maxBody+1))
	if err != nil {
		return nil, nil, "", fmt.Errorf("read the body: %w", err)
	}
	if len(body) > maxBody {
		body, p.more = body[:maxBody], true
	}
	p.bytes = len(body)
	if declared == "" {
		declared = http.DetectContentType(body)
		if p.mediaType = mediaTypeOf(declared); !isText(p.mediaType) {
			return nil, nil, "", &typeError{p.mediaType, res.ContentLength}
		}
		declared = p.mediaType // what it says of the charset is a guess
	}
	return p, body, declared, nil
}

// setText makes the text of the page.
func (p *page) setText(body []byte, declared string) (err error) {
	text := decode(body, declared)
	switch {
	case strings.Contains(text, "\x00"):
		return errBinary
	case p.mediaType == "text/html" || p.mediaType == "application/xhtml+xml":
		p.title, p.text, p.left, err = convert(text, p.url)
	default:
		p.text = tools.Visible(text)
	}
	return err
}

var mediaType = regexp.MustCompile(`^[a-z0-9!#$&^_.+-]{1,40}/[a-z0-9!#$&^_.+-]{1,60}$`)

// mediaTypeOf returns the type that a header declares, without parameters.
func mediaTypeOf(declared string) string {
	first, _, _ := strings.Cut(declared, ";")
	t, _, err := mime.ParseMediaType(first)
	if err != nil || !mediaType.MatchString(t) {
		return "application/octet-stream"
	}
	return t
}

// isText reports whether files of a type are text that a model reads as it is, or HTML.
func isText(t string) bool {
	switch t {
	case "application/json", "application/xml", "application/xhtml+xml", "application/yaml", "application/x-yaml",
		"application/toml", "application/javascript", "application/x-ndjson", "application/ndjson", "application/x-sh":
		return true
	}
	family, _, _ := strings.Cut(t, "/")
	return family == "text" || family == "application" && (strings.HasSuffix(t, "+json") || strings.HasSuffix(t, "+xml"))
}

// decode returns a body as UTF-8. What it is encoded in says the mark at its beginning, the
// header, or the HTML itself, in this order; what nothing says is UTF-8 if it can be.
func decode(body []byte, declared string) string {
	e, name, certain := charset.DetermineEncoding(body, declared)
	valid := utf8.Valid(body[:wholeRunes(body)])
	isHTML := strings.Contains(declared, "html")
	if name == "utf-8" || !certain && valid && (name == "windows-1252" || !isHTML) {
		return strings.TrimPrefix(strings.ToValidUTF8(string(body), "\uFFFD"), "\uFEFF")
	}
	text, err := e.NewDecoder().Bytes(body)
	if err != nil { // decoders replace what they do not know
		text = body
	}
	return strings.TrimPrefix(strings.ToValidUTF8(string(text), "\uFFFD"), "\uFEFF")
}

// wholeRunes returns where a character ends that is cut off at the end of b, if one is.
func wholeRunes(b []byte) int {
	for i := len(b) - 1; i >= 0 && i > len(b)-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return i
			}
			break
		}
	}
	return len(b)
}

// result frames the page: what the server chose stands inside the frame, its final URL too.
func (p *page) result() tools.Result {
	var b strings.Builder
	fmt.Fprintf(&b, "URL: %s\n", p.url)
	if p.title != "" {
		fmt.Fprintf(&b, "Title: %s\n", p.title)
	}
	text := p.text[:wholeRunes([]byte(p.text[:min(len(p.text), maxText)]))]
	b.WriteString("\n" + text)
	note := fmt.Sprintf("%s, %d bytes", p.mediaType, p.bytes)
	switch {
	case strings.TrimSpace(text) == "":
		note += ": no text in it; such a page is often made by a script, which is not run here"
	case p.more:
		note += " read, and there are more, which are not shown"
	case p.left || len(text) < len(p.text):
		note += ": the end of its text is not shown"
	}
	return tools.Result{Content: tools.FrameUntrusted("the web page", b.String()) + "\n[" + note + "]", Metadata: p.metadata()}
}
