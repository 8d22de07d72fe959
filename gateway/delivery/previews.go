package delivery

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"parley/channels"
	"parley/sessionkeys"
	"parley/sessions"
)

// preview is the message that shows a turn's answer so far.
type preview struct {
	messageID string
	tried     bool      // this process sent one, so that it knows more than the store
	doubt     bool      // and whether one arrived is not known
	seen      bool      // the first visible sign was counted
	over      bool      // no more of it: a first message may hang in the chat
	quiet     time.Time // no edits before: the network asked for a pause
	born      time.Time
	step      int    // whose words it shows
	chat      string // the id of the chat that it stands in
}

const (
	previewsMost = 1024 // beyond, what is old is forgotten
	previewOld   = time.Hour
)

// previews shows turns of one bot account that run, each in a message that grows
// until the answer goes into it.
type previews struct {
	*account
	owes func(ctx context.Context, chat string) bool // whether an answer may wait for a chat

	mu    sync.Mutex // guards what follows
	turns map[string]*preview
	ends  map[string]*ending // by turn
}

// begin forgets what an earlier run knew.
func (ps *previews) begin() {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.turns, ps.ends = map[string]*preview{}, map[string]*ending{}
}

// forgetOld forgets those of turns that never had an answer.
func (ps *previews) forgetOld() {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if len(ps.turns) <= previewsMost {
		return
	}
	before := ps.Now().Add(-previewOld)
	maps.DeleteFunc(ps.turns, func(_ string, p *preview) bool { return p.born.Before(before) })
}

func (ps *previews) forget(turn string) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	delete(ps.turns, turn)
}

// of returns what is known of a turn's preview. Only the lane of the turn's chat
// may ask, and use it.
func (ps *previews) of(turn string) *preview {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p := ps.turns[turn]
	if p == nil {
		p = &preview{born: ps.Now()}
		ps.turns[turn] = p
	}
	return p
}

// target returns the id of the message that d's text goes into, or "". A preview
// from before the chat moved cannot be changed any more. In doubt there may be
// one whose id nobody knows.
func (ps *previews) target(d *sessions.Delivery, at place) (id string, doubt bool) {
	if d.Turn == "" || d.File != nil { // a file is a message of its own
		return "", false
	}
	p := ps.of(d.Turn)
	switch {
	case p.messageID != "" && p.chat == at.to.Peer:
		return p.messageID, false
	case p.tried:
		return "", p.doubt
	case d.Preview.State == sessions.PreviewBegun: // its sender ended, and noted no more
		return "", true
	case at.movedSince(asked(d)):
		return "", false
	}
	return d.Preview.ID, false
}

// leave ends the preview of a turn that has no answer to go into it, also one that
// another process began. What it shows stays.
func (ps *previews) leave(ctx context.Context, turn string, asked time.Time, at place) error {
	st, ok := ps.ch.(channels.Streamer)
	if !ok {
		return nil
	}
	ps.forget(turn)
	if at.movedSince(asked) { // it stands in another chat
		return nil
	}
	p, err := ps.Store.Previewed(ctx, turn)
	if err != nil {
		return fmt.Errorf("look for the preview of a turn: %w", err)
	}
	if p.State != sessions.PreviewShown {
		return nil
	}
	return st.End(ctx, at.to, p.ID)
}

// firstReply counts the answer of a message as its first visible sign, unless a
// file or a preview was that.
func (ps *previews) firstReply(d *sessions.Delivery) {
	if !d.Asked.IsZero() {
		ps.countFirst(ps.of(d.Turn), d.To, d.Asked)
	}
}

func (ps *previews) countFirst(p *preview, to sessionkeys.Address, asked time.Time) {
	if !p.seen {
		p.seen = true
		ps.Observer.FirstReply(ps.name, to.Kind == sessionkeys.DM, ps.Now().Sub(asked))
	}
}
