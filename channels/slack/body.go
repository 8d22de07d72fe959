package slack

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Anybody can bring a request. Before its signature is known, which needs all of it,
// a request may hold maxRequest bytes for bodyTimeout, and all requests together
// maxUnsigned.
const (
	maxRequest  = 1 << 20
	maxUnsigned = 32 << 20
	minBody     = 4 << 10         // what a request counts at least
	bodyTimeout = 3 * time.Second // Slack waits no longer for an answer

	skew            = 5 * time.Minute
	stampHeader     = "X-Slack-Request-Timestamp"
	signatureHeader = "X-Slack-Signature"
	signatureLen    = len("v0=") + 2*32 // of HMAC-SHA256, in hex
)

// rejectionStatus returns the status for a request that its headers show not to be Slack's, or
// to be longer than Slack's are; 0 for all others. Nothing of the body is read.
func (h *hook) rejectionStatus(req *http.Request) int {
	switch {
	case req.Method != http.MethodPost:
		return http.StatusMethodNotAllowed
	case !h.isTimely(req.Header.Get(stampHeader)) || !looksSigned(req.Header.Get(signatureHeader)):
		return http.StatusUnauthorized
	case req.ContentLength > maxRequest:
		return http.StatusRequestEntityTooLarge
	}
	return 0
}

// isTimely reports whether stamp is a time within five minutes of now.
func (h *hook) isTimely(stamp string) bool {
	n, err := strconv.ParseInt(stamp, 10, 64)
	return err == nil && n > 0 && n <= 1<<40 && h.now().Sub(time.Unix(n, 0)).Abs() <= skew
}

// looksSigned reports whether s has the form of a signature.
func looksSigned(s string) bool {
	digits, ok := strings.CutPrefix(s, "v0=")
	if !ok || len(s) != signatureLen {
		return false
	}
	_, err := hex.DecodeString(digits)
	return err == nil
}

// readBody reads the body when there is room for it among those of the others. The
// caller calls leave when the signature is known, unless status is not 0.
func (h *hook) readBody(w http.ResponseWriter, req *http.Request) (body []byte, leave func(), status int) {
	weight := req.ContentLength
	if weight < 0 { // not said
		weight = maxRequest
	}
	weight = max(weight, minBody)
	ctx, cancel := context.WithTimeout(req.Context(), bodyTimeout)
	defer cancel()
	if h.unsigned.Acquire(ctx, weight) != nil {
		return nil, nil, http.StatusServiceUnavailable
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout)) // no connection, no deadline
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxRequest))
	if err == nil {
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
		return body, func() { h.unsigned.Release(weight) }, 0
	}
	h.unsigned.Release(weight)
	if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
		return nil, nil, http.StatusRequestEntityTooLarge
	}
	return nil, nil, http.StatusBadRequest
}
