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
	maxHeard      = 8 << 10 // bytes of one conversation
	maxHeardText  = 1000    // bytes of a message
	maxHeardAll   = 4 << 20 // bytes of all conversations, with what it takes to keep them
	heardOverhead = 256     // bytes that a word or a conversation takes beside its text
	sweepEvery    = time.Minute
)

// overheard keeps the words of groups. The zero value has none. Its methods may be
// called concurrently.
type overheard struct {
	mu    sync.Mutex // guards what is below
	chats map[chatKey]*heardChat
	bytes int // of all chats
	seq   uint64
	swept time.Time
}

// chatKey is a conversation of a group.
type chatKey struct{ channel, peer, thread string }

func chatKeyOf(m channels.Message) chatKey {
	return chatKey{m.Channel, m.Address.Peer, m.Address.Thread}
}

// bytes returns what the name of a conversation takes.
func (s chatKey) bytes() int { return heardOverhead + len(s.channel) + len(s.peer) + len(s.thread) }

// heardChat is what was said in one conversation, oldest first.
type heardChat struct {
	messages     []heardMessage
	lastQuestion stamp // of the question that came last
	last         time.Time
}

// heardMessage is one message.
type heardMessage struct {
	seq   uint64
	quote channels.Quote
	stamp stamp
	until time.Time
}

// bytes returns what w takes.
func (w heardMessage) bytes() int {
	q := w.quote
	return heardOverhead + len(q.Text) + len(q.MessageID) + len(q.Author.ID) + len(q.Author.Name) + len(w.stamp.album)
}

// isSameMessage reports whether m is another state of the message: of the same sender, or taken
// back by an authorized person.
func (w heardMessage) isSameMessage(m channels.Message) bool {
	return w.quote.MessageID == m.MessageID && (w.quote.Author.ID == m.Sender.ID || m.Kind == channels.Deleted)
}

// stamp is what of a message tells whether another one goes on from it.
type stamp struct {
	sender, album  string
	long           bool
	received, sent time.Time
}

func stampOf(m channels.Message) stamp {
	return stamp{m.Sender.ID, m.Album, messages.IsLong(m), m.ReceivedAt, m.SentAt}
}

// isContinuedBy reports whether m is of the same album or text.
func (s stamp) isContinuedBy(m channels.Message) bool {
	return s.sender != "" && messages.JoinsKnown(s.message(m.Channel), s.long, m)
}

// message returns the message as far as [messages.JoinsKnown] looks at it.
func (s stamp) message(channel string) channels.Message {
	return channels.Message{
		Kind: channels.Said, Channel: channel, Sender: channels.Sender{ID: s.sender}, Album: s.album, ReceivedAt: s.received, SentAt: s.sent,
	}
}

// hearing keeps what a group says among itself, and gives it to the next question there.
type hearing struct {
	overheard *overheard
	now       func() time.Time
}

// record keeps what was said in a listed group, and not to the bot, by any sender; and
// changes or forgets what its sender changed or took back.
func (h hearing) record(_ context.Context, e *event) (outcome, error) {
	now := h.now()
	h.overheard.sweep(now)
	if e.keepsOverheard() {
		h.overheard.record(e.Message, e.source.GroupContext, now)
	}
	return pass, nil
}

// keepsOverheard reports whether words are kept of where e was said.
func (e *event) keepsOverheard() bool {
	return e.source.GroupContext > 0 && e.Address.Kind == sessionkeys.Group && !e.chat.Closed &&
		e.source.Access.ListsGroup(e.Address, e.chat.IDs...) && idProblem(e.Message) == ""
}

// attach gives a question what was said before it in its group.
func (h hearing) attach(_ context.Context, e *event) (outcome, error) {
	if e.keepsOverheard() && messages.ForBot(e.Message) && !e.isCommand() {
		e.Heard, e.overheardThrough = h.overheard.quotesBefore(e.Message, h.now())
	}
	return pass, nil
}

// forget forgets what came with a question that was queued.
func (h hearing) forget(_ context.Context, e *event) (outcome, error) {
	if e.overheardThrough > 0 {
		h.overheard.forget(e.Message, e.overheardThrough)
	}
	return pass, nil
}

func (o *overheard) record(m channels.Message, limit int, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.chats[chatKeyOf(m)]
	at := -1
	if t != nil {
		at = slices.IndexFunc(t.messages, func(w heardMessage) bool { return w.isSameMessage(m) })
	}
	switch {
	case at >= 0 && (m.Kind == channels.Deleted || m.Kind == channels.Unhandled || m.IsBlank()):
		o.drop(t, at, at+1)
	case at >= 0 && (m.Kind == channels.Said || m.Kind == channels.Edited):
		o.bytes -= t.messages[at].bytes()
		t.messages[at].quote.Text = quoteText(m)
		o.bytes += t.messages[at].bytes()
		o.trim(t, limit)
	case m.Kind != channels.Said || messages.ForBot(m) || m.IsBlank():
	case t != nil && t.lastQuestion.isContinuedBy(m): // the rest of the question
		t.lastQuestion = stampOf(m)
	default:
		o.add(m, limit, now)
	}
}

