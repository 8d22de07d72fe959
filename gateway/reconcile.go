package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"parley/broker"
	"parley/gateway/worker"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/redis"
	"parley/sessions/sqlite"
)

// keepRead is how long messages stay in the log after they were read.
const keepRead = 7 * 24 * time.Hour

// storage is the store and the message log, of which each may lose what the other has.
type storage struct {
	store     sessions.Store
	log       *broker.Broker
	logger    *slog.Logger
	now       func() time.Time
	countLost func(messages int)
}

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
//     moved on past them. The senders of what the store did not see are unknown.
//   - A store that saw less than the log holds: it lost touches, or there are
//     messages that were never delivered; those mailboxes are touched again.
//   - A store that forgot what it had confirmed: it is an older copy, and does not
//     know what was answered since. All of it is answered again, and says so.
func (s *storage) reconcile(ctx context.Context) (recovery, error) {
	// The store first: others may be at work, and what they touch meanwhile is in
	// the log by then.
	known, highest, err := s.store.Generation(ctx)
	if err != nil {
		return recovery{}, err
	}
	generation, last, err := s.log.Generation(ctx)
	if err != nil {
		return recovery{}, err
	}
	opened := s.log.OpenReport()
	if opened.HasLoss() {
		s.logger.Error("message log truncated or replaced", "last_seq", opened.LastSeq, "expected", opened.Expected, "problems", opened.Problems)
	}
	if known != generation {
		if known != "" {
			if _, err := s.notifyLost(ctx, known, 0); err != nil {
				return recovery{}, err
			}
		}
		lost, err := s.store.StartGeneration(ctx, generation)
		if err != nil {
			return recovery{}, err
		}
		if known != "" {
			s.logger.Error("message log replaced, its unanswered messages are lost", "conversations", lost)
			s.countLost(lost)
		}
		highest = 0
	}
	if last < highest {
		s.logger.Error("message log is missing its newest messages, possibly restored from a backup", "last_seq", last, "expected", highest)
		// Before the places are taken: afterwards nobody could tell which are empty.
		lost, err := s.notifyLost(ctx, generation, last)
		if err != nil {
			return recovery{}, err
		}
		s.countLost(lost)
	}
	reached := max(last, highest)
	if opened.Was == generation && opened.Expected > reached {
		n := opened.Expected - reached
		s.logger.Error("message log lost messages unknown to the store, senders cannot be notified", "max_lost", n)
		s.countLost(int(n))
		reached = opened.Expected
	}
	if err := s.log.Advance(ctx, reached); err != nil {
		return recovery{}, err
	}
	if local, ok := s.store.(*sqlite.Store); ok {
		return s.reconcileFile(ctx, local, generation, last)
	}
	if last > highest {
		if err := s.touchUnseen(ctx); err != nil {
			return recovery{}, err
		}
	}
	return recovery{generation: generation}, nil
}

// notifyLost tells the people of every mailbox that waits for a message behind the
// place last that it will not be read: the log does not have it any more. It returns
// how many those are.
func (s *storage) notifyLost(ctx context.Context, generation string, last uint64) (int, error) {
	var waiting []sessions.Mailbox
	if err := s.store.Mailboxes(ctx, func(m sessions.Mailbox) bool {
		if m.LastSeen > m.LastRead && m.LastSeen > last {
			waiting = append(waiting, m)
		}
		return true
	}); err != nil {
		return 0, fmt.Errorf("look for messages that were lost: %w", err)
	}
	for _, m := range waiting {
		if _, err := worker.NotifyLost(ctx, s.store, generation, m, s.now()); err != nil {
			return 0, err // it says all
		}
	}
	if len(waiting) > 0 {
		s.logger.Error("unread messages lost, their chats are notified", "conversations", len(waiting))
	}
	return len(waiting), nil
}

// reconcileFile goes on for a store that is a file, in whose place an older copy
// may have been put. A touch that it forgot need not be of the newest message, so
// all mailboxes are looked at, but after an orderly end that nothing followed.
func (s *storage) reconcileFile(ctx context.Context, file *sqlite.Store, generation string, last uint64) (recovery, error) {
	ticks, err := file.Ticks(ctx)
	if err != nil {
		return recovery{}, err
	}
	opened := s.log.OpenReport()
	if !opened.Clean || ticks != opened.Store || ticks == 0 {
		unseen, err := s.unseen(ctx)
		if err != nil {
			return recovery{}, err
		}
		confirmed, err := s.log.ConfirmedThrough(ctx)
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
			s.logger.Error("database older than the message log, possibly restored from a backup: what was said, answered and spent since is missing from it. "+
				"Messages of that time that the log still holds are answered again, marked as possible repeats",
				"conversations", forgotten, "last_seq", last)
			if err := file.Distrust(ctx, last, opened.Store); err != nil {
				return recovery{}, err
			}
		}
		if err := s.touchAll(ctx, unseen); err != nil {
			return recovery{}, err
		}
	}
	doubt, err := file.AmbiguousThrough(ctx)
	return recovery{generation: generation, ambiguousThrough: doubt}, err
}

