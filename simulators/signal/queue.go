package signal

import (
	"encoding/json"
	"slices"

	"parley/simulators/internal/stage"
)

// queues are the accounts, and what the service keeps for each until a daemon
// acknowledges it.
type queues struct {
	*world
	accounts []*account // in the order of Options.Accounts
}

// account is a number with what the service keeps for it.
type account struct {
	Account
	queue   queue
	trusts  map[string]int // the key of each person, by ACI, that the account has seen
	limited *limit         // until a challenge is solved
}

// account finds an account by number or ACI; empty is the first. The caller holds
// the lock.
func (s *queues) account(id string) *account {
	if id == "" {
		return s.accounts[0]
	}
	for _, a := range s.accounts {
		if a.Number == id || a.ACI == id {
			return a
		}
	}
	return nil
}

// registered is the account of that number or ACI, which people need for what they do.
func (s *queues) registered(id string) *account {
	a := s.account(id)
	if a == nil {
		panic(stage.Forbid("%w: %q", errNoAccount, id))
	}
	return a
}

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

// about returns where it was written, and by whom.
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

// mustJSON encodes types of this package, which cannot fail.
func mustJSON(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic("signal simulator: encode: " + err.Error())
	}
	return raw
}

// put appends an envelope to an account's queue. The caller holds the lock.
func (s *queues) put(a *account, e wireEntry, files []string, entry EnvelopeEntry) Ref {
	return s.enqueue(a, mustJSON(e), files, entry)
}

func (s *queues) enqueue(a *account, raw []byte, files []string, entry EnvelopeEntry) Ref {
	entry.ID, entry.Account, entry.Created = s.id(), a.ID(), s.opts.Now()
	s.books.totals.Envelopes++
	it := &item{id: entry.ID, raw: raw, source: entry.Source, files: files, entry: s.books.envelopes.Add(entry)}
	a.queue.waiting = append(a.queue.waiting, it)
	a.queue.signal()
	s.books.Notify()
	return Ref{Account: entry.Account, ID: entry.ID}
}

// noteAcked takes an envelope out of the queue. The caller holds the lock.
func (s *daemons) noteAcked(a *account, id int64, process int) {
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