// add keeps m. The caller holds mu.
func (o *overheard) add(m channels.Message, limit int, now time.Time) {
	t := o.open(chatKeyOf(m), now)
	o.seq++
	w := heardMessage{seq: o.seq, stamp: stampOf(m), until: now.Add(heardFor), quote: channels.Quote{
		MessageID: m.MessageID, Text: quoteText(m), Author: channels.Sender{ID: m.Sender.ID, Name: truncate(m.Sender.Name, maxLogged)}, Untrusted: true,
	}}
	if m.ExpiresAfter > 0 {
		w.until = now.Add(min(heardFor, m.ExpiresAfter))
	}
	t.messages = append(t.messages, w)
	o.bytes += w.bytes()
	o.trim(t, limit)
	for o.bytes > maxHeardAll {
		o.dropQuietest()
	}
}

// open returns the talk of s. The caller holds mu.
func (o *overheard) open(s chatKey, now time.Time) *heardChat {
	t := o.chats[s]
	if t == nil {
		if o.chats == nil {
			o.chats = map[chatKey]*heardChat{}
		}
		t = &heardChat{}
		o.chats[s] = t
		o.bytes += s.bytes()
	}
	t.last = now
	return t
}

// trim forgets the oldest words of t that are too many. The caller holds mu.
func (o *overheard) trim(t *heardChat, limit int) {
	n, bytes := 0, 0
	for n < min(limit, len(t.messages)) {
		if bytes += len(t.messages[len(t.messages)-1-n].quote.Text); bytes > maxHeard {
			break
		}
		n++
	}
	o.drop(t, 0, len(t.messages)-n)
}

// drop forgets words of t. The caller holds mu.
func (o *overheard) drop(t *heardChat, from, to int) {
	for _, w := range t.messages[from:to] {
		o.bytes -= w.bytes()
	}
	t.messages = slices.Delete(t.messages, from, to) // which clears what is behind
}

// dropQuietest forgets the conversation in which nothing was said for longest. The
// caller holds mu.
func (o *overheard) dropQuietest() {
	var quietest chatKey
	var last time.Time
	for s, t := range o.chats {
		if last.IsZero() || t.last.Before(last) {
			quietest, last = s, t.last
		}
	}
	o.forgetChat(quietest)
}

// forgetChat forgets a conversation. The caller holds mu.
func (o *overheard) forgetChat(s chatKey) {
	t := o.chats[s]
	if t == nil {
		return
	}
	o.drop(t, 0, len(t.messages))
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
		o.expire(t, now)
		if len(t.messages) == 0 && now.Sub(t.last) >= sweepEvery {
			o.forgetChat(s)
		}
	}
}

// expire forgets the words of t that are too old. The caller holds mu.
func (o *overheard) expire(t *heardChat, now time.Time) {
	for n := len(t.messages) - 1; n >= 0; n-- {
		if !now.Before(t.messages[n].until) {
			o.drop(t, n, n+1)
		}
	}
}

// quotesBefore returns what was said before m in its conversation, oldest first, without what
// belongs to m itself; and up to where that is. An edit has words before it only when
// the message did not speak to the bot until then.
func (o *overheard) quotesBefore(m channels.Message, now time.Time) (qs []channels.Quote, through uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.open(chatKeyOf(m), now)
	o.expire(t, now)
	same := func(w heardMessage) bool { return w.isSameMessage(m) }
	if m.Kind != channels.Said && !slices.ContainsFunc(t.messages, same) {
		return nil, 0
	}
	next, whole := m, false // the piece of m that was looked at last, and whether it was the first
	for _, w := range slices.Backward(t.messages) {
		own := w.stamp.sender == m.Sender.ID
		if same(w) || own && !whole && w.stamp.isContinuedBy(next) {
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
	t := o.chats[chatKeyOf(m)]
	if t == nil {
		return
	}
	n := 0
	for n < len(t.messages) && t.messages[n].seq <= through {
		n++
	}
	o.drop(t, 0, n)
	t.lastQuestion = stampOf(m)
}

// forgetGroup forgets all that was said in a group.
func (o *overheard) forgetGroup(channel, peer string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for s := range o.chats {
		if s.channel == channel && s.peer == peer {
			o.forgetChat(s)
		}
	}
}

// quoteText returns what m says, short, in words.
func quoteText(m channels.Message) string {
	var parts []string
	if m.Text != "" {
		parts = append(parts, m.Text)
	}
	for _, q := range m.Forwarded {
		parts = append(parts, strings.TrimSpace("(passed on) "+q.Text))
	}
	for _, a := range m.Attachments {
		parts = append(parts, strings.TrimSpace("("+a.Kind+" "+truncate(a.Name, maxLogged))+")")
	}
	return truncate(strings.ToValidUTF8(strings.Join(parts, "\n"), "\uFFFD"), maxHeardText)
}
