package web_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"

	"parley/tools"
	"parley/tools/web"
)

func TestFetchReadsTextOnly(t *testing.T) {
	t.Parallel()
	kinds := map[string][2]string{ // what is declared, what is sent
		"/plain": {"text/plain", "words"}, "/json": {"application/json; charset=utf-8", `{"a":1}`}, "/feed": {"application/rss+xml", "<rss/>"},
		"/csv": {"text/csv", "a,b"}, "/md": {"text/markdown", "# head"}, "/sniffed": {"", "<html><p>words"}, "/empty": {"text/html", ""},
		"/pdf": {"application/pdf", "%PDF-1.7"}, "/png": {"image/png", "\x89PNG"}, "/zip": {"application/zip", "PK"}, "/bin": {"application/octet-stream", "x"},
		"/svg": {"image/svg+xml", "<svg/>"}, "/odd": {"text/html <ignore all>", "x"}, "/sniffedpdf": {"", "%PDF-1.7 "}, "/nul": {"text/plain", "a\x00b"},
	}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		k := kinds[r.URL.Path]
		w.Header()["Content-Type"] = nil
		if k[0] != "" {
			w.Header().Set("Content-Type", k[0])
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(k[1])))
		_, _ = io.WriteString(w, k[1])
	})
	tool := reading(t, s)
	for path, want := range map[string]string{
		"/plain": "words", "/json": `{"a":1}`, "/feed": "<rss/>", "/csv": "a,b", "/md": "# head", "/sniffed": "words", "/empty": "",
	} {
		got, err := fetch(t, tool, s.URL+path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if text, note := framed(t, "the web page", got); !strings.HasSuffix(text, "\n\n"+want) || (want == "") != strings.Contains(note, "no text in it") {
			t.Errorf("%s: %q, %q", path, text, note)
		}
	}
	for path, want := range map[string]string{
		"/pdf": "it is application/pdf of 8 bytes, and web_fetch reads text and HTML only", "/png": "image/png of 4 bytes", "/zip": "application/zip", "/bin": "application/octet-stream",
		"/svg": "image/svg+xml", "/odd": "application/octet-stream", "/sniffedpdf": "application/pdf", "/nul": "holds binary data",
	} {
		if _, err := fetch(t, tool, s.URL+path); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "ignore") || tools.KindOf(err) != tools.Permanent {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

func TestFetchReadsWhatItIsEncodedIn(t *testing.T) {
	t.Parallel()
	const words = "Grüße – 日本"
	sjis, err := japanese.ShiftJIS.NewEncoder().String("日本")
	if err != nil {
		t.Fatal(err)
	}
	utf16, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(words)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("ascii ", 500)
	for name, c := range map[string][3]string{ // declared, sent, read
		"declared":              {"text/html; charset=shift_jis", "<p>" + sjis, "日本"},
		"by the page itself":    {"text/html", "<meta charset=shift_jis><p>" + sjis, "日本"},
		"by an older page":      {"text/html", `<meta http-equiv=Content-Type content="text/html; charset=windows-1252"><p>Gr` + "\xfc\xdfe", "Grüße"},
		"by a mark":             {"text/plain", utf16, words},
		"UTF-8 with a mark":     {"text/plain", "\xef\xbb\xbf" + words, words},
		"UTF-8 undeclared":      {"text/html", "<p>" + words, words},
		"UTF-8 that comes late": {"text/plain", long + words, long + words},
		"Latin undeclared":      {"text/plain", "Gr\xfc\xdfe", "Grüße"},
		"a name that is none":   {"text/plain; charset=klingon", words, words},
		"UTF-8 with mistakes":   {"text/plain; charset=utf-8", "a\xffb", "a\uFFFDb"},
		"JSON about a page":     {"application/json", `"<meta charset=shift_jis> ` + words + `"`, `"<meta charset=shift_jis> ` + words + `"`},
	} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", c[0])
			_, _ = io.WriteString(w, c[1])
		})
		got, err := fetch(t, reading(t, s), s.URL)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if text, _ := framed(t, "the web page", got); !strings.HasSuffix(text, "\n\n"+c[2]) {
			t.Errorf("%s: %q, want %q", name, text, c[2])
		}
	}
}

// S6: the limit holds for what a body becomes, not for what is sent.
func TestFetchBoundsABomb(t *testing.T) {
	t.Parallel()
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	for range 4 { // MiB
		if _, err := z.Write(bytes.Repeat([]byte("a"), 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Encoding", strings.TrimPrefix(r.URL.Path, "/"))
		_, _ = w.Write(bomb.Bytes())
	})
	tool := reading(t, s)
	got, err := fetch(t, tool, s.URL+"/gzip")
	if err != nil {
		t.Fatal(err)
	}
	text, note := framed(t, "the web page", got)
	if len(got) > tools.DefaultOutput || note != "[text/plain, 2097152 bytes read, and there are more, which are not shown]" || !strings.HasSuffix(text, "aaaa") {
		t.Errorf("%d bytes from %d, %s", len(got), bomb.Len(), note)
	}
	for _, other := range []string{"br", "deflate", "gzip,gzip"} {
		if _, err := fetch(t, tool, s.URL+"/"+other); err == nil || !strings.Contains(err.Error(), "compressed in a way that was not asked for") {
			t.Errorf("%s: %v", other, err)
		}
	}
}

func TestFetchBoundsTheText(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/"+strings.TrimPrefix(r.URL.Path, "/"))
		_, _ = io.WriteString(w, "<p>"+strings.Repeat("ä", 300_000))
	})
	for _, kind := range []string{"html", "plain"} {
		got, err := fetch(t, reading(t, s), s.URL+"/"+kind)
		if err != nil {
			t.Fatal(err)
		}
		text, note := framed(t, "the web page", got)
		if len(got) > tools.DefaultOutput || !strings.Contains(note, "the end of its text is not shown") || !strings.HasSuffix(text, "ää") {
			t.Errorf("%s: %d bytes, %s", kind, len(got), note)
		}
	}
}

// A server that sends a byte now and then holds a call as long as a call may take.
func TestFetchBoundsTheTime(t *testing.T) {
	t.Parallel()
	var asked atomic.Bool
	gone := make(chan struct{}, 64)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Store(true)
		defer func() { gone <- struct{}{} }()
		w.Header().Set("Content-Type", "text/plain")
		for {
			select {
			case <-r.Context().Done():
				return
			case <-time.After(time.Millisecond):
				_, _ = io.WriteString(w, "a")
				_ = http.NewResponseController(w).Flush()
			}
		}
	})
	for limit := 50 * time.Millisecond; !asked.Load(); limit *= 2 { // it may be over before the server was asked
		_, err := fetch(t, reading(t, s, func(o *web.FetchOptions) { o.Timeout = limit }), s.URL)
		if err == nil || !strings.Contains(err.Error(), "it took longer than "+limit.String()) || tools.KindOf(err) != tools.Transient {
			t.Fatalf("got %v", err)
		}
	}
	<-gone
}
