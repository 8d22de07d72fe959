package signal

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"parley/channels/internal/markup"
	"parley/channels/internal/receive"
)

// subscription is what signal-cli receives by. It runs with --receive-mode=manual, so
// that it takes messages from Signal only while a connection of ours is subscribed,
// and writes them to its standard output, the journal, whether it is or not. When the
// connection ends, because Receive does or because parley was killed, signal-cli
// finishes the message that it is busy with, writes it down and takes no other: its
// handler of standard output stays when the last subscriber goes
// (ManagerImpl.removeReceiveHandler). When signal-cli itself is told to end it forgets
// that handler first, and with it a message that it has confirmed already
// (ManagerImpl.close). So a subscription ends before signal-cli is told to.
//
// What the connection brings is dropped; it stands in the journal.
type subscription struct {
	o    Options
	loop receive.Loop // of the goroutine that subscribes

	mu      sync.Mutex // guards what is below
	readers int
	changed chan struct{} // closed when readers changes, and made anew
	ended   chan struct{} // closed while nothing is subscribed
}

func newSubscription(o Options, identity func() []any) *subscription {
	over := make(chan struct{})
	close(over)
	return &subscription{o: o, changed: make(chan struct{}), ended: over, loop: receive.NewLoop(receive.Config{
		Common: o.Common, Network: Network, Peer: "signal-cli", Identity: identity,
	})}
}

// acquire has signal-cli receive until end is called, which returns when the last message
// that it has confirmed is in the journal.
func (s *subscription) acquire() (end func()) {
	s.addReaders(1)
	return sync.OnceFunc(func() {
		s.addReaders(-1)
		s.mu.Lock()
		over := s.ended
		s.mu.Unlock()
		<-over
	})
}

func (s *subscription) addReaders(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers += n
	close(s.changed)
	s.changed = make(chan struct{})
}

// begin reports whether the journal has a reader. Then a subscription begins, which is to
// end when changed is closed and no reader is left.
func (s *subscription) begin() (wanted bool, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.readers > 0 {
		s.ended = make(chan struct{})
	}
	return s.readers > 0, s.changed
}

func (s *subscription) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.ended)
}

// run subscribes to the signal-cli at a socket whenever somebody reads the journal,
// until ctx ends. With the cause errNotReady it does not wait for an answer.
func (s *subscription) run(ctx context.Context, socket string) {
	for ctx.Err() == nil {
		wanted, changed := s.begin()
		if !wanted {
			select {
			case <-changed:
			case <-ctx.Done():
			}
			continue
		}
		err := s.subscribe(ctx, socket, changed)
		s.finish()
		s.loop.MarkDisconnected()
		if err != nil && ctx.Err() == nil {
			s.loop.BackOff(ctx, err)
		}
	}
}

var errNoSubscription = errors.New("signal-cli refuses to receive")

// subscribe is one subscription, until nobody wants it, ctx ends or it is cut off.
func (s *subscription) subscribe(ctx context.Context, socket string, changed <-chan struct{}) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("reach signal-cli: %w", err)
	}
	defer func() { _ = conn.Close() }()
	var calls ids
	first, text, err := calls.newRequest("subscribeReceive", nil)
	if err != nil {
		return err
	}
	_ = conn.SetDeadline(time.Now().Add(s.o.SendTimeout)) // until it is subscribed
	if _, err := conn.Write(text); err != nil {
		return fmt.Errorf("have signal-cli receive: %w", err)
	}
	in := bufio.NewReaderSize(conn, 64<<10)
	answer, err := awaitAnswer(in, first, int64(s.o.MaxLine))
	if err != nil {
		return fmt.Errorf("have signal-cli receive: %w", err)
	}
	var number int64
	if json.Unmarshal(answer, &number) != nil {
		return fmt.Errorf("%w: its answer is %s", errNoSubscription, markup.Brief(string(answer)))
	}
	_ = conn.SetDeadline(time.Time{})
	s.loop.MarkConnected()
	s.loop.ResetBackoff()

	last, text, err := calls.newRequest("unsubscribeReceive", map[string]any{"subscription": number})
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	var watching sync.WaitGroup
	defer watching.Wait()
	defer close(ended)
	watching.Go(func() {
		select {
		case <-ended:
			return
		case <-changed:
		case <-ctx.Done():
		}
		if errors.Is(context.Cause(ctx), errNotReady) {
			_ = conn.Close()
			return
		}
		_ = conn.SetDeadline(time.Now().Add(s.o.StopWithin))
		_, _ = conn.Write(text)
	})
	if _, err := awaitAnswer(in, last, int64(s.o.MaxLine)); err != nil {
		return fmt.Errorf("signal-cli receives no more: %w", err)
	}
	return nil
}

// awaitAnswer passes over lines to the answer of one call.
func awaitAnswer(in *bufio.Reader, id string, limit int64) (json.RawMessage, error) {
	for {
		text, _, err := readLine(in, limit)
		if errors.Is(err, errTooLarge) {
			continue // a message
		}
		if err != nil {
			return nil, err
		}
		var r response
		if isNotification(text) || json.Unmarshal(text, &r) != nil || r.Method != "" || !matchesID(r.ID, id) {
			continue
		}
		return r.outcome()
	}
}
