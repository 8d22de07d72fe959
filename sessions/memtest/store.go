// Package memtest is the store of conversations written as plainly as it can
// be: maps under one lock. It is the executable specification of dispatch,
// turns, outbox and chats, fast enough for simulations of thousands of
// schedules, and held to sessiontest as the drivers are, so that it says the
// same as they. Nothing survives it. What operators ask and export (Survey,
// Queries, Recordings) it does not answer.
//
// One rule may be left out, see [Rule], to show that a test would notice.
package memtest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
)

// Rule is one rule of the protocol that a store can be made to forget.
type Rule string

// The rules that can be left out.
const (
	Every Rule = "" // none is left out

	EpochCheck   Rule = "epoch check"       // a write needs no more than a fence of the mailbox
	EpochGrows   Rule = "epoch grows"       // who takes a mailbox gets a higher epoch
	LeaseCheck   Rule = "lease check"       // a mailbox is taken from the dead only
	TakerCheck   Rule = "taker check"       // a mailbox is taken by the living only
	InboxDedupe  Rule = "inbox dedupe"      // an event makes one turn
	ReleaseCheck Rule = "release condition" // a mailbox that is owed work is not released
	OpenTurnOwed Rule = "open turn owed"    // an open turn is work that is owed
	AttemptCount Rule = "attempt count"     // taking work up counts an attempt
	BeginNote    Rule = "begin note"        // it is known that a tool had begun
	SendingMark  Rule = "outbox mark"       // a part moves from the state that it is in
	OutboxOrder  Rule = "outbox order"      // answers are pending in the order they were queued
)

// Store implements [sessions.Store], but for Survey, Queries and Recordings,
// which panic.
type Store struct {
	sessions.Survey
	sessions.Queries
	sessions.Recordings

	without Rule

	mu         sync.Mutex // guards all that follows
	generation string
	lost       int
	boxes      map[string]*box
	workers    map[sessions.Worker]*lease
	controls   []*control
	inbox      map[sessions.InboxID]inboxRow
	words      map[sessions.Wording]string // with an empty Sum
	turns      map[string]*turn
	sessions   map[sessionkeys.SessionID]*session
	begun      map[begun]sessions.Fence
	calls      map[string]*call
	ledger     []*call
	outbox     []*sessions.Delivery
	byID       map[string]*answer
	previews   map[string]string
	chats      chatBook
}

var _ sessions.Store = (*Store)(nil)

// New is an empty store without the given rule.
func New(without Rule) *Store {
	return &Store{
		without: without, boxes: map[string]*box{}, workers: map[sessions.Worker]*lease{}, inbox: map[sessions.InboxID]inboxRow{},
		words: map[sessions.Wording]string{}, turns: map[string]*turn{}, sessions: map[sessionkeys.SessionID]*session{},
		begun: map[begun]sessions.Fence{}, calls: map[string]*call{}, byID: map[string]*answer{}, previews: map[string]string{},
		chats: chatBook{shut: map[sessions.ChatID]*shutting{}},
	}
}

// Check implements [sessions.Store].
func (*Store) Check(context.Context) error { return nil }

// Probe implements [sessions.Store].
func (*Store) Probe(context.Context) error { return nil }

// Clock implements [sessions.Store].
func (*Store) Clock(context.Context) (time.Time, error) { return time.Now(), nil }

// Close implements [sessions.Store].
func (*Store) Close() error { return nil }

func (s *Store) obeys(r Rule) bool { return s.without != r }

// box is a mailbox. Its Turn and Controls are filled in when it is shown.
type box struct {
	sessions.Mailbox
	turn  *turn  // the open one
	last  string // nonce of who owned it last
	prior int64  // the epoch that it was reacquired from, else 0
	since int64  // µs: since when work is owed; higher is later
}

type lease struct {
	until time.Time
	gone  bool
}

type control struct {
	sessions.Control
	done bool
}

type inboxRow struct {
	token, turn string
	seq         uint64
	fence       sessions.Fence
}

type turn struct {
	sessions.Turn
	nested   bool
	ended    sessions.Fence // that ended it
	released bool           // what it was told
}

type session struct {
	sessions.Session
	messages []transcript.Message
	no       int // of making
}

type begun struct {
	turn string
	step int
	call string
}

// call is a reservation, and its entry when it was booked.
type call struct {
	costs.Reservation
	token, turn string
	session     sessionkeys.SessionID
	scopes      []sessions.Scope
	entry       *costs.Entry
}

type answer struct {
	*sessions.Delivery
	done bool
}

