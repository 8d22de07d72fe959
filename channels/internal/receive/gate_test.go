package receive_test

import (
	"context"
	"testing"
	"testing/synctest"

	"parley/channels/internal/receive"
)

func TestGate(t *testing.T) {
	t.Parallel()
	t.Run("lets requests in between Open and Close, which waits for those inside", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			var g receive.Gate[string]
			if r, _, _ := g.Enter(); r != nil {
				t.Error("a request came in before Open")
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			us := "us"
			g.Open(ctx, &us)
			r, receiving, leave := g.Enter()
			if r != &us || receiving != ctx {
				t.Errorf("a request is given %v, %v", r, receiving)
			}
			closed := false
			go func() {
				g.Close()
				closed = true
			}()
			synctest.Wait()
			if closed {
				t.Error("Close did not wait for the request")
			}
			if r, _, _ := g.Enter(); r != nil {
				t.Error("a request came in after Close")
			}
			leave()
			synctest.Wait()
			if !closed {
				t.Error("Close still waits")
			}
		})
	})
}
