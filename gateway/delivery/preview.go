package delivery

import (
	"context"
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
	seen      bool      // the first visible sign was counted
	over      bool      // no more of it: a first message may hang in the chat
	quiet     time.Time // no edits before: the network asked for a pause
	born      time.Time
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

// previewOf is the id of the message that d's text goes into, or "".
func (a *account) previewOf(d *sessions.Delivery) string {
	if d.Turn == "" {
		return ""
	}
	if p := a.state(d.Turn); p.messageID != "" {
		return p.messageID
	}
	return d.Preview
}

// showNow makes one sign of a running turn visible. Nothing depends on it:
// what goes wrong is not tried again.
func (a *account) showNow(ctx context.Context, s worker.PreviewSignal) {
	ctx, cancel := context.WithTimeout(ctx, previewTimeout)
	defer cancel()
	err := a.tryShow(ctx, s)
	if err != nil {
		a.d.Logger.Debug("a preview was not shown", "channel", a.name, "error", err)
	}
}

func (a *account) tryShow(ctx context.Context, s worker.PreviewSignal) error {
	if over, err := a.over(ctx, s); over || err != nil {
		return err
	}
	if s.Text == "" {
		if t, ok := a.ch.(channels.Typer); ok {
			return t.Typing(ctx, s.To)
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
	if p.messageID != "" {
		err := ed.Edit(ctx, s.To, p.messageID, bodies[0])
		p.pause(a.d.Now(), err)
		return err
	}
	r, err := a.ch.Send(ctx, channels.Reply{To: s.To, ReplyTo: s.ReplyTo, Body: bodies[0], ID: s.Turn + "/preview"})
	if err != nil {
		p.pause(a.d.Now(), err)
		return err
	}
	p.messageID = r.MessageID
	if !p.seen {
		p.seen = true
		a.countFirst(s.To, s.Asked)
	}
	return a.d.Store.Preview(context.WithoutCancel(ctx), s.Turn, r.MessageID)
}

// pause keeps previews away from a chat that the network limits: the answer
// itself needs the room.
func (p *preview) pause(now time.Time, err error) {
	ce, ok := errorOf(err)
	switch {
	case err == nil:
	case ok && ce.Kind == channels.RateLimit:
		p.quiet = now.Add(max(ce.RetryAfter, time.Second))
	case ok && ce.Kind == channels.Unsent, p.messageID != "": // an edit may be repeated
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
	if d.Asked.IsZero() || a.state(d.Turn).seen {
		return
	}
	a.countFirst(d.To, d.Asked)
}

func (a *account) countFirst(to sessionkeys.Address, asked time.Time) {
	a.d.Observer.FirstReply(a.name, to.Kind == sessionkeys.DM, a.d.Now().Sub(asked))
}
