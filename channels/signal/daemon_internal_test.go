package signal

import (
	"testing"
	"time"
)

// The last release waits for run under the lock: a signal-cli that answers for the first
// time in that moment must not wait for it.
func TestASignalCLIThatAnswersWhileParleyEndsHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	d := &daemon{answered: make(chan struct{})}
	d.mu.Lock()
	defer d.mu.Unlock()
	go d.noteStart()
	select {
	case <-d.answered:
	case <-time.After(time.Minute):
		t.Error("it waits for the lock that the last release holds")
	}
}
