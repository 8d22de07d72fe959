package stage

import (
	"errors"
	"net/http"
	"strconv"
)

// Refused runs the rules of a call. A rule ends it by a panic with its refusal, a *R,
// which is returned: so every rule is one statement, however deep it stands, as in the
// parser of text/template. cut reports that the call ended by http.ErrAbortHandler:
// its connection is to be cut off without an answer. Any other panic goes on.
func Refused[R any](rules func()) (refused *R, cut bool) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case *R:
			refused = v
		case error:
			if cut = errors.Is(v, http.ErrAbortHandler); !cut {
				panic(v)
			}
		default:
			panic(v)
		}
	}()
	rules()
	return nil, false
}

// WriteBody writes a whole answer.
func WriteBody(w http.ResponseWriter, status int, kind string, body []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// WriteHalf promises a whole answer, writes half of it and cuts the connection: it
// panics with http.ErrAbortHandler.
func WriteHalf(w http.ResponseWriter, kind string, body []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body[:len(body)/2])
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// WriteGarbage answers 200 with a page that is not even well-formed text.
func WriteGarbage(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/html")
	_, _ = w.Write([]byte("<html><body>It works!\x00\xff</body></html>"))
}

// WriteBadGateway answers 502 as a proxy does whose server does not answer.
func WriteBadGateway(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(http.StatusBadGateway)
	_, _ = w.Write([]byte("<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n</html>\r\n"))
}
