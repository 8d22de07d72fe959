package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"parley/broker"
	"parley/channels"
	"parley/gateway/recording"
	"parley/gateway/signals"
	"parley/gateway/worker"
	"parley/sessions"
	"parley/transcript"
)

type (
	turn      = recording.Turn
	delivered = recording.Delivery
)

// run plays the recording to its end.
func (s *stage) run(ctx context.Context) error {
	if err := s.prepare(ctx); err != nil {
		return err
	}
	sending, stop := context.WithCancel(ctx)
	var senders errgroup.Group
	senders.Go(func() error { return s.sender().Run(sending) })
	err := s.play(ctx)
	if err == nil {
		err = s.drain(ctx)
	}
	stop()
	if e := senders.Wait(); err == nil {
		err = e
	}
	return err
}

// prepare makes the mailbox as it was before the first message, with the session
// under its own id.
func (s *stage) prepare(ctx context.Context) error {
	me := sessions.Worker{Name: "replay", Nonce: "before"}
	first := s.script.roots[0].Seq
	store, key, begins := s.o.Store, s.script.key, s.script.begins
	if _, err := store.StartGeneration(ctx, s.o.Recording.Header.Generation); err != nil {
		return fmt.Errorf("prepare the replay: %w", err)
	}
	if err := store.Heartbeat(ctx, me, begins.Add(time.Hour)); err != nil {
		return fmt.Errorf("prepare the replay: %w", err)
	}
	m, got, err := store.Touch(ctx, sessions.Touch{Token: key.Token(), Key: key, Seq: first, By: me, Take: true, Now: begins})
	if err == nil && !got {
		err = fmt.Errorf("%w: the store is not empty", ErrNotReplayable)
	}
	if err == nil {
		_, err = store.Answer(ctx, m.Fence(), sessions.Command{
			Seq: first - 1, Event: sessions.InboxID{Channel: "replay", Event: "begin"}, Fresh: s.script.r.Header.Session, At: begins,
		})
	}
	if err == nil {
		err = store.Handover(ctx, m.Fence())
	}
	if err != nil {
		return fmt.Errorf("prepare the replay: %w", err)
	}
	return nil
}

// play runs one worker after another until all turns are done.
func (s *stage) play(ctx context.Context) error {
	for n := 1; ; n++ {
		l := &life{Store: s.o.Store, s: s, nonce: "life " + strconv.Itoa(n)}
		w, err := s.worker(l)
		if err != nil {
			return err
		}
		working, kill := context.WithCancel(ctx)
		var g errgroup.Group
		g.Go(func() error { return w.Run(working) })
		again, err := s.turns(working, l)
		kill()
		if e := g.Wait(); err == nil && e != nil && !l.dead.Load() {
			err = fmt.Errorf("replay: %w", e)
		}
		if err != nil || !again {
			return err
		}
	}
}

// turns lets the worker take one turn after the other. again is true when its
// life ends before they are all done.
func (s *stage) turns(ctx context.Context, l *life) (again bool, err error) {
	for _, t := range s.script.roots {
		if s.has(t.ID) || s.has(openEnd+t.ID) {
			continue
		}
		s.reach(t.Opened)
		died, err := s.offer(ctx, l, t)
		if err != nil || died {
			return died, err
		}
		died, err = s.await(ctx, l, func() (bool, error) {
			if s.has(t.ID) || s.treeEnds(t) {
				return true, nil
			}
			return s.passedOver(ctx, t)
		})
		if err != nil || died {
			return died, err
		}
		if s.treeEnds(t) {
			l.dead.Store(true)
			s.settleOpen(t)
			return false, nil
		}
	}
	s.feedUntil(time.Time{})
	return s.await(ctx, l, func() (bool, error) { return s.idle(ctx) })
}

