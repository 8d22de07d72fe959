package telegram

import (
	"time"

	"parley/simulators/internal/stage"
)

// holdKey names what a retry_after holds back: a chat of a bot, a whole bot
// (chat 0), or one method without a chat. A forum is one chat, whatever the topic.
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

// limiter holds bots to the published limits, and to what a retry_after told them.
type limiter struct {
	*world
	holds map[holdKey]penalty
	rates map[rateKey][]time.Time
}

// penalty is a retry_after that was answered.
type penalty struct {
	until time.Time
	first time.Duration // as the first answer said; each call within it adds as much
	told  map[int64]bool
}

// holdDelay returns how long a call must still wait, which the call itself makes longer:
// bots that went on calling were held for hours. In a chat that was not told of the
// bot's penalty yet a call is only told of it. The caller holds the lock.
func (s *limiter) holdDelay(bot, chat int64, method string, now time.Time) time.Duration {
	var left time.Duration
	for _, k := range []holdKey{{bot: bot}, callKey(bot, chat, method)} {
		p, ok := s.holds[k]
		if !ok {
			continue
		}
		if !p.until.After(now) {
			delete(s.holds, k)
			continue
		}
		if p.told[chat] {
			p.until = p.until.Add(p.first)
			s.holds[k] = p
		}
		p.told[chat] = true
		left = max(left, p.until.Sub(now))
	}
	return left
}

func (s *limiter) hold(bot, chat int64, method string, seconds int, global bool, now time.Time) {
	k := callKey(bot, chat, method)
	if global {
		k = holdKey{bot: bot}
	}
	d := time.Duration(seconds) * time.Second
	s.holds[k] = penalty{until: now.Add(d), first: d, told: map[int64]bool{chat: true}}
}

type rateKey struct{ bot, chat int64 }

// rate is so many calls in a time.
type rate struct {
	limit  int
	window time.Duration
}

// The published limits: core.telegram.org/bots/faq, "My bot is hitting limits".
// The short bursts that Telegram "may allow" in a chat it may also refuse; so does
// the server.
var (
	ratePerBot   = rate{30, time.Second}
	ratePerChat  = rate{1, time.Second}
	ratePerGroup = rate{20, time.Minute}
)

// rateLimitDelay counts a message, an edit of one or, with chat 0, another call that the
// bot's own limit counts, and returns for how long it is refused instead, if it is;
// global: because of the bot's own limit. The caller holds the lock.
func (s *limiter) rateLimitDelay(bot, chat int64, kind Kind, now time.Time) (wait time.Duration, global bool) {
	if s.opts.Pace < 0 {
		return 0, false
	}
	all, one := rateKey{bot, 0}, rateKey{bot, chat}
	wait = s.rateDelay(all, ratePerBot, now)
	global = wait > 0
	if chat != 0 {
		inChat := s.rateDelay(one, ratePerChat, now)
		if kind != Private {
			inChat = max(inChat, s.rateDelay(one, ratePerGroup, now))
		}
		if inChat > wait {
			wait, global = inChat, false
		}
	}
	if wait > 0 {
		return wait, global
	}
	s.rates[all] = append(s.rates[all], now)
	if chat != 0 {
		s.rates[one] = append(s.rates[one], now)
	}
	return 0, false
}

// rateDelay returns how long it is until another call fits, and forgets what no limit
// counts any more.
func (s *limiter) rateDelay(k rateKey, r rate, now time.Time) time.Duration {
	calls := s.rates[k]
	oldest := ratePerGroup.window
	if k.chat == 0 {
		oldest = ratePerBot.window
	}
	for len(calls) > 0 && !calls[0].Add(s.scale(oldest)).After(now) {
		calls = calls[1:]
	}
	s.rates[k] = calls
	if len(calls) < r.limit {
		return 0
	}
	return max(calls[len(calls)-r.limit].Add(s.scale(r.window)).Sub(now), 0)
}

// scale is a time of the published limits at the server's pace.
func (s *limiter) scale(d time.Duration) time.Duration {
	return time.Duration(float64(d) / s.opts.Pace)
}

// checkRate refuses a call that is one too many. The caller holds the lock.
func (c *call) checkRate(chat int64, kind Kind) {
	now := c.opts.Now()
	wait, global := c.rateLimitDelay(c.account.bot.ID, chat, kind, now)
	if wait > 0 {
		c.hold(c.account.bot.ID, chat, c.method, stage.Seconds(wait), global, now)
		panic(tooMany(stage.Seconds(wait)))
	}
}
