package telegram

import (
	"cmp"
	"context"
	"encoding/json"
	"sync/atomic"

	"github.com/go-telegram/bot"

	"parley/channels"
	"parley/channels/internal/receive"
)

// event is an update, as offered.
type event struct {
	id      int64 // of the update; 0: it has none
	message channels.Message
	press   press // to answer once it was taken
}

func (r *receiver) decode(raw json.RawMessage) event {
	id, known := peekID(raw)
	m, press := r.translate(raw, id, known)
	return event{id, m, press}
}

// afterTaken is what is done once accept took an event.
func (r *receiver) afterTaken(e event) {
	r.ReportTaken(e.message)
	r.answerLater(e.press)
}

// offerAll brings a batch to accept, each chat's updates in their order and the
// chats side by side, since each waits for a disk. It returns the last id when
// all were taken; false means that ctx ended before, and that nothing of the
// batch may be confirmed.
func (r *receiver) offerAll(ctx context.Context, raws []json.RawMessage) (last int64, taken bool) {
	byChat := map[string][]event{}
	now := map[string]string{} // chats that moved, by what they were called before
	for _, raw := range raws {
		e := r.decode(raw)
		last = max(last, e.id)
		chat := e.message.Address.Peer
		if e.message.Kind == channels.Migrated && now[chat] == "" {
			// What is said in the new chat must find that it is the old one.
			to := e.message.MovedTo
			now[chat] = to
			byChat[to] = append(append(byChat[chat], e), byChat[to]...)
			if to != chat {
				delete(byChat, chat)
			}
			continue
		}
		chat = cmp.Or(now[chat], chat)
		byChat[chat] = append(byChat[chat], e)
	}
	q := receive.NewQueue(ctx, 0, r.offer)
	var left atomic.Bool
	for chat, es := range byChat {
		for _, e := range es {
			q.Push(chat, e, func(taken bool) {
				if !taken {
					left.Store(true)
				}
			})
		}
	}
	q.Wait()
	return last, !left.Load()
}

// offer brings one update to accept until it is taken. It returns false when ctx
// ends before.
func (r *receiver) offer(ctx context.Context, e event) bool {
	if !r.Offer(ctx, e.message, r.accept) {
		return false
	}
	r.answerLater(e.press)
	return true
}

// answerLater has a button's spinner stopped. It is courtesy: when too many
// wait, the oldest ones are answered and this one fades by itself.
func (r *receiver) answerLater(p press) {
	if p.query == "" {
		return
	}
	select {
	case r.presses <- p:
	default:
		r.o.Log.Debug("button press left unanswered")
	}
}

func (r *receiver) answerPresses(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case p := <-r.presses:
			_, err := r.callLibrary(ctx, "answerCallbackQuery", func(ctx context.Context) error {
				_, err := r.bot.AnswerCallbackQuery(ctx, &bot.AnswerCallbackQueryParams{CallbackQueryID: p.query})
				return err
			})
			if err != nil && ctx.Err() == nil {
				r.o.Log.Debug("button press not answered", "error", err)
			}
			if p.alone.EphemeralID == 0 {
				continue
			}
			const edit = "editEphemeralMessageText"
			_, err = r.callLibrary(ctx, edit, func(ctx context.Context) error { return r.post(ctx, edit, p.alone) })
			if err != nil && ctx.Err() == nil {
				r.o.Log.Debug("pressed buttons not taken away", "error", err)
			}
		}
	}
}
