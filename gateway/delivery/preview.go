package delivery

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"parley/channels"
	"parley/gateway/worker"
	"parley/sessionkeys"
	"parley/sessions"
)

const previewTimeout = 5 * time.Second

// preview is the message that shows a turn's answer so far.
type preview struct {
	messageID string
	tried     bool      // this process sent one, so that it knows more than the store
	doubt     bool      // and whether one arrived is not known
	seen      bool      // the first visible sign was counted
	over      bool      // no more of it: a first message may hang in the chat
	quiet     time.Time // no edits before: the network asked for a pause
	born      time.Time
	chat      string // the id of the chat that it stands in
}

const (
	previewsMost = 1024 // beyond, what is old is forgotten
	previewOld   = time.Hour
)

// forgetPreviews forgets those of turns that never had an answer. The caller
// holds mu.
func (a *account) forgetPreviews() {
	if len(a.previews) <= previewsMost {
		return
	}
	before := a.d.Now().Add(-previewOld)
	maps.DeleteFunc(a.previews, func(_ string, p *preview) bool { return p.born.Before(before) })
}

func (a *account) state(turn string) *preview {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.previews[turn]
	if p == nil {
		p = &preview{born: a.d.Now()}
		a.previews[turn] = p
	}
	return p
}

// previewOf is the id of the message that d's text goes into, or "". A preview
// from before the chat moved cannot be changed any more. In doubt there may be
// one whose id nobody knows.
func (a *account) previewOf(d *sessions.Delivery, at place) (id string, doubt bool) {
	if d.Turn == "" || d.File != nil { // a file is a message of its own
		return "", false
	}
	p := a.state(d.Turn)
	switch {
	case p.messageID != "" && p.chat == at.to.Peer:
		return p.messageID, false
	case p.tried:
		return "", p.doubt
	case d.Preview == sessions.PreviewBegun: // its sender ended, and noted no more
		return "", true
	case at.movedSince(asked(d)):
		return "", false
	}
	return d.Preview, false
}

// showNow makes one sign of a running turn visible. Nothing depends on it: what goes
// wrong is not tried again, but for the end of a preview.
func (a *account) showNow(ctx context.Context, s worker.PreviewSignal) {
	ctx, cancel := context.WithTimeout(ctx, previewTimeout)
	defer cancel()
	began := a.d.Now()
	at, err := a.find(ctx, s.To)
	if err == nil && !at.chat.Shut {
		err = a.tryShow(ctx, s, at)
	}
	ce, ok := errorOf(err)
	if ok && ce.Kind == channels.Moved && ce.MovedTo != "" {
		if err = a.follow(ctx, &at, ce.MovedTo); err == nil {
			err = a.tryShow(ctx, s, at)
		}
	}
	if ok && ce.Kind == channels.Gone {
		if _, shutErr := a.shut(ctx, s.To, s.Turn+" preview", began); shutErr != nil {
			err = shutErr
		}
	}
	if s.Over {
		a.ended(s, err)
	}
	if err != nil {
		a.d.Logger.Debug("a preview was not shown", "channel", a.name, "error", err)
	}
}

