// Package wire is one HTTP exchange with a model's provider, as every adapter
// needs it: it posts a body and splits the answer into events, gives up on a
// silent or endless answer, follows no redirect, keeps the answer's head, and
// turns what went wrong into an [llm.Error] that holds no secret.
//
// The providers' own clients would save little of this: they have no idle
// watchdog, read error bodies without a limit, let a redirect carry the key to
// another host, and write raw JSON anew, where an adapter must send back byte
// for byte what the provider signed. Tests hold parley to what they send and
// read (build tag judges).
package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"mime"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// Limits of one exchange.
type Limits struct {
	FirstByte time.Duration // from the request to the first byte of the answer's body; 0: 60 s
	Idle      time.Duration // between two reads of the body that bring something; 0: 60 s
	Total     time.Duration // for everything; 0: 10 min
}

// Defaults of [Limits].
const (
	DefaultFirstByte = 60 * time.Second
	DefaultIdle      = 60 * time.Second
	DefaultTotal     = 10 * time.Minute
)

const (
	maxErrorBody = 64 << 10  // read of a body that is not a stream
	maxBody      = 256 << 20 // read of a stream

	settleTime  = 20 * time.Millisecond
	settleBytes = 4 << 10
)

// timeoutError is the cause with which an exchange that took too long ends.
type timeoutError struct {
	what  string
	after time.Duration
}

func (e *timeoutError) Error() string { return fmt.Sprintf("%s within %v", e.what, e.after) }

// Exchange is one request and its answer. It belongs to one goroutine, and
// sends once: a second Post is refused.
type Exchange struct {
	client  *http.Client
	limits  Limits
	secrets []string

	parent context.Context
	ctx    context.Context
	cancel context.CancelCauseFunc
	stop   context.CancelFunc
	timer  *time.Timer // armed only while the exchange waits for the network

	sent   bool
	left   atomic.Bool // the whole request was written
	head   bool
	status int
	header http.Header
	bytes  int64 // of the body
	body   *timedBody
}

// Begin starts an exchange under ctx. client is not changed; nil is
// http.DefaultClient's transport. None of secrets appears in an error of this
// exchange. End must be called.
func Begin(ctx context.Context, client *http.Client, l Limits, secrets ...string) *Exchange {
	l.FirstByte = cmp.Or(l.FirstByte, DefaultFirstByte)
	l.Idle = cmp.Or(l.Idle, DefaultIdle)
	l.Total = cmp.Or(l.Total, DefaultTotal)
	own := http.Client{}
	if client != nil {
		own = *client
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	own.Timeout = 0

	x := &Exchange{client: &own, limits: l, secrets: secrets, parent: ctx}
	timed, stop := context.WithTimeoutCause(ctx, l.Total, &timeoutError{"answer not finished", l.Total})
	x.stop = stop
	x.ctx, x.cancel = context.WithCancelCause(timed)
	return x
}

// End cuts the exchange off and frees what it holds, the answer's body with
// it. It may be called twice.
func (x *Exchange) End() {
	x.stopTimer()
	if x.body != nil {
		_ = x.body.Close() // only reading could have failed in a way that counts
	}
	x.cancel(context.Canceled)
	x.stop()
}

// Drain is called after a complete answer: it reads the little that may stand
// behind the last event, so that the connection can be used again. A provider
// that sends more, or nothing for a while, loses its connection instead.
func (x *Exchange) Drain() {
	if x.body == nil {
		return
	}
	cut := time.AfterFunc(settleTime, func() { x.cancel(context.Canceled) })
	defer cut.Stop()
	_, _ = io.CopyN(io.Discard, x.body, settleBytes) // the answer is whole already
}

// RequestID is the provider's name of the exchange, from the response head.
func (x *Exchange) RequestID() string {
	return cmp.Or(x.header.Get("Request-Id"), x.header.Get("X-Request-Id"), x.header.Get("X-Generation-Id"))
}

// Post sends a body, which is the pieces together and JSON, and takes the head of the answer,
// which must be a stream: anything else is an error for [Exchange.Fault]. The stream is then read
// with Events. The pieces may be read even after the exchange has ended: nobody changes them.
func (x *Exchange) Post(url string, header http.Header, pieces ...[]byte) error {
	if err := x.send(http.MethodPost, url, header, pieces...); err != nil {
		return err
	}
	if x.status == http.StatusOK && mayBeEventStream(x.header) {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(x.body, maxErrorBody))
	if err != nil && len(text) == 0 && x.status == http.StatusOK {
		return err
	}
	return &refusal{status: x.status, body: text}
}

// maxWhole is how many bytes an answer may have that is read as a whole.
const maxWhole = 4 << 20

// Fetch sends body, which header says the type of, and returns the answer, which must
// come whole and with status 200: anything else is an error for [Exchange.Fault].
func (x *Exchange) Fetch(url string, header http.Header, body []byte) ([]byte, error) {
	if err := x.send(http.MethodPost, url, header, body); err != nil {
		return nil, err
	}
	return x.whole()
}

// get is Fetch without a body.
func (x *Exchange) get(url string, header http.Header) ([]byte, error) {
	if err := x.send(http.MethodGet, url, header); err != nil {
		return nil, err
	}
	return x.whole()
}

// whole reads the answer to its end.
func (x *Exchange) whole() ([]byte, error) {
	if x.status != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(x.body, maxErrorBody)) // what came of it says enough
		return nil, &refusal{status: x.status, body: text}
	}
	whole, err := io.ReadAll(io.LimitReader(x.body, maxWhole+1))
	if err == nil && len(whole) > maxWhole {
		err = errTooLong
	}
	return whole, err
}

