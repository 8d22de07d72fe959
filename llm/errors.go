package llm

import (
	"fmt"
	"time"

	"parley/costs"
)

// Kind is why a call failed. The values are the label error_type.
type Kind string

// Why calls fail.
const (
	RateLimited    Kind = "rate_limited"
	Overloaded     Kind = "overloaded"
	Auth           Kind = "auth"  // key or permission
	Quota          Kind = "quota" // billing, insufficient_quota: will not pass by waiting
	ContextLength  Kind = "context_length"
	InvalidRequest Kind = "invalid_request"
	ContentFilter  Kind = "content_filter"
	Timeout        Kind = "timeout"
	Network        Kind = "network" // no answer, or cut off before its end
	Server         Kind = "server"
	Malformed      Kind = "malformed" // an answer that is not what the protocol says
	Empty          Kind = "empty"     // an answer without any choice (B08)
	Canceled       Kind = "canceled"
	Other          Kind = "other"
)

// Error is why a call failed, and what it may have cost all the same. Its text
// names the provider and never holds a key or a URL with one.
type Error struct {
	Kind       Kind
	Provider   string
	Model      string
	Status     int           // HTTP status; 0: no response head came
	RetryAfter time.Duration // as the provider asked; 0: it did not
	RequestID  string
	Message    string

	// Sent says that the call may be billed: a response head came, or after the whole
	// request had left parley gave the call up (Timeout) or the connection was lost
	// (Network). A call that failed in another way before a head costs nothing. Of one that
	// was canceled nobody knows whether a head was on its way.
	Sent bool
	// Visible says that content had been yielded before the failure: such a
	// call is never tried again.
	Visible bool
	// Usage is what the provider had reported when it failed, and Received how
	// many bytes of text, thinking and arguments had come, from which the
	// output is estimated when Usage has none.
	Usage    *costs.Usage
	Received int

	Err error
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s: %s", e.Provider, e.Kind)
	if e.Status != 0 {
		s += fmt.Sprintf(" (HTTP %d)", e.Status)
	}
	if e.Message != "" {
		s += ": " + e.Message
	}
	if e.Err != nil && e.Message == "" {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// IsProviders reports whether the failure lies with the provider, its account or its model,
// so that another model may answer the same request. What is wrong with the request, what a
// filter refused and what parley gave up itself is no such failure.
func (e *Error) IsProviders() bool {
	switch e.Kind {
	case RateLimited, Overloaded, Auth, Quota, Timeout, Network, Server, Malformed, Empty:
		return true
	case InvalidRequest:
		return e.Status == 404 // the model is gone
	default:
		return false
	}
}
