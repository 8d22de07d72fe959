package intake

import (
	"context"
	"fmt"
	"sync"
	"time"

	"parley/channels"
	"parley/gateway/messages"
	"parley/gateway/signals"
	"parley/sessionkeys"
	"parley/sessions"
)

// strangers counts who was told that they may not talk to the bot.
type strangers struct {
	mu       sync.Mutex
	hour     time.Time
	notified map[string]int            // by channel, in that hour
	who      map[sessions.InboxID]bool // in that hour: they take nobody's place by writing again
}

// allow counts one more who is told by the channel, unless there were most of them in
// this hour, or it is told that already.
func (s *strangers) allow(channel string, notice sessions.InboxID, limit int, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if hour := now.Truncate(time.Hour); !hour.Equal(s.hour) {
		s.hour, s.notified, s.who = hour, map[string]int{}, map[sessions.InboxID]bool{}
	}
	if s.notified[channel] >= limit || s.who[notice] {
		return false
	}
	s.notified[channel]++
	s.who[notice] = true
	return true
}

// giveBack returns the place of a stranger who was told earlier today, as the store knows. The
// store is still asked about them once an hour only.
func (s *strangers) giveBack(channel string, taken time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if taken.Truncate(time.Hour).Equal(s.hour) {
		s.notified[channel]--
	}
}

// turnAway tells the sender of e, who may not talk to the bot, so, with the code or the id by
// which they are let in: in a direct message only, and once a day, also over a restart, which
// the store's memory of the day's notice sees to. No model is asked. What cannot be stored is
// not told.
func (g *gate) turnAway(ctx context.Context, e *event) {
	m, s, limit := e.Message, e.Sender, e.settings.Limits.Strangers
	if m.Kind != channels.Said || m.Address.Kind != sessionkeys.DM || s.ID == "" || s.Bot || s.Anonymous || idProblem(m) != "" {
		return
	}
	now := g.now()
	m.Event = "turned away " + now.UTC().Format(time.DateOnly)
	id := messages.Inbox(m)
	if !g.strangers.allow(m.Channel, id, limit, now) {
		return
	}
	added, err := g.store.Notice(ctx, id, []sessions.Outgoing{{
		ID: messages.ID{Kind: messages.Note, About: messages.EventID(m)}.String(), Channel: m.Channel, To: m.Address, At: now,
		Text: "I may only talk to people whom my operator knows. If you should be one of them, give them " + g.introduction(ctx, e, s),
	}}, now)
	switch {
	case err != nil:
		g.logger.Warn("refusal notice not sent", "channel", m.Channel, "error", err)
	case !added:
		g.strangers.giveBack(m.Channel, now)
	default:
		g.signal(ctx, signals.OutboxTopic, signals.Outbox{Channel: m.Channel})
	}
}

// introduction returns by what a stranger is let in: a code where the account gives them, else
// their id.
func (g *gate) introduction(ctx context.Context, e *event, s channels.Sender) string {
	if e.source.Access.Pairing && g.people != nil {
		code, until, err := g.people.Ask(ctx, e.Channel, s)
		if err == nil {
			g.logger.Info("pairing code given", "channel", e.Channel, "sender", truncate(s.ID, maxLogged), "until", until)
			return fmt.Sprintf("this code, within %d hours: %s", int(until.Sub(g.now()).Round(time.Hour).Hours()), code)
		}
		g.logger.Warn("pairing code not given", "channel", e.Channel, "sender", truncate(s.ID, maxLogged), "error", err)
	}
	return "your id: " + s.ID
}
