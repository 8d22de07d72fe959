package wire_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"parley/llm"
	"parley/llm/anthropic"
	"parley/llm/openai"
	"parley/simulators/model"
)

// Each protocol asks for a model by a request that is on no bill, and tells a bad key from a model
// that is not there and from a server that has no list.
func TestPing(t *testing.T) {
	t.Parallel()
	sim := model.New(model.Options{Keys: []string{"key-1"}, Models: []string{"model-1", "x/model-2"}})
	served := httptest.NewServer(sim.Handler())
	t.Cleanup(served.Close)
	listless := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(listless.Close)
	dial := map[string]func(base, key, name string) (llm.Model, error){
		"anthropic": func(base, key, name string) (llm.Model, error) {
			return anthropic.New(anthropic.Options{Provider: "p", Model: name, APIKey: key, BaseURL: base})
		},
		"openai": func(base, key, name string) (llm.Model, error) {
			return openai.New(openai.Options{Provider: "p", Model: name, APIKey: key, BaseURL: base + "/v1"})
		},
		"openai-responses": func(base, key, name string) (llm.Model, error) {
			return openai.NewResponses(openai.Options{Provider: "p", Model: name, APIKey: key, BaseURL: base + "/v1"})
		},
	}
	for protocol, open := range dial {
		ping := func(base, key, name string) (llm.Pong, *llm.Error) {
			t.Helper()
			m, err := open(base, key, name)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			pong, err := m.(llm.Pinger).Ping(ctx)
			e, _ := errors.AsType[*llm.Error](err)
			if (err == nil) != (e == nil) || e != nil && strings.Contains(e.Error(), "key-") {
				t.Errorf("%s: the error %v", protocol, err)
			}
			return pong, e
		}
		pong, e := ping(served.URL, "key-1", "model-1")
		if e != nil || !pong.Listed || time.Since(pong.Clock).Abs() > time.Hour || pong.Took <= 0 {
			t.Errorf("%s: %+v, %v", protocol, pong, e)
		}
		if _, e := ping(served.URL, "key-2", "model-1"); e == nil || e.Kind != llm.Auth {
			t.Errorf("%s with a wrong key: %v", protocol, e)
		}
		pong, e = ping(served.URL, "key-1", "model-9")
		if pong.Listed || e != nil && e.Status != http.StatusNotFound || e == nil && protocol == "anthropic" {
			t.Errorf("%s of a model that is not there: %+v, %v", protocol, pong, e)
		}
		if _, e := ping(listless.URL, "key-1", "model-1"); e == nil || e.Status != http.StatusNotFound {
			t.Errorf("%s at a server without a list: %v", protocol, e)
		}
		if _, e := ping("http://127.0.0.1:1", "key-1", "model-1"); e == nil || e.Kind != llm.Network {
			t.Errorf("%s where nobody is: %v", protocol, e)
		}
	}
	if bill := sim.Bill(); len(bill.Entries) != 0 {
		t.Errorf("billed were %+v", bill)
	}
}
