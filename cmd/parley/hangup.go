package main

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
)

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
