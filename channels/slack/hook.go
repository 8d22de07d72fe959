package slack

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"parley/channels"
	"parley/channels/internal/receive"
)

// hook answers the requests by which Slack brings events, interactions and slash
// commands. They are taken while Receive runs.
//
//	method, headers, length ── wrong ──> 405, 401, 413: nothing is read
//	no room for the body ──────────────> 503
//	body, signature, type ──── wrong ──> 413, 401, 415
//	url_verification ──────────────────> the challenge, also while Receive does not run
//	Receive does not run ──────────────> 503
//	accept ── nil, in time ──> 200
//	       └─ else ──────────> 503: Slack brings it again
//
// What was not taken in time is still offered: when Slack brings it again it is
// known.
type hook struct {
	path      string
	secret    channels.Secret
	now       func() time.Time
	within    time.Duration
	strangers atomic.Int64        // requests that were not signed
	unsigned  *semaphore.Weighted // bytes of requests whose signature is not known yet
	gate      receive.Gate[receiver]
}

func newHook(o Options) *hook {
	return &hook{path: "/slack/" + o.Name, secret: o.SigningSecret, now: o.Now, within: o.AnswerWithin, unsigned: semaphore.NewWeighted(maxUnsigned)}
}

// ServeHTTP answers one request. It may be called concurrently.
func (h *hook) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if status := h.rejectionStatus(req); status != 0 {
		h.refuse(w, status)
		return
	}
	body, leave, status := h.readBody(w, req)
	if status != 0 {
		h.refuse(w, status)
		return
	}
	signed := h.isSigned(req.Header, body)
	leave()
	if !signed {
		h.refuse(w, http.StatusUnauthorized)
		return
	}
	kind, payload, ok := payloadOf(req.Header.Get("Content-Type"), body)
	if !ok {
		h.refuse(w, http.StatusUnsupportedMediaType)
		return
	}
	var c eventCallback
	if kind == "event_callback" && json.Unmarshal(payload, &c) == nil && c.Type == "url_verification" {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, c.Challenge) // a request that is gone
		return
	}
	w.WriteHeader(h.accept(req.Context(), kind, payload))
}

// refuse answers without reading what is left of the request.
func (h *hook) refuse(w http.ResponseWriter, status int) {
	switch status {
	case http.StatusUnauthorized:
		h.strangers.Add(1)
	case http.StatusMethodNotAllowed:
		w.Header().Set("Allow", http.MethodPost)
	}
	w.Header().Set("Connection", "close")
	w.WriteHeader(status)
}

// isSigned reports whether Slack signed the body. The signatures are compared in a time
// that tells nothing about them. slack-go's verifier reads the machine's clock, which
// tests cannot set.
func (h *hook) isSigned(head http.Header, body []byte) bool {
	mac := hmac.New(sha256.New, []byte(h.secret.Reveal()))
	mac.Write([]byte("v0:" + head.Get(stampHeader) + ":"))
	mac.Write(body)
	want := "v0=" + hex.EncodeToString(mac.Sum(nil))
	return hmac.Equal([]byte(head.Get(signatureHeader)), []byte(want))
}

// payloadOf returns what a request brings: an event as JSON, an interaction in a
// form, or a slash command as one.
func payloadOf(contentType string, body []byte) (kind string, payload json.RawMessage, ok bool) {
	t, _, err := mime.ParseMediaType(contentType)
	switch {
	case err != nil:
		return "", nil, false
	case t == "application/json":
		return "event_callback", body, true
	case t != "application/x-www-form-urlencoded":
		return "", nil, false
	}
	values, err := url.ParseQuery(string(body))
	if err != nil {
		return "", nil, false
	}
	if values.Has("payload") {
		return "interactive", json.RawMessage(values.Get("payload")), true
	}
	one := map[string]string{}
	for k := range values {
		one[k] = values.Get(k)
	}
	payload, err = json.Marshal(one)
	return "slash_commands", payload, err == nil
}

// accept brings one event to accept and gives the status to answer.
func (h *hook) accept(ctx context.Context, kind string, payload json.RawMessage) int {
	r, receiving, leave := h.gate.Enter()
	if r == nil {
		return http.StatusServiceUnavailable
	}
	defer leave()
	e := r.decode(kind, payload)
	if e.lane == ownLane { // our own post: there is nothing to take
		return http.StatusOK
	}
	settled := make(chan bool, 1)
	r.queue.Push(e.lane, e, func(taken bool) { settled <- taken })
	t := time.NewTimer(h.within)
	defer t.Stop()
	select {
	case taken := <-settled:
		if taken {
			return http.StatusOK
		}
	case <-t.C:
		r.o.Log.Warn("event not stored in time, slack will send it again", "event", e.message.Event)
	case <-ctx.Done():
	case <-receiving.Done():
	}
	return http.StatusServiceUnavailable
}
