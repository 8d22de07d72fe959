package signal

import (
	"context"
	"encoding/json"
	"net"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"parley/simulators/internal/stage"
)

// manager is one account in a daemon: who listens, and the thread that receives
// while somebody does.
type manager struct {
	d    *Daemon
	self Account

	mu      sync.Mutex // guards what follows
	strong  []*handler // they keep the thread alive
	weak    []*handler // they only hear what it gets
	cancel  context.CancelFunc
	done    chan struct{} // of the thread; nil when there is none
	last    chan struct{} // of the newest thread, which may be ending
	closed  bool
	showing sync.Mutex // handlers are called one after another; guards kept
	kept    []keptEvent
}

// handler hears what an account receives. Its write blocks the thread, as a slow
// client does in signal-cli; after an error it is not called again.
type handler struct {
	journal bool
	write   func(self Account, entry json.RawMessage) error
	// event is called instead of write where events have ids; nil: nowhere.
	event func(id string, entry json.RawMessage) error
	// cut ends a stream in the middle of the entry; nil: cannot be cut.
	cut func(entry json.RawMessage)
}

func newManager(d *Daemon, a Account) *manager { return &manager{d: d, self: a} }

// add begins to tell h; unless it is weak, the account receives from now on.
func (m *manager) add(h *handler, weak bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if weak {
		m.weak = append(m.weak, h)
		return
	}
	m.strong = append(m.strong, h)
	if m.done == nil && !m.closed {
		var ctx context.Context
		ctx, m.cancel = context.WithCancel(m.d.ctx)
		before, done := m.last, make(chan struct{})
		m.done, m.last = done, done
		m.d.wg.Go(func() {
			defer close(done)
			if before != nil {
				<-before // it may still be busy with an envelope
			}
			m.receiveAll(ctx)
		})
	}
}

// drop stops telling h. When nobody is left the account does not receive any more
// when it returns, unless it is called by the thread itself, which then ends.
func (m *manager) drop(h *handler, fromThread bool) {
	m.mu.Lock()
	gone := func(l []*handler) []*handler { return slices.DeleteFunc(l, func(o *handler) bool { return o == h }) }
	m.strong, m.weak = gone(m.strong), gone(m.weak)
	var wait chan struct{}
	if len(m.strong) == 0 && m.done != nil {
		m.cancel()
		wait, m.done = m.done, nil
	}
	m.mu.Unlock()
	if wait != nil && !fromThread {
		<-wait
	}
}

func (m *manager) close() {
	m.mu.Lock()
	m.closed = true
	if m.done != nil {
		m.cancel()
		m.done = nil
	}
	m.mu.Unlock()
}

func (m *manager) isReceiving() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.done != nil
}

// reconnect is the pause before the first new attempt to reach the service; it
// doubles up to its 512-fold, as signal-cli's does.
const reconnect = 100 * time.Millisecond

// receiveAll receives until ctx ends.
func (m *manager) receiveAll(ctx context.Context) {
	m.replay(ctx)
	for n := 0; ctx.Err() == nil; n = min(n+1, 9) {
		err := m.receive(ctx, func() { n = 0 })
		if ctx.Err() != nil {
			return
		}
		pause := reconnect << n
		m.d.log("WARN", "ReceiveHelper", "Connection closed unexpectedly, reconnecting in "+strconv.FormatInt(pause.Milliseconds(), 10)+" ms: "+errText(err))
		stage.Pause(pause, ctx, ctx)
	}
}

func errText(err error) string {
	if err == nil {
		return "end of stream"
	}
	return err.Error()
}

// receive takes envelopes from the service until ctx or the connection ends. each is
// called after one was handled.
func (m *manager) receive(ctx context.Context, each func()) error {
	l, err := m.d.link.open(ctx, "/link/queue", url.Values{"process": {strconv.Itoa(m.d.hello.Process)}, "account": {m.self.ID()}})
	if err != nil {
		return err
	}
	// Only the writing half is closed: the service reads to the end what was
	// acknowledged before it lets go, so nothing comes twice for no reason.
	var handling sync.Mutex // what is being handled is also reported
	stop := context.AfterFunc(ctx, func() {
		handling.Lock()
		defer handling.Unlock()
		_ = l.Conn.(*net.TCPConn).CloseWrite()
	})
	defer func() {
		stop()
		_ = l.Close()
	}()
	for {
		var h handOut
		if err := l.in.Decode(&h); err != nil {
			return err
		}
		if m.d.waitWhileHung(); ctx.Err() != nil {
			continue
		}
		// On disk first, then acknowledged: what dies here is replayed.
		c, err := m.d.dir.cache(m.self.ID(), h)
		if err != nil {
			m.d.log("ERROR", "ReceiveHelper", "Failed to store message, not acknowledged: "+err.Error())
			return err
		}
		handling.Lock()
		if err := l.out.Encode(handBack{Ack: h.ID}); err != nil {
			handling.Unlock()
			return err
		}
		m.handle(ctx, c, l)
		handling.Unlock()
		each()
	}
}

