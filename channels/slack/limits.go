package slack

import (
	"sync"
	"time"
)

// limits is until when Slack wants to hear nothing of a method. It counts by
// method and workspace, and posts also by channel: a wait that is asked for a
// post is of its channel, until another channel is told one that ends at the
// same moment.
type limits struct {
	mu    sync.Mutex
	until map[limited]time.Time
	seen  time.Time // the time of the last call
}

type limited struct{ method, chat string }

// sameEnd is how far the ends of one and the same wait may differ when two
// channels are told of it: Slack counts whole seconds.
const sameEnd = time.Second

// byChannel are the methods of which Slack counts each channel by itself.
func byChannel(method string) bool { return method == "chat.postMessage" }

func (l *limits) left(method, chat string, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.follow(now)
	until := l.until[limited{method: method}]
	if own := l.until[limited{method, chat}]; own.After(until) {
		until = own
	}
	return max(0, until.Sub(now))
}

// asked notes that Slack answered a call with a wait.
func (l *limits) asked(method, chat string, wait time.Duration, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.follow(now)
	if l.until == nil {
		l.until = map[limited]time.Time{}
	}
	until := now.Add(wait)
	whole := limited{method: method}
	if !byChannel(method) {
		l.until[whole] = until
		return
	}
	for k, t := range l.until {
		switch {
		case !t.After(now):
			delete(l.until, k)
		case k.method == method && k.chat != chat && k.chat != "" && t.Sub(until).Abs() <= sameEnd:
			l.until[whole] = until
		}
	}
	l.until[limited{method, chat}] = until
}

// follow keeps the ends of waits as far away as they were when the clock was set
// back. The caller holds mu.
func (l *limits) follow(now time.Time) {
	if back := l.seen.Sub(now); back > 0 && !l.seen.IsZero() {
		for k, t := range l.until {
			l.until[k] = t.Add(-back)
		}
	}
	l.seen = now
}
