package telegram

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"parley/channels"
	"parley/channels/internal/exchange"
)

// tokenTransport puts the token into the path of a copy of each request, and
// takes it out of whatever comes back. The one who asked never sees it.
type tokenTransport struct {
	exchange.Base
	token channels.Secret
}

func (t *tokenTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	r := req.Clone(req.Context())
	at := strings.LastIndex(r.URL.Path, "/bot"+placeholder+"/")
	if at < 0 {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, fmt.Errorf("no place for the token in the path %s", r.URL.Path)
	}
	r.URL.Path = r.URL.Path[:at] + "/bot" + t.token.Reveal() + r.URL.Path[at+len("/bot"+placeholder):]
	r.URL.RawPath = ""
	resp, err := t.Base.RoundTrip(r)
	if err != nil {
		return nil, exchange.CleanError(err, t.clean)
	}
	resp.Request = req
	for _, values := range resp.Header {
		for i, v := range values {
			values[i] = string(t.clean([]byte(v)))
		}
	}
	resp.Status = string(t.clean([]byte(resp.Status)))
	return resp, nil
}

// clean replaces the token, also where its colon is escaped.
func (t *tokenTransport) clean(b []byte) []byte {
	token := t.token.Reveal()
	_, key, _ := strings.Cut(token, ":")
	if !bytes.Contains(b, []byte(key)) {
		return b
	}
	for _, form := range []string{token, strings.Replace(token, ":", "%3A", 1), strings.Replace(token, ":", "%3a", 1), key} {
		b = bytes.ReplaceAll(b, []byte(form), []byte("[redacted]"))
	}
	return b
}

func newAPIClient(token channels.Secret, base http.RoundTripper, limit int64) *exchange.Poster {
	t := &tokenTransport{exchange.Base{RoundTripper: base}, token}
	return &exchange.Poster{Client: exchange.Stay(t), Clean: t.clean, Prepare: withoutForm, Most: limit}
}

// withoutForm leaves out a form that has nothing in it. The library's form without a
// field is two lines, of which Telegram's server waits for the rest until the caller
// gives up (tdlib, HttpReader::parse_multipart_form_data).
func withoutForm(req *http.Request, content []byte) ([]byte, error) {
	if emptyForm.Match(content) {
		req.Header.Del("Content-Type")
		return nil, nil
	}
	return content, nil
}

var emptyForm = regexp.MustCompile(`^\s*(--[0-9a-f]+--\s*)?$`)
