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
	// With each file that is put, nats.go 1.55 starts this goroutine, and takes its channel away when
	// the file is stored (cleanupReplySub). A goroutine that starts later than that waits for ever.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect"))
}
