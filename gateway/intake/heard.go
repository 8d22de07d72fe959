package intake

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/channels"
	"parley/gateway/messages"
	"parley/sessionkeys"
)

// What a group said, and not to the bot, is kept where the operator wants it
// (Source.GroupContext), to come with the next question there as words of others. It
// stands in the memory of this process alone, and a restart forgets it; what came with
// a question is part of the message that is queued, and reads the same for ever.
const (
	heardFor      = 6 * time.Hour
	mostHeard     = 8 << 10 // bytes of one conversation
	mostHeardText = 1000    // bytes of a message
	mostHeardAll  = 4 << 20 // bytes of all conversations, with what it takes to keep them
	heardOverhead = 256     // bytes that a word or a conversation takes beside its text
	sweepEvery    = time.Minute
)

// overheard keeps the words of groups. The zero value has none. Its methods may be
// called concurrently.
type overheard struct {
	mu    sync.Mutex // guards what is below
	chats map[spot]*talk
	bytes int // of all chats
	seq   uint64
	swept time.Time
}

// spot is a conversation of a group.
type spot struct{ channel, peer, thread string }

func spotOf(m channels.Message) spot {
	return spot{m.Channel, m.Address.Peer, m.Address.Thread}
}

// bytes are what the name of a conversation takes.
func (s spot) bytes() int { return heardOverhead + len(s.channel) + len(s.peer) + len(s.thread) }

// talk is what was said in one conversation, oldest first.
type talk struct {
	words []word
	asked stamp // of the question that came last
	last  time.Time
}

// word is one message.
type word struct {
	seq   uint64
	quote channels.Quote
	stamp stamp
	until time.Time
}

// bytes are what w takes.
func (w word) bytes() int {
	q := w.quote
	return heardOverhead + len(q.Text) + len(q.MessageID) + len(q.Author.ID) + len(q.Author.Name) + len(w.stamp.album)
}

// names reports whether m is another state of the message: of the same sender, or taken
// back by somebody who may.
func (w word) names(m channels.Message) bool {
	return w.quote.MessageID == m.MessageID && (w.quote.Author.ID == m.Sender.ID || m.Kind == channels.Deleted)
}

// stamp is what of a message tells whether another one goes on from it.
type stamp struct {
	sender, album  string
	long           bool
	received, sent time.Time
}

func stampOf(m channels.Message) stamp {
	return stamp{m.Sender.ID, m.Album, messages.Long(m), m.ReceivedAt, m.SentAt}
}

// goesOn reports whether m is of the same album or text.
func (s stamp) goesOn(m channels.Message) bool {
	return s.sender != "" && messages.JoinsKnown(s.message(m.Channel), s.long, m)
}

// message is the message as far as [messages.JoinsKnown] looks at it.
func (s stamp) message(channel string) channels.Message {
	return channels.Message{
		Kind: channels.Said, Channel: channel, Sender: channels.Sender{ID: s.sender}, Album: s.album, ReceivedAt: s.received, SentAt: s.sent,
	}
}

// hear keeps what was said in a listed group, and not to the bot, whoever said it; and
// changes or forgets what its sender changed or took back.
func (i *Intake) hear(_ context.Context, e *event) (outcome, error) {
	now := i.Now()
	i.heard.sweep(now)
	if i.hears(e) {
		i.heard.hear(e.Message, e.source.GroupContext, now)
	}
	return pass, nil
}

// hears reports whether words are kept of where e was said.
func (i *Intake) hears(e *event) bool {
	return e.source.GroupContext > 0 && e.Address.Kind == sessionkeys.Group && !e.chat.Shut &&
		e.source.Access.Lists(e.Address, e.chat.IDs...) && unfit(e.Message) == ""
}

// addHeard gives a question what was said before it in its group.
func (i *Intake) addHeard(_ context.Context, e *event) (outcome, error) {
	if i.hears(e) && messages.ForBot(e.Message) && !e.isCommand() {
		e.Heard, e.heard = i.heard.before(e.Message, i.Now())
	}
	return pass, nil
}

// forgetHeard forgets what came with a question that was queued.
func (i *Intake) forgetHeard(_ context.Context, e *event) (outcome, error) {
	if e.heard > 0 {
		i.heard.forget(e.Message, e.heard)
	}
	return pass, nil
}

func (o *overheard) hear(m channels.Message, most int, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.chats[spotOf(m)]
	at := -1
	if t != nil {
		at = slices.IndexFunc(t.words, func(w word) bool { return w.names(m) })
	}
	switch {
	case at >= 0 && (m.Kind == channels.Deleted || m.Kind == channels.Unhandled || m.Blank()):
		o.drop(t, at, at+1)
	case at >= 0 && (m.Kind == channels.Said || m.Kind == channels.Edited):
		o.bytes -= t.words[at].bytes()
		t.words[at].quote.Text = wordsOf(m)
		o.bytes += t.words[at].bytes()
		o.trim(t, most)
	case m.Kind != channels.Said || messages.ForBot(m) || m.Blank():
	case t != nil && t.asked.goesOn(m): // the rest of the question
		t.asked = stampOf(m)
	default:
		o.add(m, most, now)
	}
}

