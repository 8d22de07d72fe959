package model

import (
	"math"
	"strings"
)

// Usage is what one answer used, in buckets that do not overlap, whatever the
// protocol makes of them: OpenAI's prompt_tokens is the sum of the input ones.
type Usage struct {
	Input        int64 `json:"input"` // neither read from nor written to a cache
	CacheRead    int64 `json:"cache_read"`
	CacheWrite5m int64 `json:"cache_write_5m"`
	CacheWrite1h int64 `json:"cache_write_1h"`
	Output       int64 `json:"output"`
	Reasoning    int64 `json:"reasoning"` // part of Output

	Seconds int64 `json:"seconds,omitempty"` // of sound, where a model bills time
}

// TotalInput returns every token of the prompt.
func (u Usage) TotalInput() int64 { return u.Input + u.CacheRead + u.CacheWrite5m + u.CacheWrite1h }

func (u Usage) plus(v Usage) Usage {
	return Usage{
		u.Input + v.Input, u.CacheRead + v.CacheRead, u.CacheWrite5m + v.CacheWrite5m,
		u.CacheWrite1h + v.CacheWrite1h, u.Output + v.Output, u.Reasoning + v.Reasoning, u.Seconds + v.Seconds,
	}
}

// prorate is u when only sent of total bytes of the answer were sent.
func (u Usage) prorate(sent, total int) Usage {
	if sent >= total {
		return u
	}
	u.Output = (u.Output*int64(sent) + int64(total) - 1) / int64(total)
	u.Reasoning = min(u.Reasoning, u.Output)
	return u
}

// Price is what a model costs, in pico-dollars (1e-12 USD) per token: $3 per
// million tokens are 3,000,000.
type Price struct {
	Input        int64 `json:"input"`
	CacheRead    int64 `json:"cache_read"`
	CacheWrite5m int64 `json:"cache_write_5m"`
	CacheWrite1h int64 `json:"cache_write_1h"`
	Output       int64 `json:"output"`

	Second int64 `json:"second,omitempty"` // of sound
}

// cost returns what u costs. It stops at the largest number rather than overflow.
func (p Price) cost(u Usage) int64 {
	var sum int64
	for _, line := range [...][2]int64{
		{u.Input, p.Input},
		{u.CacheRead, p.CacheRead},
		{u.CacheWrite5m, p.CacheWrite5m},
		{u.CacheWrite1h, p.CacheWrite1h},
		{u.Output, p.Output},
		{u.Seconds, p.Second},
	} {
		n, each := line[0], line[1]
		if n <= 0 || each <= 0 {
			continue
		}
		if n > (math.MaxInt64-sum)/each {
			return math.MaxInt64
		}
		sum += n * each
	}
	return sum
}

// tokens returns the rule of the package comment.
func tokens(bytes int) int { return (bytes + 3) / 4 }

// segment is one block of a prompt, in the order in which a cache sees them.
type segment struct {
	kind  string // tool, system, or role and kind of block
	text  []byte
	cache ttl // a breakpoint behind this block

	signature string // of thinking
}

func (s *segment) isThinking() bool { return strings.HasSuffix(s.kind, "thinking") }

type ttl uint8

const (
	noCache ttl = iota
	fiveMinutes
	oneHour
)

func (p *Prompt) inputTokens() int {
	n := 0
	for i := range p.segments {
		n += tokens(len(p.segments[i].text))
	}
	return n
}

// billable returns how many bytes of an answer count.
func (b *Block) billable() int {
	if b.Kind == CallBlock {
		return len(b.Name) + len(b.Input)
	}
	return len(b.Text)
}

func count(blocks []Block) (output, reasoning int) {
	for i := range blocks {
		n := tokens(blocks[i].billable())
		output += n
		if blocks[i].Kind == ThinkingBlock || blocks[i].Kind == RedactedBlock {
			reasoning += n
		}
	}
	return output, reasoning
}

// clip cuts blocks off at most tokens, between characters, and says whether
// it had to.
func clip(blocks []Block, limit int) ([]Block, bool) {
	used := 0
	for i := range blocks {
		n := tokens(blocks[i].billable())
		if used+n <= limit {
			used += n
			continue
		}
		cut := append([]Block(nil), blocks[:i]...)
		b, room := blocks[i], (limit-used)*4
		switch {
		case room == 0 || (b.Kind == CallBlock && room <= len(b.Name)) || b.Kind == RedactedBlock:
		case b.Kind == CallBlock:
			b.Input = truncate(b.Input, room-len(b.Name))
			cut = append(cut, b)
		default:
			if b.Text = truncate(b.Text, room); b.Text != "" {
				cut = append(cut, b)
			}
		}
		return cut, true
	}
	return blocks, false
}

// truncate returns at most n bytes of s, without half a character at its end.
func truncate(s string, n int) string {
	if n >= len(s) {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}
