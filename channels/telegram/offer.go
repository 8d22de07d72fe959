package telegram

import (
	"cmp"
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"

	"parley/channels"
)

// event is an update, as offered.
type event struct {
	id      int64 // of the update; 0: it has none
	message channels.Message
	press   string // a button press to answer, once it was taken
}

func (r *receiver) decode(raw json.RawMessage) event {
	id, known := peekID(raw)
	m, press := r.translate(raw, id, known)
	return event{id, m, press}
}

// taken is what is done once accept took an event.
func (r *receiver) taken(e event) {
	r.o.Observer.Event(r.o.Name, e.message.ReceivedAt)
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
	var offering sync.WaitGroup
	var left atomic.Bool
	for _, es := range byChat {
		offering.Go(func() {
			for _, e := range es {
				if !r.offer(ctx, e) {
					left.Store(true)
					return
				}
			}
		})
	}
	offering.Wait()
	return last, !left.Load()
}

// offer brings one update to accept until it is taken; false means that ctx
// ended before.
func (r *receiver) offer(ctx context.Context, e event) bool {
	m := e.message
	pauses := r.o.pauses()
	for ctx.Err() == nil {
		err := r.accept(ctx, m)
		if err == nil {
			r.taken(e)
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		r.o.Log.Warn("event not taken, offering it again", "event", m.Event, "error", err)
		pauses.Wait(ctx)
	}
	return false
}

// answerLater has a button's spinner stopped. It is courtesy: when too many
// wait, the oldest ones are answered and this one fades by itself.
func (r *receiver) answerLater(press string) {
	if press == "" {
		return
	}
	select {
	case r.presses <- press:
	default:
		r.o.Log.Debug("button press left unanswered")
	}
}

func (r *receiver) answerPresses(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case id := <-r.presses:
			if _, err := r.short(ctx, "answerCallbackQuery", map[string]any{"callback_query_id": id}); err != nil && ctx.Err() == nil {
				r.o.Log.Debug("button press not answered", "error", err)
			}
		}
	}
}