// add keeps m. The caller holds mu.
func (o *overheard) add(m channels.Message, most int, now time.Time) {
	t := o.open(spotOf(m), now)
	o.seq++
	w := word{seq: o.seq, stamp: stampOf(m), until: now.Add(heardFor), quote: channels.Quote{
		MessageID: m.MessageID, Text: wordsOf(m), Author: channels.Sender{ID: m.Sender.ID, Name: cut(m.Sender.Name, mostLogged)}, Untrusted: true,
	}}
	if m.Fades > 0 {
		w.until = now.Add(min(heardFor, m.Fades))
	}
	t.words = append(t.words, w)
	o.bytes += w.bytes()
	o.trim(t, most)
	for o.bytes > mostHeardAll {
		o.dropQuietest()
	}
}

// open returns the talk of s. The caller holds mu.
func (o *overheard) open(s spot, now time.Time) *talk {
	t := o.chats[s]
	if t == nil {
		if o.chats == nil {
			o.chats = map[spot]*talk{}
		}
		t = &talk{}
		o.chats[s] = t
		o.bytes += s.bytes()
	}
	t.last = now
	return t
}

// trim forgets the oldest words of t that are too many. The caller holds mu.
func (o *overheard) trim(t *talk, most int) {
	n, bytes := 0, 0
	for n < min(most, len(t.words)) {
		if bytes += len(t.words[len(t.words)-1-n].quote.Text); bytes > mostHeard {
			break
		}
		n++
	}
	o.drop(t, 0, len(t.words)-n)
}

// drop forgets words of t. The caller holds mu.
func (o *overheard) drop(t *talk, from, to int) {
	for _, w := range t.words[from:to] {
		o.bytes -= w.bytes()
	}
	t.words = slices.Delete(t.words, from, to) // which clears what is behind
}

// dropQuietest forgets the conversation in which nothing was said for longest. The
// caller holds mu.
func (o *overheard) dropQuietest() {
	var quietest spot
	var last time.Time
	for s, t := range o.chats {
		if last.IsZero() || t.last.Before(last) {
			quietest, last = s, t.last
		}
	}
	o.close(quietest)
}

// close forgets a conversation. The caller holds mu.
func (o *overheard) close(s spot) {
	t := o.chats[s]
	if t == nil {
		return
	}
	o.drop(t, 0, len(t.words))
	o.bytes -= s.bytes()
	delete(o.chats, s)
}

// sweep forgets what is too old, once in a while.
func (o *overheard) sweep(now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if ago := now.Sub(o.swept); ago >= 0 && ago < sweepEvery {
		return
	}
	o.swept = now
	for s, t := range o.chats {
		o.age(t, now)
		if len(t.words) == 0 && now.Sub(t.last) >= sweepEvery {
			o.close(s)
		}
	}
}

// age forgets the words of t that are too old. The caller holds mu.
func (o *overheard) age(t *talk, now time.Time) {
	for n := len(t.words) - 1; n >= 0; n-- {
		if !now.Before(t.words[n].until) {
			o.drop(t, n, n+1)
		}
	}
}

// before returns what was said before m in its conversation, oldest first, without what
// belongs to m itself; and up to where that is. An edit has words before it only when
// the message did not speak to the bot until then.
func (o *overheard) before(m channels.Message, now time.Time) (qs []channels.Quote, through uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.open(spotOf(m), now)
	o.age(t, now)
	same := func(w word) bool { return w.names(m) }
	if m.Kind != channels.Said && !slices.ContainsFunc(t.words, same) {
		return nil, 0
	}
	next, whole := m, false // the piece of m that was looked at last, and whether it was the first
	for _, w := range slices.Backward(t.words) {
		own := w.stamp.sender == m.Sender.ID
		if same(w) || own && !whole && w.stamp.goesOn(next) {
			next = w.stamp.message(m.Channel)
			continue
		}
		whole = whole || own
		qs = append(qs, w.quote)
	}
	slices.Reverse(qs)
	return qs, max(o.seq, 1)
}

// forget forgets what came with m, which was queued.
func (o *overheard) forget(m channels.Message, through uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.chats[spotOf(m)]
	if t == nil {
		return
	}
	n := 0
	for n < len(t.words) && t.words[n].seq <= through {
		n++
	}
	o.drop(t, 0, n)
	t.asked = stampOf(m)
}

// leave forgets all that was said in a group.
func (o *overheard) leave(channel, peer string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for s := range o.chats {
		if s.channel == channel && s.peer == peer {
			o.close(s)
		}
	}
}

// wordsOf is what m says, short, in words.
func wordsOf(m channels.Message) string {
	var parts []string
	if m.Text != "" {
		parts = append(parts, m.Text)
	}
	for _, q := range m.Forwarded {
		parts = append(parts, strings.TrimSpace("(passed on) "+q.Text))
	}
	for _, a := range m.Attachments {
		parts = append(parts, strings.TrimSpace("("+a.Kind+" "+cut(a.Name, mostLogged))+")")
	}
	return cut(strings.ToValidUTF8(strings.Join(parts, "\n"), "\uFFFD"), mostHeardText)
}
