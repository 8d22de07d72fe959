package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"regexp"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"parley/channels"
	"parley/channels/internal/markup"
	"parley/channels/internal/receive"
	"parley/pause"
)

const (
	maxEnvelope = 4 << 20         // bytes; a longer one is cut
	ackTimeout  = 5 * time.Second // to write one
	steady      = 10 * time.Second
)

var (
	errHelloTimeout = errors.New("no hello in time")
	errNoHello      = errors.New("the WebSocket did not begin with a hello")
	errNoSocket     = errors.New("the answer names no WebSocket")
)

// socket is one WebSocket. One goroutine reads; acknowledgements are written by
// whoever has one.
type socket struct {
	conn   *websocket.Conn
	opened time.Time

	writing sync.Mutex
	unacked sync.WaitGroup // events of it of which it is not known whether they are taken

	mu    sync.Mutex
	until time.Time // when reading ends whatever comes; zero: it goes on
}

// frame is what comes on a WebSocket.
type frame struct {
	Type       string          `json:"type"`
	EnvelopeID string          `json:"envelope_id"`
	Payload    json.RawMessage `json:"payload"`
	Reason     string          `json:"reason"` // disconnect
}

// takeEnvelopes keeps a WebSocket open until ctx ends. When Slack announces that
// it will close one, the next is opened first, and read when the old one brings
// nothing more: several that are read at once would mix up the order.
func (r *receiver) takeEnvelopes(ctx context.Context) error {
	var next *socket
	hasty := receive.Pauses(r.o.Common) // connections in a row that ended at once
	wait := time.Duration(0)
	for ctx.Err() == nil {
		if next == nil {
			err := r.RetryUntilFatal(ctx, func(ctx context.Context) (err error) {
				next, err = r.connect(ctx)
				return err
			})
			if err != nil {
				return err
			}
			if ctx.Err() != nil {
				break
			}
		}
		now := next
		r.MarkConnected()
		var err error
		next, err = r.readSocket(ctx, now, wait)
		if r.o.Now().Sub(now.opened) > steady {
			hasty.Reset()
		}
		wait = hasty.Next()
		if next == nil && ctx.Err() == nil {
			r.MarkDisconnected()
			r.o.Log.Info("slack connection closed", "error", err)
			_ = pause.For(ctx, wait)
		}
	}
	if next != nil {
		_ = next.conn.Close()
	}
	return nil
}

// connect opens a WebSocket and waits for the hello.
func (r *receiver) connect(ctx context.Context) (*socket, error) {
	var address string
	result, err := r.call(ctx, openMethod, "", func(ctx context.Context) error {
		_, _, err := r.api.StartSocketModeContext(ctx)
		return err
	})
	if err != nil {
		return nil, withTokenHint(err, "app_token")
	}
	var opened struct {
		URL string `json:"url"`
	}
	if err := json.Unmarshal(result, &opened); err == nil {
		address = opened.URL
	}
	// The address holds a ticket: no error may quote it.
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "ws" && u.Scheme != "wss" || u.Host == "" {
		return nil, fmt.Errorf("%s: %w", openMethod, errNoSocket)
	}
	dialing, cancel := context.WithTimeoutCause(ctx, r.o.HelloTimeout, errHelloTimeout)
	defer cancel()
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		return r.way.Dial(ctx, u, network, addr)
	}
	d := websocket.Dialer{NetDialContext: dial, HandshakeTimeout: r.o.HelloTimeout}
	conn, resp, err := d.DialContext(dialing, address, nil)
	if resp != nil {
		_ = resp.Body.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("open a WebSocket to slack: %w", r.http.CleanError(err))
	}
	s := &socket{conn: conn, opened: r.o.Now()}
	s.keepAlive(r.o.IdleTimeout)
	stop := context.AfterFunc(dialing, func() { s.endReading(atOnce) })
	raw, _, err := s.readMessage()
	if !stop() || err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("open a WebSocket to slack: %w", errors.Join(context.Cause(dialing), err))
	}
	var f frame
	if json.Unmarshal(raw, &f) != nil || f.Type != "hello" {
		_ = conn.Close()
		if f.Type == "disconnect" {
			return nil, fmt.Errorf("open a WebSocket to slack: %w: %s", errNoHello, markup.Brief(f.Reason))
		}
		return nil, fmt.Errorf("open a WebSocket to slack: %w", errNoHello)
	}
	return s, nil
}

// keepAlive gives the connection up when nothing comes, Slack's pings included.
func (s *socket) keepAlive(idle time.Duration) {
	s.extendDeadline(idle)
	s.conn.SetPingHandler(func(data string) error {
		s.extendDeadline(idle)
		err := s.conn.WriteControl(websocket.PongMessage, []byte(data), time.Now().Add(ackTimeout))
		if errors.Is(err, websocket.ErrCloseSent) {
			return nil
		}
		return err
	})
}

// extendDeadline lets a read wait for as long, unless the end of reading is fixed.
func (s *socket) extendDeadline(idle time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.until.IsZero() {
		_ = s.conn.SetReadDeadline(time.Now().Add(idle))
	}
}

// endReading fixes when reading ends. What was read can still be acknowledged.
func (s *socket) endReading(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.until.IsZero() || at.Before(s.until) {
		s.until = at
		_ = s.conn.SetReadDeadline(at)
	}
}

// atOnce ends a read that waits.
var atOnce = time.Unix(1, 0)

