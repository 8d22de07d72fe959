package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"parley/broker"
	"parley/channels"
	"parley/gateway/goals"
	"parley/gateway/messages"
	"parley/gateway/plans"
	"parley/gateway/preferences"
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
func (s *player) run(ctx context.Context) error {
	if err := s.prepare(ctx); err != nil {
		return err
	}
	sending, stop := context.WithCancel(ctx)
	var senders errgroup.Group
	senders.Go(func() error { return s.newDelivery().Run(sending) })
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
func (s *player) prepare(ctx context.Context) error {
	me := sessions.Worker{Name: "replay", Nonce: "before"}
	first := s.script.roots[0].Seq
	store, key, begins := s.o.Store, s.script.key, s.script.begins
	if _, err := store.StartGeneration(ctx, s.o.Recording.Header.Generation); err != nil {
		return fmt.Errorf("prepare the replay: %w", err)
	}
	if err := store.Heartbeat(ctx, me, begins.Add(time.Hour)); err != nil {
		return fmt.Errorf("prepare the replay: %w", err)
	}
	root := s.script.r.Header.Session
	m, got, err := store.Touch(ctx, sessions.Touch{Token: key.Token(), Key: key, Seq: first, By: me, Take: true, Now: begins})
	if err == nil && !got {
		err = fmt.Errorf("%w: the store is not empty", ErrNotReplayable)
	}
	begin := sessions.Command{
		Seq: first - 1, Event: sessions.InboxID{Channel: "replay", Event: "begin"}, Fresh: root, At: begins,
	}
	if ms := s.script.restored(); err == nil && len(ms) > 0 {
		begin.Fresh, begin.Resume = "", root
		err = store.Restore(ctx, sessions.Restored{Session: root, Token: key.Token(), Messages: ms, At: begins})
	}
	if model := s.script.firstChosen(); err == nil && model != "" {
		var chosen sessions.Record
		chosen, err = preferences.Choice{Model: model, Session: root}.Record(key.Token(), begins)
		begin.Records = append(begin.Records, chosen)
	}
	if err == nil {
		_, err = store.Answer(ctx, m.Fence(), begin)
	}
	if text := s.script.r.Sessions[0].Goal; err == nil && text != "" {
		err = s.restoreGoal(ctx, text)
	}
	if s.script.r.Sessions[0].Plan && err == nil {
		err = s.restorePlan(ctx)
	}
	if err == nil {
		err = store.Handover(ctx, m.Fence())
	}
	if err != nil {
		return fmt.Errorf("prepare the replay: %w", err)
	}
	return nil
}

// restored returns what stood in the root session before its first turn, as it does when it
// was made of an export.
func (s *script) restored() []transcript.Message {
	ms := s.r.Messages[s.r.Header.Session]
	for i, m := range ms {
		if id, ok := transcript.ParseMessageID(m.ID); ok && s.turns[id.Turn] != nil {
			return ms[:i]
		}
	}
	return nil
}

// restoreGoal gives the session the goal that it had when its first turn began.
func (s *player) restoreGoal(ctx context.Context, text string) error {
	r, err := goals.Goal{}.Set(text, s.script.begins).Record(s.script.r.Header.Session, s.script.begins)
	if err == nil {
		_, err = s.o.Store.WriteRecord(ctx, r)
	}
	return err
}

// restorePlan gives the session the mode that it had when its first turn began.
func (s *player) restorePlan(ctx context.Context) error {
	r, err := plans.Mode{}.Switch(true, true).Record(s.script.r.Header.Session, s.script.begins)
	if err == nil {
		_, err = s.o.Store.WriteRecord(ctx, r)
	}
	return err
}

// play runs one worker after another until all turns are done.
func (s *player) play(ctx context.Context) error {
	for n := 1; ; n++ {
		l := &workerRun{Store: s.o.Store, s: s, nonce: "life " + strconv.Itoa(n)}
		w, err := s.newWorker(ctx, l)
		if err != nil {
			return err
		}
		working, kill := context.WithCancel(ctx)
		var g errgroup.Group
		g.Go(func() error { return w.Run(working) })
		again, err := s.playTurns(working, l)
		kill()
		if e := g.Wait(); err == nil && e != nil && !l.dead.Load() {
			err = fmt.Errorf("replay: %w", e)
		}
		if err != nil || !again {
			return err
		}
	}
}

// playTurns lets the worker take one turn after the other. again is true when its
// life ends before they are all done.
func (s *player) playTurns(ctx context.Context, l *workerRun) (again bool, err error) {
	for _, t := range s.script.roots {
		if s.isDone(t.ID) || s.isEnded(t.ID) {
			continue
		}
		s.advanceClock(t.Opened)
		s.setPlaying(t)
		died, err := s.feedOpening(ctx, l, t)
		if err != nil || died {
			return died, err
		}
		died, err = s.await(ctx, l, func() (bool, error) {
			if s.isDone(t.ID) || s.hasTreeEnded(t) {
				return true, nil
			}
			return s.wasPassedOver(ctx, t)
		})
		if err != nil || died {
			return died, err
		}
		if s.hasTreeEnded(t) {
			l.dead.Store(true)
			s.settleOpen(t)
			return false, nil
		}
	}
	s.feedUntil(time.Time{})
	return s.await(ctx, l, func() (bool, error) { return s.isIdle(ctx) })
}

// feedOpening feeds the log with what had come when the turn was opened. What came
// before its first message was passed over before: it would be one turn else.
func (s *player) feedOpening(ctx context.Context, l *workerRun, t *turn) (died bool, err error) {
	var before uint64
	for _, e := range s.script.r.Envelopes {
		if e.Seq < t.Seq && !e.Pruned {
			s.publish(s.newEnvelope(e))
			before = max(before, e.Seq)
		}
	}
	died, err = s.await(ctx, l, func() (bool, error) { return s.hasRead(ctx, before) })
	if err != nil || died {
		return died, err
	}
	for _, e := range s.script.r.Envelopes {
		if e.Seq != t.Seq || !e.Pruned {
			continue
		}
		b, err := s.rebuildEnvelope(t)
		if err != nil {
			return false, err
		}
		s.publish(b)
	}
	until := s.script.joins.endAfter(t.Seq) // what joined it comes when it did
	for _, e := range s.script.r.Envelopes {
		if !e.Pruned && e.Seq < until && !e.At.After(t.Opened) {
			s.publish(s.newEnvelope(e))
		}
	}
	if !s.isFed(t.Seq) { // by the clock of another machine it came later
		for _, e := range s.script.r.Envelopes {
			if e.Seq <= t.Seq && !e.Pruned {
				s.publish(s.newEnvelope(e))
			}
		}
	}
	return false, nil
}

// hasRead reports whether the mailbox was read up to seq.
func (s *player) hasRead(ctx context.Context, seq uint64) (bool, error) {
	m, err := s.o.Store.Mailbox(ctx, s.script.key.Token())
	if err != nil {
		return false, fmt.Errorf("look at the replay's mailbox: %w", err)
	}
	return m.LastRead >= seq, nil
}

func (s *player) newEnvelope(e recording.Envelope) broker.Envelope {
	return broker.Envelope{ID: e.ID, Token: s.script.key.Token(), Key: s.script.key.String(), Body: e.Body, Seq: e.Seq, At: e.At}
}

// publish puts an envelope into the log, once.
func (s *player) publish(e broker.Envelope) {
	s.progress.mu.Lock()
	defer s.progress.mu.Unlock()
	if !s.fed[e.Seq] {
		s.fed[e.Seq] = true
		s.log.feed(e)
	}
}

// feedUntil puts what had come at t into the log; the zero time is the end.
func (s *player) feedUntil(t time.Time) {
	for _, e := range s.script.r.Envelopes {
		if !e.Pruned && (t.IsZero() || !e.At.After(t)) {
			s.publish(s.newEnvelope(e))
		}
	}
}

// rebuildEnvelope returns the message that opened a turn, made again from the transcript,
// because the log had it no more.
func (s *player) rebuildEnvelope(t *turn) (broker.Envelope, error) {
	q, ok := s.script.messages[transcript.MessageID{Turn: t.ID, Kind: transcript.Opening}.String()]
	if !ok {
		return broker.Envelope{}, fmt.Errorf("%w: the message of turn %s is neither in the log nor in the transcript", ErrNotReplayable, t.ID)
	}
	m := restoreMessage(q.Text(), t)
	m.Job = messages.JobOf(s.script.key, t.Sender, t.From)
	body, err := json.Marshal(m)
	if err != nil {
		return broker.Envelope{}, fmt.Errorf("make the message of turn %s again: %w", t.ID, err)
	}
	s.report.Notes = append(s.report.Notes, fmt.Sprintf("the message of turn %s was not in the log any more; it was made again from the transcript", t.ID))
	return broker.Envelope{ID: messages.ID{Kind: messages.Restored, About: t.ID}.String(), Token: s.script.key.Token(), Key: s.script.key.String(), Body: body, Seq: t.Seq, At: t.Received}, nil
}

// await waits until done, or until the worker has to die or hand over here.
func (s *player) await(ctx context.Context, l *workerRun, done func() (bool, error)) (died bool, err error) {
	stuck := time.NewTimer(patience)
	defer stuck.Stop()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for {
		if b := s.takeInterruption(); b != nil {
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
		case <-s.changed:
			stuck.Reset(patience)
		case <-poll.C:
		case <-stuck.C:
			s.addDifference(Turns, "the replay", s.stuckAt())
			l.dead.Store(true)
			return false, nil
		}
	}
}

// wasPassedOver reports whether the message of a turn was read without opening it.
func (s *player) wasPassedOver(ctx context.Context, t *turn) (bool, error) {
	m, err := s.o.Store.Mailbox(ctx, s.script.key.Token())
	if err != nil {
		return false, fmt.Errorf("look at the replay's mailbox: %w", err)
	}
	if m.LastRead < t.Seq || m.Turn != nil {
		return false, nil
	}
	if _, err := s.o.Store.Turn(ctx, t.ID); err == nil {
		return false, nil // it is done, and will be noted
	}
	s.markDone(t.ID)
	s.addDifference(Turns, "turn "+t.ID, "its message opens no turn now")
	return true, nil
}

// isIdle reports whether everything in the log was read and no turn is open.
func (s *player) isIdle(ctx context.Context) (bool, error) {
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
	return m.Turn == nil && m.LastRead >= last && m.Controls == 0, nil
}

// drain waits until all answers were brought back.
func (s *player) drain(ctx context.Context) error {
	for name := range s.script.channels {
		_, err := s.await(ctx, &workerRun{}, func() (bool, error) {
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

// settleOpen notes that what was open at the export was replayed as far as it
// went.
func (s *player) settleOpen(t *turn) {
	s.report.Notes = append(s.report.Notes, fmt.Sprintf("turn %s was open at the export and was replayed as far as it had gone", t.ID))
}

// rootOf returns the person's turn that a turn belongs to.
func (s *player) rootOf(id string) *turn {
	t, ok := s.script.turns[id]
	if !ok {
		return nil
	}
	return s.script.rootOf(t)
}

// rootOf returns the last turn of the root session that was opened before t, or with
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

// signalControl tells the worker that there is a control request.
func (s *player) signalControl(ctx context.Context) {
	body, err := json.Marshal(signals.Control{Token: s.script.key.Token()})
	if err == nil {
		_ = s.log.Signal(ctx, broker.Signal{Topic: signals.ControlTopic, Body: body}) // it cannot fail
	}
}

// restoreMessage is a message that reads as text when it is taken into a turn.
func restoreMessage(text string, t *turn) channels.Message {
	return channels.Message{
		Channel: t.Channel, Kind: channels.Said, Address: t.From, Event: messages.ID{Kind: messages.Restored, About: t.ID}.String(), MessageID: t.ReplyTo,
		Sender: channels.Sender{ID: t.Sender}, Mentioned: true, ReceivedAt: t.Received, Text: text,
	}
}

// messageText returns what the model reads of a message: of one that was made again what
// it read then.
func messageText(m channels.Message, files []string) string {
	if id, ok := messages.ParseID(m.Event); ok && id.Kind == messages.Restored {
		return m.Text
	}
	return worker.MessageText(m, files)
}
