package intake_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"parley/broker"
	"parley/channels"
	"parley/costs"
	"parley/gateway/commands"
	"parley/gateway/intake"
	"parley/gateway/policy"
	"parley/gateway/preferences"
	"parley/sessionkeys"
	"parley/sessions"
)

var errDown = errors.New("it does not answer")

// world is the log, the book, the desk's store and the counters of one intake.
type world struct {
	mu        sync.Mutex
	fail      string // the method that fails
	published []broker.Envelope
	dead      []broker.DeadLetter
	notices   []sessions.Outgoing
	requests  []sessions.Control
	signals   []string
	refused   []intake.Refusal
	seen      map[sessions.InboxID]bool
	counts    map[string]int
	limit     int  // bytes of a body; 0: any
	full      bool // the dead letters

	chats   map[string]sessions.Chat // by every id
	changes []string                 // of chats
	waiting int                      // messages in the mailbox
}

func (w *world) do(method string, f func()) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fail == method {
		return errDown
	}
	f()
	return nil
}

func (w *world) count(words ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts[strings.Join(words, " ")]++
}

func (w *world) Publish(_ context.Context, e broker.Envelope) (uint64, error) {
	if w.limit > 0 && len(e.Body) > w.limit {
		return 0, fmt.Errorf("publish: %w", broker.ErrTooLarge)
	}
	return 1, w.do("Publish", func() { w.published = append(w.published, e) })
}

func (w *world) DeadLetter(_ context.Context, d broker.DeadLetter) error {
	if w.limit > 0 && len(d.Body) > w.limit {
		return fmt.Errorf("dead letter: %w", broker.ErrTooLarge)
	}
	if w.full {
		return fmt.Errorf("dead letter: %w", broker.ErrFull)
	}
	return w.do("DeadLetter", func() { w.dead = append(w.dead, d) })
}

func (w *world) Last(context.Context, string) (uint64, error) { return 7, w.do("Last", func() {}) }

func (w *world) Signal(_ context.Context, s broker.Signal) error {
	return w.do("Signal", func() { w.signals = append(w.signals, s.Topic) })
}

func (w *world) known(e sessions.InboxID) bool {
	was := w.seen[e]
	w.seen[e] = true
	return was
}

func (w *world) Known(_ context.Context, es ...sessions.InboxID) (known []bool, err error) {
	return known, w.do("Known", func() {
		for _, e := range es {
			known = append(known, w.seen[e])
		}
	})
}

func (w *world) Notice(_ context.Context, e sessions.InboxID, rs []sessions.Outgoing, _ time.Time) (added bool, err error) {
	return added, w.do("Notice", func() {
		if added = !w.known(e); added {
			w.notices = append(w.notices, rs...)
		}
	})
}

func (w *world) Request(_ context.Context, c sessions.Control) (added bool, err error) {
	return added, w.do("Request", func() {
		if added = !w.known(c.Event); added {
			w.requests = append(w.requests, c)
		}
	})
}

func (w *world) Waiting(context.Context, string, uint64) (n int, err error) {
	return n, w.do("Waiting", func() { n = w.waiting })
}

func (w *world) Mailbox(context.Context, string) (sessions.Mailbox, error) {
	if w.waiting > 0 {
		return sessions.Mailbox{LastSeen: 9}, nil
	}
	return sessions.Mailbox{}, errors.Join(sessions.ErrNotFound, w.do("Mailbox", func() {}))
}

func (w *world) CountReceived(c string, dm bool)  { w.count("received", c, fmt.Sprint(dm)) }
func (w *world) CountIgnored(c, why string)       { w.count("ignored", c, why) }
func (w *world) CountDuplicate(c, why string)     { w.count("deduplicated", c, why) }
func (w *world) CountDeadLetter(c, reason string) { w.count("dead", c, reason) }
func (w *world) trace() int                       { return len(w.published) + len(w.notices) + len(w.requests) }

func (w *world) intake(a policy.Access) *intake.Intake {
	w.seen, w.counts = map[sessions.InboxID]bool{}, map[string]int{}
	now := func() time.Time { return time.Unix(1700000000, 0).UTC() }
	return &intake.Intake{
		Settings: intake.Settings{Sources: map[string]intake.Source{"tg": {Bound: policy.Bound{Agent: "main"}, Network: "telegram", Access: a}}},
		Log:      w, Store: w, Observer: w, Logger: slog.New(slog.DiscardHandler), Now: now,
		Refused:  func(_ context.Context, r intake.Refusal) { w.refused = append(w.refused, r) },
		Commands: &commands.Handler{Store: desk{world: w}, Now: now, Menu: func(string) preferences.Menu { return preferences.Menu{Own: "m"} }},
	}
}

// desk is the world as the desk sees it; nothing was said in it yet, so nobody
// asks the Reader that is not there.
type desk struct {
	*world
	commands.Reader
}

func (d desk) Mailbox(ctx context.Context, token string) (sessions.Mailbox, error) {
	if d.fail == "Mailbox" {
		return sessions.Mailbox{}, errDown
	}
	return d.world.Mailbox(ctx, token)
}

func (desk) Session(context.Context, sessionkeys.SessionID) (sessions.Session, error) {
	return sessions.Session{}, sessions.ErrNotFound
}

func (desk) Spent(context.Context, sessions.Scope, time.Time) (settled, held costs.Amount, err error) {
	return 0, 0, nil
}

const (
	ann     = "1001"
	ben     = "1002"
	kitchen = "-2001"
)

func dm(from, text string) channels.Message {
	return channels.Message{
		Event: "e1", Kind: channels.Said, Channel: "tg", MessageID: "m1", Text: text, Mentioned: true,
		Address: sessionkeys.Address{Channel: "telegram", Account: "42", Kind: sessionkeys.DM, Peer: from},
		Sender:  channels.Sender{ID: from, Name: "somebody"},
	}
}

func group(from, text string) channels.Message {
	m := dm(from, text)
	m.Address.Kind, m.Address.Peer = sessionkeys.Group, kitchen
	return m
}
