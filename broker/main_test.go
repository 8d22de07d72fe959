package broker

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain is the child of the kill tests, when told so.
func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := child(dir); err != nil {
			fmt.Fprintln(os.Stderr, "child:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// Of the children, which are this binary: the race detector would keep each
	// for a second longer after its end.
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	// nats.go begins it with each file that is put, and after a small one has set the channel to
	// nil by the time it looks, now and then: it waits for ever (v1.55, cleanupReplySub).
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect"))
}
