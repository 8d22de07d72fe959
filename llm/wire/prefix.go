package wire

import (
	"parley/recent"
	"parley/transcript"
)

// Bounds of what is kept of the requests of a model: bytes in all, about, and of one conversation.
const (
	maxPrefixes = 16 << 20
	maxPrefix   = maxPrefixes / 8
)

// Prefix is the beginning of the last request of a conversation as it was written. A conversation
// grows at its end, so the next request begins with the same bytes, and only what is new has to be
// written. It belongs to one goroutine.
type Prefix struct {
	// JSON is what was written of the messages before the last cut. Bytes of it never change:
	// requests that are on their way hold them. It only grows at its end.
	JSON []byte

	messages []transcript.Message // before the last cut
	cuts     []cut                // in order; each is a place at which what follows can be written anew
}

// cut says that the first messages of a history are the first bytes of JSON.
type cut struct{ messages, bytes int }

// Resume forgets what is not of ms, so that JSON is the beginning of what is to be written for
// them, and returns how many messages it holds. The message behind them is one that stood there
// before, too, where there are any.
func (p *Prefix) Resume(ms []transcript.Message) (written int) {
	same := 0
	for same < len(p.messages) && same < len(ms) && transcript.Same(p.messages[same], ms[same]) {
		same++
	}
	for len(p.cuts) > 0 && p.Written() >= same {
		p.Back()
	}
	return p.Written()
}

// Written returns how many messages JSON holds.
func (p *Prefix) Written() int {
	if len(p.cuts) == 0 {
		return 0
	}
	return p.cuts[len(p.cuts)-1].messages
}

// Back forgets what was written behind the last cut but one.
func (p *Prefix) Back() {
	p.cuts = p.cuts[:len(p.cuts)-1]
	end := 0
	if n := len(p.cuts); n > 0 {
		end = p.cuts[n-1].bytes
	}
	p.JSON = p.JSON[:end:end] // what is appended goes elsewhere: the rest may be on its way
}

// Cut says that JSON is now what was written of the first n messages of ms.
func (p *Prefix) Cut(ms []transcript.Message, n int) {
	p.cuts = append(p.cuts, cut{n, len(p.JSON)})
	p.messages = ms[: n+1 : n+1]
}

// size returns about what p keeps in memory: the bytes, and what they were written of.
func (p *Prefix) size() int { return 2*cap(p.JSON) + 128*len(p.messages) }

// Prefixes keeps the beginnings of the last requests to a model, those of the conversations that
// asked it last. It is safe for concurrent use.
type Prefixes struct {
	kept *recent.Cache[string, *Prefix]
}

func newPrefixes() *Prefixes {
	return &Prefixes{recent.New[string, *Prefix](maxPrefixes, maxPrefix)}
}

// Take gives what is kept under name to the caller alone; a new one if nothing is.
func (ps *Prefixes) Take(name string) *Prefix {
	if p, ok := ps.kept.Take(name); ok {
		return p
	}
	return &Prefix{}
}

// Put keeps p, which is the caller's no more. Nothing is kept without a name, nor what no
// request could begin with.
func (ps *Prefixes) Put(name string, p *Prefix) {
	if name != "" && len(p.cuts) > 0 {
		ps.kept.Put(name, p, p.size())
	}
}
