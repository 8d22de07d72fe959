package sessions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/transcript"
)

// Journal is one open turn's side of a store, a root's or a nested one's: what
// the turn does is committed under its owner's fence, and charged to its
// session and to Scopes. What was committed is also kept here, so that a history
// is read from the store once and not for each model call. One goroutine uses it
// at a time.
type Journal struct {
	Store   JournalStore
	Fence   Fence
	Turn    string
	Session sessionkeys.SessionID
	// Scopes returns what a reservation at that time counts for; nil: nothing.
	Scopes func(ctx context.Context, at time.Time) ([]Scope, error)
	Now    func() time.Time // when reservations are made
	// Suffices reports whether a turn can do without the first messages of a history, which
	// are zero there; nil: it needs all.
	Suffices func(history []transcript.Message, first int) bool

	history Passage
	known   bool    // history is what the store holds
	earlier Passage // history as the worker read it last; zero: it never did

	// open opens the turn, which is not open yet; nil: it is. opening is the message that
	// comes behind the history then.
	open    func(context.Context, *OpeningCall) error
	opening transcript.Message

	used       int64 // tokens of the turn's calls, if booksKnown
	booksKnown bool
	usedBooked map[string]bool      // the entries that are counted in used
	toolTries  map[costs.CallID]int // tries of calls of tools, by their first
}

// JournalStore is the part of a store that a Journal writes to.
type JournalStore interface {
	Turns
	Money
	Session(ctx context.Context, id sessionkeys.SessionID) (Session, error)
}

// Passage is a session's history from some message on. Those before are zero messages, so that
// each stands at its place: it is by its place that overlays and people name it.
type Passage struct {
	Messages []transcript.Message
	First    int // how many are zero
}

// SetHistory tells what the store holds of the session, which belongs to the journal
// from now on.
func (j *Journal) SetHistory(p Passage) { j.history, j.known = p, true }

// SetEarlier tells what the store held of the session when it was read last, which belongs to
// the journal from now on: Messages reads what was added since, when that is how the history
// still begins.
func (j *Journal) SetEarlier(p Passage) { j.earlier = p }

// SetOpening tells that the turn is not open yet: open opens it with the message m, and with
// a call reserved in the same commit when it is given one. The journal calls it with its first
// commit, until it has returned nil once; any other error ends that commit, and is returned by
// it. The history of SetHistory holds m already.
//
// So what a turn does before its first model call costs no commit, and is lost without a trace
// when the process dies: nothing that others see may come of it.
func (j *Journal) SetOpening(m transcript.Message, open func(context.Context, *OpeningCall) error) {
	j.opening, j.open = m, open
}

// ensureOpen opens the turn if it is not, with its first call unless that is nil. After an error
// it is still to be opened.
func (j *Journal) ensureOpen(ctx context.Context, call *OpeningCall) error {
	if j.open == nil {
		return nil
	}
	err := j.open(ctx, call)
	if err == nil {
		j.open = nil
	}
	return err
}

// History returns what the store holds, as far as the journal has seen it.
func (j *Journal) History() (Passage, bool) { return j.history, j.known }

// Messages returns the history so far, oldest first. Of a long one the first messages may be
// zero, where Suffices allows it. It is not to be changed.
func (j *Journal) Messages(ctx context.Context) ([]transcript.Message, error) {
	if !j.known {
		p, err := j.readHistory(ctx)
		if err != nil {
			return nil, err
		}
		if j.open != nil {
			p.Messages = append(p.Messages, j.opening)
		}
		j.SetHistory(p)
	}
	return slices.Clip(j.history.Messages), nil
}

// WholeHistory is Messages with the first ones, too.
func (j *Journal) WholeHistory(ctx context.Context) ([]transcript.Message, error) {
	ms, err := j.Messages(ctx)
	if err != nil || j.history.First == 0 {
		return ms, err
	}
	whole, err := j.readBefore(ctx, slices.Clone(ms), j.history.First, func([]transcript.Message, int) bool { return false })
	if err != nil {
		return nil, err
	}
	j.SetHistory(whole)
	return slices.Clip(whole.Messages), nil
}

// messagesAtOnce is how many messages are read at a time of those that were added, and the first
// time from the end; then up to mostAtOnce. longHistory is how many are too many to read all.
const (
	messagesAtOnce = 256
	mostAtOnce     = 4 * messagesAtOnce
	longHistory    = 2 * messagesAtOnce
)

