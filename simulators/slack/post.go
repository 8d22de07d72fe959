package slack

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// maxPosts is how many posts to one app are under way at once.
const maxPosts = 100

// Sign makes the headers with which Slack signs a body that it posts at a time.
func Sign(secret string, at time.Time, body []byte) http.Header {
	ts := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("v0:" + ts + ":"))
	mac.Write(body)
	h := http.Header{}
	h.Set("X-Slack-Request-Timestamp", ts)
	h.Set("X-Slack-Signature", "v0="+hex.EncodeToString(mac.Sum(nil)))
	return h
}

// post sends an attempt to the app's URL. The caller holds the lock.
func (s *events) post(t *attempt, f *Fault) {
	d, e := t.delivery, t.entry()
	trouble := f.trouble()
	if trouble == Dropped {
		e.Problem = "connection_failed"
		s.failAttempt(t, "connection_failed")
		return
	}
	to, body, kind := d.app.RequestURL, []byte(d.payload), "application/json"
	switch d.envelope {
	case "interactive":
		to = d.app.InteractivityURL
		body, kind = []byte(url.Values{"payload": {string(d.payload)}}.Encode()), "application/x-www-form-urlencoded"
	case "slash_commands":
		to = d.app.CommandURL
		body, kind = []byte(asForm(d.payload)), "application/x-www-form-urlencoded"
	}
	h := Sign(d.app.SigningSecret, s.opts.Now(), body)
	h.Set("Content-Type", kind)
	h.Set("User-Agent", "Slackbot 1.0 (+https://api.slack.com/robots)")
	if e.Retry > 0 {
		h.Set("X-Slack-Retry-Num", strconv.Itoa(e.Retry))
		h.Set("X-Slack-Retry-Reason", e.Reason)
	}
	posting := d.app.posting
	s.books.totals.Delivered++
	s.workers.Go(func() {
		select {
		case posting <- struct{}{}:
			defer func() { <-posting }()
		case <-s.stop.Done():
			return
		}
		a := s.ask(to, h, body)
		if trouble == LostAck || trouble == Ambiguous {
			a.status, a.problem = 0, "http_timeout"
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.notePosted(t, a)
	})
}

// notePosted books the answer to an attempt. The caller holds the lock.
func (s *events) notePosted(t *attempt, a reply) {
	d, e := t.delivery, t.entry()
	e.Status, e.Problem = a.status, a.problem
	if a.problem != "" {
		if a.noRetry {
			d.tries = len(s.opts.Retries) + 1
		}
		s.failAttempt(t, a.problem)
		return
	}
	e.Acknowledged = s.opts.Now()
	s.noteAcknowledged(d)
	s.books.Notify()
}

// reply is what an app answered to a post.
type reply struct {
	status  int
	noRetry bool
	problem string // the retry reason, when it counts as failed
}

// ask posts and waits for the answer, at most as long as Slack does.
func (s *events) ask(to string, h http.Header, body []byte) reply {
	ctx := s.stop
	if s.opts.AckTimeout > 0 {
		c, cancel := context.WithTimeout(ctx, s.opts.AckTimeout)
		defer cancel()
		ctx = c
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return reply{problem: "connection_failed"}
	}
	q.Header = h
	res, err := s.client.Do(q)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return reply{problem: "http_timeout"}
		}
		return reply{problem: "connection_failed"}
	}
	defer func() { _ = res.Body.Close() }()
	_, err = io.Copy(io.Discard, io.LimitReader(res.Body, 1<<20))
	out := reply{status: res.StatusCode, noRetry: res.Header.Get("X-Slack-No-Retry") == "1"}
	switch {
	case err != nil && errors.Is(err, context.DeadlineExceeded):
		out.problem = "http_timeout"
	case err != nil || res.StatusCode/100 != 2:
		out.problem = "http_error"
	}
	return out
}