// replay handles what an earlier run left in the cache.
func (m *manager) replay(ctx context.Context) {
	left, err := m.d.dir.leftovers(m.self.ID())
	if err != nil {
		m.d.log("WARN", "MessageCache", err.Error())
	}
	for _, c := range left {
		c.Trouble = ""
		if c.Untrusted {
			yes, err := m.d.link.trusts(ctx, m.d.hello.Process, m.self.ID(), c.Source)
			if err != nil || !yes {
				continue
			}
			c.Untrusted = false
		}
		m.handle(ctx, c, nil)
	}
}

func (m *manager) forget(c *cachedEnvelope) {
	if err := c.remove(); err != nil {
		m.d.log("WARN", "MessageCache", err.Error())
	}
}

// handle decrypts an envelope, shows it and takes it out of the cache.
func (m *manager) handle(ctx context.Context, c *cachedEnvelope, l *lines) {
	m.d.debug("ReceiveHelper", "New message received from server")
	entry := m.decrypt(m.d.ctx, c)
	if c.Trouble == Busy {
		<-ctx.Done()
	}
	m.d.waitWhileHung()
	back := m.show(entry, c)
	if !c.Untrusted {
		m.forget(c)
	}
	back.Handled = c.ID
	if l != nil {
		_ = l.out.Encode(back) // for the books; a lost connection shows at the next read
	}
}

// withoutGUID is what releases before 0.14.5 make of what a sealed sender wrote
// (AsamK/signal-cli #2060 has the line).
var withoutGUID = wireException{Type: "NullPointerException", Message: "getServerGuid(...) must not be null"}

// decrypt gives the entry as it is shown: bare, with an exception, when it cannot be
// read.
func (m *manager) decrypt(ctx context.Context, c *cachedEnvelope) json.RawMessage {
	if c.Sealed && isOlder(m.d.hello.Version, 0, 14, 5) {
		return m.unsourced(c)
	}
	failure := c.Exception
	if failure == nil && c.Untrusted {
		failure = &wireException{Type: "UntrustedIdentityException", Message: "Untrusted identity: " + c.Source}
	}
	if failure == nil {
		m.download(ctx, c)
		return c.Entry
	}
	var e wireEntry
	if err := json.Unmarshal(c.Entry, &e); err != nil || e.Envelope == nil {
		return c.Entry // a raw one, shown as it is
	}
	full := e.Envelope
	e.Exception = failure
	e.Envelope = &wireEnvelope{
		Source: full.Source, SourceNumber: full.SourceNumber, SourceUUID: full.SourceUUID, SourceName: full.SourceName,
		SourceDevice: full.SourceDevice, Timestamp: full.Timestamp, ServerReceived: full.ServerReceived, ServerDelivered: full.ServerDelivered,
	}
	return mustJSON(e)
}

// unsourced returns an entry of which nothing could be read, not even who sent it.
func (m *manager) unsourced(c *cachedEnvelope) json.RawMessage {
	var e wireEntry
	if err := json.Unmarshal(c.Entry, &e); err != nil || e.Envelope == nil {
		return c.Entry
	}
	full := e.Envelope
	e.Exception = &withoutGUID
	e.Envelope = &wireEnvelope{Timestamp: full.Timestamp, ServerReceived: full.ServerReceived, ServerDelivered: full.ServerDelivered}
	return mustJSON(e)
}

// download puts the attachments into the folder. One that fails is missing there.
func (m *manager) download(ctx context.Context, c *cachedEnvelope) {
	if m.d.dir == nil {
		return
	}
	for _, id := range c.Files {
		if err := m.d.link.fetch(ctx, id, m.d.dir.attachment(id)); err != nil {
			m.d.log("WARN", "AttachmentHelper", "Failed to download attachment: "+err.Error())
		}
	}
}

// show tells every handler, one after another. One that fails is dropped: what it
// did not get it never gets.
func (m *manager) show(entry json.RawMessage, c *cachedEnvelope) handBack {
	m.showing.Lock()
	defer m.showing.Unlock()
	m.mu.Lock()
	all := slices.Concat(m.strong, m.weak)
	m.mu.Unlock()
	if m.d.ctx.Err() != nil {
		all = nil // who is told to end forgets whom to tell, and then waits for the thread
	}
	id := m.keep(entry)
	var back handBack
	for _, h := range all {
		if c.Trouble == StreamCut && h.cut != nil {
			h.cut(entry)
			m.drop(h, true)
			continue
		}
		err := h.call(m.self, id, entry)
		switch {
		case err == nil && h.journal && !m.d.o.NoReceiveStdout:
			back.Journal++
		case err == nil && !h.journal:
			back.Clients++
		case err != nil && h.journal:
			// Signal-cli goes on: the line is lost.
			m.d.log("ERROR", "ManagerImpl", "Message handler failed, ignoring: "+err.Error())
		case err != nil:
			m.drop(h, true)
		}
	}
	return back
}

func (h *handler) call(self Account, id string, entry json.RawMessage) error {
	if h.event != nil {
		return h.event(id, entry)
	}
	return h.write(self, entry)
}
