package llm

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"slices"
	"time"
)

// Retry decides whether a failed call may be tried again, and after how long. It
// only decides: the caller waits, so that a cancelled turn stops waiting at
// once, and writes each attempt into the ledger. The zero value has the
// defaults; a Retry may be used by many goroutines at once when Random may.
type Retry struct {
	Max    int           // tries after the first one; 0: 8; negative: none
	Base   time.Duration // wait before the first retry, doubled for each further one; 0: 2 s
	Cap    time.Duration // longest single wait, and longest Retry-After that is obeyed; 0: 60 s
	Window time.Duration // no attempt begins later than this after the first one began; 0: 120 s

	// Statuses are the HTTP statuses after which the same request may work a little later;
	// nil: RetryStatuses. What the provider names as a matter of the key, the account or
	// the length is not tried again whatever its status.
	Statuses []int

	// Random gives numbers in [0,1), which spread each wait by ±20 %. Nil: the
	// process's own source.
	Random func() float64
}

// Defaults of [Retry].
const (
	DefaultMaxRetries  = 8
	DefaultRetryBase   = 2 * time.Second
	DefaultRetryCap    = 60 * time.Second
	DefaultRetryWindow = 120 * time.Second
)

// jitter is the share by which a wait may be shorter or longer.
const jitter = 0.2

// Next reports whether to try again after err ended attempt number attempt (the
// first is 1), elapsed after the first attempt began; and how long to wait
// first. It says no for a nil error, for one that is no [*Error], for one that
// may not work later either, when the attempts are used up, when the provider asks for
// a longer wait than Cap, and when the next attempt would begin outside the
// window. A Retry-After that is obeyed is taken as it is, without jitter.
func (r Retry) Next(attempt int, elapsed time.Duration, err error) (wait time.Duration, again bool) {
	e, ok := errors.AsType[*Error](err)
	if !ok || !r.isRetryable(e) || attempt > r.maxAttempts() {
		return 0, false
	}
	limit := cmp.Or(r.Cap, DefaultRetryCap)
	switch {
	case e.RetryAfter > limit:
		return 0, false
	case e.RetryAfter > 0:
		wait = e.RetryAfter
	default:
		wait = r.backoff(attempt, limit)
	}
	if elapsed+wait > cmp.Or(r.Window, DefaultRetryWindow) {
		return 0, false
	}
	return wait, true
}

func (r Retry) maxAttempts() int {
	return max(cmp.Or(r.Max, DefaultMaxRetries), 0)
}

// backoff is base·2^(attempt−1) with jitter, never above limit.
func (r Retry) backoff(attempt int, limit time.Duration) time.Duration {
	wait := cmp.Or(r.Base, DefaultRetryBase)
	for range attempt - 1 {
		if wait >= limit {
			break
		}
		wait *= 2
	}
	random := r.Random
	if random == nil {
		random = rand.Float64
	}
	spread := 1 + jitter*(2*random()-1)
	return min(time.Duration(float64(min(wait, limit))*spread), limit)
}

// RetryStatuses returns the statuses after which a request is tried again when nothing else
// is said. (requirements X, conflict 3)
func RetryStatuses() []int { return []int{408, 429, 500, 502, 503, 504, 529} }

// isRetryable is Retryable with this rule's own statuses.
func (r Retry) isRetryable(e *Error) bool {
	if r.Statuses == nil || e.Visible || e.Status < 400 {
		return e.Retryable()
	}
	switch e.Kind {
	case Auth, Quota, ContextLength, ContentFilter, Canceled:
		return false
	default:
		return slices.Contains(r.Statuses, e.Status)
	}
}

// Retryable reports whether the same request may work a little later: the
// provider was busy or broken, or the connection failed, and nothing of the
// answer has been seen. What is wrong with the request, the key or the account
// stays wrong. It says nothing about attempts and time; [Retry] does.
func (e *Error) Retryable() bool {
	if e.Visible {
		return false
	}
	switch e.Kind {
	case RateLimited, Overloaded, Timeout, Network:
		return true
	case Server:
		return isTransient(e.Status)
	default:
		return false
	}
}

// isTransient reports whether a Server error of this status may pass. A status
// below 300 is that of a stream that broke with an error event.
func isTransient(status int) bool {
	switch status {
	case 500, 502, 503, 504, 529:
		return true
	default:
		return status < 300
	}
}
