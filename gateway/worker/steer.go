package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"parley/agent"
	"parley/broker"
	"parley/channels"
	"parley/gateway/messages"
	"parley/gateway/policy"
	"parley/sessions"
	"parley/transcript"
	"parley/wake"
)

// steering lets what waits in the mailbox join the turn that its actor runs, as
// long as it is of the person whose turn it is: the answer hangs on their
// message, and money and rights are theirs. The first message that cannot join,
// another person's, a command, holds back all that are behind it, and becomes the
// next turn. All of it is of one conversation, so the answer goes where the
// turn's first message came from.
//
// What waits is known from deliveries, in memory: a turn to which no messages
// come reads nothing more.
type steering struct {
	a          *actor
	j          *journal
	cancel     context.CancelCauseFunc // ends the turn
	rules      policy.Waiting
	interrupts wake.Signal // nil: a new message waits for the next model call

	mu   sync.Mutex
	read uint64 // how far the mailbox was read, as the turn has it
	last uint64 // for which message it was interrupted
}

var _ agent.Steering = (*steering)(nil)

// newSteering returns the steering of j's turn; nil when nothing may join it.
func (a *actor) newSteering(j *journal, cancel context.CancelCauseFunc) *steering {
	rules := a.settings.rules(j.t.Channel)
	if !rules.MayJoin() || j.t.Attempts > 1 || j.job != nil {
		return nil // what failed before may do so again, and is to take nothing with it
	}
	s := &steering{a: a, j: j, cancel: cancel, rules: rules, read: a.m.LastRead}
	if rules.WhileBusy == policy.Interrupt {
		s.interrupts = wake.New()
	}
	return s
}

// Interrupts implements [agent.Steering].
func (s *steering) Interrupts() <-chan struct{} { return s.interrupts }

// Join implements [agent.Steering].
func (s *steering) Join(ctx context.Context) (joined bool, err error) {
	a := s.a
	a.slot.Reacquire(ctx) // a wait for sub-agents that was given up may have lost it
	defer s.resetInterrupts()
	for goesOn := true; goesOn && a.hasUnread() && !a.w.stopping() && ctx.Err() == nil; {
		var one bool
		if one, goesOn, err = s.joinNext(ctx); err != nil {
			return joined, err
		}
		joined = joined || one
	}
	return joined, nil
}

// resetInterrupts forgets what asked for what has joined, and looks again at what came
// meanwhile.
func (s *steering) resetInterrupts() {
	s.mu.Lock()
	s.read = s.a.m.LastRead
	select {
	case <-s.interrupts:
	default:
	}
	s.mu.Unlock()
	if s.a.hasUnread() {
		s.a.w.actors.notifyMessage(s.a.token, 0)
	}
}

// joinNext lets the head of the mailbox join, or passes it over; goesOn is false
// when what is there stays for another turn. A request to stop ends the turn instead.
func (s *steering) joinNext(ctx context.Context) (joined, goesOn bool, err error) {
	a := s.a
	it, err := a.head(ctx)
	if errors.Is(err, broker.ErrNone) {
		return false, false, nil // said when the next turn looks for it
	}
	if err != nil {
		return false, false, fmt.Errorf("read the mailbox: %w", err)
	}
	if v := s.disposition(it); v == stays {
		return false, false, nil
	}
	if here, err := a.mayTakeHere(ctx); !here || err != nil {
		return false, false, err
	}
	b, ripe, err := a.gather(ctx, s.interrupts != nil, nil)
	if !ripe || err != nil {
		return false, false, err
	}
	switch stop, err := a.isStopRequested(ctx); {
	case err != nil:
		return false, false, err
	case stop:
		s.cancel(agent.ErrStopped)
		return false, false, agent.ErrStopped
	}
	return s.joinBatch(ctx, b)
}

// disposition is what is to be done with a message while the turn runs.
type disposition int

const (
	stays disposition = iota // with all that are behind it
	passed
	wanted
)

func (s *steering) disposition(it item) disposition {
	switch {
	case it.err != nil || it.msg.Channel != s.j.t.Channel:
		return stays
	case !messages.ForBot(it.msg):
		return passed // unless it is a piece of something that is
	case it.msg.Sender.ID != s.j.t.Sender || it.msg.Sender.Anonymous:
		return stays
	}
	if _, ok := it.command(); ok {
		return stays
	}
	return wanted
}

