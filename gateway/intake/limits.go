package intake

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/channels"
	"parley/gateway/messages"
	"parley/gateway/outcomes"
	"parley/sessionkeys"
	"parley/sessions"
)

// maxBuckets bounds the limiter's memory, of people and groups each.
const maxBuckets = 4096

// limiter counts what people and groups sent lately.
type limiter struct {
	mu       sync.Mutex
	buckets  map[string]*bucket // by person, and by group
	notified map[string]bool    // conversations that were told that their queue is full
}

// bucket is filled evenly over time, and emptied by one for each message.
type bucket struct {
	tokens   float64
	filledAt time.Time

	perMinute, limit float64 // how fast it is filled, and how far

	notified bool
	last     channels.Message   // the last one that was taken
	pieces   int                // taken with it for nothing
	taken    []sessions.InboxID // the last ones, which may be offered again; the oldest first
}

// maxTaken is how many messages of a bucket are known when they are offered again: each chat
// offers one at a time, and few people write in so many at once.
const maxTaken = 32

func (b *bucket) refill(now time.Time) {
	d := now.Sub(b.filledAt)
	b.tokens = min(b.limit, b.tokens+max(0, d.Minutes())*b.perMinute)
	b.filledAt = now // also of a clock that was set back, else nothing is let in until it has caught up
}

