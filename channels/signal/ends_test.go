package signal_test

import (
	"context"
	"fmt"
	"testing"

	"parley/channels"
	"parley/channels/signal"
	"parley/sessionkeys"
	sim "parley/simulators/signal"
)

// A gateway stops receiving before it stops sending: what is on its way then is
// not in doubt.
func TestReceivingMayEndWhileMessagesAreSent(t *testing.T) {
	r := newRig(t)
	ch := r.open(t)
	noError(t, r.Meet(ann))
	stop, sent := make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(sent)
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			to := sessionkeys.Address{Channel: signal.Network, Account: number, Kind: sessionkeys.DM, Peer: ann.ACI}
			if _, err := ch.Send(context.Background(), channels.Reply{To: to, Body: channels.Body{Text: fmt.Sprint("message ", n)}}); err != nil && len(sent) == 0 {
				sent <- err
			}
		}
	}()
	for round := range 20 {
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- ch.Receive(ctx, func(context.Context, channels.Message) error { return nil }) }()
		r.await(t, "messages to be sent", func(b sim.Book) bool { return b.Totals.Sent > 5*round })
		end()
		noError(t, <-ended)
	}
	close(stop)
	if err := <-sent; err != nil {
		t.Errorf("a send failed when Receive ended: %v", err)
	}
}