// offer feeds the log with what had come when the turn was opened. What came
// before its first message was passed over before: it would be one turn else.
func (s *stage) offer(ctx context.Context, l *life, t *turn) (died bool, err error) {
	var before uint64
	for _, e := range s.script.r.Envelopes {
		if e.Seq < t.Seq && !e.Pruned {
			s.give(s.envelope(e))
			before = max(before, e.Seq)
		}
	}
	died, err = s.await(ctx, l, func() (bool, error) { return s.read(ctx, before) })
	if err != nil || died {
		return died, err
	}
	for _, e := range s.script.r.Envelopes {
		if e.Seq != t.Seq || !e.Pruned {
			continue
		}
		b, err := s.restored(t)
		if err != nil {
			return false, err
		}
		s.give(b)
	}
	until := s.script.joins.until(t.Seq) // what joined it comes when it did
	for _, e := range s.script.r.Envelopes {
		if !e.Pruned && e.Seq < until && !e.At.After(t.Opened) {
			s.give(s.envelope(e))
		}
	}
	s.mu.Lock()
	fed := s.done[envelopeID(t.Seq)]
	s.mu.Unlock()
	if !fed { // by the clock of another machine it came later
		for _, e := range s.script.r.Envelopes {
			if e.Seq <= t.Seq && !e.Pruned {
				s.give(s.envelope(e))
			}
		}
	}
	return false, nil
}

// read says whether the mailbox was read up to seq.
func (s *stage) read(ctx context.Context, seq uint64) (bool, error) {
	m, err := s.o.Store.Mailbox(ctx, s.script.key.Token())
	if err != nil {
		return false, fmt.Errorf("look at the replay's mailbox: %w", err)
	}
	return m.Read >= seq, nil
}

func envelopeID(seq uint64) string { return "envelope " + strconv.FormatUint(seq, 10) }

func (s *stage) envelope(e recording.Envelope) broker.Envelope {
	return broker.Envelope{ID: e.ID, Token: s.script.key.Token(), Key: s.script.key.String(), Body: e.Body, Seq: e.Seq, At: e.At}
}

// give puts an envelope into the log, once.
func (s *stage) give(e broker.Envelope) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id := envelopeID(e.Seq); !s.done[id] {
		s.done[id] = true
		s.log.feed(e)
	}
}

// feedUntil puts what had come at t into the log; the zero time is the end.
func (s *stage) feedUntil(t time.Time) {
	for _, e := range s.script.r.Envelopes {
		if !e.Pruned && (t.IsZero() || !e.At.After(t)) {
			s.give(s.envelope(e))
		}
	}
}

// restored is the message that opened a turn, made again from the transcript,
// because the log had it no more.
func (s *stage) restored(t *turn) (broker.Envelope, error) {
	q, ok := s.script.messages[transcript.MessageID{Turn: t.ID, Kind: transcript.Opening}.String()]
	if !ok {
		return broker.Envelope{}, fmt.Errorf("%w: the message of turn %s is neither in the log nor in the transcript", ErrNotReplayable, t.ID)
	}
	m := restore(q.Words(), t)
	body, err := json.Marshal(m)
	if err != nil {
		return broker.Envelope{}, fmt.Errorf("make the message of turn %s again: %w", t.ID, err)
	}
	s.report.Notes = append(s.report.Notes, fmt.Sprintf("the message of turn %s was not in the log any more; it was made again from the transcript", t.ID))
	return broker.Envelope{ID: "restored " + t.ID, Token: s.script.key.Token(), Key: s.script.key.String(), Body: body, Seq: t.Seq, At: t.Received}, nil
}

// await waits until done, or until the worker has to die or hand over here.
func (s *stage) await(ctx context.Context, l *life, done func() (bool, error)) (died bool, err error) {
	stuck := time.NewTimer(patience)
	defer stuck.Stop()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for {
		if b := s.breaksNow(); b != nil {
			if !b.handover {
				l.dead.Store(true)
			}
			return true, nil
		}
		if ok, err := done(); ok || err != nil {
			return false, err
		}
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-s.progress:
			stuck.Reset(patience)
		case <-poll.C:
		case <-stuck.C:
			s.differ(Turns, "the replay", s.stuckAt())
			l.dead.Store(true)
			return false, nil
		}
	}
}

// passedOver says whether the message of a turn was read without opening it.
func (s *stage) passedOver(ctx context.Context, t *turn) (bool, error) {
	m, err := s.o.Store.Mailbox(ctx, s.script.key.Token())
	if err != nil {
		return false, fmt.Errorf("look at the replay's mailbox: %w", err)
	}
	if m.Read < t.Seq || m.Turn != nil {
		return false, nil
	}
	if _, err := s.o.Store.Turn(ctx, t.ID); err == nil {
		return false, nil // it is done, and will be noted
	}
	s.committed(t.ID)
	s.differ(Turns, "turn "+t.ID, "its message opens no turn now")
	return true, nil
}

