package slack

import "time"

// holdKey names what a Retry-After holds back: one method, and of posts one
// channel.
type holdKey struct{ app, method, channel string }

// hold is what a Retry-After that this call gets holds back: the rate of posts is the
// channel's.
func (c *call) hold() holdKey {
	k := holdKey{app: c.app.Name, method: c.method}
	if c.method == "chat.postMessage" {
		k.channel = c.channel()
	}
	return k
}

// tiers are the calls per minute that Slack promises to take.
var tiers = [...]int{1: 1, 2: 20, 3: 50, 4: 100}

// limiter holds apps to Slack's rates, and to what a Retry-After told them.
type limiter struct {
	holds map[holdKey]time.Time
	rates map[holdKey][]time.Time
}

// delay applies Slack's rates to a call and returns how long to wait, or 0.
func (l *limiter) delay(k holdKey, tier int, now time.Time) time.Duration {
	atMost, window := tiers[tier], time.Minute
	if k.method == "chat.postMessage" {
		atMost, window = 1, time.Second
	}
	if atMost == 0 {
		return 0
	}
	sent := l.rates[k]
	for len(sent) > 0 && !sent[0].Add(window).After(now) {
		sent = sent[1:]
	}
	if len(sent) >= atMost {
		l.rates[k] = sent
		return sent[0].Add(window).Sub(now)
	}
	l.rates[k] = append(sent, now)
	return 0
}
