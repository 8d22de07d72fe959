package slack

import "time"

// holdKey names what a Retry-After holds back: one method, and of posts one
// channel.
type holdKey struct{ app, method, channel string }

// heldChannel is the channel in a hold's key: the rate of posts is the channel's.
func (c *call) heldChannel() string {
	if c.method == "chat.postMessage" {
		return c.channel()
	}
	return ""
}

// hold is what a Retry-After that this call gets holds back.
func (c *call) hold() holdKey {
	return holdKey{app: c.app.Name, method: c.method, channel: c.heldChannel()}
}

// tiers are the calls per minute that Slack promises to take.
var tiers = [...]int{1: 1, 2: 20, 3: 50, 4: 100}

// rateLimitDelay applies Slack's rates to a call and returns how long to wait, or 0.
// The caller holds the lock.
func (s *Server) rateLimitDelay(c *call, m method) time.Duration {
	atMost, window := tiers[m.tier], time.Minute
	if c.method == "chat.postMessage" {
		atMost, window = 1, time.Second
	}
	if atMost == 0 {
		return 0
	}
	k := c.hold()
	sent := s.rates[k]
	for len(sent) > 0 && !sent[0].Add(window).After(c.began) {
		sent = sent[1:]
	}
	if len(sent) >= atMost {
		s.rates[k] = sent
		return sent[0].Add(window).Sub(c.began)
	}
	s.rates[k] = append(sent, c.began)
	return 0
}

// seconds rounds up: Slack never asks for less than one.
func seconds(d time.Duration) int {
	return max(int((d+time.Second-1)/time.Second), 1)
}
