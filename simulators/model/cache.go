package model

import (
	"cmp"
	"hash/maphash"
	"sync"
	"time"
)

// cache remembers prefixes of prompts, as the package comment says.
type cache struct {
	seed maphash.Seed
	min  int
	now  func() time.Time

	mu    sync.Mutex
	until map[uint64]remembered // guarded by mu
}

type remembered struct {
	until time.Time
	life  time.Duration
}

// maxPrefixes bounds the memory: when it is reached, what has expired is
// forgotten, and everything if that is nothing.
const maxPrefixes = 1 << 18

// How long OpenAI's prefixes are kept: when nothing is said, and at most.
const (
	openaiLife = 10 * time.Minute
	longLife   = 12 * time.Hour
)

func newCache(minimum int, now func() time.Time) *cache {
	return &cache{seed: maphash.MakeSeed(), min: minimum, now: now, until: map[uint64]remembered{}}
}

func (c *cache) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.until)
}

// input returns how the prompt's input tokens are billed and remembers its
// prefixes.
func (c *cache) input(p *Prompt) Usage {
	total := p.inputTokens()
	if total < c.min {
		return Usage{Input: int64(total)}
	}
	if p.Protocol == Anthropic {
		return c.explicit(p, total)
	}
	return c.automatic(p, total)
}

// prefixMark is the end of a block: the prefix up to it and what that counts.
type prefixMark struct {
	sum    uint64
	tokens int
	cache  ttl
}

func (c *cache) marks(p *Prompt) []prefixMark {
	var h maphash.Hash
	h.SetSeed(c.seed)
	put := func(s string) { h.WriteString(s); h.WriteByte(0) }
	put(string(p.Protocol))
	put(p.Model)
	ms, n := make([]prefixMark, 0, len(p.segments)), 0
	for i := range p.segments {
		s := &p.segments[i]
		if len(p.starts) > 0 && i == p.starts[0] {
			put(p.settings)
		}
		put(s.kind)
		h.Write(s.text)
		h.WriteByte(0)
		n += tokens(len(s.text))
		ms = append(ms, prefixMark{h.Sum64(), n, s.cache})
	}
	return ms
}

func (c *cache) explicit(p *Prompt, total int) Usage {
	last := -1
	for i := range p.segments {
		if p.segments[i].cache != noCache {
			last = i
		}
	}
	if last < 0 {
		return Usage{Input: int64(total)}
	}
	ms, now := c.marks(p), c.now()
	if ms[last].tokens < c.min {
		return Usage{Input: int64(total)}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	read := c.longest(ms[:last+1], now)
	hour := read
	for _, m := range ms[:last+1] {
		if m.cache == noCache || m.tokens < c.min {
			continue
		}
		life := 5 * time.Minute
		if m.cache == oneHour {
			life, hour = time.Hour, max(hour, m.tokens)
		}
		c.keep(m.sum, life, now)
	}
	return Usage{
		Input:        int64(total - ms[last].tokens),
		CacheRead:    int64(read),
		CacheWrite1h: int64(hour - read),
		CacheWrite5m: int64(ms[last].tokens - hour),
	}
}

func (c *cache) automatic(p *Prompt, total int) Usage {
	ms, now := c.marks(p), c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	read := c.longest(ms, now) / 128 * 128
	if read < c.min {
		read = 0
	}
	for _, m := range ms {
		if m.tokens >= c.min {
			c.keep(m.sum, cmp.Or(p.kept, openaiLife), now)
		}
	}
	u := Usage{CacheRead: int64(read)}
	switch written := int64(total - read); p.kept {
	case 0:
		u.Input = written
	case longLife:
		u.CacheWrite1h = written
	default:
		u.CacheWrite5m = written
	}
	return u
}

// longest finds and renews the longest remembered prefix. c.mu is held.
func (c *cache) longest(ms []prefixMark, now time.Time) int {
	for i := len(ms) - 1; i >= 0; i-- {
		if r, ok := c.until[ms[i].sum]; ok && now.Before(r.until) {
			r.until = now.Add(r.life)
			c.until[ms[i].sum] = r
			return ms[i].tokens
		}
	}
	return 0
}

// keep remembers a prefix. c.mu is held.
func (c *cache) keep(sum uint64, life time.Duration, now time.Time) {
	if len(c.until) >= maxPrefixes {
		for k, r := range c.until {
			if !now.Before(r.until) {
				delete(c.until, k)
			}
		}
		if len(c.until) >= maxPrefixes {
			clear(c.until)
		}
	}
	if old, ok := c.until[sum]; ok && old.life > life && now.Before(old.until) {
		return // a longer life is not shortened
	}
	c.until[sum] = remembered{now.Add(life), life}
}
