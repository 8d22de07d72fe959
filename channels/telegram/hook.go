package telegram

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"parley/channels"
	"parley/channels/internal/receive"
)

const (
	// maxUpdate is the longest update that a request may bring, in bytes.
	maxUpdate = 1 << 20

	// takeTimeout bounds how long a request waits to be stored. Telegram brings
	// the update again.
	takeTimeout = 30 * time.Second

	secretHeader = "X-Telegram-Bot-Api-Secret-Token" // its name
)

var errTakeTimeout = errors.New("the update was not stored in time")

// hook answers the requests by which Telegram brings updates. They are taken
// while Receive runs.
//
//	method, secret, content type ── wrong ──> 405, 401, 415: nothing is read
//	Receive does not run         ──────────> 503
//	accept ── nil ──> 200
//	       └─ error, or an earlier update of the chat is owed ──> 503: Telegram brings it again
type hook struct {
	url, path string
	secret    channels.Secret
	digest    [sha256.Size]byte // of the secret
	sequencer sequencer
	strangers atomic.Int64 // requests that did not know the secret
	gate      receive.Gate[receiver]
}

func newHook(o Options) *hook {
	if o.Webhook.URL == "" {
		return nil
	}
	h := &hook{
		url:       strings.TrimRight(o.Webhook.URL, "/") + "/telegram/" + derive(o.Token, "path")[:32],
		secret:    channels.NewSecret(derive(o.Token, "secret")),
		sequencer: sequencer{chats: map[string]*lane{}},
	}
	if u, err := url.Parse(h.url); err == nil { // Validate has read it
		h.path = u.Path
	}
	h.digest = sha256.Sum256([]byte(h.secret.Reveal()))
	return h
}

// ServeHTTP answers one request. It may be called concurrently.
func (h *hook) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if status := h.rejectionStatus(req); status != 0 {
		if status == http.StatusMethodNotAllowed {
			w.Header().Set("Allow", http.MethodPost)
		}
		// Otherwise the server would read what is left of the body.
		w.Header().Set("Connection", "close")
		w.WriteHeader(status)
		return
	}
	r, receiving, leave := h.gate.Enter()
	if r == nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	defer leave()
	ctx, cancel := context.WithTimeoutCause(req.Context(), takeTimeout, errTakeTimeout)
	defer cancel()
	defer context.AfterFunc(receiving, cancel)()
	w.WriteHeader(h.accept(ctx, r, http.MaxBytesReader(w, req.Body, maxUpdate)))
}

// rejectionStatus returns the status of a request that cannot be Telegram's, or 0. The
// secret is compared in a time that tells nothing about it.
func (h *hook) rejectionStatus(req *http.Request) int {
	if req.Method != http.MethodPost {
		return http.StatusMethodNotAllowed
	}
	given := sha256.Sum256([]byte(req.Header.Get(secretHeader)))
	if subtle.ConstantTimeCompare(given[:], h.digest[:]) != 1 {
		h.strangers.Add(1)
		return http.StatusUnauthorized
	}
	if t, _, err := mime.ParseMediaType(req.Header.Get("Content-Type")); err != nil || t != "application/json" {
		return http.StatusUnsupportedMediaType
	}
	return 0
}

// accept brings one update to accept, once, and gives the status to answer.
func (h *hook) accept(ctx context.Context, r *receiver, body io.Reader) int {
	raw, err := io.ReadAll(body)
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		// It would come again for ever and hold up its chat: what fits is kept.
		raw, _ = garbledUpdate(raw, 0)
	case err != nil:
		return http.StatusBadRequest
	}
	u := r.decode(asJSON(raw))
	end, ok := h.sequencer.begin(ctx, u, r.o.Now())
	if !ok {
		return http.StatusServiceUnavailable
	}
	err = r.accept(ctx, u.message)
	end(err == nil, r.o.Now())
	if err != nil {
		if ctx.Err() == nil {
			r.o.Log.Warn("event not stored, telegram will send it again", "event", u.message.Event, "error", err)
		}
		return http.StatusServiceUnavailable
	}
	r.afterTaken(u)
	return http.StatusOK
}
