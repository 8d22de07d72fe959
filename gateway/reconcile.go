package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/broker"
	"parley/gateway/worker"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/sqlite"
)

// keepRead is how long messages stay in the log after they were read.
const keepRead = 7 * 24 * time.Hour

// recovery is what a gateway's work stands on after store and log were compared.
type recovery struct {
	generation string // of the log
	// ambiguousThrough: messages up to this place may have been answered by a process whose
	// store was newer than the one that is here.
	ambiguousThrough uint64
}

// reconcile compares the store with the log before anything is taken, because
// each may have lost its tail while the other did not, or be an older copy.
//
//   - Another log than the one the store counted: sequences start again.
//   - A log shorter than the store saw, or than it was by its own notes: it would
//     use sequence numbers again, and new messages would look like old ones; it is
//     moved on past them. Of what the store did not see nobody knows whose it was.
//   - A store that saw less than the log holds: it lost touches, or there are
//     messages that were never delivered; those mailboxes are touched again.
//   - A store that forgot what it had confirmed: it is an older copy, and does not
//     know what was answered since. All of it is answered again, and says so.
func (g *Gateway) reconcile(ctx context.Context, store sessions.Store, b *broker.Broker) (recovery, error) {
	// The store first: others may be at work, and what they touch meanwhile is in
	// the log by then.
	known, highest, err := store.Generation(ctx)
	if err != nil {
		return recovery{}, err
	}
	generation, last, err := b.Generation(ctx)
	if err != nil {
		return recovery{}, err
	}
	log, opened := g.o.Logger, b.OpenReport()
	if opened.HasLoss() {
		log.Error("the message log is shorter than it was, or another one", "last", opened.LastSeq, "expected", opened.Expected, "problems", opened.Problems)
	}
	if known != generation {
		if known != "" {
			if _, err := g.notifyLost(ctx, store, known, 0); err != nil {
				return recovery{}, err
			}
		}
		lost, err := store.StartGeneration(ctx, generation)
		if err != nil {
			return recovery{}, err
		}
		if known != "" {
			log.Error("the message log is another one than before; what it held is lost", "conversations_with_unanswered_messages", lost)
			g.metrics.CountLost(lost)
		}
		highest = 0
	}
	if last < highest {
		log.Error("the message log lost its newest messages; it may be an older copy", "last", last, "seen", highest)
		// Before the places are taken: afterwards nobody could tell which are empty.
		lost, err := g.notifyLost(ctx, store, generation, last)
		if err != nil {
			return recovery{}, err
		}
		g.metrics.CountLost(lost)
	}
	reached := max(last, highest)
	if opened.Was == generation && opened.Expected > reached {
		n := opened.Expected - reached
		log.Error("the message log lost messages that the store had not seen yet; nobody knows whose they were, so nobody is told", "at_most", n)
		g.metrics.CountLost(int(n))
		reached = opened.Expected
	}
	if err := b.Advance(ctx, reached); err != nil {
		return recovery{}, err
	}
	if local, ok := store.(*sqlite.Store); ok {
		return g.reconcileFile(ctx, local, b, generation, last)
	}
	if last > highest {
		if err := touchUnseen(ctx, store, b); err != nil {
			return recovery{}, err
		}
	}
	return recovery{generation: generation}, nil
}

// notifyLost tells the people of every mailbox that waits for a message behind the
// place last that it will not be read: the log does not have it any more. It returns
// how many those are.
func (g *Gateway) notifyLost(ctx context.Context, store sessions.Store, generation string, last uint64) (int, error) {
	var waiting []sessions.Mailbox
	if err := store.Mailboxes(ctx, func(m sessions.Mailbox) bool {
		if m.LastSeen > m.LastRead && m.LastSeen > last {
			waiting = append(waiting, m)
		}
		return true
	}); err != nil {
		return 0, fmt.Errorf("look for messages that were lost: %w", err)
	}
	for _, m := range waiting {
		if _, err := worker.NotifyLost(ctx, store, generation, m, g.o.Now()); err != nil {
			return 0, err //nolint:wrapcheck // it says all
		}
	}
	if len(waiting) > 0 {
		g.o.Logger.Error("messages that nobody had read are lost; their chats are told", "conversations", len(waiting))
	}
	return len(waiting), nil
}

// reconcileFile goes on for a store that is a file, in whose place an older copy
// may have been put. A touch that it forgot need not be of the newest message, so
// all mailboxes are looked at, but after an orderly end that nothing followed.
func (g *Gateway) reconcileFile(ctx context.Context, store *sqlite.Store, b *broker.Broker, generation string, last uint64) (recovery, error) {
	ticks, err := store.Ticks(ctx)
	if err != nil {
		return recovery{}, err
	}
	opened := b.OpenReport()
	if !opened.Clean || ticks != opened.Store || ticks == 0 {
		unseen, err := unseenIn(ctx, store, b)
		if err != nil {
			return recovery{}, err
		}
		confirmed, err := b.ConfirmedThrough(ctx)
		if err != nil {
			return recovery{}, err
		}
		forgotten := 0
		for _, u := range unseen {
			if u.seq <= confirmed {
				forgotten++
			}
		}
		if ticks < opened.Store || forgotten > 0 {
			g.o.Logger.Error("the database is older than the message log, as if a backup had been put in its place: what was said, answered and spent since is not in it. "+
				"Messages of that time that the log still has are answered again, with the mark of a possible repeat",
				"conversations_it_knows_too_little_of", forgotten, "until", last)
			if err := store.Distrust(ctx, last, opened.Store); err != nil {
				return recovery{}, err
			}
		}
		if err := touchAll(ctx, store, unseen); err != nil {
			return recovery{}, err
		}
	}
	doubt, err := store.AmbiguousThrough(ctx)
	return recovery{generation: generation, ambiguousThrough: doubt}, err
}

