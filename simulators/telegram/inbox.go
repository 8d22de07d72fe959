package telegram

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"parley/simulators/internal/stage"
)

// inboxes are the bots, and the updates of each until it confirms them: how they wait,
// and how they are handed to polls and posted to webhooks.
type inboxes struct {
	*world
	hooked   chan struct{} // capacity 1: tells deliverHooks that there may be work
	accounts []*account    // in the order of Options.Bots
}

// account is a bot with what the platform keeps for it.
type account struct {
	bot   Bot
	self  wireUser
	inbox inbox
}

// openInboxes makes the bots anew. The caller holds the lock, or is New.
func (s *inboxes) openInboxes() {
	for _, a := range s.accounts {
		a.inbox.endPoll(textOusted)
	}
	s.accounts = nil
	for _, b := range s.opts.Bots {
		next := s.opts.FirstUpdateID
		if next == 0 {
			next = 100_000_000 + s.rng.Int64N(800_000_000)
		}
		s.accounts = append(s.accounts, &account{bot: b, self: b.Person().wire(), inbox: inbox{next: next, hooked: s.hooked, hook: newWebhook()}})
	}
}

// account finds a bot; empty is the first. The caller holds the lock.
func (s *inboxes) account(username string) *account {
	if username == "" {
		return s.accounts[0]
	}
	for _, a := range s.accounts {
		if fold(a.bot.Username) == fold(username) {
			return a
		}
	}
	return nil
}

// known is the bot of that name, which people need for what they do.
func (s *inboxes) known(username string) *account {
	a := s.account(username)
	if a == nil {
		panic(stage.Forbid("%w: %q", errNoBot, username))
	}
	return a
}

// inbox holds the updates of one bot until it confirms them.
type inbox struct {
	next    int64 // update id of the next update
	waiting []pending
	ghosts  []redelivery
	allowed []string // nil: everything that can happen here
	poller  *poller
	hook    *webhook        // never nil
	hooked  chan<- struct{} // tells deliverHooks that there may be work
}

type pending struct {
	id    int64
	raw   []byte
	entry *UpdateEntry
}

// redelivery is a confirmed update that a fault brings back.
type redelivery struct {
	pending
	polls int       // still to pass before it appears
	at    time.Time // and not before; zero: whenever
}

func (g redelivery) isDue(now time.Time) bool { return g.polls <= 0 && !g.at.After(now) }

// nextRedelivery returns how long until the next ghost that only time keeps away, at most
// most.
func (in *inbox) nextRedelivery(now time.Time, limit time.Duration) time.Duration {
	for _, g := range in.ghosts {
		if g.polls <= 0 && g.at.After(now) {
			limit = min(limit, g.at.Sub(now))
		}
	}
	return limit
}

// poller is the one getUpdates call that may wait.
type poller struct {
	wake   chan struct{} // capacity 1
	ousted chan struct{} // closed when the poll must end
	reason string        // why; set before ousted is closed
}

// webhook is what setWebhook stored, and how its calls fare. While url is set,
// getUpdates is refused.
type webhook struct {
	url           string
	secret        string
	limit         int // max_connections
	lastErrorDate int64
	lastError     string
	flying        int             // calls under way
	sending       map[int64]bool  // the updates in them
	lanes         map[int64]*lane // by chat
}

func newWebhook() *webhook {
	return &webhook{sending: map[int64]bool{}, lanes: map[int64]*lane{}}
}

func (w *webhook) lane(p pending) *lane {
	l := w.lanes[p.entry.ChatID]
	if l == nil {
		l = &lane{}
		w.lanes[p.entry.ChatID] = l
	}
	return l
}

func (in *inbox) wants(kind string) bool {
	return in.allowed == nil || slices.Contains(in.allowed, kind)
}

// endPoll ends the poll that waits, if any.
func (in *inbox) endPoll(reason string) {
	if in.poller != nil {
		in.poller.reason = reason
		close(in.poller.ousted)
		in.poller = nil
	}
}

func (in *inbox) wake() {
	if in.poller != nil {
		select {
		case in.poller.wake <- struct{}{}:
		default:
		}
	}
	if in.hook.url != "" {
		select {
		case in.hooked <- struct{}{}:
		default:
		}
	}
}

