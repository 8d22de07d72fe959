package telegram

import "time"

// holdKey names what a retry_after holds back: a chat of a bot, a whole bot
// (chat 0), or one method without a chat.
type holdKey struct {
	bot    int64
	chat   int64
	method string
}

func callKey(bot, chat int64, method string) holdKey {
	if chat != 0 {
		return holdKey{bot: bot, chat: chat}
	}
	return holdKey{bot: bot, method: method}
}

// held returns how long a call must still wait. The caller holds the lock.
func (s *Server) held(bot, chat int64, method string, now time.Time) time.Duration {
	if len(s.holds) == 0 {
		return 0
	}
	var left time.Duration
	for _, k := range []holdKey{{bot: bot}, callKey(bot, chat, method)} {
		until, ok := s.holds[k]
		if !ok {
			continue
		}
		if !until.After(now) {
			delete(s.holds, k)
			continue
		}
		left = max(left, until.Sub(now))
	}
	return left
}

func (s *Server) hold(bot, chat int64, method string, seconds int, global bool, now time.Time) {
	k := callKey(bot, chat, method)
	if global {
		k = holdKey{bot: bot}
	}
	s.holds[k] = now.Add(time.Duration(seconds) * time.Second)
}

// seconds rounds up: Telegram never asks for less than one.
func seconds(d time.Duration) int {
	return max(int((d+time.Second-1)/time.Second), 1)
}

type rateKey struct{ bot, chat int64 }

// limited applies the published rates to a send or an edit and returns the
// seconds to wait, or 0. The caller holds the lock.
func (s *Server) limited(bot int64, c Chat, now time.Time) int {
	perChat, window := 1, time.Second
	if c.Kind != Private {
		perChat, window = 20, time.Minute
	}
	wait := max(s.room(rateKey{bot, c.ID}, perChat, window, now), s.room(rateKey{bot, 0}, 30, time.Second, now))
	if c.Kind != Private && wait == 0 {
		if sent := s.rates[rateKey{bot, c.ID}]; len(sent) > 0 {
			wait = max(sent[len(sent)-1].Add(time.Second).Sub(now), 0)
		}
	}
	if wait > 0 {
		return seconds(wait)
	}
	for _, k := range []rateKey{{bot, c.ID}, {bot, 0}} {
		s.rates[k] = append(s.rates[k], now)
	}
	return 0
}

// room tells how long until another message fits into the window.
func (s *Server) room(k rateKey, most int, window time.Duration, now time.Time) time.Duration {
	sent := s.rates[k]
	for len(sent) > 0 && !sent[0].Add(window).After(now) {
		sent = sent[1:]
	}
	s.rates[k] = sent
	if len(sent) < most {
		return 0
	}
	return sent[0].Add(window).Sub(now)
}
