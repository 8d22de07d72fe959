package wire

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"parley/llm"
)

// ErrMalformed marks an answer that breaks the protocol.
var ErrMalformed = errors.New("malformed answer")

// ErrCut means that a stream ended before its end was said.
var ErrCut = errors.New("answer cut off before its end")

// Fault returns what ended the exchange as an error without provider and model,
// which the adapter adds together with what had been received. err is what
// came from Do or from reading the stream.
func (x *Exchange) Fault(err error) *llm.Error {
	e := x.fault(err)
	lost := e.Kind == llm.Timeout || e.Kind == llm.Network // of one that was canceled the kind says enough
	e.Sent, e.RequestID = x.head || lost && x.left.Load(), x.RequestID()
	if e.Status == 0 {
		e.Status = x.status
	}
	if e.Status >= 400 {
		e.RetryAfter = retryAfter(x.header)
	}
	e.Message = x.sanitise(e.Message)
	return e
}

func (x *Exchange) fault(err error) *llm.Error {
	if cause := x.parent.Err(); cause != nil {
		return &llm.Error{Kind: llm.Canceled, Message: "canceled", Err: cause}
	}
	if t, ok := errors.AsType[*timeoutError](context.Cause(x.ctx)); ok {
		return &llm.Error{Kind: llm.Timeout, Message: t.Error(), Err: context.DeadlineExceeded}
	}
	if r, ok := errors.AsType[*refusal](err); ok {
		return r.fault()
	}
	if isMalformed(err) {
		return &llm.Error{Kind: llm.Malformed, Message: err.Error(), Err: ErrMalformed}
	}
	return &llm.Error{Kind: llm.Network, Message: x.reason(err), Err: connectionCause(err)}
}

// ReportedFault returns the fault that the provider itself reported inside a stream.
func (x *Exchange) ReportedFault(body []byte) *llm.Error {
	a, ok := parseAPIError(body)
	if !ok {
		return x.Fault(ErrMalformed)
	}
	e := x.ProtocolFault(kindOf(x.status, a), a.text())
	e.RequestID = cmp.Or(e.RequestID, a.requestID)
	return e
}

// ProtocolFault returns a fault that the adapter found in a stream which ended in good
// order; one of the context comes first.
func (x *Exchange) ProtocolFault(kind llm.Kind, message string) *llm.Error {
	e := x.Fault(nil)
	if e.Kind != llm.Canceled && e.Kind != llm.Timeout {
		e.Kind, e.Message, e.Err = kind, x.sanitise(message), nil
	}
	return e
}

// CutFault returns the fault of a stream that stopped without saying so. What came and
// was no stream at all (a page of a proxy) is malformed, not cut.
func (x *Exchange) CutFault(events int) *llm.Error {
	if events == 0 && x.bytes > 0 {
		return x.Fault(ErrMalformed)
	}
	return x.Fault(ErrCut)
}

func (r *refusal) fault() *llm.Error {
	e := &llm.Error{Status: r.status}
	if a, ok := parseAPIError(r.body); ok {
		e.Kind, e.Message, e.RequestID = kindOf(r.status, a), a.text(), a.requestID
		return e
	}
	switch {
	case r.status < 300:
		e.Kind, e.Err = llm.Malformed, ErrMalformed
		e.Message = "the answer is not an event stream"
	case r.status < 400:
		e.Kind, e.Message = llm.Other, "redirect refused"
	default:
		e.Kind, e.Message = kindOf(r.status, apiError{}), http.StatusText(r.status)
	}
	return e
}

func isMalformed(err error) bool {
	if errors.Is(err, ErrMalformed) || errors.Is(err, errTooLong) || errors.Is(err, bufio.ErrTooLong) {
		return true
	}
	if _, ok := errors.AsType[*json.SyntaxError](err); ok {
		return true
	}
	_, ok := errors.AsType[*json.UnmarshalTypeError](err)
	return ok
}

// connectionCause is the cause of a failed connection without the URL, which may hold
// a key.
func connectionCause(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	if err == nil {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (x *Exchange) reason(err error) string { return connectionCause(err).Error() }

const longestMessage = 500

// sanitise makes a text of foreign origin fit for logs: without secrets, without
// control characters, not longer than 500 bytes.
func (x *Exchange) sanitise(s string) string {
	for _, secret := range x.secrets {
		if secret == "" {
			continue
		}
		s = strings.ReplaceAll(s, secret, "***")
		s = strings.ReplaceAll(s, url.QueryEscape(secret), "***")
	}
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > longestMessage {
		s = strings.ToValidUTF8(s[:longestMessage], "") + "…"
	}
	return s
}

// retryAfter reads how long the provider asks to wait: milliseconds, seconds,
// or a date, which is compared with the provider's own clock when it gave one.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return clampSeconds(ms / 1000)
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		return clampSeconds(s)
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return max(at.Sub(now), 0)
}

// clampSeconds is s as a duration, at most a day, never negative; not a number is 0.
func clampSeconds(s float64) time.Duration {
	const day = 24 * 60 * 60
	if !(s > 0) {
		return 0
	}
	return time.Duration(min(s, day) * float64(time.Second))
}

// IsError reports whether a JSON object carries an error instead of content.
func IsError(body []byte) bool {
	var o struct {
		Error json.RawMessage `json:"error"`
	}
	return json.Unmarshal(body, &o) == nil && len(o.Error) > 0 && !bytes.Equal(o.Error, []byte("null"))
}
