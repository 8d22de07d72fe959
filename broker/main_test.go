package broker

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain is the child of the kill test, when told so.
func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		os.Exit(publishUntilKilled(dir))
	}
	goleak.VerifyTestMain(m)
}
