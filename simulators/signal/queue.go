package signal

import (
	"encoding/json"
	"slices"
)

// queue is what the service keeps for an account until a daemon acknowledges it.
type queue struct {
	waiting  []*item
	receiver *receiver // the one connection that is served
}

// item is an envelope in a queue.
type item struct {
	id     int64
	raw    json.RawMessage // a wireEntry
	source string          // ACI; empty for what has none
	files  []string        // ids of attachments
	entry  *EnvelopeEntry
	broken *wireException // cannot be decrypted
}

// about is where it was written, and by whom.
func (it *item) about() []string { return []string{it.entry.Group, it.source} }

// receiver is a connection over which a daemon receives.
type receiver struct {
	wake   chan struct{} // capacity 1
	ousted chan struct{} // closed when another connection wants its place
	done   chan struct{} // closed when it is over
	asked  bool          // ousted is closed
}

func newReceiver() *receiver {
	return &receiver{wake: make(chan struct{}, 1), ousted: make(chan struct{}), done: make(chan struct{})}
}

// oust asks the connection to end. The caller holds the lock.
func (r *receiver) oust() {
	if !r.asked {
		r.asked = true
		close(r.ousted)
	}
}

func (q *queue) signal() {
	if q.receiver != nil {
		select {
		case q.receiver.wake <- struct{}{}:
		default:
		}
	}
}

// put appends an envelope to an account's queue. The caller holds the lock.
func (s *Server) put(a *account, e wireEntry, files []string, entry EnvelopeEntry) Ref {
	raw, err := json.Marshal(e)
	if err != nil {
		panic("signal simulator: encode envelope: " + err.Error()) // own types only
	}
	return s.enqueue(a, raw, files, entry)
}

func (s *Server) enqueue(a *account, raw []byte, files []string, entry EnvelopeEntry) Ref {
	entry.ID, entry.Account, entry.Created = s.id(), a.ID(), s.opts.Now()
	s.books.totals.Envelopes++
	it := &item{id: entry.ID, raw: raw, source: entry.Source, files: files, entry: s.books.envelopes.Add(entry)}
	a.queue.waiting = append(a.queue.waiting, it)
	a.queue.signal()
	s.books.Notify()
	return Ref{Account: entry.Account, ID: entry.ID}
}

// next gives the envelope to hand out, or nil. Faults may shuffle what waits or
// leave a copy behind. The caller holds the lock.
func (s *Server) next(a *account) *item {
	q := &a.queue
	if len(q.waiting) == 0 {
		return nil
	}
	return q.waiting[0]
}

// noteAcked takes an envelope out of the queue. The caller holds the lock.
func (s *Server) noteAcked(a *account, id int64, process int) {
	i := slices.IndexFunc(a.queue.waiting, func(it *item) bool { return it.id == id })
	if i < 0 {
		return
	}
	it := a.queue.waiting[i]
	a.queue.waiting = slices.Delete(a.queue.waiting, i, i+1)
	it.entry.Acked, it.entry.Process = s.opts.Now(), process
	s.books.totals.Acked++
	if s.draw(a, onQueue, "", it.about(), Redelivered) != nil {
		// The service did not hear the acknowledgement.
		a.queue.waiting = append(a.queue.waiting, it)
		a.queue.signal()
	}
	s.books.Notify()
}
