package telegram

import (
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

// maxRequest is the largest upload that the public server takes.
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

// readParams takes the query and a body of any of the three media types.
func readParams(w http.ResponseWriter, r *http.Request) (params, error) {
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
		return p, p.addMultipart(multipart.NewReader(body, args["boundary"]))
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

func (p params) addJSON(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil || len(raw) == 0 {
		return err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return err
	}
	for k, v := range fields {
		switch {
		case string(v) == "null":
		case v[0] == '"':
			var s string
			if err := json.Unmarshal(v, &s); err != nil {
				return err
			}
			p[k] = s
		default:
			p[k] = string(v)
		}
	}
	return nil
}

func (p params) addMultipart(m *multipart.Reader) error {
	for {
		part, err := m.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		v, err := io.ReadAll(part)
		if err != nil {
			return err
		}
		if part.FileName() == "" {
			p[part.FormName()] = string(v)
		}
	}
}