// recordTick lets the store grow older by one, and the log know of it. Other stores than
// a file do without: nobody puts an older copy in their place unnoticed.
func recordTick(ctx context.Context, store sessions.Store, b *broker.Broker) error {
	if err := store.Probe(ctx); err != nil {
		return err //nolint:wrapcheck // it says all
	}
	local, ok := store.(*sqlite.Store)
	if !ok {
		return nil
	}
	n, err := local.Ticks(ctx)
	if err != nil {
		return err //nolint:wrapcheck // it says all
	}
	b.NoteStore(n)
	return nil
}

// recordLastTick is tick when nothing writes any more. It is only a sign for the next
// start, which looks the closer without it.
func (g *Gateway) recordLastTick(ctx context.Context, store sessions.Store, b *broker.Broker) {
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), vitalWait)
	defer cancel()
	if err := recordTick(end, store, b); err != nil {
		g.o.Logger.Warn("the store's last mark was not written", "error", err)
	}
}

// unseenMailbox is a mailbox with a message that the store has not seen: the newest that
// says whose it is.
type unseenMailbox struct {
	token string
	key   sessionkeys.Key
	seq   uint64
}

func unseenIn(ctx context.Context, store sessions.Store, b *broker.Broker) (found []unseenMailbox, err error) {
	touched := map[string]uint64{}
	if err := store.Mailboxes(ctx, func(m sessions.Mailbox) bool {
		touched[m.Token] = m.LastSeen
		return true
	}); err != nil {
		return nil, fmt.Errorf("compare the mailboxes with the log: %w", err)
	}
	for tries := 1; ; tries++ {
		found, err = unseenAbove(ctx, b, touched)
		if err == nil {
			return found, nil
		}
		if tries == compareTries || ctx.Err() != nil || !errors.Is(err, broker.ErrUnavailable) {
			return nil, fmt.Errorf("compare the mailboxes with the log: %w", err)
		}
	}
}

// compareTries is how often the log is read from its beginning when it, or this
// machine, stood still meanwhile.
const compareTries = 5

// unseenAbove returns the newest message of each mailbox that has one above what the
// store was told of.
func unseenAbove(ctx context.Context, b *broker.Broker, touched map[string]uint64) (found []unseenMailbox, err error) {
	var failed error
	err = b.LastAll(ctx, func(token string, seq uint64) bool {
		if touched[token] >= seq {
			return true
		}
		u, err := newestUnseen(ctx, b, token, touched[token], seq)
		if err != nil {
			failed = err
			return false
		}
		if u.seq > 0 {
			found = append(found, u)
		}
		return true
	})
	return found, errors.Join(failed, err)
}

// newestUnseen is the newest message of the mailbox above after that says whose it is;
// the zero value when none does. The mailbox's last message is at last.
func newestUnseen(ctx context.Context, b *broker.Broker, token string, after, last uint64) (unseenMailbox, error) {
	// Mostly it is the last one. The others are read only where that is not ours,
	// or was deleted since.
	u, err := lastReadable(ctx, b, token, last-1, last)
	if err == nil && u.seq == 0 && after < last-1 {
		u, err = lastReadable(ctx, b, token, after, last)
	}
	return u, err
}

// lastReadable reads the mailbox from after up to last, and passes over what says
// not whose it is: that is a dead letter, here or when it is delivered.
func lastReadable(ctx context.Context, b *broker.Broker, token string, after, last uint64) (u unseenMailbox, err error) {
	for after < last {
		e, err := b.NextAtLeast(ctx, token, after, last)
		if errors.Is(err, broker.ErrNone) {
			break
		}
		if err != nil {
			return u, err
		}
		if key, err := worker.ConversationOf(token, e.Key); err == nil {
			u = unseenMailbox{token, key, e.Seq}
		}
		after = e.Seq
	}
	return u, nil
}

// touchUnseen tells the store of every mailbox with messages that it has not seen.
func touchUnseen(ctx context.Context, store sessions.Store, b *broker.Broker) error {
	unseen, err := unseenIn(ctx, store, b)
	if err != nil {
		return err
	}
	return touchAll(ctx, store, unseen)
}

func touchAll(ctx context.Context, store sessions.Store, unseen []unseenMailbox) error {
	now, err := store.Clock(ctx)
	if err != nil {
		return fmt.Errorf("touch mailboxes again: %w", err)
	}
	for _, u := range unseen {
		_, _, err := store.Touch(ctx, sessions.Touch{Token: u.token, Key: u.key, Seq: u.seq, Now: now})
		if err != nil && !errors.Is(err, sessions.ErrNotFound) { // of a sub-agent that the store does not know
			return fmt.Errorf("touch a mailbox again: %w", err)
		}
	}
	return nil
}

// sweepLog deletes what was read long ago from the log, once an hour.
func (g *Gateway) sweepLog(ctx context.Context, b *broker.Broker, store sessions.Store) error {
	tick := time.NewTicker(time.Hour)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		n, err := b.Prune(ctx, g.o.Now().Add(-keepRead), func(token string) uint64 {
			m, err := store.Mailbox(ctx, token)
			if err != nil || m.Turn != nil {
				return 0
			}
			return m.LastRead
		})
		if err != nil && ctx.Err() == nil {
			g.o.Logger.Warn("sweeping the message log", "error", err)
		}
		if n > 0 {
			g.o.Logger.Info("swept the message log", "deleted", n)
		}
		g.pruneFacts(ctx, store, b)
	}
}
