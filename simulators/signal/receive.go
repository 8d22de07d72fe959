package signal

import (
	"encoding/json"
	"net"
	"net/http"
	"strconv"
)

// handOut is one line to a daemon that receives.
type handOut struct {
	ID        int64           `json:"id,omitempty"`
	Entry     json.RawMessage `json:"entry,omitempty"`
	Source    string          `json:"source,omitempty"`
	Files     []string        `json:"files,omitempty"`
	Exception *wireException  `json:"exception,omitempty"`
	Untrusted bool            `json:"untrusted,omitempty"`
	// Sealed: only who decrypts it knows who sent it, and the service put no GUID on it.
	Sealed  bool    `json:"sealed,omitempty"`
	Trouble Trouble `json:"trouble,omitempty"`
}

// handBack is one line from a daemon that receives.
type handBack struct {
	Ack     int64 `json:"ack,omitempty"`
	Handled int64 `json:"handled,omitempty"`
	Journal int   `json:"journal,omitempty"`
	Clients int   `json:"clients,omitempty"`
}

// serveQueue hands an account's envelopes out, each after the one before it was
// acknowledged.
func (s *daemons) serveQueue(w http.ResponseWriter, r *http.Request) {
	s.links.Add(1)
	defer s.links.Done()
	n, _ := strconv.Atoi(r.URL.Query().Get("process"))
	s.mu.Lock()
	p, a, err := s.caller(n, r.URL.Query().Get("account"))
	if err == nil && a == nil {
		err = errNoAccount
	}
	s.mu.Unlock()
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	l, err := takeOver(w)
	if err != nil {
		return
	}
	defer func() { _ = l.Close() }()
	rec := newReceiver()
	if !s.succeed(a, rec) {
		return
	}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if a.queue.receiver == rec {
			a.queue.receiver = nil
		}
		close(rec.done)
		s.books.Notify()
	}()
	acked, closed := make(chan struct{}, 1), make(chan struct{})
	s.links.Go(func() {
		defer close(closed)
		for {
			var b handBack
			if l.in.Decode(&b) != nil {
				return
			}
			if b.Handled != 0 {
				s.noteHandled(b)
				continue
			}
			s.mu.Lock()
			s.noteAcked(a, b.Ack, p.n)
			s.mu.Unlock()
			select {
			case acked <- struct{}{}:
			default:
			}
		}
	})
	s.handAll(l, p, a, rec, acked, closed)
	// What it has acknowledged counts, also when it was killed right after.
	if c, ok := l.Conn.(*net.TCPConn); ok {
		_ = c.CloseWrite()
	}
	select {
	case <-closed:
	case <-p.life.Done():
	}
}

// succeed takes the place of the connection that was served so far, once that has
// said everything. It is false when the server ends meanwhile.
func (s *daemons) succeed(a *account, rec *receiver) bool {
	for {
		s.mu.Lock()
		old := a.queue.receiver
		if old == nil {
			a.queue.receiver = rec
			s.books.Notify()
			s.mu.Unlock()
			return true
		}
		old.oust()
		s.mu.Unlock()
		select {
		case <-old.done:
		case <-s.stop.Done():
			return false
		}
	}
}

func (s *daemons) handAll(l *lines, p *process, a *account, rec *receiver, acked, closed <-chan struct{}) {
	for {
		s.mu.Lock()
		out := s.handOut(p, a)
		s.mu.Unlock()
		if out == nil {
			select {
			case <-rec.wake:
				continue
			case <-closed:
			case <-rec.ousted:
			case <-p.life.Done():
			}
			return
		}
		if l.out.Encode(out) != nil {
			return
		}
		select {
		case <-acked:
		case <-closed:
			return
		case <-rec.ousted:
			return
		case <-p.life.Done():
			return
		}
	}
}

// handOut makes the line for the next envelope, or nil. The caller holds the lock.
func (s *daemons) handOut(p *process, a *account) *handOut {
	if len(a.queue.waiting) == 0 {
		return nil
	}
	it := a.queue.waiting[0]
	it.entry.Handed++
	out := &handOut{ID: it.id, Entry: it.raw, Source: it.source, Files: it.files, Exception: it.broken}
	if it.broken == nil && s.draw(a, onQueue, "", it.about(), Broken) != nil {
		it.broken = undecryptable()
		out.Exception = it.broken
	}
	out.Untrusted = !s.trusts(p, a, it.source)
	out.Sealed = s.isSealed(it)
	if f := s.draw(a, onShow, "", it.about()); f != nil {
		out.Trouble = f.Trouble
	}
	s.books.Notify()
	return out
}

// isSealed reports whether an envelope hides its sender and has no GUID, as all do but
// those of people who are not sealed senders. The caller holds the lock.
func (s *chats) isSealed(it *item) bool {
	who := s.known[it.source]
	return !s.opts.ServerGUID && it.entry.Kind != "raw" && (who == nil || !who.Unsealed)
}

func undecryptable() *wireException {
	return &wireException{
		Type:    "ProtocolInvalidMessageException",
		Message: "org.signal.libsignal.protocol.InvalidMessageException: invalid Whisper message: decryption failed",
	}
}

// trusts reports whether the account takes the sender's key, and remembers the first
// that it sees. The caller holds the lock.
func (s *chats) trusts(p *process, a *account, aci string) bool {
	who := s.known[aci]
	if who == nil {
		return true
	}
	key, known := a.trusts[aci]
	if !known && p.trust != "never" || p.trust == "always" {
		a.trusts[aci] = who.key
		return true
	}
	return known && key == who.key
}

// noteHandled books what a daemon did with an envelope.
func (s *daemons) noteHandled(b handBack) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.books.totals.Handled++
	if e := s.books.envelope(b.Handled); e != nil {
		e.Journal += b.Journal
		e.Clients += b.Clients
	}
	s.books.Notify()
}
