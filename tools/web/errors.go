package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"parley/tools"
	"parley/tools/web/guard"
)

var (
	errEncoding = errors.New("it is compressed in a way that was not asked for")
	errBinary   = errors.New("it says that it is text, and holds binary data")
)

// typeError means that something is no text.
type typeError struct {
	mediaType string
	size      int64 // -1: not known
}

func (e *typeError) Error() string {
	size := "of unknown size"
	if e.size >= 0 {
		size = fmt.Sprintf("of %d bytes", e.size)
	}
	return fmt.Sprintf("it is %s %s, and %s reads text and HTML only", e.mediaType, size, FetchName)
}

// statusError is an answer that is not what was asked for.
type statusError struct {
	status int
	after  time.Duration // until the server wants to be asked again; 0: it does not say
}

// longestWait is the longest Retry-After that is passed on.
const longestWait = 24 * time.Hour

// statusOf returns the error of an answer.
func statusOf(res *http.Response, now time.Time) *statusError {
	e := &statusError{status: res.StatusCode}
	after := strings.TrimSpace(res.Header.Get("Retry-After"))
	if n, err := strconv.Atoi(after); err == nil {
		e.after = time.Duration(min(max(n, 0), int(longestWait.Seconds()))) * time.Second
	} else if at, err := http.ParseTime(after); err == nil {
		e.after = min(max(at.Sub(now).Round(time.Second), 0), longestWait)
	}
	return e
}

func (e *statusError) Error() string {
	s := strconv.Itoa(e.status)
	if text := http.StatusText(e.status); text != "" {
		s += " " + text
	}
	if e.after > 0 {
		s += fmt.Sprintf("; it wants to be asked again in %s", e.after)
	}
	return s
}

// kind reports whether the same request may succeed later.
func (e *statusError) kind() tools.Kind {
	switch e.status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return tools.Transient
	}
	if e.status >= 500 && e.status != http.StatusNotImplemented && e.status != http.StatusHTTPVersionNotSupported {
		return tools.Transient
	}
	return tools.Permanent
}

// explain words an error for the model. Nothing that a server wrote is in it: it would not
// be framed. What is out of reach is told apart neither from other addresses that are, nor
// from a name that there is not.
func (f *fetcher) explain(ctx context.Context, u *url.URL, err error) error {
	sentence := func(k tools.Kind, format string, args ...any) error {
		return tools.Errorf(k, "%s was not read: %w", display(u), fmt.Errorf(format, args...))
	}
	if status, ok := errors.AsType[*statusError](err); ok {
		return tools.Errorf(status.kind(), "%s was not read: the server answers %w", display(u), status)
	}
	if kind, ok := errors.AsType[*typeError](err); ok {
		return tools.Errorf(tools.Permanent, "%s was not read: %w", display(u), kind)
	}
	for _, e := range []error{errEncoding, errBinary} {
		if errors.Is(err, e) {
			return tools.Errorf(tools.Permanent, "%s was not read: %w", display(u), e)
		}
	}
	if errors.Is(err, guard.ErrRedirect) || errors.Is(err, guard.ErrRedirects) {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err
		}
		return tools.Errorf(tools.Permanent, "%s was not read: %w", display(u), err)
	}
	dns, isDNS := errors.AsType[*net.DNSError](err)
	if errors.Is(err, guard.ErrRefused) || isDNS && dns.IsNotFound {
		return sentence(tools.Permanent, "there is no such server on the public internet, or it redirects to one that is not there. Private networks and this machine are out of reach: ask the person for what stands there")
	}
	return f.explainFailure(ctx, u, err)
}

// explainFailure words what went wrong on the way.
func (f *fetcher) explainFailure(ctx context.Context, u *url.URL, err error) error {
	kind, what := tools.Transient, "the server broke off, or its answer is not HTTP"
	_, isDNS := errors.AsType[*net.DNSError](err)
	_, isCertificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, isNotTLS := errors.AsType[tls.RecordHeaderError](err)
	switch {
	case errors.Is(context.Cause(ctx), errSlow):
		what = fmt.Sprintf("it took longer than %s", f.timeout)
	case ctx.Err() != nil:
		return context.Cause(ctx) // the caller ended the call, and ignores its error
	case isDNS:
		what = "its name could not be resolved at present"
	case isCertificate:
		kind, what = tools.Permanent, "its certificate is not valid, so it may be somebody else's server"
	case isNotTLS, errors.Is(err, http.ErrSchemeMismatch):
		kind, what = tools.Permanent, "it does not speak https at this port"
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		what = "no server answers there at present"
	}
	return tools.Errorf(kind, "%s was not read: %s", display(u), what)
}