// joinBatch commits b to the turn, or passes it over.
func (s *steering) joinBatch(ctx context.Context, b batch) (joined, goesOn bool, err error) {
	a, head := s.a, b.items[0].msg
	for {
		q, ok, err := a.buildQuestion(ctx, b)
		if err != nil {
			return false, false, err
		}
		if !ok {
			return false, true, s.passOver(ctx, b.through)
		}
		if s.disposition(item{msg: q.lead}) != wanted { // an album of somebody else
			return false, false, nil
		}
		switch err := a.importFiles(ctx, &q, joinedID(s.j.t.ID, b.items[0].e.Seq), nil); {
		case errors.Is(err, agent.ErrHandover):
			return false, false, nil // it stays where it is
		case err != nil:
			return false, false, err
		}
		joined, err := s.commit(ctx, q)
		ke, some := errors.AsType[*sessions.KnownError](err)
		if !some {
			return joined, true, err
		}
		if a.isHeadKnown(ke.Events, head) {
			return false, true, s.passOver(ctx, b.items[0].e.Seq)
		}
		b = selectBatch(a.lookahead, ke.Events, s.rules)
	}
}

func (s *steering) commit(ctx context.Context, q question) (bool, error) {
	a, first, seq := s.a, q.items[0].msg, q.items[0].e.Seq
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), agent.DefaultGrace)
	defer done()
	joined, err := s.j.Join(ctx, sessions.JoinTurn{
		Seq: seq, Events: q.events, Through: q.through, TextHashes: q.textHashes(), Message: a.message(&q, joinedID(s.j.t.ID, seq), a.w.Now()),
	})
	if err != nil {
		return false, fmt.Errorf("join a turn: %w", err)
	}
	a.m.LastRead = max(a.m.LastRead, q.through, seq)
	if !joined {
		a.countDuplicates(first.Channel, "message_id", len(q.items))
		return false, nil
	}
	a.countDuplicates(first.Channel, "edit", q.edits)
	a.showWorking(s.j.t, q.leadIDs())
	a.w.Logger.Debug("message joined the running turn", "session", s.j.t.Session, "turn", s.j.t.ID)
	return true, nil
}

// passOver passes the mailbox over up to seq while the turn runs.
func (s *steering) passOver(ctx context.Context, seq uint64) error {
	if err := s.j.Skip(ctx, seq); err != nil {
		return fmt.Errorf("pass over a message: %w", err)
	}
	s.a.m.LastRead = max(s.a.m.LastRead, seq)
	return nil
}

// checkInterrupt looks whether what came is to interrupt the turn. It is called beside the
// turn, by one goroutine.
func (s *steering) checkInterrupt(ctx context.Context) {
	if s == nil || s.interrupts == nil {
		return
	}
	s.mu.Lock()
	after := s.read
	s.mu.Unlock()
	until := s.a.lastSeen.Load()
	for after < until {
		e, err := s.a.w.Log.NextAtLeast(ctx, s.a.token, after, until)
		if err != nil { // it joins before the next model call
			return
		}
		after = e.Seq
		msg, err := decodeMessage(s.j.t.From, e)
		it := item{e, msg, err}
		v := s.disposition(it)
		if v == wanted {
			v = s.checkNew(ctx, it.msg)
		}
		switch v {
		case stays:
			return
		case passed:
			continue
		case wanted:
			s.interrupt(e.Seq)
			return
		}
	}
}

// checkNew looks whether the event is known, or an edit that changes nothing.
func (s *steering) checkNew(ctx context.Context, m channels.Message) disposition {
	if known, err := s.a.w.Store.Known(ctx, messages.Inbox(m)); err != nil || known[0] {
		return passed
	}
	if m.Kind == channels.Edited {
		w := messages.HashText(m)
		if sum, found, err := s.a.w.Store.LastTextHash(ctx, w); err != nil || found && sum == w.Sum || m.Completing && (!found || !messages.HasAttachments(m)) {
			return passed
		}
	}
	return wanted
}

// interrupt interrupts the turn, unless message seq was read meanwhile. A message does
// so once: one that does not join, because this process ends or for whatever
// reason, must not have call after call given up and paid for.
func (s *steering) interrupt(seq uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if seq <= max(s.read, s.last) || s.a.w.stopping() {
		return
	}
	s.last = seq
	s.interrupts.Send()
}

func openingID(turn string) string {
	return transcript.MessageID{Turn: turn, Kind: transcript.Opening}.String()
}

func joinedID(turn string, seq uint64) string {
	return transcript.MessageID{Turn: turn, Kind: transcript.Joining, Seq: seq}.String()
}
