package signal

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"parley/simulators/internal/stage"
)

// Book is what happened. The entries of each list stand in the order in which they
// came to be; times are the server's.
type Book struct {
	// Envelopes is what was put into the accounts' queues.
	Envelopes []EnvelopeEntry `json:"envelopes"`
	// Messages is what accounts wrote, as people see it.
	Messages []MessageEntry `json:"messages"`
	Calls    []CallEntry    `json:"calls"`
	Signals  []SignEntry    `json:"signals"`
	Daemons  []DaemonEntry  `json:"daemons"`
	Totals   Totals         `json:"totals"`
	// Pending is how much waits in each account's queue.
	Pending map[string]int `json:"pending"`
	// Receiving tells for each account whether a daemon receives.
	Receiving map[string]bool `json:"receiving"`
}

// Totals count everything since the beginning; no bound applies.
type Totals struct {
	Envelopes int `json:"envelopes"`
	Acked     int `json:"acked"`
	// Handled counts envelopes that a daemon was done with and lived to say so: one that
	// died in between is not counted, nor what the next one replays for it.
	Handled int `json:"handled"`
	Sent    int `json:"sent"`
	Edited  int `json:"edited"`
	Deleted int `json:"deleted"`
	// StrayEdits counts edits of messages that nobody has: people see nothing.
	StrayEdits int `json:"stray_edits"`
	// StrayReactions counts reactions that change nothing that people see: to what
	// nobody has, or taken away where none is.
	StrayReactions int `json:"stray_reactions"`
	Calls          int `json:"calls"`
	Refused        int `json:"refused"`
	Faults         int `json:"faults"`
	// Unconfirmed counts calls that were applied although the caller got no
	// usable answer.
	Unconfirmed int `json:"unconfirmed"`
	// Forgotten counts entries that fell out of the bounded lists, Missed
	// happenings that a slow watcher did not get.
	Forgotten int `json:"forgotten"`
	Missed    int `json:"missed"`
}

// EnvelopeEntry is one envelope for one account.
type EnvelopeEntry struct {
	Account string `json:"account"`
	ID      int64  `json:"id"`
	// Kind is message, edit, delete, sticker, reaction, typing, receipt, timer,
	// group, story, call, sync, echo, raw or broken.
	Kind string `json:"kind"`
	// Group is the group's id; empty: the direct conversation with Source.
	Group     string `json:"group,omitempty"`
	Source    string `json:"source,omitempty"` // ACI
	Timestamp int64  `json:"timestamp,omitempty"`
	// Target is the timestamp of the message that an edit, a deletion or a
	// reaction is about.
	Target  int64     `json:"target,omitempty"`
	Text    string    `json:"text,omitempty"`
	Created time.Time `json:"created"`
	// Handed counts how often a daemon got it.
	Handed int `json:"handed"`
	// Acked is zero until a daemon had it on its disk; Process is which.
	Acked   time.Time `json:"acked,omitzero"`
	Process int       `json:"process,omitempty"`
	// Journal counts the lines of standard output that it became, Clients the
	// connections that it was written to without an error.
	Journal int `json:"journal"`
	Clients int `json:"clients"`
}

// MessageEntry is one message of an account in one chat, with all its versions.
type MessageEntry struct {
	Account string `json:"account"`
	// Chat is the group's id, or the ACI of the person.
	Chat string `json:"chat"`
	// Timestamp is the message's id, that of its first version.
	Timestamp int64     `json:"timestamp"`
	Quote     *Quote    `json:"quote,omitempty"`
	ExpiresIn int       `json:"expires_in,omitempty"` // seconds
	Versions  []Version `json:"versions"`
	// Results has for each recipient, by ACI or number, SUCCESS or what failed.
	// Only they who have SUCCESS see it.
	Results map[string]string `json:"results"`
	// Process is the daemon that sent it.
	Process int `json:"process"`
	// Unconfirmed: it was sent or edited, but the answer never reached the
	// client in usable form.
	Unconfirmed bool      `json:"unconfirmed,omitempty"`
	Deleted     time.Time `json:"deleted,omitzero"`
}

// Text returns the latest version of the message.
func (m MessageEntry) Text() string { return m.Versions[len(m.Versions)-1].Text }

