package delivery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/channels"
	"parley/gateway/approvals"
	"parley/gateway/signals"
	"parley/sessions"
)

// previewTimeout bounds what is shown, but for the message that a preview begins
// with: when that is given up it may stand in the chat all the same, and the answer
// comes below it with the mark of a repeat. It has the time of an answer.
const previewTimeout = 5 * time.Second

// show makes one sign of a running turn visible. Nothing depends on it: what goes
// wrong is not tried again, but for the end of a preview, and for buttons that are to go.
func (ps *previews) show(ctx context.Context, s signals.Preview) {
	ctx, cancel := context.WithTimeout(ctx, previewTimeout)
	defer cancel()
	began := ps.Now()
	at, err := ps.locate(ctx, s.To)
	if err == nil && !at.chat.Closed {
		err = ps.tryShow(ctx, s, at)
	}
	ce, ok := asChannelError(err)
	if ok && ce.Kind == channels.Moved && ce.MovedTo != "" {
		if err = ps.followMove(ctx, &at, ce.MovedTo); err == nil {
			err = ps.tryShow(ctx, s, at)
		}
	}
	if ok && ce.Kind == channels.Gone {
		if _, shutErr := ps.closeChat(ctx, s.To, s.Turn+" preview", began); shutErr != nil {
			err = shutErr
		}
	}
	if s.Over || s.Decided {
		ps.recordEnd(s, err)
	}
	if err != nil {
		ps.Logger.Debug("preview not shown", "channel", ps.name, "error", err)
	}
}

func (ps *previews) tryShow(ctx context.Context, s signals.Preview, at destination) error {
	if s.Decided {
		return ps.dropButtons(ctx, s.Turn, at)
	}
	if s.Over {
		if r, ok := ps.ch.(channels.TypingStopper); ok {
			if err := r.StopTyping(ctx, at.to); err != nil {
				return err
			}
		}
		if err := ps.endActivity(ctx, s, at); err != nil {
			return err
		}
		return ps.endStream(ctx, s.Turn, s.AskedAt, at)
	}
	if over, err := ps.isOver(ctx, s, at); over || err != nil {
		return err
	}
	if !s.Shows() {
		if t, ok := ps.ch.(channels.Typer); ok {
			return t.ShowTyping(ctx, at.to)
		}
		return nil
	}
	beside, ok := ps.ch.(channels.StatusShower)
	if !ok || !beside.HasStatus(at.to) {
		return ps.grow(ctx, s, at, ps.compose(s.Text, s.Activity))
	}
	// What is sent would take the status away.
	words := s
	words.Activity = ""
	if err := ps.grow(ctx, words, at, ps.compose(s.Text, "")); err != nil {
		return err
	}
	return beside.ShowStatus(ctx, at.to, approvals.Defuse(ps.Redactor.Clean(s.Status)))
}

// compose returns the text of a preview, without secrets.
func (ps *previews) compose(text, activity string) string {
	text = ps.Redactor.CleanGrowing(text)
	if activity == "" {
		return text
	}
	return strings.TrimSpace(text + "\n\n" + ps.Redactor.Clean(activity))
}

// grow has the preview's message show a text.
func (ps *previews) grow(ctx context.Context, s signals.Preview, at destination, text string) error {
	ed, ok := ps.ch.(channels.Editor)
	if !ok {
		return nil
	}
	p := ps.forTurn(s.Turn)
	if p.ended || ps.Now().Before(p.pausedUntil) {
		return nil
	}
	bodies := ps.render(text, false)
	if len(bodies) == 0 {
		return nil
	}
	if err := ps.breakStream(ctx, s, p, at); err != nil {
		p.backOff(ps.Now(), err)
		return err
	}
	p.active = s.Activity != ""
	// Only the first message of a long answer is shown before its end.
	if p.messageID != "" && p.chat == at.to.Peer {
		grow := ed.Edit
		if st, ok := ps.ch.(channels.Streamer); ok {
			grow = st.UpdateStream
		}
		err := grow(ctx, at.to, p.messageID, bodies[0])
		p.backOff(ps.Now(), err)
		return err
	}
	// The turn before has queued its answer, of which this process may not have
	// heard, or which it gave back after an error: that one stands above.
	if ps.owes(ctx, s.To.Peer) {
		return nil
	}
	reply := channels.Reply{To: at.to, Body: bodies[0], ID: s.Turn + "/preview"}
	if !at.movedSince(s.AskedAt) {
		reply.ReplyTo = s.ReplyTo
	}
	// It may hold the whole answer already: without a note of it the answer would
	// be sent again, unmarked, by who follows a process that dies now.
	if err := ps.Store.Preview(ctx, s.Turn, sessions.Preview{State: sessions.PreviewBegun}); err != nil {
		return fmt.Errorf("record that a preview begins: %w", err)
	}
	p.tried, p.ambiguous = true, true
	r, err := ps.sendFirst(ctx, reply)
	if err != nil {
		p.backOff(ps.Now(), err)
		return ps.undoBegun(ctx, s.Turn, p, err)
	}
	p.messageID, p.chat, p.ambiguous = r.MessageID, at.to.Peer, false
	ps.countFirstVisible(p, s.To, s.AskedAt)
	return ps.Store.Preview(context.WithoutCancel(ctx), s.Turn, sessions.ShownPreview(r.MessageID))
}