// stamp is t as a store keeps it.
func stamp(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}

// shown is the mailbox as its readers see it.
func (s *Store) shown(b *box) sessions.Mailbox {
	m := b.Mailbox
	m.Controls = s.pendingControls(b.Token)
	m.Turn = nil
	if b.turn != nil {
		t := b.turn.Turn
		m.Turn = &t
	}
	return m
}

func (s *Store) pendingControls(token string) (n int) {
	for _, c := range s.controls {
		if c.Token == token && !c.done {
			n++
		}
	}
	return n
}

// owed is whether there is work for an owner.
func (s *Store) owed(b *box) bool {
	return b.Touched > b.Read || b.turn != nil && s.obeys(OpenTurnOwed) || s.pendingControls(b.Token) > 0
}

// holds is the fence: who owns the mailbox, and under which epoch.
func (s *Store) holds(b *box, f sessions.Fence) bool {
	if b == nil || f.Nonce == "" {
		return false
	}
	return b.Owner.Nonce == f.Nonce && b.Epoch == f.Epoch || !s.obeys(EpochCheck)
}

// gaveUp is whether f was the last fence of a mailbox that nobody took since.
func gaveUp(b *box, f sessions.Fence) bool {
	return b != nil && f.Nonce != "" && b.Owner.Nonce == "" && b.last == f.Nonce && b.Epoch == f.Epoch
}

// owned is the mailbox that f holds, or ErrFenced.
func (s *Store) owned(f sessions.Fence) (*box, error) {
	b := s.boxes[f.Token]
	if !s.holds(b, f) {
		return nil, sessions.ErrFenced
	}
	return b, nil
}

func (b *box) giveUp() { b.last, b.Owner, b.prior = b.Owner.Nonce, sessions.Worker{}, 0 }

// attempt counts attempts of the work at the head, and of the open turn.
func (s *Store) attempt(b *box, n int) {
	if !s.obeys(AttemptCount) {
		n = 0
	}
	b.Attempts = max(0, b.Attempts+n)
	if b.turn != nil {
		b.turn.Attempts = max(0, b.turn.Attempts+n)
	}
}

// again is another epoch and another attempt.
func (s *Store) again(b *box) {
	if s.obeys(EpochGrows) {
		b.Epoch++
	}
	s.attempt(b, 1)
}

func (s *Store) take(b *box, w sessions.Worker) {
	b.Owner, b.prior = w, 0
	s.again(b)
}

// pass moves Read up to seq, and skip also begins with the attempts of what is
// at the head then.
func (b *box) pass(seq uint64) {
	if seq > b.Read {
		b.Read, b.Touched = seq, max(b.Touched, seq)
	}
}

func (b *box) skip(seq uint64) {
	if seq > b.Read {
		b.pass(seq)
		b.restart()
	}
}

func (b *box) restart() {
	if b.turn == nil {
		b.Attempts = 1
	}
}

func (s *Store) lives(w sessions.Worker, now time.Time) bool {
	l := s.workers[w]
	return l != nil && !l.gone && l.until.After(now)
}

func (s *Store) gone(w sessions.Worker) bool {
	l := s.workers[w]
	return l != nil && l.gone
}

// mailboxFor is the mailbox, made with a new session when there is none.
func (s *Store) mailboxFor(token string, key sessionkeys.Key, now time.Time) (*box, error) {
	if b := s.boxes[token]; b != nil {
		return b, nil
	}
	if token == "" || key.IsZero() {
		return nil, fmt.Errorf("a new mailbox needs a token and a key")
	}
	b := &box{Mailbox: sessions.Mailbox{Token: token, Key: key}}
	if _, child := key.Parent(); child {
		for id := range s.sessions {
			if id.MailboxToken() == token {
				b.Session = id
			}
		}
		if b.Session == "" {
			return nil, fmt.Errorf("a child's mailbox before the child was spawned: %w", sessions.ErrNotFound)
		}
	} else {
		b.Session = sessionkeys.NewSessionID(now)
		s.addSession(sessions.Session{ID: b.Session, Key: key, Root: b.Session, Role: "main", CreatedAt: now})
	}
	s.boxes[token] = b
	return b, nil
}

func (s *Store) addSession(x sessions.Session) {
	if s.sessions[x.ID] != nil {
		return
	}
	x.CreatedAt, x.UpdatedAt = stamp(x.CreatedAt), stamp(x.CreatedAt)
	s.sessions[x.ID] = &session{Session: x, no: len(s.sessions)}
}
