package slack_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"parley/channels"
	"parley/channels/slack"
	sim "parley/simulators/slack"
)

func TestS25_AFileThatMayNotBeReadIsAClearError(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	x := r.run(t, func(o *slack.Options) {
		o.HTTPClient = &http.Client{Transport: signIn{}}
	})
	r.say(t, r.dm(t, ann), ann, "a file", sim.SayOptions{Files: []sim.File{{Name: "a.txt", Mimetype: "text/plain", Data: []byte("content"), External: true}}})
	m := x.said()
	var b strings.Builder
	err := x.Fetch(t.Context(), m.Address, m.Attachments[0], &b)
	if kindOf(err) != channels.Unauthorized || !strings.Contains(err.Error(), "files:read") || b.Len() != 0 {
		t.Errorf("Fetch gave %q, %v", b.String(), err)
	}
}

// signIn answers downloads with the page for signing in.
type signIn struct{}

func (signIn) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodGet {
		return &http.Response{
			StatusCode: http.StatusOK, Status: "200 OK", Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}},
			Body: io.NopCloser(strings.NewReader("<!doctype html><title>Sign in</title>")), Request: req,
		}, nil
	}
	return http.DefaultTransport.RoundTrip(req)
}

func kindOf(err error) channels.ErrorKind {
	if e, ok := err.(*channels.Error); ok { //nolint:errorlint // the adapter's own
		return e.Kind
	}
	return ""
}