// endActivity takes out of the preview of a turn that has no answer what the turn did when
// it ended. Its words stay.
func (ps *previews) endActivity(ctx context.Context, s signals.Preview, at destination) error {
	ed, ok := ps.ch.(channels.Editor)
	ps.mu.Lock()
	p := ps.turns[s.Turn]
	ps.mu.Unlock()
	if !ok || p == nil || !p.active || p.messageID == "" || p.chat != at.to.Peer {
		return nil
	}
	bodies := ps.render(cmp.Or(ps.Redactor.Clean(s.Text), textStopped), false)
	if len(bodies) == 0 {
		return nil
	}
	if err := ed.Edit(ctx, at.to, p.messageID, bodies[0]); err != nil {
		return fmt.Errorf("take out of a preview what a turn did: %w", err)
	}
	p.active = false
	return nil
}

// textStopped is what is left of a preview that never had words.
const textStopped = "(stopped)"

// sendFirst sends the message that a preview begins with. A call that has begun is
// not cut off.
func (ps *previews) sendFirst(ctx context.Context, r channels.Reply) (channels.Receipt, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendTimeout)
	defer cancel()
	if st, ok := ps.ch.(channels.Streamer); ok {
		return st.StartStream(ctx, r)
	}
	return ps.ch.Send(ctx, r)
}

// breakStream ends the preview's message when the words of a later step begin anew, and
// the network cannot write them over what is there: that stays, whole, and they have a
// message of their own.
func (ps *previews) breakStream(ctx context.Context, s signals.Preview, p *preview, at destination) error {
	was := p.step
	p.step = s.Step
	st, ok := ps.ch.(channels.Streamer)
	if !ok || p.messageID == "" || p.chat != at.to.Peer || was == s.Step {
		return nil
	}
	var before channels.Body
	if all := ps.render(ps.Redactor.Clean(s.Before), false); s.BeforeStep == was && len(all) > 0 {
		before = all[0]
	}
	left, err := st.SplitStream(ctx, at.to, p.messageID, before)
	if err != nil {
		p.step = was
		return err
	}
	if !left {
		return nil
	}
	p.messageID = "" // the answer goes elsewhere, also after a crash
	if err := ps.Store.Preview(context.WithoutCancel(ctx), s.Turn, sessions.Preview{}); err != nil {
		return fmt.Errorf("record that a preview ended: %w", err)
	}
	return nil
}

// undoBegun takes back the note that a preview begins, if the failure says that it
// surely did not arrive, and returns the failure.
func (ps *previews) undoBegun(ctx context.Context, turn string, p *preview, failure error) error {
	ce, ok := asChannelError(failure)
	if !ok || ce.Kind == channels.Ambiguous {
		return failure
	}
	p.ambiguous = false
	if err := ps.Store.Preview(context.WithoutCancel(ctx), turn, sessions.ShownPreview(p.messageID)); err != nil {
		return errors.Join(failure, fmt.Errorf("record that a preview did not arrive: %w", err))
	}
	return failure
}

// backOff keeps previews away from a chat that the network limits: the answer
// itself needs the room.
func (p *preview) backOff(now time.Time, err error) {
	ce, ok := asChannelError(err)
	switch {
	case err == nil:
	case ok && ce.Kind == channels.RateLimit:
		p.pausedUntil = now.Add(max(ce.RetryAfter, time.Second))
	case ok && (ce.Kind == channels.Unsent || ce.Kind == channels.Moved), p.messageID != "": // an edit may be repeated
	default:
		p.ended = true
	}
}

// isOver reports whether s is not to be shown any more. Signals may come late, and
// nothing of a turn stands behind its answer. A turn whose preview this process has
// sent has its answer still to come, in the same lane.
func (ps *previews) isOver(ctx context.Context, s signals.Preview, at destination) (bool, error) {
	ps.mu.Lock()
	p := ps.turns[s.Turn]
	ps.mu.Unlock()
	if p != nil && p.messageID != "" {
		return false, nil
	}
	t, err := ps.Store.Turn(ctx, s.Turn)
	if err != nil {
		return false, fmt.Errorf("look at the turn: %w", err)
	}
	if t.State == sessions.Done {
		return true, nil
	}
	if s.Shows() && (p == nil || !p.tried) {
		return false, ps.resume(ctx, s, at)
	}
	return false, nil
}

// resume looks for the preview of a turn that an earlier process has begun, which
// goes on growing: there is no second one. In doubt there may be one whose id nobody
// knows.
func (ps *previews) resume(ctx context.Context, s signals.Preview, at destination) error {
	was, err := ps.Store.Previewed(ctx, s.Turn)
	if err != nil {
		return fmt.Errorf("look for the preview of a turn: %w", err)
	}
	p := ps.forTurn(s.Turn)
	switch {
	case was.State == sessions.NoPreview:
	case was.State == sessions.PreviewBegun:
		p.tried, p.ambiguous, p.ended = true, true, true
	case at.movedSince(s.AskedAt):
		p.tried, p.ended = true, true
	default:
		p.tried, p.counted, p.messageID, p.chat = true, true, was.ID, at.to.Peer
	}
	return nil
}