// readEnd reads the messages of a long history from the end, as many as suffice; ok is false where
// the history is to be read otherwise.
func (j *Journal) readEnd(ctx context.Context) (p Passage, ok bool, err error) {
	if j.Suffices == nil {
		return p, false, nil
	}
	s, err := j.Store.Session(ctx, j.Session)
	if err != nil || s.Messages < longHistory {
		return p, false, err
	}
	all := make([]transcript.Message, s.Messages, s.Messages+messagesAtOnce)
	p, err = j.readBefore(ctx, all, s.Messages, j.Suffices)
	if errors.Is(err, errHistory) {
		return p, false, nil
	}
	return p, err == nil, err
}

// errHistory means that a store counts other messages than it returns, as of what was deleted.
var errHistory = errors.New("the messages of the session are not those that are counted")

// readBefore reads the messages before number first into all, the newest ones first, until they
// are enough.
func (j *Journal) readBefore(ctx context.Context, all []transcript.Message, first int, enough func([]transcript.Message, int) bool) (Passage, error) {
	for n := messagesAtOnce; first > 0 && !enough(all, first); n = min(2*n, mostAtOnce) {
		from := max(first-n, 0)
		ms, err := j.Store.MessagesAfter(ctx, j.Session, from, first-from)
		if err != nil {
			return Passage{}, err
		}
		if len(ms) != first-from {
			return Passage{}, fmt.Errorf("%w: %d of %d from number %d on", errHistory, len(ms), first-from, from+1)
		}
		copy(all[from:], ms)
		first = from
	}
	return Passage{all, first}, nil
}

// readHistory reads what the store holds: behind what was there earlier, or all of it. Messages
// are only ever added, and none has the id of another: a history with the last message of the
// earlier one in its place begins as that did.
func (j *Journal) readHistory(ctx context.Context) (Passage, error) {
	all, first := j.earlier.Messages, j.earlier.First
	j.earlier = Passage{}
	for n := len(all) - 1; n >= 0; {
		ms, err := j.Store.MessagesAfter(ctx, j.Session, n, messagesAtOnce)
		if err != nil {
			return Passage{}, err
		}
		isLast := len(ms) < messagesAtOnce
		if n < len(all) {
			if len(ms) == 0 || ms[0].ID != all[n].ID {
				break
			}
			ms, n = ms[1:], n+1 // all[n] is not written over: the turn before may still read it
		}
		all, n = append(all, ms...), n+len(ms)
		if isLast {
			return Passage{all, first}, nil
		}
	}
	if p, ok, err := j.readEnd(ctx); ok || err != nil {
		return p, err
	}
	ms, err := j.Store.Messages(ctx, j.Session)
	return Passage{Messages: ms}, err
}

// noteCommit takes ms into the history when err is nil. After an error nobody
// knows what the store holds, until it is read again.
func (j *Journal) noteCommit(err error, ms []transcript.Message) error {
	if err != nil {
		j.history, j.known = Passage{}, false
		return err
	}
	if j.known {
		j.history.Messages = append(j.history.Messages, ms...)
	}
	return nil
}

// Append calls [Turns].Append.
func (j *Journal) Append(ctx context.Context, ms ...transcript.Message) error {
	if err := j.ensureOpen(ctx, nil); err != nil {
		return err
	}
	return j.noteCommit(j.Store.Append(ctx, j.Fence, j.Turn, ms...), ms)
}

// Join calls [Turns].Join. It fills in o.Turn.
func (j *Journal) Join(ctx context.Context, o JoinTurn) (bool, error) {
	if err := j.ensureOpen(ctx, nil); err != nil {
		return false, err
	}
	o.Turn = j.Turn
	joined, err := j.Store.Join(ctx, j.Fence, o)
	if _, some := errors.AsType[*KnownError](err); some || err == nil && !joined {
		return false, err // nothing was written
	}
	return joined, j.noteCommit(err, []transcript.Message{o.Message})
}

// Skip calls [Turns].Skip, for what stands behind the turn's own message: of a turn that was not
// open yet, that one would be passed over too.
func (j *Journal) Skip(ctx context.Context, seq uint64) error {
	if err := j.ensureOpen(ctx, nil); err != nil {
		return err
	}
	return j.Store.Skip(ctx, j.Fence, seq)
}

