package slack

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// maxRequest bounds the body of a call.
const maxRequest = 8 << 20

// params are the arguments of one call: a JSON string as it reads, anything else
// as JSON.
type params map[string]string

func (p params) bool(name string) bool {
	v := strings.ToLower(p[name])
	return v == "true" || v == "1"
}

func (p params) int(name string, otherwise int) int {
	n, err := strconv.Atoi(p[name])
	if err != nil {
		return otherwise
	}
	return n
}

// readParams takes the query and a body of any of the media types.
func readParams(w http.ResponseWriter, r *http.Request) params {
	p := params{}
	p.addForm(r.URL.Query())
	if r.Method != http.MethodPost || r.Body == nil || r.ContentLength == 0 {
		return p
	}
	body := http.MaxBytesReader(w, r.Body, maxRequest)
	kind, args, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind == "multipart/form-data" {
		p.addMultipart(multipart.NewReader(body, args["boundary"]))
		return p
	}
	raw, err := io.ReadAll(body)
	if err != nil {
		panic(refuse("request_timeout"))
	}
	switch kind {
	case "application/json":
		p.addJSON(raw)
	case "application/x-www-form-urlencoded":
		form, err := url.ParseQuery(string(raw))
		if err != nil {
			panic(refuse("invalid_form_data"))
		}
		p.addForm(form)
	case "":
		panic(refuse("missing_post_type"))
	default:
		panic(refuse("invalid_post_type"))
	}
	return p
}

func (p params) addForm(form url.Values) {
	for k, v := range form {
		p[k] = v[0]
	}
}

func (p params) addJSON(raw []byte) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		if json.Valid(raw) {
			panic(refuse("json_not_object"))
		}
		panic(refuse("invalid_json"))
	}
	delete(fields, "token") // of a JSON body only the header counts
	for k, v := range fields {
		switch {
		case string(v) == "null":
		case v[0] == '"':
			var s string
			if err := json.Unmarshal(v, &s); err != nil {
				panic(refuse("invalid_json"))
			}
			p[k] = s
		default:
			p[k] = string(v)
		}
	}
}

func (p params) addMultipart(m *multipart.Reader) {
	for {
		part, err := m.NextPart()
		if err == io.EOF { //nolint:errorlint // NextPart returns it bare
			return
		}
		if err != nil {
			panic(refuse("invalid_form_data"))
		}
		v, err := io.ReadAll(part)
		if err != nil {
			panic(refuse("invalid_form_data"))
		}
		p[part.FormName()] = string(v)
	}
}

// asForm returns a flat JSON object as a form.
func asForm(raw json.RawMessage) string {
	var fields map[string]string
	if err := json.Unmarshal(raw, &fields); err != nil {
		panic("slack simulator: a command is not flat: " + err.Error())
	}
	form := url.Values{}
	for k, v := range fields {
		form.Set(k, v)
	}
	return form.Encode()
}
