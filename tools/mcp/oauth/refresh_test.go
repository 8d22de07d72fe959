package oauth_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"parley/tools/mcp/mcptest"
)

// An authorization server gives a new token to who has asked for it, though that call is over by then:
// it takes the old one no more.
func TestATokenIsReplacedThoughItsCallIsOver(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.logIn()
	before, err := token(t, r.Client)
	if err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	asked, answer := make(chan struct{}), make(chan struct{})
	r.Spoil = func(what string, _ map[string]any) {
		if what == "token" {
			once.Do(func() { close(asked); <-answer })
		}
	}
	r.pass(mcptest.Lifetime)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	source, err := r.TokenSource(ctx)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() {
		_, err := source.Token()
		ended <- err
	}()
	<-asked
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the call that is over gets %v", err)
	}
	close(answer)
	r.Wait()
	after, err := token(t, r.Client)
	if err != nil || after == "" || after == before || r.Asked("refresh_token") != 1 {
		t.Errorf("then another token: %v, %v; asked %d times", after != "" && after != before, err, r.Asked("refresh_token"))
	}
}
