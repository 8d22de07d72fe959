package llmtest

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"parley/llm"
)

func testSecrets(t *testing.T, a Adapter) {
	// everything is all that a log could show of an error.
	everything := func(e *llm.Error) string {
		s := fmt.Sprintf("%v %+v %#v %s", e, e, e, e.Message)
		for err := e.Err; err != nil; err = errors.Unwrap(err) {
			s += fmt.Sprintf(" %v %+v", err, err)
		}
		return s
	}
	echo := func(status int, media string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			said := r.Header.Get("X-Api-Key") + r.Header.Get("Authorization")
			if !strings.Contains(said, canary) {
				t.Errorf("the key did not arrive: %v", r.Header)
			}
			w.Header().Set("Content-Type", media)
			w.WriteHeader(status)
			send(w, strings.ReplaceAll(a.Wire.Refusal(llm.Auth, "bad key KEY"), "KEY", said))
		}
	}
	for name, answer := range map[string]http.HandlerFunc{
		"a refusal that repeats the key":      echo(http.StatusUnauthorized, "application/json"),
		"an answer with status 200 that does": echo(http.StatusOK, "application/json"),
		"an error event that repeats the key": serveEvents(a.Wire.Error(llm.Auth, "bad key "+canary)),
		"garbage that repeats the key":        serveEvents("event: message_start\ndata: {" + canary + "\n\n"),
		"an unknown beginning with the key":   serveEvents("event: x\ndata: {\"type\":\"" + canary + "\",\"choices\":\"" + canary + "\"}\n\n"),
		"a connection that breaks":            func(w http.ResponseWriter, _ *http.Request) { hangUp(t, w) },
		"a redirect that has the key in its place": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/"+canary, http.StatusTemporaryRedirect)
		},
	} {
		t.Run("does not get out: "+name, func(t *testing.T) {
			t.Parallel()
			o := ask(t.Context(), t, a.Open(t, serve(t, answer).endpoint()), helloRequest())
			if o.err == nil {
				t.Fatal("no error")
			}
			if s := everything(o.err); strings.Contains(s, canary) {
				t.Errorf("the key is in the error: %s", s)
			}
		})
	}
	t.Run("does not follow a redirect", func(t *testing.T) {
		t.Parallel()
		var reached atomic.Bool
		thief := serve(t, func(http.ResponseWriter, *http.Request) { reached.Store(true) })
		p := serve(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, thief.URL, http.StatusPermanentRedirect)
		})
		o := ask(t.Context(), t, a.Open(t, p.endpoint()), helloRequest())
		if o.err == nil || o.err.Kind != llm.Other || o.err.Retryable() {
			t.Errorf("%+v", o.err)
		}
		if reached.Load() {
			t.Error("the request went on to another server")
		}
	})
}
