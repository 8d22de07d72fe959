package llmtest

import (
	"net/http"
	"net/http/httptest"
)

// Served is a transport that serves requests with h, within the process. Each answer is
// whole before its reader has any of it.
func Served(h http.Handler) http.RoundTripper { return served{h} }

type served struct{ handler http.Handler }

func (s served) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w.Result(), nil
}
