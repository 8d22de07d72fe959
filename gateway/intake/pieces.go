package intake

import (
	"strings"
	"sync"

	"parley/channels"
	"parley/gateway/messages"
)

// pieces remembers who has just sent a long piece of text. In a group any one of
// the pieces has the mention, perhaps the last. What is forgotten, by a restart or when there are too
// many, costs no more than the rest of one paste.
type pieces struct {
	mu   sync.Mutex
	last map[string]channels.Message
}

const maxPieces = 256

func pieceKey(m channels.Message) string {
	return strings.Join([]string{m.Channel, m.Address.Peer, m.Address.Thread, m.Sender.ID}, "\x00")
}

// isContinuedBy reports whether m is the next piece of a text that is for the bot.
func (p *pieces) isContinuedBy(m channels.Message) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	last, ok := p.last[pieceKey(m)]
	return ok && messages.Joins(last, m)
}

// remember remembers m, which was stored, if it may go on.
func (p *pieces) remember(m channels.Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := pieceKey(m)
	if !messages.IsLong(m) {
		delete(p.last, k)
		return
	}
	if p.last == nil || len(p.last) >= maxPieces {
		p.last = map[string]channels.Message{}
	}
	m.Raw, m.Attachments = nil, nil
	p.last[k] = m
}