// send makes the request and takes the head of the answer.
func (x *Exchange) send(method, url string, header http.Header, pieces ...[]byte) error {
	if x.sent {
		return errors.New("model request sent before")
	}
	x.sent = true
	traced := httptrace.WithClientTrace(x.ctx, &httptrace.ClientTrace{WroteRequest: func(i httptrace.WroteRequestInfo) {
		if i.Err == nil {
			x.left.Store(true)
		}
	}})
	req, err := http.NewRequestWithContext(traced, method, url, bodyOf(pieces))
	if err != nil {
		return err
	}
	req.ContentLength = sizeOf(pieces)
	req.GetBody = func() (io.ReadCloser, error) { return bodyOf(pieces), nil }
	req.Header = http.Header{
		"Content-Type": {"application/json"},
		"Accept":       {"application/json"}, // as the providers' own clients ask for streams
		"User-Agent":   {"parley"},
	}
	maps.Copy(req.Header, header)
	x.startTimer(x.limits.FirstByte, "no first byte")
	resp, err := x.client.Do(req) //nolint:bodyclose // End closes it
	if err != nil {
		x.stopTimer()
		return err
	}
	x.head, x.status, x.header = true, resp.StatusCode, resp.Header
	x.body = &timedBody{x: x, body: resp.Body}
	return nil
}

// Events yields the events of the answer, after Post returned nil. An error that
// ends the stream comes last, for [Exchange.Fault]; a stream that ends without
// one may still have ended too early, which the adapter sees.
func (x *Exchange) Events() iter.Seq2[Event, error] { return readEvents(x.body, maxEvent) }

// mayBeEventStream reports whether a body may hold server-sent events. Some compatible
// servers send them as text/plain or without a type.
func mayBeEventStream(h http.Header) bool {
	media, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return h.Get("Content-Type") == ""
	}
	switch media {
	case "text/event-stream", "text/plain", "application/octet-stream", "application/x-ndjson":
		return true
	default:
		return false
	}
}

// refusal is a response that is no stream.
type refusal struct {
	status int
	body   []byte
}

func (r *refusal) Error() string { return fmt.Sprintf("HTTP %d without a stream", r.status) }

func (x *Exchange) startTimer(d time.Duration, what string) {
	x.timer = time.AfterFunc(d, func() { x.cancel(&timeoutError{what, d}) })
}

func (x *Exchange) stopTimer() {
	if x.timer != nil {
		x.timer.Stop()
		x.timer = nil
	}
}

// timedBody reads a response body. The clock runs only while a read waits, so a
// slow consumer of the stream is not taken for a silent provider.
type timedBody struct {
	x    *Exchange
	body io.ReadCloser
}

func (w *timedBody) Read(p []byte) (int, error) {
	if w.x.bytes > 0 {
		w.x.startTimer(w.x.limits.Idle, "answer silent: nothing more")
	}
	n, err := w.body.Read(p)
	if n > 0 || err != nil {
		w.x.stopTimer()
	}
	w.x.bytes += int64(n)
	if w.x.bytes > maxBody {
		return n, errTooLong
	}
	return n, err
}

func (w *timedBody) Close() error { return w.body.Close() }

var errTooLong = errors.New("answer too long")