// Version is a message as it stood from At on.
type Version struct {
	Timestamp   int64            `json:"timestamp"`
	Text        string           `json:"text"`
	Styles      []Style          `json:"styles,omitempty"`
	Mentions    []MentionEntry   `json:"mentions,omitempty"`
	Attachments []AttachmentSent `json:"attachments,omitempty"`
	// LongText: the text travelled as a file, being longer than 2000 bytes.
	LongText bool      `json:"long_text,omitempty"`
	At       time.Time `json:"at"`
}

// MentionEntry is a range of an account's text that stands for somebody.
type MentionEntry struct {
	ACI    string `json:"aci"`
	Start  int    `json:"start"`
	Length int    `json:"length"`
}

// AttachmentSent is a file that an account sent.
type AttachmentSent struct {
	ContentType string `json:"content_type"`
	Filename    string `json:"filename,omitempty"`
	Size        int64  `json:"size"`
	SHA256      string `json:"sha256"`
}

// CallEntry is one call of a method.
type CallEntry struct {
	Account   string `json:"account,omitempty"`
	Process   int    `json:"process"`
	Transport string `json:"transport"` // http, tcp, unix
	Method    string `json:"method"`
	// Chats are group ids, ACIs and numbers that it was meant for.
	Chats []string `json:"chats,omitempty"`
	// Code and Message are the error's; 0 is success.
	Code    int           `json:"code"`
	Message string        `json:"message,omitempty"`
	Fault   Trouble       `json:"fault,omitempty"`
	At      time.Time     `json:"at"`
	Took    time.Duration `json:"took_ns"`
}

// SignEntry is something an account showed that is not a message.
type SignEntry struct {
	Account string `json:"account"`
	Kind    string `json:"kind"` // typing, typing_stopped, reaction, reaction_removed, receipt
	Chat    string `json:"chat"`
	// Author and Target are the message that a reaction or a receipt is about.
	Author  string    `json:"author,omitempty"`
	Target  int64     `json:"target,omitempty"`
	Text    string    `json:"text,omitempty"` // the emoji, or read or viewed
	Process int       `json:"process"`
	At      time.Time `json:"at"`
}

// DaemonEntry is one run of a daemon.
type DaemonEntry struct {
	Process  int       `json:"process"`
	PID      int       `json:"pid"`
	Accounts []string  `json:"accounts"`
	Mode     string    `json:"mode"`
	Started  time.Time `json:"started"`
	Ended    time.Time `json:"ended,omitzero"`
	// Killed: the simulator ended it, by Kill or by a fault.
	Killed bool `json:"killed,omitempty"`
}

type books struct {
	*stage.Change
	envelopes stage.Shelf[EnvelopeEntry]
	messages  stage.Shelf[MessageEntry]
	calls     stage.Shelf[CallEntry]
	signs     stage.Shelf[SignEntry]
	daemons   stage.Shelf[DaemonEntry]
	totals    Totals
}

func newBooks(keep int, c *stage.Change) *books {
	b := &books{Change: c}
	stage.Bind(keep, &b.totals.Forgotten, &b.envelopes, &b.messages, &b.calls, &b.signs, &b.daemons)
	return b
}

// book takes a snapshot. The caller holds the lock.
func (s *Server) book() Book {
	b := Book{
		Envelopes: s.books.envelopes.Copy(), Messages: s.books.messages.Copy(), Calls: s.books.calls.Copy(),
		Signals: s.books.signs.Copy(), Daemons: s.books.daemons.Copy(),
		Totals: s.books.totals, Pending: map[string]int{}, Receiving: map[string]bool{},
	}
	for i := range b.Messages {
		b.Messages[i].Versions = slices.Clip(b.Messages[i].Versions)
		b.Messages[i].Results = maps.Clone(b.Messages[i].Results)
	}
	for _, a := range s.accounts {
		b.Pending[a.ID()] = len(a.queue.waiting)
		b.Receiving[a.ID()] = a.queue.receiver != nil
	}
	return b
}

// envelope finds an entry by its id, which grows along the list.
func (b *books) envelope(id int64) *EnvelopeEntry {
	items := b.envelopes.Items()
	i, ok := slices.BinarySearchFunc(items, id, func(e *EnvelopeEntry, id int64) int { return cmp.Compare(e.ID, id) })
	if !ok {
		return nil
	}
	return items[i]
}
