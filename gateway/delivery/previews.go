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
	messageID   string
	tried       bool      // this process sent one, so that it knows more than the store
	ambiguous   bool      // and whether one arrived is not known
	counted     bool      // the first visible sign was counted
	ended       bool      // no more of it: a first message may hang in the chat
	pausedUntil time.Time // no edits before: the network asked for a pause
	createdAt   time.Time
	step        int    // whose words it shows
	active      bool   // it shows what the turn does, which is not to stay
	chat        string // the id of the chat that it stands in
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
	ends  map[string]*pendingEnd // by turn
}

// reset forgets what an earlier run knew.
func (ps *previews) reset() {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.turns, ps.ends = map[string]*preview{}, map[string]*pendingEnd{}
}

// forgetOld forgets those of turns that never had an answer.
func (ps *previews) forgetOld() {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if len(ps.turns) <= previewsMost {
		return
	}
	before := ps.Now().Add(-previewOld)
	maps.DeleteFunc(ps.turns, func(_ string, p *preview) bool { return p.createdAt.Before(before) })
}

func (ps *previews) forget(turn string) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	delete(ps.turns, turn)
}

// forTurn returns what is known of a turn's preview. Only the lane of the turn's chat
// may ask, and use it.
func (ps *previews) forTurn(turn string) *preview {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p := ps.turns[turn]
	if p == nil {
		p = &preview{createdAt: ps.Now()}
		ps.turns[turn] = p
	}
	return p
}

// target returns the id of the message that d's text goes into, or "". A preview
// from before the chat moved cannot be changed any more. In doubt there may be
// one whose id is unknown.
func (ps *previews) target(d *sessions.Delivery, at destination) (id string, doubt bool) {
	if d.Turn == "" || d.File != nil { // a file is a message of its own
		return "", false
	}
	p := ps.forTurn(d.Turn)
	switch {
	case p.messageID != "" && p.chat == at.to.Peer:
		return p.messageID, false
	case p.tried:
		return "", p.ambiguous
	case d.Preview.State == sessions.PreviewBegun: // its sender ended, and noted no more
		return "", true
	case at.movedSince(askedAt(d)):
		return "", false
	}
	return d.Preview.ID, false
}

// endStream ends the preview of a turn that has no answer to go into it, also one that
// another process began. What it shows stays.
func (ps *previews) endStream(ctx context.Context, turn string, asked time.Time, at destination) error {
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
	return st.EndStream(ctx, at.to, p.ID)
}

// countFirstReply counts the answer of a message as its first visible sign, unless a
// file or a preview was that.
func (ps *previews) countFirstReply(d *sessions.Delivery) {
	if !d.AskedAt.IsZero() {
		ps.countFirstVisible(ps.forTurn(d.Turn), d.To, d.AskedAt)
	}
}

func (ps *previews) countFirstVisible(p *preview, to sessionkeys.Address, asked time.Time) {
	if !p.counted {
		p.counted = true
		ps.Observer.FirstReply(ps.name, to.Kind == sessionkeys.DM, ps.Now().Sub(asked))
	}
}
