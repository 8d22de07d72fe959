// Package wake wakes a goroutine that waits for something to do.
package wake

// Signal says that there is something to do. Whoever waits receives from it, and then looks for
// all that there is: a signal that was not received yet stands for all that came meanwhile.
// Who receives from a nil one is never woken.
type Signal chan struct{}

// New returns a signal that nobody has sent yet.
func New() Signal { return make(Signal, 1) }

// Send sends the signal, unless one waits to be received. It never blocks, and may be called
// concurrently.
func (s Signal) Send() {
	select {
	case s <- struct{}{}:
	default:
	}
}