// allow reports whether m is within the limit of the bucket k. A message that is
// offered again, and the pieces of one that was taken, cost nothing.
func (l *limiter) allow(k string, m channels.Message, now time.Time, perMinute, limit int) (ok, tell bool) {
	if perMinute <= 0 || limit <= 0 {
		return true, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.buckets[k]
	if b == nil {
		l.evict(now)
		b = &bucket{tokens: float64(limit), filledAt: now}
		l.buckets[k] = b
	}
	b.perMinute, b.limit = float64(perMinute), float64(limit) // which an operator may have changed since
	b.refill(now)
	piece, id := b.pieces < maxFree && messages.Joins(b.last, m), messages.Inbox(m)
	switch {
	case slices.Contains(b.taken, id):
		return true, false
	case piece:
		b.pieces++
	case b.tokens < 1:
		tell, b.notified = !b.notified, true
		return false, tell
	default:
		b.tokens--
		b.notified, b.pieces = false, 0
	}
	b.last = m
	b.last.Raw, b.last.Attachments = nil, nil
	b.taken = append(b.taken[max(0, len(b.taken)+1-maxTaken):], id)
	return true, false
}

// maxFree is how many pieces come with one message: an album has ten messages,
// and so much text as one message may have comes in eight.
const maxFree = 9

// evict forgets the senders that may send as much as ever, and any one when all are busy.
// The caller holds mu.
func (l *limiter) evict(now time.Time) {
	if l.buckets == nil {
		l.buckets = map[string]*bucket{}
	}
	if len(l.buckets) < maxBuckets {
		return
	}
	for k, b := range l.buckets {
		if b.refill(now); b.tokens >= b.limit {
			delete(l.buckets, k)
		}
	}
	for k := range l.buckets {
		if len(l.buckets) < maxBuckets {
			break
		}
		delete(l.buckets, k)
	}
}

// forgetNotice forgets that the notice of k was given, which could not be stored.
func (l *limiter) forgetNotice(k string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b := l.buckets[k]; b != nil {
		b.notified = false
	}
	delete(l.notified, k)
}

// markFull notes whether the queue of k is full; tell is true for the first time.
func (l *limiter) markFull(k string, full bool) (tell bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !full {
		delete(l.notified, k)
		return false
	}
	if l.notified == nil || len(l.notified) >= maxBuckets {
		l.notified = map[string]bool{}
	}
	tell = !l.notified[k]
	l.notified[k] = true
	return tell
}

// limits refuses what is too much, before anything of it is stored.
type limits struct {
	*endings
	limiter *limiter
	loops   *loopDetector
	refused func(context.Context, Refusal) // see [Intake]
}

// person refuses what is more than one person may send. Nothing is stored of
// it but the one notice.
func (l limits) person(ctx context.Context, e *event) (outcome, error) {
	k := strings.Join([]string{"person", e.Channel, e.Sender.ID}, "\x00")
	return l.rate(ctx, e, k, "person", e.settings.Limits.PersonPerMinute, e.settings.Limits.PersonBurst)
}

// group does the same for a group.
func (l limits) group(ctx context.Context, e *event) (outcome, error) {
	if e.Address.Kind == sessionkeys.DM {
		return pass, nil
	}
	k := strings.Join([]string{"group", e.Channel, e.Address.Peer}, "\x00")
	return l.rate(ctx, e, k, "group", e.settings.Limits.GroupPerMinute, e.settings.Limits.GroupPerMinute)
}

func (l limits) rate(ctx context.Context, e *event, k, whose string, perMinute, limit int) (outcome, error) {
	ok, tell := l.limiter.allow(k, e.Message, l.now(), perMinute, limit)
	if ok {
		return pass, nil
	}
	why := fmt.Sprintf("more than %d messages a minute from one %s, or %d at once (limits)", perMinute, whose, limit)
	return stop, l.refuse(ctx, e, k, Refusal{Limit: whose, Why: why}, tell, fmt.Sprintf(
		"That is more than I can take at once: I read at most %d messages a minute from one %s. I have not read this one; please wait a little and send it again.", perMinute, whose))
}

// queue refuses what comes when too much of its conversation waits already:
// every message in the log that no turn has read, pieces and edits too. The log is
// asked only when the mailbox is owed something, so a few more may slip in before
// the first of them was noticed.
func (l limits) queue(ctx context.Context, e *event) (outcome, error) {
	if e.settings.Limits.Queue <= 0 {
		return pass, nil
	}
	token := e.key.Token()
	box, err := l.store.Mailbox(ctx, token)
	if errors.Is(err, sessions.ErrNotFound) || err == nil && box.LastSeen <= box.LastRead {
		l.limiter.markFull(token, false)
		return pass, nil
	}
	if err != nil {
		return stop, fmt.Errorf("look at the queue: %w", err)
	}
	n, err := l.log.Waiting(ctx, token, box.LastRead)
	if err != nil {
		return stop, fmt.Errorf("count what waits: %w", err)
	}
	tell := l.limiter.markFull(token, n >= e.settings.Limits.Queue)
	if n < e.settings.Limits.Queue {
		return pass, nil
	}
	why := fmt.Sprintf("%d messages of its conversation wait already (limits.queue)", n)
	return stop, l.refuse(ctx, e, token, Refusal{Limit: "queue", Session: box.Session, Why: why}, tell || e.isDecision(), fmt.Sprintf(
		"%d messages wait for me here already, and I take no more for now. I have not read this one; please send it again later, or %s to drop what waits.", n, e.source.command("stop")))
}

// Refusal says that messages of a conversation are not read, because they are too many.
type Refusal struct {
	Key     sessionkeys.Key
	Session sessionkeys.SessionID // empty where that is not known
	Limit   string                // which one: person, group or queue
	Why     string                // in words, for an operator
}

// refuse counts a refused message, and tells its sender of it when that is due and
// they spoke to the bot. Then Refused is told, too: of the first of a row, so that a flood of
// messages is none of events. k is the limiter's.
func (l limits) refuse(ctx context.Context, e *event, k string, why Refusal, tell bool, notice string) error {
	if tell && !messages.ForBot(e.Message) { // its sender did not ask for an answer
		l.limiter.forgetNotice(k)
	} else if tell {
		if err := l.answer(ctx, e.Message, notice); err != nil {
			l.limiter.forgetNotice(k)
			return err
		}
		if why.Key = e.key; l.refused != nil {
			l.refused(ctx, why)
		}
	}
	l.passOver(e.Message, outcomes.Limited, why.Why)
	return nil
}