// put creates an update for a, unless its kind is not wanted. The caller
// holds the lock.
func (s *inboxes) put(a *account, kind string, payload any, e UpdateEntry) []Ref {
	if !a.inbox.wants(kind) {
		return nil
	}
	e.Kind = kind
	raw := fmt.Appendf(nil, `{"update_id":%d,"%s":%s}`, a.inbox.next, kind, mustJSON(payload))
	return []Ref{s.enqueue(a, a.inbox.next, raw, e)}
}

func (s *inboxes) enqueue(a *account, id int64, raw []byte, e UpdateEntry) Ref {
	a.inbox.next = max(a.inbox.next, id+1)
	e.Bot, e.UpdateID, e.Created = a.bot.Username, id, s.opts.Now()
	entry := s.books.updates.Add(e)
	s.books.totals.Updates++
	a.inbox.waiting = append(a.inbox.waiting, pending{id: id, raw: raw, entry: entry})
	a.inbox.wake()
	s.books.Notify()
	return Ref{Bot: a.bot.Username, UpdateID: id}
}

// Inject queues raw as an update of the bot (empty: the first), whatever it
// contains. An update_id is added when the object has none or raw is not an
// object but {} would be; malformed text goes out byte for byte, so the whole
// answer to getUpdates is then malformed until an offset passes it.
func (s *inboxes) Inject(bot string, raw json.RawMessage) (ref Ref, err error) {
	defer stage.Act(&s.mu, &err, "inject update")()
	a := s.known(bot)
	id := a.inbox.next
	kind := "malformed"
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) == nil && fields != nil {
		kind = "unknown"
		var own int64
		if v, ok := fields["update_id"]; !ok {
			fields["update_id"] = json.RawMessage(strconv.FormatInt(id, 10))
			raw, _ = json.Marshal(fields)
		} else if json.Unmarshal(v, &own) == nil && own > 0 {
			id = own
		}
		for k := range fields {
			if k != "update_id" {
				kind = k
			}
		}
	}
	return s.enqueue(a, id, slices.Clone(raw), UpdateEntry{Kind: kind, Text: string(raw)}), nil
}

// confirm forgets every update below offset. The caller holds the lock.
func (s *inboxes) confirm(a *account, offset int64, dropped bool) {
	in := &a.inbox
	now := s.opts.Now()
	kept := in.waiting[:0]
	n := 0
	for _, p := range in.waiting {
		if p.id >= offset {
			kept = append(kept, p)
			continue
		}
		n++
		s.settle(a, p, now, dropped)
	}
	clear(in.waiting[len(kept):])
	in.waiting = kept
	if n > 0 {
		s.books.Notify()
	}
}

// settle books the end of an update and lets a fault bring it back.
func (s *inboxes) settle(a *account, p pending, now time.Time, dropped bool) {
	if dropped {
		p.entry.Dropped = true
		return
	}
	p.entry.Confirmed = now
	s.books.totals.Confirmed++
	by := "getUpdates"
	if a.inbox.hook.url != "" {
		by = "webhook"
	}
	if f := s.draw(a.bot.Username, by, p.entry.ChatID, true); f != nil {
		g := redelivery{pending: p, polls: f.AfterPolls}
		if f.After > 0 {
			g.at = now.Add(f.After)
		}
		for range max(f.Copies, 1) {
			a.inbox.ghosts = append(a.inbox.ghosts, g)
		}
		s.books.totals.Faults++
	}
}

// batch picks the next updates to hand out. The caller holds the lock.
func (s *inboxes) batch(a *account, limit int) []pending {
	in := &a.inbox
	var out []pending
	kept := in.ghosts[:0]
	for _, g := range in.ghosts {
		if g.isDue(s.opts.Now()) && len(out) < limit {
			out = append(out, g.pending)
			continue
		}
		kept = append(kept, g)
	}
	in.ghosts = kept
	out = append(out, in.waiting[:min(len(in.waiting), limit-len(out))]...)
	for _, p := range out {
		p.entry.Handed++
	}
	return out
}