func (a *account) tryShow(ctx context.Context, s worker.PreviewSignal, at place) error {
	if s.Over {
		return a.leave(ctx, s.Turn, s.Asked, at)
	}
	if over, err := a.over(ctx, s); over || err != nil {
		return err
	}
	if s.Text == "" {
		if t, ok := a.ch.(channels.Typer); ok {
			return t.Typing(ctx, at.to)
		}
		return nil
	}
	ed, ok := a.ch.(channels.Editor)
	if !ok {
		return nil
	}
	p := a.state(s.Turn)
	if p.over || a.d.Now().Before(p.quiet) {
		return nil
	}
	bodies := a.ch.Render(s.Text)
	if len(bodies) == 0 {
		return nil
	}
	// Only the first message of a long answer is shown before its end.
	if p.messageID != "" && p.chat == at.to.Peer {
		grow := ed.Edit
		if st, ok := a.ch.(channels.Streamer); ok {
			grow = st.Grow
		}
		err := grow(ctx, at.to, p.messageID, bodies[0])
		p.pause(a.d.Now(), err)
		return err
	}
	// The turn before has queued its answer, of which this process may not have
	// heard, or which it gave back after an error: that one stands above.
	if a.owes(ctx, s.To.Peer) {
		return nil
	}
	reply := channels.Reply{To: at.to, Body: bodies[0], ID: s.Turn + "/preview"}
	if !at.movedSince(s.Asked) {
		reply.ReplyTo = s.ReplyTo
	}
	// It may hold the whole answer already: without a note of it the answer would
	// be sent again, unmarked, by who follows a process that dies now.
	if err := a.d.Store.Preview(ctx, s.Turn, sessions.PreviewBegun); err != nil {
		return fmt.Errorf("note that a preview begins: %w", err)
	}
	p.tried, p.doubt = true, true
	begin := a.ch.Send
	if st, ok := a.ch.(channels.Streamer); ok {
		begin = st.Begin
	}
	r, err := begin(ctx, reply)
	if err != nil {
		p.pause(a.d.Now(), err)
		return a.unsent(ctx, s.Turn, p, err)
	}
	p.messageID, p.chat, p.doubt = r.MessageID, at.to.Peer, false
	if !p.seen {
		p.seen = true
		a.countFirst(s.To, s.Asked)
	}
	return a.d.Store.Preview(context.WithoutCancel(ctx), s.Turn, r.MessageID)
}

// leave ends the preview of a turn that has no answer to go into it, also one that
// another process began. What it shows stays.
func (a *account) leave(ctx context.Context, turn string, asked time.Time, at place) error {
	st, ok := a.ch.(channels.Streamer)
	if !ok {
		return nil
	}
	a.mu.Lock()
	delete(a.previews, turn)
	a.mu.Unlock()
	if at.movedSince(asked) { // it stands in another chat
		return nil
	}
	id, err := a.d.Store.Previewed(ctx, turn)
	if err != nil {
		return fmt.Errorf("look for the preview of a turn: %w", err)
	}
	if id == "" || id == sessions.PreviewBegun {
		return nil
	}
	return st.End(ctx, at.to, id)
}

// unsent takes back the note that a preview begins, if the failure says that it
// surely did not arrive, and returns the failure.
func (a *account) unsent(ctx context.Context, turn string, p *preview, failure error) error {
	ce, ok := errorOf(failure)
	if !ok || ce.Kind == channels.Ambiguous {
		return failure
	}
	p.doubt = false
	if err := a.d.Store.Preview(context.WithoutCancel(ctx), turn, p.messageID); err != nil {
		return errors.Join(failure, fmt.Errorf("note that a preview did not arrive: %w", err))
	}
	return failure
}

// pause keeps previews away from a chat that the network limits: the answer
// itself needs the room.
func (p *preview) pause(now time.Time, err error) {
	ce, ok := errorOf(err)
	switch {
	case err == nil:
	case ok && ce.Kind == channels.RateLimit:
		p.quiet = now.Add(max(ce.RetryAfter, time.Second))
	case ok && (ce.Kind == channels.Unsent || ce.Kind == channels.Moved), p.messageID != "": // an edit may be repeated
	default:
		p.over = true
	}
}

// over says whether s is not to be shown any more. Signals may come late, and
// nothing of a turn stands behind its answer; and a turn that began before this
// process may have a preview already, which the answer goes into: it gets no
// second one. A turn whose preview this process has sent has its answer still to
// come, in the same lane.
func (a *account) over(ctx context.Context, s worker.PreviewSignal) (bool, error) {
	a.mu.Lock()
	p, began := a.previews[s.Turn], a.began
	a.mu.Unlock()
	if p != nil && p.messageID != "" {
		return false, nil
	}
	t, err := a.d.Store.Turn(ctx, s.Turn)
	if err != nil {
		return false, fmt.Errorf("look at the turn: %w", err)
	}
	return t.State == sessions.Done || s.Text != "" && t.OpenedAt.Before(began), nil
}

func (a *account) firstReply(d *sessions.Delivery) {
	if d.Asked.IsZero() {
		return
	}
	p := a.state(d.Turn)
	if p.seen {
		return
	}
	p.seen = true // the answer comes after a file
	a.countFirst(d.To, d.Asked)
}

func (a *account) countFirst(to sessionkeys.Address, asked time.Time) {
	a.d.Observer.FirstReply(a.name, to.Kind == sessionkeys.DM, a.d.Now().Sub(asked))
}