// readMessage reads one message; of one that is too long the beginning.
func (s *socket) readMessage() (raw []byte, whole bool, err error) {
	_, reader, err := s.conn.NextReader()
	if err != nil {
		return nil, false, err
	}
	raw, err = io.ReadAll(io.LimitReader(reader, maxEnvelope))
	if err != nil {
		return nil, false, err
	}
	rest, err := io.Copy(io.Discard, reader)
	return raw, rest == 0, err
}

// readSocket brings what comes on now into the queue until the connection ends. When
// Slack announced the end it returns the connection that takes its place.
func (r *receiver) readSocket(ctx context.Context, now *socket, wait time.Duration) (*socket, error) {
	reading, stopReading := context.WithCancel(ctx)
	defer stopReading()
	defer context.AfterFunc(ctx, func() { now.endReading(atOnce) })()
	var opening chan *socket
	var last error
	for ctx.Err() == nil {
		raw, whole, err := now.readMessage()
		if err != nil {
			last = err
			break
		}
		now.extendDeadline(r.o.IdleTimeout)
		if !r.takeFrame(now, raw, whole) || opening != nil {
			continue
		}
		opening = make(chan *socket, 1)
		go func() {
			opening <- r.openReplacement(reading, wait)
			now.endReading(time.Now().Add(r.o.DrainTimeout))
		}()
	}
	var next *socket
	if opening != nil {
		next = <-opening
	}
	r.drain(now)
	return next, last
}

// openReplacement opens the connection that follows one whose end was announced; nil
// when that fails, which is then for the one who opens the next. Of connections
// that end at once each is opened only after a wait.
func (r *receiver) openReplacement(ctx context.Context, wait time.Duration) *socket {
	_ = pause.For(ctx, wait)
	s, err := r.connect(ctx)
	if err != nil {
		if ctx.Err() == nil {
			r.o.Log.Warn("next slack connection not opened", "error", err)
		}
		return nil
	}
	return s
}

// drain closes a connection when the events that it brought are acknowledged,
// or after the drain time: Slack brings again what was not.
func (r *receiver) drain(s *socket) {
	settled := make(chan struct{})
	r.queue.Go(func(context.Context) {
		s.unacked.Wait()
		close(settled)
	})
	r.queue.Go(func(context.Context) {
		t := time.NewTimer(r.o.DrainTimeout)
		defer t.Stop()
		select {
		case <-settled:
		case <-t.C:
		}
		_ = s.conn.Close()
	})
}

// takeFrame takes one message of the WebSocket. It is true when the connection is to
// be replaced.
func (r *receiver) takeFrame(s *socket, raw []byte, whole bool) (replace bool) {
	var f frame
	if !whole || json.Unmarshal(raw, &f) != nil {
		f = frame{EnvelopeID: findEnvelopeID(raw)}
		r.enqueue(s, f, r.garbledEvent(raw))
		return false
	}
	switch {
	case f.EnvelopeID != "":
		r.enqueue(s, f, r.decode(f.Type, f.Payload))
	case f.Type == "disconnect":
		if f.Reason == "link_disabled" {
			r.o.Log.Error("socket mode switched off for this slack app; switch it on again, or use mode events")
		} else {
			r.o.Log.Debug("slack announced to close the connection", "reason", markup.Brief(f.Reason))
		}
		return f.Reason != "link_disabled"
	case f.Type == "hello":
	default:
		r.o.Log.Debug("socket frame without an envelope", "type", markup.Brief(f.Type))
	}
	return false
}

// enqueue puts an event into the queue; it is acknowledged when it was taken.
func (r *receiver) enqueue(s *socket, f frame, e event) {
	if e.lane == ownLane { // our own post: there is nothing to take
		s.ack(r, f.EnvelopeID)
		return
	}
	s.unacked.Add(1)
	r.queue.Push(e.lane, e, func(taken bool) {
		if taken {
			s.ack(r, f.EnvelopeID)
		}
		s.unacked.Done()
	})
}

// ack tells Slack that an envelope was taken. When that cannot be said Slack
// brings the event again, and it is known.
func (s *socket) ack(r *receiver, envelope string) {
	if envelope == "" {
		return
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	_ = s.conn.SetWriteDeadline(time.Now().Add(ackTimeout))
	if err := s.conn.WriteJSON(map[string]string{"envelope_id": envelope}); err != nil {
		r.o.Log.Debug("envelope not acknowledged, slack will send it again", "error", err)
	}
}

var envelopeID = regexp.MustCompile(`"envelope_id"\s*:\s*"([0-9A-Za-z_.:-]{1,128})"`)

// findEnvelopeID finds the id of an envelope that is no JSON, or too long.
func findEnvelopeID(raw []byte) string {
	if m := envelopeID.FindSubmatch(raw); m != nil {
		return string(m[1])
	}
	return ""
}

// maxGarbled is how much is kept of an event that cannot be read, in bytes.
const maxGarbled = 32 << 10

// garbledEvent makes an event of what is no JSON.
func (r *receiver) garbledEvent(raw []byte) event {
	kept, _ := json.Marshal(map[string]string{"garbled": string(raw[:min(len(raw), maxGarbled)])})
	return event{message: channels.Message{
		Event: hashID(envelopeID.ReplaceAll(raw, nil)), Kind: channels.Unreadable, Channel: r.o.Name, ReceivedAt: r.o.Now(),
		Problem: "what slack sent is not JSON, or too long", Raw: kept,
	}}
}
