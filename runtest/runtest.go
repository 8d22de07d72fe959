// Package runtest runs servers, and all else that lives until its context ends, for as long as
// a test.
package runtest

import (
	"context"
	"errors"
	"sync"
	"testing"
)

// Server listens first, so that its address is known, and then runs; every simulator does.
type Server interface {
	Listen() error
	Run(ctx context.Context) error
}

// Serve has the servers listen, and runs them until the test ends. They are stopped together.
// The test fails when one cannot listen, or ends with an error.
func Serve(t testing.TB, servers ...Server) {
	t.Helper()
	for _, s := range servers {
		if err := s.Listen(); err != nil {
			t.Fatal(err)
		}
	}
	Start(t, "a server", func(ctx context.Context) error {
		var running sync.WaitGroup
		ended := make([]error, len(servers))
		for i, s := range servers {
			running.Go(func() { ended[i] = s.Run(ctx) })
		}
		running.Wait()
		return errors.Join(ended...)
	})
}

// Start calls run in the background. Its context ends when stop is called, at the latest when
// the test ends; stop returns when run has returned, and fails the test when run has failed. It
// does nothing the second time.
func Start(t testing.TB, name string, run func(ctx context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background()) // t.Context ends before what the test registered later is cleaned up
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("%s ended with: %v", name, err)
		}
	})
	t.Cleanup(stop)
	return stop
}