// Used returns how many tokens the turn's own model calls took, those of earlier takes
// included. It reads the session's ledger once.
func (j *Journal) Used(ctx context.Context) (int64, error) {
	if err := j.readBooks(ctx); err != nil {
		return 0, err
	}
	return j.used, nil
}

// readBooks reads what the ledger has of the turn, once. Reservations of earlier takes are
// in it: Resume has booked them.
func (j *Journal) readBooks(ctx context.Context) error {
	if j.booksKnown {
		return nil
	}
	j.used, j.usedBooked, j.toolTries = 0, map[string]bool{}, map[costs.CallID]int{}
	err := j.Store.Ledger(ctx, j.Session, func(_ sessionkeys.SessionID, e costs.Entry) bool {
		j.countUsed(e)
		if e.Call.Turn == j.Turn && e.Call.Purpose == costs.Tool {
			j.toolTries[firstTry(e.Call)]++
		}
		return true
	})
	j.booksKnown = err == nil
	return err
}

// firstTry returns the first try of the call of a tool that c is one of.
func firstTry(c costs.CallID) costs.CallID {
	c.Attempt = costs.ToolAttempt(c.ToolIndex(), 1)
	return c
}

// countUsed counts an entry of the turn, once. A title is found beside the turn and booked
// when it is there, so it is none of it.
func (j *Journal) countUsed(e costs.Entry) {
	if j.usedBooked != nil && e.Call.Turn == j.Turn && e.Call.Purpose != costs.Title && !j.usedBooked[e.ID] {
		j.usedBooked[e.ID] = true
		j.used += e.Usage.Total()
	}
}

// Begin calls [Turns].Begin.
func (j *Journal) Begin(ctx context.Context, step int, callID string) (bool, error) {
	if err := j.ensureOpen(ctx, nil); err != nil {
		return false, err
	}
	return j.Store.Begin(ctx, j.Fence, j.Turn, step, callID)
}

// Reserve is [Turns].Reserve for a call that is about to be made, with what the
// model is asked.
func (j *Journal) Reserve(ctx context.Context, e costs.Estimate, a transcript.RequestRecord) (costs.Reservation, error) {
	return j.reserve(ctx, e, &a)
}

// ReserveTool is [Turns].Reserve for a call of a tool that is about to run, which stands at
// that place of its answer, from 0. It numbers the attempt, and reads the session's ledger
// once for that: tries of earlier takes have numbers of their own.
func (j *Journal) ReserveTool(ctx context.Context, e costs.Estimate, index int) (costs.Reservation, error) {
	if err := j.readBooks(ctx); err != nil {
		return costs.Reservation{}, err
	}
	e.Call.Attempt = costs.ToolAttempt(index, 1)
	first := e.Call
	e.Call.Attempt = costs.ToolAttempt(index, j.toolTries[first]+1)
	r, err := j.reserve(ctx, e, nil)
	if err == nil {
		j.toolTries[first]++
	}
	return r, err
}

func (j *Journal) reserve(ctx context.Context, e costs.Estimate, asked *transcript.RequestRecord) (costs.Reservation, error) {
	r := costs.Reservation{ID: e.Call.String(), Estimate: e, At: j.Now()}
	c := Charge{Session: j.Session, Turn: j.Turn, Request: asked}
	if j.Scopes != nil {
		var err error
		if c.Scopes, err = j.Scopes(ctx, r.At); err != nil {
			return r, err
		}
	}
	if j.open != nil {
		return r, j.ensureOpen(ctx, &OpeningCall{Charge: c, Reservation: r})
	}
	return r, j.Store.Reserve(ctx, j.Fence, c, r)
}

// Settle calls [Turns].Settle.
func (j *Journal) Settle(ctx context.Context, s costs.Settlement, ms ...transcript.Message) error {
	err := j.noteCommit(j.Store.Settle(ctx, j.Fence, s, ms...), ms)
	if err == nil {
		j.countUsed(s.Entry)
	}
	return err
}

// End calls [Turns].Finish. It fills in e.Turn.
func (j *Journal) End(ctx context.Context, e FinishTurn) (Finished, error) {
	if err := j.ensureOpen(ctx, nil); err != nil {
		return Finished{}, err
	}
	e.Turn = j.Turn
	f, err := j.Store.Finish(ctx, j.Fence, e)
	return f, j.noteCommit(err, e.Messages)
}