// recordTick lets the store grow older by one, and the log know of it. Other stores than
// a file do without: nobody puts an older copy in their place unnoticed.
func (s *storage) recordTick(ctx context.Context) error {
	if err := s.store.Probe(ctx); err != nil {
		return err // it says all
	}
	local, ok := s.store.(*sqlite.Store)
	if !ok {
		return nil
	}
	n, err := local.Ticks(ctx)
	if err != nil {
		return err // it says all
	}
	s.log.NoteStore(n)
	return nil
}

// recordLastTick calls tick when nothing writes any more. It is only a sign for the next
// start, which looks the closer without it.
func (s *storage) recordLastTick(ctx context.Context) {
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), vitalWait)
	defer cancel()
	if err := s.recordTick(end); err != nil {
		s.logger.Warn("final store tick not recorded", "error", err)
	}
}

// unseenMailbox is a mailbox with a message that the store has not seen: the newest that
// says whose it is.
type unseenMailbox struct {
	token string
	key   sessionkeys.Key
	seq   uint64
}

func (s *storage) unseen(ctx context.Context) (found []unseenMailbox, err error) {
	touched := map[string]uint64{}
	if err := s.store.Mailboxes(ctx, func(m sessions.Mailbox) bool {
		touched[m.Token] = m.LastSeen
		return true
	}); err != nil {
		return nil, fmt.Errorf("compare the mailboxes with the log: %w", err)
	}
	for tries := 1; ; tries++ {
		found, err = unseenAbove(ctx, s.log, touched)
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

// newestUnseen returns the newest message of the mailbox above after that says whose it is;
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
func (s *storage) touchUnseen(ctx context.Context) error {
	unseen, err := s.unseen(ctx)
	if err != nil {
		return err
	}
	return s.touchAll(ctx, unseen)
}

func (s *storage) touchAll(ctx context.Context, unseen []unseenMailbox) error {
	now, err := s.store.Clock(ctx)
	if err != nil {
		return fmt.Errorf("touch mailboxes again: %w", err)
	}
	for _, u := range unseen {
		_, _, err := s.store.Touch(ctx, sessions.Touch{Token: u.token, Key: u.key, Seq: u.seq, Now: now})
		if err != nil && !errors.Is(err, sessions.ErrNotFound) { // of a sub-agent that the store does not know
			return fmt.Errorf("touch a mailbox again: %w", err)
		}
	}
	return nil
}

// sweepLog sweeps the log once an hour, until ctx ends.
func (s *storage) sweepLog(ctx context.Context) error {
	tick := time.NewTicker(time.Hour)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			s.sweep(ctx)
		}
	}
}

// sweep deletes what was read long ago from the log. A turn that is open may need its messages
// yet, so its mailbox keeps all.
func (s *storage) sweep(ctx context.Context) {
	n, err := s.log.Prune(ctx, s.now().Add(-keepRead), func(token string) uint64 {
		m, err := s.store.Mailbox(ctx, token)
		if err != nil || m.Turn != nil {
			return 0
		}
		return m.LastRead
	})
	if err != nil && ctx.Err() == nil {
		s.logger.Warn("message log sweep failed", "error", err)
	}
	if n > 0 {
		s.logger.Info("message log swept", "deleted", n)
	}
	s.pruneFacts(ctx)
}

// keepFacts is how long facts stay in the log after Redis has them: longer than
// any failover reaches back.
const keepFacts = 7 * 24 * time.Hour

// maintain looks after a store that a failover may roll back, until ctx ends. Every
// mailbox is touched again after one: the log has what the store forgot.
func (s *storage) maintain(ctx context.Context) error {
	shared, ok := s.store.(*redis.Store)
	if !ok {
		return nil
	}
	return shared.Maintain(ctx, s.touchUnseen)
}

// pruneFacts deletes the facts that the store has had for days.
func (s *storage) pruneFacts(ctx context.Context) {
	shared, ok := s.store.(*redis.Store)
	if !ok {
		return
	}
	applied, err := shared.Applied(ctx)
	deleted := 0
	if err == nil {
		deleted, err = s.log.PruneFacts(ctx, s.now().Add(-keepFacts), applied)
	}
	if err != nil && ctx.Err() == nil {
		s.logger.Warn("fact log sweep failed", "error", err)
	}
	if deleted > 0 {
		s.logger.Info("fact log swept", "deleted", deleted)
	}
}
