package wake_test

import (
	"testing"

	"parley/wake"
)

func TestSignal(t *testing.T) {
	t.Parallel()
	s := wake.New()
	s.Send()
	s.Send() // does not block
	<-s
	select {
	case <-s:
		t.Error("sent twice, it woke twice")
	default:
	}
	wake.Signal(nil).Send() // nobody waits
}
