package slack

import (
	"slices"
	"sync"
	"time"

	"parley/channels"
)

// class is what a call is worth when not all can be made. What was said waits for its
// turn; what is only for show is dropped, never queued.
type class int

const (
	final    class = iota // what was said, and its end: Slack alone says when it is too much
	preview               // an answer that grows
	cosmetic              // that the bot is at work
	ending                // that it is not any more
)

// classLimits is how many calls of a method in a minute leave room for one more of a class.
type classLimits map[class]int

// methodLimits are what classes may use of the tier that Slack counts a method by, in a
// workspace: 20 calls a minute in tier 2, 50 in tier 3, 100 in tier 4
// (https://docs.slack.dev/apis/web-api/rate-limits, and the page of each method). What
// begins something for show needs room for its end, which may be of a lower tier: each
// stream is ended by chat.stopStream (tier 2), each message that grows by a chat.update
// (tier 3), each reaction by reactions.remove (tier 2).
var methodLimits = map[string]classLimits{
	"chat.startStream":  {preview: 14},
	"chat.appendStream": {preview: 90},
	"chat.update":       {preview: 28},
	sessionCalls:        {cosmetic: 18, ending: 45},
	setStatusMethod:     {cosmetic: 90},
	addReaction:         {cosmetic: 14, ending: 45},
	endReaction:         {ending: 18},
}

// Of posts Slack takes about one a second in a channel. An answer that begins to grow
// leaves a second free for one that is whole, and begins only where there is room for its
// last edit.
const (
	postsApart = 2 * time.Second
	minute     = time.Minute
	growsApart = 6 * time.Second // between two edits of a message, when half of the share is used
	maxGrown   = 1024
)

// rateLimiter counts the calls of the last minute, so that what is for show leaves room for
// what was said. Its methods may be called concurrently.
type rateLimiter struct {
	now func() time.Time

	mu     sync.Mutex // guards what is below
	calls  map[string][]time.Time
	posted map[string]time.Time // by channel
	grown  map[stream]time.Time // messages that are shown as they grow
}

func newRateLimiter(now func() time.Time) *rateLimiter {
	return &rateLimiter{now: now, calls: map[string][]time.Time{}, posted: map[string]time.Time{}, grown: map[stream]time.Time{}}
}

// note counts a call.
func (a *rateLimiter) note(method, chat string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	a.calls[method] = append(a.recentCalls(method, now), now)
	if method == "chat.postMessage" {
		for c, at := range a.posted {
			if isExpired(at, now, postsApart) {
				delete(a.posted, c)
			}
		}
		a.posted[chat] = now
	}
}

// checkRoom is nil when there is room for a call that is for show, and else an *channels.Error
// of kind RateLimit.
func (a *rateLimiter) checkRoom(method string, k class) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	limit, limited := methodLimits[method][k]
	recent := a.recentCalls(method, now)
	if n := len(recent) - limit; limited && n >= 0 {
		return noRoomError(method, recent[n].Add(minute).Sub(now))
	}
	return nil
}

// checkPost is room for the first message of an answer that grows by edits.
func (a *rateLimiter) checkPost(chat string) error {
	const method = "chat.postMessage"
	if err := a.checkRoom("chat.update", preview); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	if at, ok := a.posted[chat]; ok && !isExpired(at, now, postsApart) {
		return noRoomError(method, at.Add(postsApart).Sub(now))
	}
	return nil
}

// checkGrow is room for one more edit of a message that grows: where many grow each does
// so more slowly.
func (a *rateLimiter) checkGrow(m stream) error {
	const method = "chat.update"
	if err := a.checkRoom(method, preview); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	at, grown := a.grown[m]
	if grown && !isExpired(at, now, growsApart) && 2*len(a.recentCalls(method, now)) >= methodLimits[method][preview] {
		return noRoomError(method, at.Add(growsApart).Sub(now))
	}
	if len(a.grown) >= maxGrown {
		clear(a.grown)
	}
	a.grown[m] = now
	return nil
}

// recentCalls are the calls of the last minute, oldest first. The caller holds mu.
func (a *rateLimiter) recentCalls(method string, now time.Time) []time.Time {
	kept := slices.DeleteFunc(a.calls[method], func(t time.Time) bool { return isExpired(t, now, minute) })
	a.calls[method] = kept
	return kept
}

// isExpired reports whether a time is so long ago, or in a future that a clock has left.
func isExpired(t, now time.Time, window time.Duration) bool {
	return t.After(now) || !t.Add(window).After(now)
}

func noRoomError(method string, wait time.Duration) error {
	return &channels.Error{Kind: channels.RateLimit, Op: method, RetryAfter: wait, Message: "what was said needs the room"}
}