// idle says whether everything in the log was read and no turn is open.
func (s *stage) idle(ctx context.Context) (bool, error) {
	m, err := s.o.Store.Mailbox(ctx, s.script.key.Token())
	if err != nil {
		return false, fmt.Errorf("look at the replay's mailbox: %w", err)
	}
	var last uint64
	for _, e := range s.script.r.Envelopes {
		if !e.Pruned {
			last = max(last, e.Seq)
		}
	}
	return m.Turn == nil && m.Read >= last && m.Controls == 0, nil
}

// drain waits until all answers were brought back.
func (s *stage) drain(ctx context.Context) error {
	for name := range s.script.channels {
		_, err := s.await(ctx, &life{}, func() (bool, error) {
			ds, err := s.o.Store.Pending(ctx, name, 0, 1)
			if err != nil {
				return false, fmt.Errorf("look at the replay's answers: %w", err)
			}
			return len(ds) == 0, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) has(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.done[id]
}

// treeEnds says whether the recording of the turn, or of one below it, has
// ended.
func (s *stage) treeEnds(root *turn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, t := range s.script.turns {
		if s.done[openEnd+id] && s.script.rootOf(t) == root {
			return true
		}
	}
	return false
}

// settleOpen notes that what was open at the export was replayed as far as it
// went.
func (s *stage) settleOpen(t *turn) {
	s.report.Notes = append(s.report.Notes, fmt.Sprintf("turn %s was open at the export and was replayed as far as it had gone", t.ID))
}

// rootOf is the person's turn that a turn belongs to.
func (s *stage) rootOf(id string) *turn {
	t, ok := s.script.turns[id]
	if !ok {
		return nil
	}
	return s.script.rootOf(t)
}

// rootOf is the last turn of the root session that was opened before t, or with
// it: nested turns stand within one.
func (s *script) rootOf(t *turn) (root *turn) {
	for _, r := range s.roots {
		if r == t {
			return r
		}
		if !r.Opened.After(t.Opened) {
			root = r
		}
	}
	return root
}

// wait notes that a call waits to be interrupted.
func (s *stage) wait(id string) {
	s.mu.Lock()
	s.waiting[id] = true
	s.look()
	s.mu.Unlock()
	s.tell()
}

// look finds out whether the worker has to end now: all calls wait that were
// interrupted together, and all is done that was done before. The caller holds
// mu.
func (s *stage) look() {
	for _, b := range s.script.breaches {
		all := func(ids []string, in map[string]bool) bool {
			return !slices.ContainsFunc(ids, func(id string) bool { return !in[id] })
		}
		if all(b.calls, s.waiting) && all(b.before, s.done) {
			s.broken = b
			clear(s.waiting)
			return
		}
	}
}

// breaksNow is where the worker has to end now, once.
func (s *stage) breaksNow() *breach {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.broken
	if b != nil {
		s.last, s.broken = b, nil
	}
	return b
}

func (s *stage) lastBreach() *breach {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// stuckAt says what the replay waits for.
func (s *stage) stuckAt() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.script.roots {
		if !s.done[t.ID] {
			return fmt.Sprintf("it does not get beyond turn %s", t.ID)
		}
	}
	return "it does not come to an end"
}

// signalControl tells the worker that there is a control request.
func (s *stage) signalControl(ctx context.Context) {
	body, err := json.Marshal(signals.Control{Token: s.script.key.Token()})
	if err == nil {
		_ = s.log.Signal(ctx, broker.Signal{Topic: signals.ControlTopic, Body: body}) // it cannot fail
	}
}

// restored begins the event id of a message that was made again from the transcript.
const restored = "restored "

// restore is a message that reads as text when it is taken into a turn.
func restore(text string, t *turn) channels.Message {
	return channels.Message{
		Channel: t.Channel, Kind: channels.Said, Address: t.From, Event: restored + t.ID, MessageID: t.ReplyTo,
		Sender: channels.Sender{ID: t.Sender}, Mentioned: true, ReceivedAt: t.Received, Text: text,
	}
}

// said is what the model reads of a message: of one that was made again what it read
// then.
func said(m channels.Message, files []string) string {
	if strings.HasPrefix(m.Event, restored) {
		return m.Text
	}
	return worker.Said(m, files)
}
