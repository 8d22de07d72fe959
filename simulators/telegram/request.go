package telegram

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// maxRequest is the largest request that the public server takes.
const maxRequest = 50 << 20

// params are the arguments of one call. As on the real server every value is
// a text: a JSON string as it reads, anything else as JSON.
type params map[string]string

func (p params) int(name string) (int64, error) {
	v := p[name]
	if v == "" {
		return 0, nil
	}
	return strconv.ParseInt(v, 10, 64)
}

// number reads an integer the way the server does for optional ones: what is
// not a number counts as 0.
func (p params) number(name string) int64 {
	n, _ := p.int(name)
	return n
}

func (p params) bool(name string) bool {
	v := strings.ToLower(p[name])
	return v == "true" || v == "yes" || v == "1"
}

// uploads are the files of one call, by the name of their field.
type uploads map[string]*upload

// upload is a file as it came. The content of one that is never handed out is not
// kept.
type upload struct {
	name, mime string
	content    []byte
	size       int64
	sum        [sha256.Size]byte
}

// readParams takes the query and a body of any of the three media types.
func readParams(w http.ResponseWriter, r *http.Request, files uploads) (params, error) {
	p := params{}
	if r.URL.RawQuery != "" {
		p.addForm(r.URL.Query())
	}
	if r.Method != http.MethodPost || r.Body == nil || r.ContentLength == 0 {
		return p, nil
	}
	body := http.MaxBytesReader(w, r.Body, maxRequest)
	kind, args, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch kind {
	case "application/json":
		return p, p.addJSON(body)
	case "application/x-www-form-urlencoded":
		raw, err := io.ReadAll(body)
		if err != nil {
			return p, err
		}
		form, err := url.ParseQuery(string(raw))
		p.addForm(form)
		return p, err
	case "multipart/form-data":
		in := bufio.NewReader(body)
		if _, err := in.Peek(1); errors.Is(err, io.EOF) {
			return p, nil // as one with a length of 0, which the front before the server makes of it
		}
		return p, p.addMultipart(multipart.NewReader(in, args["boundary"]), files)
	default:
		_, err := io.Copy(io.Discard, body)
		return p, err
	}
}

func (p params) addForm(form url.Values) {
	for k, v := range form {
		p[k] = v[0]
	}
}

// addJSON reads a body as tdlib's HttpReader::parse_json_parameters does: nothing,
// or one object. Any other value is refused, null too, which is what a nil map
// becomes in many a client. (The public server also takes one string; no method of
// the Bot API has a use for it.) A null in the object stays the text "null", as it
// does there.
func (p params) addJSON(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil || len(raw) == 0 {
		return err
	}
	if first := bytes.TrimLeft(raw, " \t\r\n"); len(first) == 0 || first[0] != '{' {
		panic(badRequest("JSON object expected"))
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return err
	}
	for k, v := range fields {
		if v[0] != '"' {
			p[k] = string(v)
			continue
		}
		var s string
		if err := json.Unmarshal(v, &s); err != nil {
			return err
		}
		p[k] = s
	}
	return nil
}

// errUnended is a form without a part: after the first boundary tdlib's
// HttpReader::parse_multipart_form_data waits for headers, and goes on waiting.
var errUnended = errors.New("the form has no part")

func (p params) addMultipart(m *multipart.Reader, files uploads) error {
	for n := 0; ; n++ {
		part, err := m.NextPart()
		if errors.Is(err, io.EOF) && n == 0 {
			return errUnended
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if part.FileName() != "" {
			if files[part.FormName()], err = readFile(part); err != nil {
				return err
			}
			continue
		}
		v, err := io.ReadAll(part)
		if err != nil {
			return err
		}
		p[part.FormName()] = string(v)
	}
}

func readFile(part *multipart.Part) (*upload, error) {
	u := &upload{name: part.FileName(), mime: part.Header.Get("Content-Type")}
	var kept bytes.Buffer
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(sum, &kept), io.LimitReader(part, maxDownload+1))
	if err != nil {
		return nil, err
	}
	if u.content = kept.Bytes(); n > maxDownload {
		u.content = nil
	}
	more, err := io.Copy(sum, part)
	u.size = n + more
	sum.Sum(u.sum[:0])
	return u, err
}
