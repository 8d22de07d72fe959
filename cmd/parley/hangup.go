package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// untilHangup returns a context that also ends when the terminal is gone: what is half
// written is taken away then. A command that nohup started goes on.
func untilHangup(ctx context.Context) (context.Context, context.CancelFunc) {
	if signal.Ignored(syscall.SIGHUP) {
		return ctx, func() {}
	}
	return signal.NotifyContext(ctx, syscall.SIGHUP)
}

// onHangup calls do at each SIGHUP, until end is called.
func onHangup(do func()) (end func()) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	done := make(chan struct{})
	var listening sync.WaitGroup
	listening.Go(func() {
		for {
			select {
			case <-hangups:
				do()
			case <-done:
				return
			}
		}
	})
	return func() {
		signal.Stop(hangups)
		close(done)
		listening.Wait()
	}
}
