package bench

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// modelMeter is a door before the simulated model. It tells how long the model itself took:
// it checks each request as strictly as a provider does, and a request has the whole history.
type modelMeter struct {
	inner http.Handler
	spent atomic.Int64 // nanoseconds
}

// meterModel puts a meter before w's model. It is called before a system starts.
func meterModel(b *testing.B, w *world) *modelMeter {
	b.Helper()
	m := &modelMeter{inner: w.model.Handler()}
	door := httptest.NewServer(m)
	b.Cleanup(door.Close)
	w.modelURL = door.URL
	return m
}

// ServeHTTP takes the whole request in first: until then the system is at work on it.
func (m *modelMeter) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	began := time.Now()
	defer func() { m.spent.Add(int64(time.Since(began))) }()
	m.inner.ServeHTTP(rw, r)
}

// take returns what the model took since it was asked last.
func (m *modelMeter) take() time.Duration { return time.Duration(m.spent.Swap(0)) }
