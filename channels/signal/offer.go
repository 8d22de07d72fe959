package signal

import (
	"context"
	"errors"

	"parley/channels"
	"parley/channels/internal/markup"
	"parley/channels/internal/receive"
)

// offer brings one event to accept until it is taken; false means that ctx ended
// before.
func (r *receiver) offer(ctx context.Context, e event) bool {
	if e.skipReason == "" && e.message.Kind != channels.Unreadable && r.lookUpSender(ctx, e) {
		e = r.translate(e.raw, e.problem)
	}
	if e.longText != "" && r.o.IsRelevant(ctx, e.message) && !r.completeText(ctx, &e) {
		return false
	}
	used := r.isUsed(ctx, e)
	m := e.message
	if m.MessageID != "" && m.Text != "" { // it may be answered, and quoted, before accept returns
		r.messages.noteText(m.Address.Peer, m.MessageID, m.Text)
	}
	if !r.Offer(ctx, m, r.accept) {
		return false
	}
	r.deleteUnusedFiles(e, used)
	if e.groupChanged {
		r.invitations.Send()
	}
	if r.o.ReadReceipts && e.receipt && !r.o.NoteToSelf && r.o.IsRelevant(ctx, m) {
		select {
		case r.receipts <- m:
		default:
			r.o.Log.Debug("read receipt dropped: queue full")
		}
	}
	return true
}

// maxFetches is how often a text is asked for that travels as a file, while
// signal-cli does not answer. What is said behind it in the chat waits.
const maxFetches = 8

// cutNote stands where the rest of a text could not be had.
const cutNote = "… [the rest of this message could not be fetched]"

// completeText puts the whole text into an event; false means that ctx ended before.
func (r *receiver) completeText(ctx context.Context, e *event) bool {
	for pauses := receive.Pauses(r.o.Common); ; pauses.Wait(ctx) {
		text, err := r.fetchLongText(ctx, *e)
		if ctx.Err() != nil {
			return false
		}
		var lost *lostError
		switch {
		case err == nil:
			r.fillText(e, text, e.mentions)
			e.message.Text = markup.JoinNonEmpty("\n", e.message.Text, e.description)
			return true
		case !errors.As(err, &lost) || pauses.Failures()+1 >= maxFetches:
			r.o.Log.Warn("rest of a long message not fetched", "event", e.message.Event, "error", err)
			e.message.Text += cutNote
			return true
		}
	}
}
