package intake

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"parley/channels"
	"parley/gateway/messages"
	"parley/gateway/outcomes"
)

// A network may not say who is a bot, and two bots that answer each other never
// stop. What gives one away is that it writes more than anybody types in the time:
// people do not do so ten times in a row. Two that write a line every minute are not
// noticed; the limits and the budget of a person end that.
const (
	typed  = 10              // characters that somebody types in a second, who types very fast
	begins = 2 * time.Second // and in which nobody has read what was said before
)

// loopDetector remembers how people wrote lately, each in each chat.
type loopDetector struct {
	mu    sync.Mutex
	paces map[string]*pace
}

// pace tracks how fast one sender writes.
type pace struct {
	last      channels.Message
	fastCount int // messages in a row that came too fast
	notified  bool
}

// observe reports whether m is one too many of those that come faster than anybody
// types, and whether that is to be said. A message that is offered again, and
// the pieces of one, count as that one.
func (l *loopDetector) observe(k string, m channels.Message, limit int) (refused, tell bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.paces[k]
	if p == nil {
		if l.paces == nil || len(l.paces) >= maxBuckets {
			l.paces = map[string]*pace{}
		}
		p = &pace{}
		l.paces[k] = p
	}
	switch took := sentAt(m).Sub(sentAt(p.last)); {
	case p.last.Event == m.Event || messages.Joins(p.last, m):
	case p.last.Event == "": // the first
	case took < 0: // brought again
		return p.fastCount >= limit, false
	case took < begins+time.Duration(utf8.RuneCountInString(m.Text))*time.Second/typed:
		p.fastCount++
	default:
		p.fastCount, p.notified = 0, false
	}
	p.last = m
	p.last.Raw, p.last.Attachments = nil, nil
	if p.fastCount < limit {
		return false, false
	}
	tell, p.notified = !p.notified, true
	return true, tell
}

// forgetNotice forgets that the notice of k was given, which could not be stored.
func (l *loopDetector) forgetNotice(k string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.paces[k]; p != nil {
		p.notified = false
	}
}

// sentAt returns when m was sent, by the network's clock.
func sentAt(m channels.Message) time.Time {
	if m.SentAt.IsZero() {
		return m.ReceivedAt
	}
	return m.SentAt
}

// bot refuses messages of a sender who seems to be a bot that answers
// ours.
func (l limits) bot(ctx context.Context, e *event) (outcome, error) {
	if e.settings.Limits.BotLoop <= 0 || e.source.MarksBots {
		return pass, nil
	}
	k := strings.Join([]string{e.Channel, e.Sender.ID, e.Address.Peer}, "\x00")
	refused, tell := l.loops.observe(k, e.Message, e.settings.Limits.BotLoop)
	if !refused {
		return pass, nil
	}
	if tell {
		l.logger.Warn("bot loop suspected, sender muted until it slows down",
			"channel", e.Channel, "sender", truncate(e.Sender.ID, maxLogged), "chat", truncate(e.Address.Peer, maxLogged))
		if err := l.answer(ctx, e.Message, fmt.Sprintf(
			"That was faster than people write, %d times in a row, so I take you for a bot and stop answering. If I am wrong, write again in a minute.", e.settings.Limits.BotLoop)); err != nil {
			l.loops.forgetNotice(k)
			return stop, err
		}
	}
	l.passOver(e.Message, outcomes.Limited, fmt.Sprintf("%d messages in a row came faster than people write (limits.bot_loop)", e.settings.Limits.BotLoop))
	return stop, nil
}
