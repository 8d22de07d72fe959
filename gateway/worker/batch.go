package worker

import (
	"slices"
	"strings"
	"time"

	"parley/channels"
	"parley/gateway/attachments"
	"parley/gateway/messages"
	"parley/gateway/policy"
	"parley/sessions"
)

// batch is the messages of a mailbox that become one turn, or join one
// together: the head, what belongs to it, and edits of them, whose newest text
// counts.
type batch struct {
	rules   policy.Waiting
	items   []item             // messages with their newest text, in order
	starts  []int              // where in items something begins that is said by itself; an album or a paste is one
	events  []sessions.InboxID // of all that was taken, edits too
	through uint64             // everything up to here was taken, or was known
	edits   int                // edits that were taken, up to through
	closed  bool               // no piece can belong to it any more
	broken  bool               // something else came, behind which nothing may follow
}

// selectBatch takes from items, which begin with the head, what becomes one turn with
// it. Events that are known already are passed over.
func selectBatch(items []item, known []sessions.InboxID, rules policy.Waiting) batch {
	b := batch{rules: rules}
	var last channels.Message // of the same sender
	bytes := 0
	add := func(it item, begins bool) {
		bytes += it.msg.TextSize()
		last = it.msg
		if slices.Contains(b.events, messages.Inbox(it.msg)) { // a second copy
			return
		}
		if begins {
			b.starts = append(b.starts, len(b.items))
		}
		b.items = append(b.items, it)
		b.events = append(b.events, messages.Inbox(it.msg))
	}
	for i, it := range items {
		taken := false
		switch {
		case it.err != nil:
		case slices.Contains(known, messages.Inbox(it.msg)):
			taken = true
		case i == 0:
			taken = true
			add(it, true)
		case len(b.items) == 0: // the head cannot be read
		case !b.isFull(bytes+it.msg.TextSize()) && messages.Joins(last, it.msg):
			taken = true
			add(it, false)
		case !b.broken && b.hasRoom(bytes+it.msg.TextSize()) && rules.Follows(b.items[0].msg, last, it.msg):
			taken = true
			add(it, true)
		case it.msg.Kind == channels.Edited:
			if taken = b.amend(it.msg); taken && !b.broken {
				b.edits++
			}
		case it.msg.Sender.ID == last.Sender.ID:
			b.closed = true
			if last.Album == "" { // a text goes on in the very next message
				last = channels.Message{Sender: last.Sender}
			}
		}
		b.broken = b.broken || !taken
		if !b.broken {
			b.through = it.e.Seq
		}
		if _, ok := it.command(); ok || it.msg.Job != "" { // it stands alone, and what comes later may be of another session
			b.closed, b.broken = true, true
			break
		}
	}
	return b
}

// utterance returns the messages that are said as one, number i.
func (b *batch) utterance(i int) []item {
	end := len(b.items)
	if i+1 < len(b.starts) {
		end = b.starts[i+1]
	}
	return b.items[b.starts[i]:end]
}

// isFull reports whether no further piece, with which there were so many bytes, can
// belong to the last utterance.
func (b *batch) isFull(bytes int) bool {
	u := b.utterance(len(b.starts) - 1)
	if u[0].msg.Album != "" {
		return len(u) >= maxAlbum
	}
	return len(u) >= maxPaste || bytes > messages.MaxText
}

// hasRoom reports whether a further utterance, with which there were so many bytes,
// fits.
func (b *batch) hasRoom(bytes int) bool {
	return len(b.starts) < maxCollected && bytes <= messages.MaxText
}

// amend gives a message of the batch the text of its edit; false when it is of
// another message.
func (b *batch) amend(edit channels.Message) bool {
	for i, it := range b.items {
		if it.msg.MessageID == edit.MessageID && it.msg.Sender.ID == edit.Sender.ID {
			b.items[i].msg.Text, b.items[i].msg.Attachments, b.items[i].msg.Forwarded = edit.Text, edit.Attachments, edit.Forwarded
			b.items[i].msg.Mentioned = it.msg.Mentioned || edit.Mentioned
			b.items[i].msg.Heard = append(slices.Clip(it.msg.Heard), edit.Heard...)
			b.items[i].msg.Partial = false
			b.events = append(b.events, messages.Inbox(edit))
			return true
		}
	}
	return false
}

// joinDelay returns how long to wait for more that belongs to b.
func (b *batch) joinDelay(now time.Time) time.Duration {
	if len(b.items) == 0 {
		return 0
	}
	return max(b.piecesDelay(now), b.debounceDelay(now))
}

func (b *batch) piecesDelay(now time.Time) time.Duration {
	u := b.utterance(len(b.starts) - 1)
	first, last := u[0].msg, u[len(u)-1].msg
	idle, maybe := messages.JoinWindow(last)
	if b.closed || !maybe || b.isFull(len(b.text())) {
		return 0
	}
	d := min(last.ReceivedAt.Add(idle).Sub(now), idle)
	return min(d, first.ReceivedAt.Add(longestGather).Sub(now))
}

func (b *batch) debounceDelay(now time.Time) time.Duration {
	if b.broken || !b.hasRoom(len(b.text())) {
		return 0
	}
	return b.rules.DebounceDelay(b.items[0].msg, b.items[len(b.items)-1].msg, now)
}

func (b *batch) text() string { return textOf(b.items) }

func textOf(items []item) string {
	var texts []string
	for _, it := range items {
		if it.msg.Text != "" {
			texts = append(texts, it.msg.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// mention returns the message by which the bot is addressed; false: by none.
func (b *batch) mention() (channels.Message, bool) {
	for _, it := range b.items {
		if messages.ForBot(it.msg) {
			return it.msg, true
		}
	}
	return channels.Message{}, false
}

// correctionOf returns what stands before the new text of a message.
func correctionOf(m channels.Message) string {
	if m.Completing {
		return completed
	}
	return corrected
}

// mergeItems returns an utterance as one message.
func mergeItems(items []item) channels.Message {
	m := items[0].msg
	m.Text, m.Attachments, m.Forwarded, m.Heard = textOf(items), nil, nil, nil
	for _, it := range items {
		m.Heard = append(m.Heard, it.msg.Heard...)
		m.Forwarded = append(m.Forwarded, it.msg.Forwarded...)
		if m.ReplyTo == nil {
			m.ReplyTo = it.msg.ReplyTo
		}
	}
	return m
}

// attachedFiles returns the files that came with each utterance.
func (b *batch) attachedFiles() (all [][]attachments.File) {
	for i := range b.starts {
		var fs []attachments.File
		for _, it := range b.utterance(i) {
			in := it.msg.Address
			if it.msg.Origin != "" {
				in.Peer = it.msg.Origin
			}
			if it.msg.Around != "" && !slices.ContainsFunc(fs, func(f attachments.File) bool { return f.Kind == channels.Around }) {
				around := channels.Attachment{Kind: channels.Around, Ref: it.msg.Around}
				fs = append(fs, attachments.File{Channel: it.msg.Channel, In: in, Message: it.msg.MessageID, Attachment: around})
			}
			for _, a := range it.msg.Attachments {
				fs = append(fs, attachments.File{Channel: it.msg.Channel, In: in, Message: it.msg.MessageID, Attachment: a})
			}
		}
		all = append(all, fs)
	}
	return all
}

func (b *batch) textHashes() (ws []sessions.TextHash) {
	for _, it := range b.items {
		if it.msg.MessageID != "" { // else nobody can edit it
			ws = append(ws, messages.HashText(it.msg))
		}
	}
	return ws
}
