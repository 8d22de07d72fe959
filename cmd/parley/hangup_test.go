package main

import (
	"os"
	"syscall"
	"testing"
)

// Not parallel: the signal is the whole process's.
func TestAHangupIsForWhoListens(t *testing.T) {
	heard := make(chan struct{})
	end := onHangup(func() { heard <- struct{}{} })
	for range 2 {
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		<-heard
	}
	end()
}
